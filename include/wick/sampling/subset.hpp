// subset(predicate): the samples whose descriptions match, found once, before anything is read.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/ext/fingerprint.hpp>
#include <wick/ext/source.hpp>
#include <wick/ext/stage.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/sampling/order.hpp>

namespace wick::inline v0_1 {

namespace detail {

template <class P>
class matching_stage {
 public:
  static constexpr stage_traits traits{.name = "subset",
                                       .kind = stage_kind::order,
                                       .has_fingerprint = true,
                                       .has_check = true,
                                       .has_refresh = true,
                                       .fixed_samples = true};
  explicit matching_stage(P keep) : keep_(std::move(keep)) {}

  template <class, class... Before>
  static consteval bool check() {
    constexpr bool first = sizeof...(Before) == 0;
    static_assert(first,
                  "wick: subset(predicate) asks the source for its samples, and came after a stage that "
                  "orders them; write it directly after the source");
    return first;
  }
  /// Called by the loader that takes ownership of the stage.
  template <class Source>
  void refresh(const Source& from) {
    auto found = std::make_shared<std::vector<std::uint64_t>>();
    const std::uint64_t n = detail::samples_of(from);
    for (std::uint64_t i = 0; i < n; ++i) {
      if (keeps(from.at(i))) found->push_back(i);
    }
    indices_ = std::move(found);
    of_ = n;
  }
  /// \throws wick::error when no loader has applied the predicate
  std::uint64_t size(std::uint64_t n) const {
    if (indices_ == nullptr || n != of_) {
      throw error("subset: the predicate was asked of " + std::to_string(of_) + " samples, and there are " +
                  std::to_string(n) + "; a subset by a predicate is for a loader, in mix() give indices");
    }
    return indices_->size();
  }
  subset_stage::listed prepare(std::uint64_t, std::uint64_t, std::uint64_t, std::uint32_t) const noexcept {
    return {indices_};
  }
  std::uint64_t fingerprint() const noexcept {
    if (indices_ == nullptr) return 0;
    return fingerprint_hash().add(indices_->data(), indices_->size() * sizeof(std::uint64_t)).value();
  }

 private:
  template <class Item>
  bool keeps(const Item& item) {
    if constexpr (requires { static_cast<bool>(keep_(item)); }) {
      return static_cast<bool>(keep_(item));
    } else {
      constexpr bool takes_data = requires { static_cast<bool>(keep_(item.data)); };
      static_assert(
          takes_data,
          "wick: subset(predicate) asks with what the source gives ('Item'), or its data, as const&, "
          "and wants a bool; a list of indices is a std::vector<std::uint64_t>");
      if constexpr (takes_data)
        return static_cast<bool>(keep_(item.data));
      else
        return false;
    }
  }

  P keep_;
  std::shared_ptr<const std::vector<std::uint64_t>> indices_;
  std::uint64_t of_ = 0;
};

}  // namespace detail

/// Keeps the samples for which `keep` returns true. It gets the source's descriptions, and nothing is read:
/// `image_folder(path) | subset([](const auto& s) { return s.target != 3; }) | shuffle() | …`. Write it
/// directly after the source. The loader calls `keep` once for each sample, in order, when it is made and at
/// each refresh(). Order, batches, ranks, and resume are those of a source with only these samples. Takes 8
/// bytes a sample. To select by contents that read() or decode() gives, use filter().
template <class P>
  requires(!std::convertible_to<P, std::vector<std::uint64_t>>)
detail::matching_stage<std::decay_t<P>> subset(P&& keep) {
  return detail::matching_stage<std::decay_t<P>>(std::forward<P>(keep));
}

}  // namespace wick
