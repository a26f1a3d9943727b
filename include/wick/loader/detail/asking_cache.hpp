/// \file
/// The way of a sample that lies in a cache elsewhere: it is looked for at once, then by I/O threads, and
/// made where there is none.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <wick/async/detail/activity.hpp>
#include <wick/async/executor.hpp>
#include <wick/async/stop_token.hpp>
#include <wick/async/task.hpp>
#include <wick/base/detail/clock.hpp>
#include <wick/ext/fingerprint.hpp>
#include <wick/ext/stage.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/detail/apply.hpp>
#include <wick/profile/detail/stage_clocks.hpp>

namespace wick::inline v0_1::detail {

/// `Path` has the source and the stages.
template <class Path>
struct asking_cache {
  using types = typename Path::types;
  using kept_item = typename types::kept_item;

  /// The cache knows the source, and the stages before it by their names and parameters.
  template <class Stage>
  static void open(Path& self, Stage& cache) {
    fingerprint_hash before;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (add_identity(before, std::get<types::order_end + I>(self.stages_)), ...);
    }(std::make_index_sequence<types::cache - types::order_end>{});
    cache.template open<kept_item>(std::as_const(self.source_), before);
  }

  /// A sample that the cache keeps; none where it has to be made.
  template <class Job>
  static task<std::optional<kept_item>> ask(Path* self, context* c, Job* j) {
    c->enter_watched(static_cast<std::uint32_t>(types::cache));
    const auto& cache = self->template stage<types::cache>();
    std::size_t reserved = 0;
    {
      stage_clocks::worker& mine = j->of->clocks.mine();
      stopwatch clock(mine, true);
      clock.begin(*c, Path::order_row);
      auto found = cache.template find<kept_item>(*c, reserved);
      clock.mark(types::cache);
      if (found) {
        mine.clocks[types::cache].ran(1);
        mine.clocks[types::cache].worked(1, 0);
        co_return std::move(found);
      }
    }
    activity* const doing = c->doing();
    if (doing != nullptr) doing->begin();
    const std::uint64_t begun = now_ticks();
    auto asking = cache.template ask<kept_item>(&cache, &self->source_, c, reserved);
    auto found = co_await std::move(asking);
    if (self->on_.this_slot() == executor::none)
      co_await self->on_.schedule();  // a thread of the user's resumed it
    if (found) {                      // else the stage is counted when the sample comes to it
      stage_clocks& clocks = j->of->clocks;
      clocks.mine().clocks[types::cache].ran(1);
      clocks.mine().clocks[types::cache].worked(1, 0);
      if (doing != nullptr) {
        doing->enter();
        clocks.waited_for(static_cast<std::uint32_t>(types::cache), doing->spent());
      }
      clocks.waited(static_cast<std::uint32_t>(types::cache), now_ticks() - begun, 0, c->index());
    }
    if (j->cancelled.load(std::memory_order_relaxed)) throw cancelled();
    co_return std::move(found);
  }

  /// From the cache, or from the source, through all stages into the slot.
  template <class Job>
  static task<void> run(Path* self, context* c, Job* j, std::uint64_t slot) {
    auto asking = ask(self, c, j);
    std::optional<kept_item> found = co_await std::move(asking);
    if (found) {
      task<void> rest = Path::template pass_kept<kept_item>(self, std::move(*found), c, j, slot);
      co_await rest;
    } else {
      self->freeze_for_cache(*c);
      auto item = Path::to_rvalue(self->source_.at(c->index()));
      task<void> rest =
          Path::template pass_async<types::order_end, decltype(item)>(self, std::move(item), c, j, slot);
      co_await rest;
    }
  }

 private:
  template <class Stage>
  static void add_identity(fingerprint_hash& h, const Stage& s) {
    h.add(std::string_view(stage_name(s)));
    if constexpr (traits_of<const Stage&>.has_fingerprint) h.add(s.fingerprint());
  }
};

}  // namespace wick::detail
