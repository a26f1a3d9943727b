/// \file
/// What makes a type a source: it knows every sample and reads none. Where each sample's journey begins.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>

#include <wick/ext/fingerprint.hpp>

namespace wick::inline v0_1 {

/// Random access to descriptions of samples: `size()`, and `at(i)` for i in [0, size()). All workers call
/// `at` at once and for every sample, so it must be const in fact, cheap, and without I/O; what it returns
/// may point into the source, which outlives it. May have besides: `std::string key(i) const`, the sample's
/// name in error messages; `void prefetch(i, std::size_t most) const noexcept`, a hint that `at(i)` comes
/// soon, which calls prefetch_bytes with `most`; `length(i) const`, how long the sample is where it comes to
/// bucket() or pack(); `std::string note() const`, a line for the report; `std::uint64_t fingerprint()
/// const`, which differs when the data does (a resume onto other data is refused).
///
/// A source must not change while a loader has it: the loader's workers read it from the first epoch() or
/// next() on until the loader is gone, also between two epochs, when they make the next one's first batches.
/// With loader_options::prefetch_next_epoch = false no worker reads it between the last batch of an epoch
/// that was taken to its end and the next epoch(). There its samples may be exchanged, moved in memory or
/// written again, and become more or fewer. Their number stays that with which the loader was made, or that
/// of its last refresh(), or epoch() throws. After the first refresh() no worker reads beyond an epoch's end
/// either: batches begun ahead would be dropped. The thread that takes the batches calls size(), at epoch()
/// and refresh() and when it makes room for the next epoch's first batch.
///
/// A source that keeps changing while workers read gives them a view of itself, with a member `refresh()`. It
/// is called on the loader's copy when the loader is made and by loader.refresh(); from then on size() and
/// at() show the state of that moment. What refresh() returns (a lock) is kept until the order stages have
/// taken theirs (weights); not by concat(), zip(), and mix(), which refresh one source after the other.
/// replay_buffer::samples() is one.
template <class S>
concept source = requires(const std::remove_cvref_t<S>& s, std::uint64_t i) {
  { s.size() } -> std::convertible_to<std::uint64_t>;
  s.at(i);
  requires !std::is_void_v<decltype(s.at(i))>;
};

namespace detail {

/// It has the members of a source, which something is wrong with.
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

/// What travels: `at(i)`'s type as a value.
template <source S>
using item_of =
    std::remove_cvref_t<decltype(std::declval<const std::remove_cvref_t<S>&>().at(std::uint64_t{}))>;

/// The sample's name in messages: what the source calls it, else "sample 1234".
template <source S>
std::string key_of(const S& from, std::uint64_t i) {
  if constexpr (requires { std::string(from.key(i)); }) {
    return std::string(from.key(i));
  } else {
    return "sample " + std::to_string(i);
  }
}

}  // namespace detail

/// Fetches into all levels of the cache what is soon read: the first `most` bytes of it. For a source's
/// prefetch().
inline void prefetch_bytes(const void* at, std::size_t bytes, std::size_t most) noexcept {
  const auto* p = static_cast<const char*>(at);
  const std::size_t near = bytes < most ? bytes : most;
  for (std::size_t offset = 0; offset < near; offset += 64) __builtin_prefetch(p + offset, 0, 3);
  if (near != 0) __builtin_prefetch(p + near - 1, 0, 3);  // it need not begin where a cache line does
  // g++ takes a function that does nothing but prefetch for one without effect, and leaves out calls of it.
  asm volatile("");
}

namespace detail {

template <class S>
concept prefetching_source =
    source<S> && requires(const S& s, std::uint64_t i, std::size_t most) { s.prefetch(i, most); };

/// It gives a view of data that keep changing.
template <class S>
concept refreshed_source = source<S> && requires(S& s) { s.refresh(); };

/// For a source of several. What is returned is dropped: two of them may be views of the same buffer, whose
/// lock can't be had twice.
template <source S>
void refresh_source(S& s) {
  if constexpr (refreshed_source<S>) static_cast<void>(s.refresh());
}
/// Whether it knows how long its samples are.
template <class S>
concept says_length = requires(const S& s, std::uint64_t i) { static_cast<std::uint64_t>(s.length(i)); };

/// Asks the source to bring sample i closer, if it can: up to `most` bytes of each part.
template <source S>
void prefetch_sample(const S& from, std::uint64_t i, std::size_t most) noexcept {
  if constexpr (prefetching_source<S>) from.prefetch(i, most);
}

/// What the source has to say for the report; empty: nothing.
template <source S>
std::string note_of(const S& from) {
  if constexpr (requires { std::string(from.note()); })
    return std::string(from.note());
  else
    return {};
}

/// What identifies the data: what the source says, else a hash of its size alone.
template <source S>
std::uint64_t fingerprint_of(const S& from) {
  if constexpr (requires {
                  { from.fingerprint() } -> std::convertible_to<std::uint64_t>;
                }) {
    return from.fingerprint();
  } else {
    return fingerprint_hash().add(static_cast<std::uint64_t>(from.size())).value();
  }
}

}  // namespace detail

}  // namespace wick
