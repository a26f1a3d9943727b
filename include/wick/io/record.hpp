/// \file
/// A sample of several named members, such as KEY.jpg + KEY.json of a tar shard, before and after they are
/// read.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wick/io/file_range.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/sample.hpp>

namespace wick::inline v0_1 {

namespace detail {

/// The members that a source was asked for: extensions in lower case without the dot. One field may name
/// alternatives, "jpg;jpeg;png", of which the first that a sample has is taken.
class record_fields {
 public:
  static constexpr std::size_t max_fields = 8;

  /// \throws wick::error for no or more than 8 fields, an empty one, or an extension named twice
  explicit record_fields(const std::vector<std::string>& wanted);

  std::size_t size() const noexcept { return alternatives_.size(); }
  /// "jpg;jpeg;png", as it was asked for.
  const std::string& name(std::size_t field) const noexcept { return names_[field]; }
  const std::vector<std::string>& alternatives(std::size_t field) const noexcept;
  std::size_t find(std::string_view extension) const noexcept { return find_alternative(extension).first; }

  /// The field and the place among its alternatives; {size(), 0} when no field has `extension`.
  std::pair<std::size_t, std::size_t> find_alternative(std::string_view extension) const noexcept;

 private:
  void add(std::string_view field);

  std::vector<std::string> names_;
  std::vector<std::vector<std::string>> alternatives_;
};

}  // namespace detail

/// The wanted members of one sample, in the order they were asked for. `T` is file_range before read(), bytes
/// after. `key` and the names of the fields lie in the source, which outlives every record.
template <class T>
class record {
 public:
  using value_type = T;

  record() = default;
  record(std::string_view of, const detail::record_fields& fields) noexcept : key(of), fields_(&fields) {}
  /// The same key and fields, and no members yet: push_back what became of them.
  template <class U>
  explicit record(const record<U>& like) noexcept : key(like.key), fields_(like.fields()) {}

  std::string_view key;  ///< the member's path without its extension

  std::size_t size() const noexcept { return size_; }
  T& operator[](std::size_t i) noexcept { return members_[i]; }
  const T& operator[](std::size_t i) const noexcept { return members_[i]; }
  /// The member with that extension, or the field that has it among its alternatives.
  /// \throws wick::error when no field has it
  T& at(std::string_view extension) { return members_[index(extension)]; }
  const T& at(std::string_view extension) const { return members_[index(extension)]; }

  T* begin() noexcept { return members_.data(); }
  T* end() noexcept { return members_.data() + size_; }
  const T* begin() const noexcept { return members_.data(); }
  const T* end() const noexcept { return members_.data() + size_; }

  /// At most 8.
  void push_back(T member) { members_.at(size_++) = std::move(member); }
  const detail::record_fields* fields() const noexcept { return fields_; }

 private:
  std::size_t index(std::string_view extension) const {
    const std::size_t i = fields_ != nullptr ? fields_->find(extension) : size_;
    if (i < size_) return i;
    std::string text =
        detail::printable(key) + ": no member \"" + detail::printable(extension) + "\" was asked for, only";
    for (std::size_t f = 0; fields_ != nullptr && f < fields_->size(); ++f)
      text += " \"" + fields_->name(f) + '"';
    throw error(text + "; name it in the list given to wick::tar");
  }

  const detail::record_fields* fields_ = nullptr;
  std::size_t size_ = 0;
  std::array<T, detail::record_fields::max_fields> members_{};
};

namespace detail {

template <>
struct once_read<record<file_range>> {
  using type = record<bytes>;
};

template <class T>
inline constexpr bool is_record = false;
template <class T>
inline constexpr bool is_record<record<T>> = true;

}  // namespace detail

}  // namespace wick
