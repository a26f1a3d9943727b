// class_weights(source): weights for weighted() that draw each class equally often.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/ext/source.hpp>
#include <wick/pipeline/sample.hpp>

namespace wick::inline v0_1 {

namespace detail {

/// The target of a sample<>, or an item that is a whole number itself.
struct label_of_item {
  template <class Item>
  auto operator()(const Item& item) const {
    if constexpr (is_sample<Item>)
      return item.target;
    else
      return item;
  }
};

template <class LabelOf, class Item>
consteval bool gives_label() {
  if constexpr (std::is_same_v<LabelOf, label_of_item> && is_sample<Item>) {
    return std::is_integral_v<decltype(Item::target)> || std::is_enum_v<decltype(Item::target)>;
  } else if constexpr (std::is_same_v<LabelOf, label_of_item>) {
    return std::is_integral_v<Item> || std::is_enum_v<Item>;
  } else if constexpr (std::is_invocable_v<LabelOf&, const Item&>) {
    using label = std::remove_cvref_t<std::invoke_result_t<LabelOf&, const Item&>>;
    return std::is_integral_v<label> || std::is_enum_v<label>;
  } else {
    return false;
  }
}

[[noreturn]] void refuse_label(const std::string& key, std::int64_t label);
/// \param names  the names of the classes, or null
std::vector<double> weights_of_classes(const std::vector<std::int64_t>& labels,
                                       const std::vector<std::string>* names);

template <source Source, class LabelOf>
std::vector<double> weights_of_labels(const Source& from, LabelOf& label_of) {
  using item = item_of<Source>;
  constexpr bool has_labels = gives_label<LabelOf, item>();
  constexpr bool is_default = std::is_same_v<LabelOf, label_of_item>;
  static_assert(
      has_labels || !is_default,
      "wick: class_weights() needs the labels before anything is read, and the target of this source's "
      "items ('item') isn't a whole number; give it a function of an item: class_weights(source, "
      "[](const auto& item) { return item.target.label; })");
  static_assert(has_labels || is_default,
                "wick: class_weights() calls its function with the source's items ('item'), and wants the "
                "number of a class");
  std::vector<std::int64_t> labels;
  const std::vector<std::string>* names = nullptr;
  if constexpr (has_labels) {
    const std::uint64_t n = detail::samples_of(from);
    labels.reserve(n);
    for (std::uint64_t i = 0; i < n; ++i) {
      labels.push_back(static_cast<std::int64_t>(label_of(from.at(i))));
      if (labels.back() < 0) refuse_label(detail::key_of(from, i), labels.back());
    }
  }
  if constexpr (is_default && requires(const std::vector<std::string>*& to) { to = &from.classes(); })
    names = &from.classes();
  return weights_of_classes(labels, names);
}

}  // namespace detail

/// One weight for each sample, so that weighted() draws each class with the same probability. With n samples
/// in k classes, a sample of a class of n_c samples weighs n / (k n_c), so the weights of each class sum to
/// n / k. `image_folder photos("train"); photos | weighted(class_weights(photos)) | read() | …`. The labels
/// are the targets of the source's samples, or its items if they are whole numbers; nothing is read. The
/// classes are 0 to the highest label, or those of the source's classes(). In a pipeline, write weighted()
/// directly after the same source. \throws wick::error for a negative label, a class without samples, or a
/// source without samples
template <class Source, class LabelOf = detail::label_of_item>
std::vector<double> class_weights(const Source& from, LabelOf label_of = {}) {
  if constexpr (detail::check_source<Source>()) {
    return detail::weights_of_labels(from, label_of);
  } else {
    return {};
  }
}

}  // namespace wick
