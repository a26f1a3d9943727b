// Takes an item through stages of which some suspend: one coroutine for each of those, which first runs the
// stages before it that don't. A sink determines where the walk ends, and what is measured on it.
#pragma once

#include <atomic>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>

#include <wick/async/detail/activity.hpp>
#include <wick/async/executor.hpp>
#include <wick/async/stop_token.hpp>
#include <wick/async/task.hpp>
#include <wick/base/detail/clock.hpp>
#include <wick/ext/fingerprint.hpp>
#include <wick/ext/stage.hpp>
#include <wick/io/detail/read_group.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/detail/apply.hpp>
#include <wick/pipeline/detail/timed_await.hpp>
#include <wick/pipeline/detail/trace_lane.hpp>
#include <wick/pipeline/with_others.hpp>
#include <wick/profile/detail/stage_clocks.hpp>

namespace wick::inline v0_1::detail {

// ---- sinks ----

/// The slot of a sample in its batch. Each stage has a clock.
template <class Path>
struct to_slot {
  using types = typename Path::types;
  static constexpr std::size_t end = types::batching;
  typename Path::batch_type* j;
  std::uint64_t slot;

  bool cancelled() const noexcept { return j->cancelled.load(std::memory_order_relaxed); }
  /// Stages [I, End), which don't suspend.
  template <std::size_t I, std::size_t End, class Item>
  auto pass(Path& path, Item&& item, context& c) const {
    if constexpr (I == End) {
      return std::remove_cvref_t<Item>(std::move(item));
    } else {
      c.enter_watched(static_cast<std::uint32_t>(I));
      stage_clocks::worker& mine = j->of->clocks.mine();
      stopwatch clock(mine, true);
      clock.begin(c, Path::order_row);
      Path::template forget_phases<I>();
      auto next = detail::apply(path.template stage<I>(), std::move(item), c);
      Path::template mark<I>(clock);
      mine.clocks[I].ran(1);
      mine.clocks[I].worked(1, 0);
      if (const std::size_t bytes = c.take_reserved(); bytes != 0)
        j->of->clocks.reserved(static_cast<std::uint32_t>(I), bytes);
      return pass<I + 1, End>(path, std::move(next), c);
    }
  }
  template <std::size_t I>
  std::uint64_t enter(context& c) const noexcept {
    c.enter_watched(static_cast<std::uint32_t>(I));
    Path::template forget_phases<I>();
    return now_ticks();
  }
  template <std::size_t I, class Operation>
  auto wait(Operation& operation, std::uint64_t begun, context& c) const {
    begun += Path::template note_phases<I>(j->of->clocks, c.index());
    using inner = decltype(detail::awaiter_in(operation));
    return timed_await<inner, stage_clocks, &Path::template note_phases<I>>(
        detail::awaiter_in(operation), &j->of->clocks, static_cast<std::uint32_t>(I), begun, &c);
  }
  /// Runs the stages from I on, which don't suspend, to the end.
  template <std::size_t I, class Item>
  void put(Path& path, Item&& item, context& c) const {
    stage_clocks::worker& mine = j->of->clocks.mine();
    stopwatch clock(mine, true);
    clock.begin(c, Path::order_row);
    path.template pass<I, true>(std::move(item), c, *j, slot, &clock);
    j->of->count(mine.clocks, I, 1, 1);
  }
};

/// Awaits without a clock.
template <class Inner>
struct plain_await {
  Inner inner;
  bool await_ready() { return inner.await_ready(); }
  template <class Promise>
  decltype(auto) await_suspend(std::coroutine_handle<Promise> handle) {
    return inner.await_suspend(handle);
  }
  auto await_resume() { return detail::resumed(inner); }
  void settle() const noexcept {}
};

/// Another sample, up to stage End of the sample that asked for it, which is charged for all its time.
template <class Path, std::size_t End>
struct to_other {
  using types = typename Path::types;
  static constexpr std::size_t end = End;
  typename Path::batch_type* j;
  std::optional<typename types::template item<End>>* out;

