// zip(sources…): several sources side by side, such as images and their masks. A sample has an item of
// each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/ext/fingerprint.hpp>
#include <wick/ext/source.hpp>
#include <wick/pipeline/pipeline.hpp>
#include <wick/pipeline/sample.hpp>

namespace wick::inline v0_1 {

/// How zip() pairs the samples of its sources.
enum class pair_by : std::uint8_t {
  /// By name: the path below the common folder of a source's paths, without its extension. A source that
  /// doesn't give locations of bytes (`in_memory`) is paired by position.
  stem,
  position,  ///< The first with the first, the second with the second, …
};

namespace detail {

/// Whether an item is a location of bytes: the keys of such a source are paths. The keys of items that read
/// themselves aren't.
template <class T>
inline constexpr bool lies_somewhere =
    !std::is_void_v<typename once_read<T>::type> && !requires { typename T::read_type; };
template <class D, class T>
inline constexpr bool lies_somewhere<sample<D, T>> = lies_somewhere<D> || lies_somewhere<T>;
template <class... T>
inline constexpr bool lies_somewhere<std::tuple<T...>> = (lies_somewhere<T> || ...);

template <class S>
concept names_samples = requires(const S& s, std::uint64_t i) { std::string(s.key(i)); };

/// The keys of a source, and the names by which its samples are paired.
struct zip_names {
  std::size_t source = 0;          ///< counted from 0
  std::vector<std::string> keys;   ///< as messages show them
  std::vector<std::string> names;  ///< as they are compared

  /// Sets the names by pair_by::stem.
  void take_stems();
};

/// The index in `other` of each sample of `first`; empty if each sample has the same index in both. \throws
/// wick::error with the keys of samples without a partner, or when two samples of a source have the same name
std::vector<std::uint64_t> pair_names(const zip_names& first, const zip_names& other);

/// \throws wick::error
void refuse_counts(std::size_t source, std::uint64_t count, std::uint64_t wanted);
/// \throws wick::error
void refuse_new_names(std::uint64_t before, std::uint64_t now);

template <class... Items>
struct zipped {
  using type = std::tuple<Items...>;
};
template <class A, class B>
struct zipped<A, B> {
  using type = sample<A, B>;
};

/// A placeholder for the function that makes a name from a key.
struct by_stem {};

template <source... Sources>
class zip_source {
 public:
  /// An item of each source.
  using item = typename zipped<item_of<Sources>...>::type;
  static constexpr std::size_t sources = sizeof...(Sources);

  explicit zip_source(Sources... each) : sources_(std::move(each)...) { count(); }
  /// Pairs samples of the same name, which `name` makes from a key.
  template <class Name>
  zip_source(Name&& name, Sources... each) : sources_(std::move(each)...) {
    zip_names first;
    each_source([&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
      const auto& s = get<I>();
      using type = std::remove_cvref_t<decltype(s)>;
      constexpr bool stems = std::is_same_v<std::remove_cvref_t<Name>, by_stem>;
      if constexpr (names_samples<type> && (!stems || lies_somewhere<item_of<type>>)) {
        zip_names here;
        here.source = I;
        for (std::uint64_t i = 0; i < s.size(); ++i) {
          here.keys.push_back(s.key(i));
          if constexpr (!stems) here.names.emplace_back(name(std::string_view(here.keys.back())));
        }
        if constexpr (stems) here.take_stems();
        if (!std::exchange(by_names_, true)) {
          first = std::move(here);
        } else if (std::vector<std::uint64_t> found = pair_names(first, here); !found.empty()) {
          places_[I] = std::make_shared<const std::vector<std::uint64_t>>(std::move(found));
        }
      }
    });
    count();  // after the names, whose errors say more
  }

