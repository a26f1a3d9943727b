/// \file
/// How the others of a sample are made: drawn from the epoch, and sent one after the other through the stages
/// before the one that asks for them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <tuple>
#include <type_traits>
#include <utility>

#include <wick/async/detail/awaitable.hpp>
#include <wick/async/executor.hpp>
#include <wick/async/stop_token.hpp>
#include <wick/async/task.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/detail/apply.hpp>
#include <wick/pipeline/with_others.hpp>

namespace wick::inline v0_1::detail {

/// `Path` has the source and the stages, the batch the plan of the epoch.
template <class Path>
struct gathering {
  using types = typename Path::types;

  /// The sample and the others that stage I draws for it.
  template <std::size_t I, class Item, class Job>
  static task<company<Item>> gather(Path* self, Item* own, context* c, Job* j) {
    const auto& stage = std::get<I>(self->stages_);
    other_draws draws(c->where(), static_cast<std::uint32_t>(I));
    company<Item> out{std::move(*own), {}};
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
        task<Item> coming = come<I>(self, &other, j);
        Item came = co_await coming;
        out.others.push_back(materialized<Item>::make(std::move(came)));
      } catch (...) {
        cause = std::current_exception();
      }
      if (self->on_.this_slot() == executor::none)
        co_await self->on_.schedule();  // a thread of the user's resumed it
      if (j->cancelled.load(std::memory_order_relaxed)) throw cancelled();
      if (cause != nullptr) draws.failed(cause, index, other.stage());
    }
    co_return std::move(out);
  }

  /// A sample of the source, or of the cache, through the stages up to End.
  template <std::size_t End, class Job>
  static auto come(Path* self, context* c, Job* j) {
    if constexpr (types::cache < End && types::cached_elsewhere) {
      return come_asking<End>(self, c, j);
    } else if constexpr (types::cache < End) {
      if (const auto* const item = self->kept(*c)) {
        using kept_type = std::remove_cvref_t<decltype(*item)>;
        return come_to<types::cache + 1, End, kept_type>(self, self->again(*item), c, j);
      }
    }
    if constexpr (types::cache < End) self->freeze_for_cache(*c);
    auto item = Path::to_rvalue(self->source_.at(c->index()));
    return come_to<types::order_end, End, decltype(item)>(self, std::move(item), c, j);
  }
  template <std::size_t End, class Job>
  static task<typename types::template item<End>> come_asking(Path* self, context* c, Job* j) {
    using kept_type = typename types::kept_item;
    auto asking = Path::ask_cache(self, c, j);
    auto found = co_await std::move(asking);
    if (found) {
      task<typename types::template item<End>> rest =
          come_to<types::cache + 1, End, kept_type>(self, std::move(*found), c, j);
      auto out = co_await rest;
      co_return std::move(out);
    } else {
      self->freeze_for_cache(*c);
      auto item = Path::to_rvalue(self->source_.at(c->index()));
      task<typename types::template item<End>> rest =
          come_to<types::order_end, End, decltype(item)>(self, std::move(item), c, j);
      auto out = co_await rest;
      co_return std::move(out);
    }
  }
  /// An item before stage I through the stages up to End, one after the other.
  template <std::size_t I, std::size_t End, class Item, class Job>
  static task<typename types::template item<End>> come_to(Path* self, Item item, context* c, Job* j) {
    if constexpr (I == End) {
      co_return std::move(item);
    } else {
      c->enter(static_cast<std::uint32_t>(I));
      using stage_type = typename types::template stage_at<I>;
      using next_type = typename types::template item<I + 1>;
      using how = application<stage_type, Item>;
      if constexpr (!how::async) {
        next_type next = apply(std::get<I>(self->stages_), std::move(item), *c);
        task<typename types::template item<End>> rest =
            come_to<I + 1, End, next_type>(self, std::move(next), c, j);
        auto out = co_await rest;
        co_return std::move(out);
      } else {
        auto prepared = how::prepare(std::move(item));
        auto operation = self->template start<I>(how::argument(prepared), *c, *j);
        if constexpr (std::is_void_v<value_once_awaited_t<typename how::raw>>) {
          co_await std::move(operation);
          if (self->on_.this_slot() == executor::none) co_await self->on_.schedule();
          task<typename types::template item<End>> rest =
              come_to<I + 1, End, next_type>(self, next_type(std::move(prepared)), c, j);
          auto out = co_await rest;
          co_return std::move(out);
        } else {
          auto result = co_await std::move(operation);
          if (self->on_.this_slot() == executor::none) co_await self->on_.schedule();
          task<typename types::template item<End>> rest = come_to<I + 1, End, next_type>(
              self, rebuild<next_type>(std::move(prepared), std::move(result)), c, j);
          auto out = co_await rest;
          co_return std::move(out);
        }
      }
    }
  }
};

}  // namespace wick::detail
