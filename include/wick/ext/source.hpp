// The concept of a source: a type that knows every sample and reads none. Each sample's journey begins here.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include <wick/ext/fingerprint.hpp>

namespace wick::inline v0_1::ext {

/// Random access to descriptions of samples: `size()`, and `at(i)` for i in [0, size()). All workers call
/// `at` at once and for every sample, some twice, so it must be truly const, cheap, and without I/O, and give
/// the same each time. Its result may point into the source, which outlives it. A source may have more
/// members. `std::string key(i) const` is the sample's name in error messages. `void prefetch(i, std::size_t
/// most) const noexcept` is a hint that a call of `at(i)` follows soon; it calls prefetch_bytes with `most`.
/// `length(i) const` is the sample's length when it gets to bucket() or pack(). `std::string note() const` is
/// a line for the report. `std::uint64_t fingerprint() const` differs when the data does (a resume with other
/// data is refused).
///
/// A source must not change while a loader has it. The loader's workers read it from the first epoch() or
/// next() until the loader is gone, even between two epochs, when they make the next epoch's first batches.
/// With loader_options::prefetch_next_epoch = false, no worker reads it between the last batch of a completed
/// epoch and the next epoch(). In that time you may exchange its samples, move them in memory, rewrite them,
/// and add or remove some. But epoch() throws if their number isn't the same as when the loader was made or
/// last refreshed: call refresh() first. After the first refresh(), too, no worker reads beyond an epoch's
/// end, since batches begun ahead would be dropped. The thread that takes the batches calls size(): at
/// epoch(), at refresh(), and when it makes room for the next epoch's first batch.
///
/// A source that keeps changing while workers read gives them a view of itself, with a member `refresh()`.
/// The loader calls it on its copy of the source when it is made and in loader.refresh(); from then on,
/// size() and at() show the state of that moment. The loader keeps the result of refresh() (a lock) until the
/// order stages have refreshed, too (weights). concat(), zip(), and mix() don't keep it: they refresh one
/// source after the other. replay_buffer::samples() is such a source.
template <class S>
concept source = requires(const std::remove_cvref_t<S>& s, std::uint64_t i) {
  { s.size() } -> std::convertible_to<std::uint64_t>;
  s.at(i);
  requires !std::is_void_v<decltype(s.at(i))>;
};

}  // namespace wick::ext

namespace wick::inline v0_1::detail {

using namespace ext;

/// S has the members of a source, but something is wrong with them.
template <class S>
concept almost_source = !source<S> && requires(S& s, std::uint64_t i) {
  s.size();
  s.at(i);
};
/// Whether S is a source; if it isn't, the compiler says why.
template <class S>
consteval bool check_source() {
  constexpr bool has_both = source<S> || almost_source<S>;
  constexpr bool size_is_const = !has_both || requires(const S& s) { s.size(); };
  constexpr bool at_is_const = !has_both || requires(const S& s, std::uint64_t i) { s.at(i); };
  constexpr bool fits = source<S> || !has_both || !size_is_const || !at_is_const;
  static_assert(has_both,
                "wick: this isn't a source ('S'): it needs std::uint64_t size() const and "
                "auto at(std::uint64_t i) const");
  static_assert(at_is_const,
                "wick: at() of this source ('S') isn't const, and all workers call it at once; write "
                "auto at(std::uint64_t i) const");
  static_assert(size_is_const,
                "wick: size() of this source ('S') isn't const, and all workers may call it; write "
                "std::uint64_t size() const");
  static_assert(fits,
                "wick: size() of this source ('S') must return a number, and at(i) the sample; write "
                "std::uint64_t size() const and auto at(std::uint64_t i) const");
  return source<S>;
}

/// The type of a source's items: `at(i)`'s type as a value.
template <source S>
using item_of =
    std::remove_cvref_t<decltype(std::declval<const std::remove_cvref_t<S>&>().at(std::uint64_t{}))>;

/// The number of samples, of whatever type `size()` gives.
template <class S>
std::uint64_t samples_of(const S& from) {
  return static_cast<std::uint64_t>(from.size());
}

/// The sample's name in messages: the source's key, else "sample 1234".
template <source S>
std::string key_of(const S& from, std::uint64_t i) {
  if constexpr (requires { std::string(from.key(i)); }) {
    return std::string(from.key(i));
  } else {
    return "sample " + std::to_string(i);
  }
}

}  // namespace wick::detail

namespace wick::inline v0_1::ext {

/// Fetches memory that is read soon into all levels of the cache: the first `most` bytes of it. For a
/// source's prefetch().
inline void prefetch_bytes(const void* at, std::size_t bytes, std::size_t most) noexcept {
  const auto* p = static_cast<const char*>(at);
  const std::size_t near = bytes < most ? bytes : most;
  for (std::size_t offset = 0; offset < near; offset += 64) __builtin_prefetch(p + offset, 0, 3);
  if (near != 0) __builtin_prefetch(p + near - 1, 0, 3);  // the memory may start inside a cache line
  // g++ considers a function that only prefetches to have no effect, and leaves out calls of it.
  asm volatile("");
}

}  // namespace wick::ext

namespace wick::inline v0_1::detail {

template <class S>
concept prefetching_source =
    source<S> && requires(const S& s, std::uint64_t i, std::size_t most) { s.prefetch(i, most); };

/// S gives a view of data that keeps changing.
template <class S>
concept refreshed_source = source<S> && requires(S& s) { s.refresh(); };

/// For a source made of several. It drops the result of refresh(): two of them may be views of the same
/// buffer, whose lock can't be taken twice.
template <source S>
void refresh_source(S& s) {
  if constexpr (refreshed_source<S>) static_cast<void>(s.refresh());
}
/// Whether S knows the length of its samples.
template <class S>
concept says_length = requires(const S& s, std::uint64_t i) { static_cast<std::uint64_t>(s.length(i)); };

/// Asks the source to bring sample i closer, if it can: up to `most` bytes of each part.
template <source S>
void prefetch_sample(const S& from, std::uint64_t i, std::size_t most) noexcept {
  if constexpr (prefetching_source<S>) from.prefetch(i, most);
}

/// The source's note for the report; empty if it has none.
template <source S>
std::string note_of(const S& from) {
  if constexpr (requires { std::string(from.note()); })
    return std::string(from.note());
  else
    return {};
}

/// The number that identifies the data: the source's fingerprint, else a hash of its size alone.
template <source S>
std::uint64_t fingerprint_of(const S& from) {
  if constexpr (requires {
                  { from.fingerprint() } -> std::convertible_to<std::uint64_t>;
                }) {
    return from.fingerprint();
  } else {
    return fingerprint_hash().add(detail::samples_of(from)).value();
  }
}

}  // namespace wick::detail
