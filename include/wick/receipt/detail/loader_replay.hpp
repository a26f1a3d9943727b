/// \file
/// What a loader does for replay() and receipt(): looks whether the batch can be made again, and has it made.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include <wick/observe/clock.hpp>
#include <wick/receipt/detail/replayable.hpp>
#include <wick/receipt/detail/replaying.hpp>
#include <wick/receipt/receipt.hpp>
#include <wick/run/task.hpp>
#include <wick/system/detail/owned.hpp>

namespace wick::detail {

template <class Loader>
struct loader_replay {
  using replaying_type = typename Loader::replaying_type;
  using value_type = typename Loader::value_type;

  static value_type batch(Loader& l, std::uint64_t epoch, std::uint64_t number, const replay_options& o) {
    const typename Loader::place::pause away(l);  // no step of the training, and no time of taking
    return made(l, epoch, number, o, false)->take();
  }
  static receipt written(Loader& l, std::uint64_t epoch, std::uint64_t number, const replay_options& o) {
    const typename Loader::place::pause away(l);  // no step of the training, and no time of taking
    return made(l, epoch, number, o, true)->written();
  }
  static task<value_type> batch_async(Loader* l, std::uint64_t epoch, std::uint64_t number,
                                      replay_options o) {
    const typename Loader::place::pause away(*l);
    const owned<replaying_type> again = begun(*l, epoch, number, o, false);
    auto* const job = co_await again->done().next(l->on());
    static_cast<void>(job);
    value_type out = again->take();
    co_return std::move(out);
  }

 private:
  static owned<replaying_type> begun(Loader& l, std::uint64_t epoch, std::uint64_t number,
                                     const replay_options& o, bool with_notes) {
    l.on().require_workers();
    l.require_refreshed();
    l.feed_->size().require_same();
    l.round_.require(epoch, l.resume_ ? std::nullopt : l.epoch_);
    replayed_batch what{epoch, number, 0};
    if (Loader::feed_type::batched && l.feed_->runs().policy.options().compact) {
      const bool under_way = !l.resume_ && epoch == l.epoch_;
      const std::optional<std::uint64_t> moved = under_way ? l.delivery_.moved_before(number) : std::nullopt;
      if (!moved) refuse_replay_of_compacted(epoch, number);
      what.moved = *moved;
    }
    auto out = make_owned<replaying_type>(l.feed_->runs(), what, o, with_notes);
    out->start();
    return out;
  }
  static owned<replaying_type> made(Loader& l, std::uint64_t epoch, std::uint64_t number,
                                    const replay_options& o, bool with_notes) {
    owned<replaying_type> out = begun(l, epoch, number, o, with_notes);
    out->done().take();
    return out;
  }
};

}  // namespace wick::detail