  bool cancelled() const noexcept { return j->cancelled.load(std::memory_order_relaxed); }
  template <std::size_t I, std::size_t Until, class Item>
  auto pass(Path& path, Item&& item, context& c) const {
    if constexpr (I == Until) {
      return std::remove_cvref_t<Item>(std::move(item));
    } else {
      c.enter(static_cast<std::uint32_t>(I));
      return pass<I + 1, Until>(path, detail::apply(path.template stage<I>(), std::move(item), c), c);
    }
  }
  template <std::size_t I>
  std::uint64_t enter(context& c) const noexcept {
    c.enter(static_cast<std::uint32_t>(I));
    return 0;
  }
  template <std::size_t I, class Operation>
  auto wait(Operation& operation, std::uint64_t, context&) const {
    return plain_await<decltype(detail::awaiter_in(operation))>{detail::awaiter_in(operation)};
  }
  template <std::size_t I, class Item>
  void put(Path& path, Item&& item, context& c) const {
    out->emplace(pass<I, End>(path, std::move(item), c));
  }
};

/// A batch after all stages.
template <class Path>
struct to_value {
  using types = typename Path::types;
  static constexpr std::size_t end = types::size;
  typename Path::batch_type* j;

  bool cancelled() const noexcept { return false; }
  template <std::size_t I, std::size_t End, class Batch>
  auto pass(Path& path, Batch&& batch, context& c) const {
    if constexpr (I == End) {
      return std::remove_cvref_t<Batch>(std::move(batch));
    } else {
      static_assert(!traits_of<typename types::template stage_at<I>>.has_around,
                    "wick: a batch stage that suspends can't be after transfer(); write it before it, as a "
                    "stage of samples, or as a plain callable");
      const std::uint64_t begun = enter<I>(c);
      auto next = detail::apply(path.template stage<I>(), std::move(batch), c);
      j->of->count_batch(I, begun, c, span_kind::batch);
      return pass<I + 1, End>(path, std::move(next), c);
    }
  }
  template <std::size_t I>
  std::uint64_t enter(context& c) const noexcept {
    c.enter_watched(static_cast<std::uint32_t>(I));
    return now_ticks();
  }
  template <class Inner>
  struct counted_await : plain_await<Inner> {
    typename Path::batch_type* j;
    std::size_t stage;
    std::uint64_t begun;
    context* c;
    void settle() const { j->of->count_batch(stage, begun, *c, span_kind::batch_wait); }
  };
  template <std::size_t I, class Operation>
  auto wait(Operation& operation, std::uint64_t begun, context& c) const {
    return counted_await<decltype(detail::awaiter_in(operation))>{
        {detail::awaiter_in(operation)}, j, I, begun, &c};
  }
  template <std::size_t I, class Batch>
  void put(Path& path, Batch&& batch, context& c) const {
    j->value.emplace(path.template pass_batch<I>(std::move(batch), c, *j->of));
  }
};

/// `Path` has the source and the stages. (A class, since g++ 12 warns about coroutines that are function
/// templates of types without linkage.)
template <class Path>
struct stage_walk {
  using types = typename Path::types;

  // ---- others ----

  /// A sample and the others that stage I draws for it, one after another.
  template <std::size_t I, class Item>
  static task<sample_with_others<Item>> gather(Path* path, Item* own, context* c,
                                               typename Path::batch_type* j) {
    const auto& stage = path->template stage<I>();
    other_draws draws(c->where(), static_cast<std::uint32_t>(I));
    sample_with_others<Item> out{std::move(*own), {}};
    const std::size_t wanted = draws.stream.bernoulli(stage.probability()) ? stage.count() : 0;
    out.others.reserve(wanted);
    while (out.others.size() < wanted) {
      const std::uint64_t index = j->of->plan->substitute(*j, c->position(), draws.stream);
      if (j->is_no_other(c->position(), index)) {
        draws.leave_out();
        continue;
      }
      context other(*c, draws.next(index));
      other.enter(static_cast<std::uint32_t>(types::order_end));
      std::exception_ptr cause;
      try {
        j->of->refuse_bad(index);
        std::optional<Item> came;
        task<void> coming = set_out(path, &other, to_other<Path, I>{j, &came});
        co_await coming;
        out.others.push_back(materialized<Item>::make(std::move(*came)));
      } catch (...) {
        cause = std::current_exception();
      }
      if (path->on().this_slot() == executor::none)
        co_await path->on().schedule();  // one of the user's threads resumed it
      if (j->cancelled.load(std::memory_order_relaxed)) throw cancelled();
      if (cause != nullptr) draws.failed(cause, index, other.stage());
    }
    co_return std::move(out);
  }

