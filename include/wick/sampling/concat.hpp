// concat(sources…): several sources as one, end to end.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <wick/ext/fingerprint.hpp>
#include <wick/ext/source.hpp>
#include <wick/pipeline/pipeline.hpp>

namespace wick::inline v0_1 {

namespace detail {

/// Sources of one item type, end to end: the samples of the first, then those of the second, …
template <source First, source... Rest>
class concat_source {
  static_assert((std::is_same_v<item_of<First>, item_of<Rest>> && ...),
                "wick: concat() and mix() put sources together that give the same type; convert the items of "
                "the others "
                "with a source of your own, whose at(i) gives that type");
  // at() returns a reference only if all sources return the same type of reference.
  using at_first = decltype(std::declval<const First&>().at(0));
  using result =
      std::conditional_t<(std::is_same_v<at_first, decltype(std::declval<const Rest&>().at(0))> && ...),
                         at_first, item_of<First>>;

 public:
  static constexpr std::size_t sources = 1 + sizeof...(Rest);

  explicit concat_source(First first, Rest... rest) : sources_(std::move(first), std::move(rest)...) {
    find_ends();
  }

  void refresh() {
    std::apply([](auto&... each) { (detail::refresh_source(each), ...); }, sources_);
    find_ends();
  }
  /// The number of samples that the sources have now. The beginning of each source is from the last
  /// refresh(), so a loader refuses the sources if the number has changed since.
  std::uint64_t size() const {
    return std::apply([](const auto&... each) { return (std::uint64_t{0} + ... + detail::samples_of(each)); },
                      sources_);
  }
  result at(std::uint64_t i) const {
    return visit(i, [](const auto& s, std::uint64_t j) -> result { return s.at(j); });
  }
  std::string key(std::uint64_t i) const {
    return visit(i, [](const auto& s, std::uint64_t j) { return detail::key_of(s, j); });
  }
  /// Only if all sources give the lengths of their samples.
  std::uint64_t length(std::uint64_t i) const
    requires(says_length<First> && (says_length<Rest> && ...))
  {
    return visit(i, [](const auto& s, std::uint64_t j) { return static_cast<std::uint64_t>(s.length(j)); });
  }
  void prefetch(std::uint64_t i, std::size_t most) const noexcept {
    visit(i, [most](const auto& s, std::uint64_t j) { detail::prefetch_sample(s, j, most); });
  }
  std::uint64_t fingerprint() const {
    fingerprint_hash h;
    std::apply([&](const auto&... s) { (h.add(detail::fingerprint_of(s)), ...); }, sources_);
    return h.value();
  }
  /// The I-th source, as passed in.
  template <std::size_t I>
  const auto& get() const noexcept {
    return std::get<I>(sources_);
  }

 private:
  void find_ends() {
    std::uint64_t end = 0;
    std::size_t s = 0;
    std::apply([&](const auto&... each) { ((ends_[s++] = end += detail::samples_of(each)), ...); }, sources_);
  }
  template <std::size_t I = 0, class F>
  decltype(auto) visit(std::uint64_t i, F&& f) const {
    if constexpr (I + 1 == sources) {
      return f(std::get<I>(sources_), i - begin(I));
    } else {
      if (i < ends_[I]) return f(std::get<I>(sources_), i - begin(I));
      return visit<I + 1>(i, std::forward<F>(f));
    }
  }
  std::uint64_t begin(std::size_t s) const noexcept { return s == 0 ? 0 : ends_[s - 1]; }

  std::tuple<First, Rest...> sources_;
  std::array<std::uint64_t, sources> ends_{};
};

}  // namespace detail

/// Several sources as one: the samples of the first, then those of the second, … The sources must give the
/// same type.
template <class... Sources>
  requires(sizeof...(Sources) > 0 && (ext::source<std::remove_cvref_t<Sources>> && ...))
auto concat(Sources&&... sources) {
  return detail::concat_source<std::remove_cvref_t<Sources>...>(std::forward<Sources>(sources)...);
}
/// For a type that is almost a source: the compiler reports the problem.
template <class... Sources>
  requires((detail::almost_source<std::remove_cvref_t<Sources>> || ...))
detail::misfit_source concat(Sources&&...) {
  static_cast<void>((detail::check_source<std::remove_cvref_t<Sources>>() && ...));
  return {};
}

}  // namespace wick