  /// \throws wick::error when the sources now have different numbers of samples, or another number than when
  /// they were paired by name
  void refresh() {
    const std::uint64_t before = size_;
    std::apply([](auto&... each) { (detail::refresh_source(each), ...); }, sources_);
    if (by_names_ && size() != before) refuse_new_names(before, size());
    count();
  }
  /// The number of samples that each source had. If a source has another number now, that number, which a
  /// loader refuses.
  std::uint64_t size() const {
    std::uint64_t n = size_;
    each_source([&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
      if (n == size_) n = detail::samples_of(get<I>());
    });
    return n;
  }
  item at(std::uint64_t i) const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return item{std::get<I>(sources_).at(place<I>(i))...};
    }(std::index_sequence_for<Sources...>{});
  }
  /// The keys of all sources that name their samples.
  std::string key(std::uint64_t i) const {
    std::string text;
    each_source([&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
      if constexpr (names_samples<std::remove_cvref_t<decltype(get<I>())>>)
        text += (text.empty() ? "" : " + ") + std::string(get<I>().key(place<I>(i)));
    });
    return text.empty() ? "sample " + std::to_string(i) : text;
  }
  void prefetch(std::uint64_t i, std::size_t most) const noexcept {
    each_source([&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
      detail::prefetch_sample(get<I>(), place<I>(i), most);
    });
  }
  std::uint64_t fingerprint() const {
    fingerprint_hash h;
    each_source([&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
      h.add(detail::fingerprint_of(get<I>()));
      if (places_[I] != nullptr) h.add(places_[I]->data(), places_[I]->size() * sizeof(std::uint64_t));
    });
    return h.value();
  }
  /// The I-th source, as passed in.
  template <std::size_t I>
  const auto& get() const noexcept {
    return std::get<I>(sources_);
  }

 private:
  void count() {
    const std::uint64_t n = detail::samples_of(get<0>());
    each_source([&]<std::size_t I>(std::integral_constant<std::size_t, I>) {
      if (const std::uint64_t other = detail::samples_of(get<I>()); other != n) refuse_counts(I, other, n);
    });
    size_ = n;
  }
  template <std::size_t I>
  std::uint64_t place(std::uint64_t i) const noexcept {
    return places_[I] == nullptr ? i : (*places_[I])[i];
  }
  template <class F>
  static void each_source(F&& f) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (f(std::integral_constant<std::size_t, I>{}), ...);
    }(std::index_sequence_for<Sources...>{});
  }

  std::tuple<Sources...> sources_;
  std::uint64_t size_ = 0;
  bool by_names_ = false;  // paired when this was made
  std::array<std::shared_ptr<const std::vector<std::uint64_t>>, sources> places_;
};

template <class Name, class... Sources>
auto zip_of(Name&& name, Sources&&... sources) {
  constexpr bool are_sources =
      ((source<std::remove_cvref_t<Sources>> || almost_source<std::remove_cvref_t<Sources>>)&&...);
  static_assert(are_sources,
                "wick: zip() takes sources, and something else was found (see 'Sources'); order stages, "
                "read() and all else come after it: zip(a, b) | shuffle() | read()");
  constexpr bool are_several = sizeof...(Sources) > 1;
  static_assert(are_several,
                "wick: zip() joins two sources or more, and one was found; write the source alone");
  if constexpr (!are_sources || !are_several)
    return misfit_source{};
  else if constexpr (!(check_source<std::remove_cvref_t<Sources>>() && ...))
    return misfit_source{};
  else if constexpr (std::is_same_v<std::remove_cvref_t<Name>, pair_by>)
    return zip_source<std::remove_cvref_t<Sources>...>(std::forward<Sources>(sources)...);
  else
    return zip_source<std::remove_cvref_t<Sources>...>(std::forward<Name>(name),
                                                       std::forward<Sources>(sources)...);
}

template <class F>
concept makes_names = std::is_invocable_r_v<std::string, F&, std::string_view>;

}  // namespace detail

/// Several sources side by side: `zip(files("img/*.jpg"), files("mask/*.png"))`. A sample is a `sample<A, B>`
/// of two sources, or a `std::tuple` of more. Files are paired by pair_by::stem, in any order; items in
/// memory are paired by position. \throws wick::error with the key of a sample without a partner, or when the
/// sources have different numbers of samples
template <class... Sources>
auto zip(Sources&&... sources) {
  return detail::zip_of(detail::by_stem{}, std::forward<Sources>(sources)...);
}
/// The same, but pairs samples by position, regardless of their names: `zip(pair_by::position, a, b)`.
template <class... Sources>
auto zip(pair_by by, Sources&&... sources) {
  return by == pair_by::position ? detail::zip_of(by, sources...)
                                 : detail::zip_of(detail::by_stem{}, sources...);
}
/// The same for names that differ by more than folder and extension: `name` makes the compared name from each
/// key, `zip([](std::string_view key) { return std::string(…); }, a, b)`. Sources without keys are paired by
/// position.
template <class Name, class... Sources>
  requires detail::makes_names<Name>
auto zip(Name&& name, Sources&&... sources) {
  return detail::zip_of(std::forward<Name>(name), std::forward<Sources>(sources)...);
}

}  // namespace wick