  /// Begins a stage that suspends.
  template <std::size_t I, class Item, class Sink>
  static auto start(Path& path, Item& item, context& c, const Sink& to) {
    if constexpr (traits_of<typename types::template stage_at<I>>.gathers_others) {
      static_assert(!Path::plans::grouped,
                    "wick: with_others() (mixup, cutmix, mosaic) in a pipeline with bucket() or pack(), "
                    "which plan by the lengths of single samples; leave one of the two out");
      return gather<I>(&path, &item, &c, to.j);
    } else {
      return detail::call(path.template stage<I>(), item, c);
    }
  }

  template <class How, class Next, class Prepared, class Result>
  static Next with_result(Prepared& prepared, [[maybe_unused]] Result& result) {
    if constexpr (std::is_void_v<value_once_awaited_t<typename How::raw>>)
      return Next(std::move(prepared));
    else
      return detail::rebuild<Next>(std::move(prepared), std::move(result));
  }

  // ---- without a coroutine ----

  /// Whether only the first stage may suspend, and whether it must can be seen without a coroutine. A cache
  /// counts how often it was asked, so samples that may be in one aren't tried.
  static consteval bool tries_at_once() {
    constexpr std::size_t first = types::order_end;
    if constexpr (!types::samples_suspend || types::cache < types::batching ||
                  types::template next_async<first, types::batching>() != first ||
                  types::template next_async<first + 1, types::batching>() != types::batching) {
      return false;
    } else {
      using how = application<typename types::template stage_at<first>, typename types::template item<first>>;
      return requires { std::remove_cvref_t<typename how::raw>::can_be_tried; };
    }
  }
  /// Takes a sample from the source into its slot. False: the first stage would suspend.
  static bool at_once(Path& path, context& c, const to_slot<Path>& to) {
    constexpr std::size_t first = types::order_end;
    using how = application<typename types::template stage_at<first>, typename types::template item<first>>;
    auto prepared = how::prepare(Path::to_rvalue(path.source().at(c.index())));
    const std::uint64_t begun = to.template enter<first>(c);
    auto operation = start<first>(path, how::argument(prepared), c, to);
    auto waiting = to.template wait<first>(operation, begun, c);
    if (!waiting.await_ready()) return false;
    auto result = waiting.await_resume();
    waiting.settle();
    to.template put<first + 1>(
        path, with_result<how, typename types::template item<first + 1>>(prepared, result), c);
    return true;
  }

  /// Whether the reads of several samples can be made together.
  static consteval bool groups_reads() {
    if constexpr (!tries_at_once()) {
      return false;
    } else {
      using stage = typename types::template stage_at<types::order_end>;
      using how = application<stage, typename types::template item<types::order_end>>;
      using from = std::remove_cvref_t<decltype(how::argument(
          std::declval<std::remove_cvref_t<decltype(how::prepare(
              std::declval<typename types::template item<types::order_end>>()))>&>()))>;
      return requires(const stage& s, read_group& g, const from& where) { s.add_to(g, where); };
    }
  }
  static void add_reads(Path& path, std::uint64_t index, read_group& to) {
    using how = application<typename types::template stage_at<types::order_end>,
                            typename types::template item<types::order_end>>;
    auto prepared = how::prepare(Path::to_rvalue(path.source().at(index)));
    path.template stage<types::order_end>().add_to(to, how::argument(prepared));
  }
  /// Takes a sample whose parts are read into its slot. `clock` may be null.
  static void run_read(Path& path, context& c, typename Path::batch_type& j, std::uint64_t slot,
                       std::span<range_part> parts, stopwatch* clock) {
    constexpr std::size_t first = types::order_end;
    using how = application<typename types::template stage_at<first>, typename types::template item<first>>;
    auto prepared = how::prepare(Path::to_rvalue(path.source().at(c.index())));
    c.enter_watched(static_cast<std::uint32_t>(first));
    auto result = path.template stage<first>().join(how::argument(prepared), parts);
    if (clock != nullptr) clock->begin(c, first);
    path.template pass<first + 1, true>(
        with_result<how, typename types::template item<first + 1>>(prepared, result), c, j, slot, clock);
  }

  // ---- the walk ----

