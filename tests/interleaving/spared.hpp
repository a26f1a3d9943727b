/// \file
/// The orders of memory in the engine that may be weaker than they are, and why: the sweeps check each word
/// of it.
#pragma once

#include <vector>

#include "faults.hpp"

namespace wick_test::interleaving {

inline const std::vector<spared> spared_in_event_count{
    // Who touches the word decides by its value alone, which a modification always gets from the one before
    // it. What
    // a producer must learn from others, it need not learn here: what matters is what the searchers and the
    // woken
    // learn, of producers (found, retire) and of the one that woke them (take_permit).
    {"notify rmw -> release", because::not_needed},
    {"notify_all rmw -> release", because::not_needed},
    {"notify cas_failed -> relaxed", because::not_needed},
    {"notify_all cas_failed -> relaxed", because::not_needed},
    // Nothing is written between the first touch, which releases, and the exchange; whom it chooses learns
    // all of the
    // permit.
    {"notify cas -> acquire", because::not_needed},
    {"notify cas -> release", because::not_needed},
    {"notify_all cas -> acquire", because::not_needed},
    {"notify_all cas -> release", because::not_needed},
    // A searcher that begins promises to look after its next touch (found or retire), and that one acquires.
    {"begin_search rmw -> acquire", because::not_needed},
    {"begin_search rmw -> release", because::not_needed},
    // What a worker did before it stops to search or goes to sleep is not promised to those who touch later.
    // The
    // releases of the producers before it live on in its modification, whatever its order.
    {"found rmw -> acquire", because::not_needed},
    {"retire rmw -> acquire", because::not_needed},
    // The caller is a searcher again, as after begin_search.
    {"cancel cas -> acquire", because::not_needed},
    {"cancel cas -> release", because::not_needed},
    {"cancel cas_failed -> relaxed", because::not_needed},
    // A number for reports.
    {"sleepers load -> relaxed", because::not_needed},
    // The exchange acquires, and must: the permit that it takes may be a later one than the load has seen.
    // What the
    // taker did before is not promised to the next one.
    {"take_permit load -> relaxed", because::not_needed},
    {"take_permit load#2 -> relaxed", because::not_needed},
    {"take_permit cas_failed -> relaxed", because::not_needed},
    {"take_permit cas -> acquire", because::not_needed},
};

inline const std::vector<spared> spared_in_steal_queue{
    // The owner fills a slot anew only when the pop that freed it has read it: without these that load may
    // take the new
    // item, a value from the future.
    {"push load#2 -> relaxed", because::not_modelled},
    {"pop cas -> relaxed", because::not_modelled},
    // Of a moment that is over anyway; who knows of a push by other means (the event count's word) sees at
    // least that
    // tail, whatever the orders.
    {"empty load -> relaxed", because::not_needed},
    {"empty load#2 -> relaxed", because::not_needed},
    {"size load -> relaxed", because::not_needed},
    {"size load#2 -> relaxed", because::not_needed},
};

inline const std::vector<spared> spared_in_injector{
    // What the jobs need is ordered by the mutex. The count only says whether it is worth taking, and who
    // knows of a
    // push by other means (the event count's word) sees at least that count, whatever the orders.
    {"push store -> relaxed", because::not_needed},
    {"pop store -> relaxed", because::not_needed},
    {"empty load -> relaxed", because::not_needed},
};

inline const std::vector<spared> spared_in_sequencer{
    // It compares with what the consumer itself left there; what it waits for is acquired afterwards.
    {"take cas -> release", because::not_needed},
    {"await_suspend cas -> release", because::not_needed},
    // Then the item is there, and try_take acquires it.
    {"take cas_failed -> relaxed", because::not_needed},
    {"await_suspend cas_failed -> relaxed", because::not_needed},
    {"await_ready load -> relaxed", because::not_needed},
};

inline const std::vector<spared> spared_in_wake_flag{
    // What the waiter did before it waits is not promised to the one who sets.
    {"set rmw -> release", because::not_needed},
    {"wait cas -> acquire", because::not_needed},
    // It compares with the cleared flag, from which there is nothing to learn.
    {"wait cas -> release", because::not_needed},
    // The loop loads the word again.
    {"wait cas_failed -> relaxed", because::not_needed},
};

}  // namespace wick_test::interleaving
