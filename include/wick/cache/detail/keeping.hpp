// The common parts of caches: where they may be in a pipeline, how a sample is prepared for keeping
// (decoded, with its pixels shared by all copies), and its size in bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <wick/async/executor.hpp>
#include <wick/batch/detail/fields.hpp>
#include <wick/ext/stage.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/pipeline.hpp>
#include <wick/pipeline/sample.hpp>
#include <wick/pipeline/shape.hpp>
#include <wick/pipeline/with_others.hpp>

namespace wick::inline v0_1::detail {

/// \throws wick::error for a cache of 0 bytes
void check_bytes(std::optional<std::uint64_t> given, std::string_view cache);

/// Carries out deferred work, at any depth: decodes, crops and resizes images as planned so far.
template <class T>
void settle(T& item) {
  if constexpr (requires { item.carry_out(); }) {
    item.carry_out();
    if constexpr (requires { item.share(); }) static_cast<void>(item.share());
  } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, bytes> ||
                       std::is_same_v<T, std::string>) {
  } else if constexpr (composite<T> || optional_like<T>) {
    detail::for_each_inside(item, [](auto& inner) { detail::settle(inner); });
  } else if constexpr (container_like<T>) {
    if constexpr (!std::is_arithmetic_v<typename T::value_type>)
      detail::for_each_inside(item, [](auto& inner) { detail::settle(inner); });
  }
}

/// The bytes that a value owns outside itself. A user's type returns them from `std::size_t kept_bytes()
/// const`. Without `Settled`: its bytes after settle().
template <bool Settled = true, class T>
std::size_t bytes_beside(const T& item) {
  if constexpr (!Settled && requires { item.carry_out(), item.extents(), item.type(); }) {
    return static_cast<std::size_t>(item.extents().count()) * size_of(item.type());
  } else if constexpr (requires { item.kept_bytes(); }) {
    return item.kept_bytes();
  } else if constexpr (requires { item.nbytes(); }) {  // a tensor
    return static_cast<std::size_t>(item.nbytes());
  } else if constexpr (std::is_same_v<T, bytes>) {
    return item.size();
  } else if constexpr (std::is_same_v<T, std::string>) {
    return item.capacity();
  } else if constexpr (container_like<T>) {
    std::size_t all = 0;
    if constexpr (!composite<T>) all = item.size() * sizeof(typename T::value_type);
    if constexpr (!std::is_arithmetic_v<typename T::value_type>)
      for (const auto& one : item) all += bytes_beside<Settled>(one);
    return all;
  } else if constexpr (composite<T> || optional_like<T>) {
    std::size_t all = 0;
    detail::for_each_inside(item, [&](const auto& inner) { all += bytes_beside<Settled>(inner); });
    return all;
  } else {
    return 0;
  }
}

[[noreturn]] void refuse_random_before(std::string_view cache, const context& c);

/// Called for each sample at a cache. \throws wick::error when a stage before it has drawn random numbers
/// that aren't frozen
inline void comes_to_cache(context& c, bool frozen, std::string_view cache) {
  if (!frozen && c.last_drawing() < c.stage()) refuse_random_before(cache, c);
  c.freeze(false);
}

/// Which of a cache's counters to use.
inline std::size_t lane_of(const context& c) noexcept { return c.on() == nullptr ? 0 : c.on()->this_slot(); }

/// Whether a cache may come after these stages.
template <class... Before>
consteval bool cache_fits() {
  constexpr bool single = !has_batching<Before...>;
  static_assert(single,
                "wick: a cache keeps single samples, and the item is a batch; write it before batch(n)");
  constexpr bool first = !(traits_of<Before>.caches || ...);
  static_assert(first, "wick: this pipeline has a cache already; write one of the two");
  constexpr bool alone = !(traits_of<Before>.gathers_others || ...);
  static_assert(
      alone,
      "wick: with_others() (mixup, cutmix, mosaic) draws other samples in each epoch, which a cache "
      "would freeze; write the cache before it");
  return single && first && alone;
}

}  // namespace wick::detail
