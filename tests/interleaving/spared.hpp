// The orders of memory in the engine that may be weaker than they are, and why. The sweeps check that no
// scenario misses any of them, all at once.
#pragma once

#include "faults.hpp"

namespace wick_test::interleaving {

inline const spared spared_in_event_count{
    // Who touches the word decides by its value, which a modification always gets from the one before it.
    // What
    // matters besides is what searchers learn of producers (found and retire acquire, notify releases) and
    // what the woken learn of who woke them (by the permit), not what producers learn.
    "notify rmw -> release",
    "notify_unless_napping rmw -> release",
    "notify_all rmw -> release",
    "wake_for cas_failed -> relaxed",
    "notify_all cas_failed -> relaxed",
    // Nothing is written between the first touch, which releases, and the exchange.
    "wake_for cas -> acquire",
    "wake_for cas -> release",
    "notify_all cas -> acquire",
    "notify_all cas -> release",
    // Who begins to search promises to look after its next touch, and that one acquires.
    "begin_search rmw -> acquire",
    "begin_search rmw -> release",
    // What a worker did before is not promised to the threads that touch later. The releases of the producers
    // before it live on in its modification, whatever its order.
    "found rmw -> acquire",
    "retire rmw -> acquire",
    // The caller is a searcher again, as after begin_search.
    "cancel cas -> acquire",
    "cancel cas -> release",
    "cancel cas_failed -> relaxed",
    // A number for reports.
    "sleepers load -> relaxed",
    // The exchange acquires, and must: the permit that it takes may be a later one than the load has seen.
    "take_permit load -> relaxed",
    "take_permit load#2 -> relaxed",
    "take_permit cas_failed -> relaxed",
    // What the taker did before is not promised to the next one.
    "take_permit cas -> acquire",
};

inline const spared spared_in_steal_queue{
    // Of a moment that is over anyway; who knows of a push by other means (the event count's word) sees at
    // least that tail, whatever the orders.
    "empty load -> relaxed",
    "empty load#2 -> relaxed",
    "size load -> relaxed",
    "size load#2 -> relaxed",
};

inline const spared spared_in_injector{
    // What the jobs need is ordered by the mutex. The count only says whether it is worth taking, and who
    // knows of a push by other means (the event count's word) sees at least that count, whatever the orders.
    "push store -> relaxed",
    "pop store -> relaxed",
    "empty load -> relaxed",
};

inline const spared spared_in_sequencer{
    // It compares with what the consumer itself left there; what it waits for is acquired afterwards.
    "take cas -> release",
    "await_suspend cas -> release",
    // Then the item is there, and try_take acquires it.
    "take cas_failed -> relaxed",
    "await_suspend cas_failed -> relaxed",
    "await_ready load -> relaxed",
};

inline const spared spared_in_wake_flag{
    // What the waiter did before it waits is not promised to the thread that sets.
    "set rmw -> release",
    "wait cas -> acquire",
    // It compares with the cleared flag, from which there is nothing to learn.
    "wait cas -> release",
    // The loop loads the word again.
    "wait cas_failed -> relaxed",
};

}  // namespace wick_test::interleaving