  /// Takes an item through the stages from I on into the sink.
  template <std::size_t I, class Item, class Sink>
  static task<void> from_stage(Path* path, Item item, context* c, Sink to) {
    constexpr std::size_t stage = types::template next_async<I, Sink::end>();
    if constexpr (stage == Sink::end) {
      to.template put<I>(*path, std::move(item), *c);
      co_return;
    } else {
      using next_type = typename types::template item<stage + 1>;
      using how = application<typename types::template stage_at<stage>, typename types::template item<stage>>;
      auto came = to.template pass<I, stage>(*path, std::move(item), *c);
      const std::uint64_t begun = to.template enter<stage>(*c);
      auto prepared = how::prepare(std::move(came));
      auto operation = start<stage>(*path, how::argument(prepared), *c, to);
      auto waiting = to.template wait<stage>(operation, begun, *c);
      [[maybe_unused]] auto result = co_await waiting;
      if (path->on().this_slot() == executor::none)
        co_await path->on().schedule();  // one of the user's threads resumed it
      waiting.settle();
      if (to.cancelled()) throw cancelled();
      next_type next = with_result<how, next_type>(prepared, result);
      if constexpr (types::template next_async<stage + 1, Sink::end>() < Sink::end) {
        task<void> rest = from_stage<stage + 1, next_type>(path, std::move(next), c, to);
        co_await rest;
      } else {
        to.template put<stage + 1>(*path, std::move(next), *c);
      }
    }
  }

  // ---- a cache elsewhere ----

  /// Gives the cache the source, and the names and parameters of the stages before it.
  static void open_cache(Path& path) {
    fingerprint_hash before;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      [[maybe_unused]] const auto add = [&](const auto& s) {
        before.add(std::string_view(detail::stage_name(s)));
        if constexpr (traits_of<decltype(s)>.has_fingerprint) before.add(s.fingerprint());
      };
      (add(path.template stage<types::order_end + I>()), ...);
    }(std::make_index_sequence<types::cache - types::order_end>{});
    path.template stage<types::cache>().template open<typename types::kept_item>(path.source(), before);
  }

  /// Looks up a sample in a cache elsewhere: at once, then on I/O threads. Nothing if the sample must be
  /// made.
  static task<std::optional<typename types::kept_item>> ask_cache(Path* path, context* c,
                                                                  typename Path::batch_type* j) {
    using kept_item = typename types::kept_item;
    c->enter_watched(static_cast<std::uint32_t>(types::cache));
    const auto& cache = path->template stage<types::cache>();
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
      if (cache.is_absent(path->source(), *c)) co_return std::nullopt;
    }
    activity* const doing = c->doing();
    if (doing != nullptr) doing->begin();
    const std::uint64_t begun = now_ticks();
    auto asking = cache.template ask<kept_item>(&cache, &path->source(), c, reserved);
    auto found = co_await std::move(asking);
    if (path->on().this_slot() == executor::none)
      co_await path->on().schedule();  // one of the user's threads resumed it
    if (found) {                       // otherwise, the stage is counted when the sample reaches it
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

  // ---- the start ----

  template <class Sink>
  static task<void> set_out_from_source(Path* path, context* c, Sink to) {
    if constexpr (types::cache < Sink::end) path->freeze_for_cache(*c);
    auto item = Path::to_rvalue(path->source().at(c->index()));
    return from_stage<types::order_end, decltype(item)>(path, std::move(item), c, to);
  }

  template <class Sink>
  static task<void> set_out_from_elsewhere(Path* path, context* c, Sink to) {
    auto asking = ask_cache(path, c, to.j);
    std::optional<typename types::kept_item> found = co_await std::move(asking);
    task<void> rest =
        found ? from_stage<types::cache + 1, typename types::kept_item>(path, std::move(*found), c, to)
              : set_out_from_source(path, c, to);
    co_await rest;
  }

  /// Takes a sample from the source, or from the cache, into the sink.
  template <class Sink>
  static task<void> set_out(Path* path, context* c, Sink to) {
    if constexpr (types::cache < Sink::end && types::cached_elsewhere) {
      return set_out_from_elsewhere(path, c, to);
    } else if constexpr (types::cache < Sink::end) {
      if (const auto* const item = path->kept(*c)) {
        using kept_type = std::remove_cvref_t<decltype(*item)>;
        c->enter(static_cast<std::uint32_t>(types::cache));
        return from_stage<types::cache + 1, kept_type>(path, Path::again(*item), c, to);
      }
    }
    return set_out_from_source(path, c, to);
  }
};

}  // namespace wick::detail
