// A sample's origin as a number, by which a cache on disk detects that a file has changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <wick/batch/detail/fields.hpp>
#include <wick/ext/file_range.hpp>
#include <wick/ext/fingerprint.hpp>
#include <wick/io/read.hpp>
#include <wick/pipeline/sample.hpp>
#include <wick/pipeline/shape.hpp>

namespace wick::inline v0_1::detail {

/// With `may_block` false, nothing that might wait for a file system is asked, and `complete` is false if
/// something was left out for that.
struct origin_hash : fingerprint_hash {
  explicit origin_hash(bool blocks) noexcept : may_block(blocks) {}
  const bool may_block;
  bool complete = true;
};

/// Adds a file's path, size and time, and the range of its bytes.
void add_origin(origin_hash& h, const file_range& where);

template <class T>
concept range_of_others = requires(const T& item) {
  *item.begin();
  item.end();
} && !std::is_same_v<std::remove_cvref_t<decltype(*std::declval<const T&>().begin())>, T>;
template <class T>
constexpr bool has_origin = false;

/// Adds the contents of a source's item: its files, numbers, texts and bytes.
template <class T>
void add_origin(origin_hash& h, const T& item) {
  if constexpr (requires { item.add_origin_to(h); }) {  // rows of files that aren't ranges of them
    if (h.may_block)
      item.add_origin_to(h);
    else
      h.complete = false;
  } else if constexpr (requires { read_shape<T>::usual; }) {  // read()'s input
    read_shape<T>::split(item, [&h](const file_range& part) { add_origin(h, part); });
  } else if constexpr (std::is_enum_v<T> || fixed_array<T>::value) {
    h.add(&item, sizeof item);
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    h.add(std::string_view(item));
  } else if constexpr (std::is_convertible_v<const T&, std::string>) {  // std::filesystem::path
    const std::string text = item;
    h.add(text);
  } else if constexpr (std::is_same_v<T, bytes>) {
    h.add(item.data(), item.size());
  } else if constexpr (batchable<T>) {  // a row in memory, an array
    bytes all(static_cast<std::size_t>(shape(field_access<T>::extents(item)).count()) *
              size_of(field_access<T>::type(item)));
    field_access<T>::write_to(item, slot{all.data(), false});
    h.add(all.data(), all.size());
  } else if constexpr (composite<T>) {
    detail::with_fields(item, [&h](const auto&... field) { (detail::add_origin(h, field), ...); });
  } else if constexpr (requires { item.has_value(), *item; }) {
    h.add(std::uint64_t{item.has_value()});
    if (item.has_value()) detail::add_origin(h, *item);
  } else if constexpr (range_of_others<T>) {
    std::uint64_t count = 0;
    for (const auto& one : item) detail::add_origin(h, one), ++count;
    h.add(count);
  } else if constexpr (!std::is_empty_v<T>) {
    static_assert(
        has_origin<T>,
        "wick: cache_on_disk() can't see what this item of the source is made of, and so not that it has "
        "changed; give its type `void add_origin_to(wick::ext::fingerprint_hash& h) const`, which adds "
        "what tells one content from another");
  }
}

/// May block.
template <class T>
std::uint64_t origin_of(const T& item) {
  origin_hash h(true);
  detail::add_origin(h, item);
  return h.value();
}
/// The same number, if it is known without waiting.
template <class T>
std::optional<std::uint64_t> origin_at_once(const T& item) {
  origin_hash h(false);
  detail::add_origin(h, item);
  return h.complete ? std::optional<std::uint64_t>(h.value()) : std::nullopt;
}

}  // namespace wick::detail
