// A sample of several named members, such as KEY.jpg + KEY.json of a tar shard, before and after they are
// read.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/base/detail/owned.hpp>
#include <wick/ext/cache_bytes.hpp>
#include <wick/ext/file_range.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/sample.hpp>

namespace wick::inline v0_1 {

template <class T>
class record;

namespace detail {

/// The members requested from a source: extensions in lower case without the dot. One field may name
/// alternatives, "jpg;jpeg;png"; the first one that a sample has is taken.
class record_fields {
 public:
  static constexpr std::size_t max_fields = 8;

  /// \throws wick::error for no fields, more than 8, an empty one, or an extension named twice
  explicit record_fields(const std::vector<std::string>& wanted);

  std::size_t size() const noexcept { return alternatives_.size(); }
  /// The field as requested: "jpg;jpeg;png".
  const std::string& name(std::size_t field) const noexcept { return names_[field]; }
  const std::vector<std::string>& alternatives(std::size_t field) const noexcept;
  std::size_t find(std::string_view extension) const noexcept { return find_alternative(extension).first; }

  /// The field, and the place among its alternatives, of `extension`; {size(), 0} if no field has it.
  std::pair<std::size_t, std::size_t> find_alternative(std::string_view extension) const noexcept;

  /// A record with these fields, which must outlive it, and no members yet.
  template <class T>
  record<T> start(std::string_view key) const noexcept {
    return record<T>(key, *this);
  }

 private:
  void add(std::string_view field);

  std::vector<std::string> names_;
  std::vector<std::vector<std::string>> alternatives_;
};

/// The key and the fields of a record whose source may be gone.
struct record_names {
  std::string key;
  owned<const record_fields> fields;

  /// What record::save() wrote of them. \throws cache_reader::unavailable
  static std::shared_ptr<const record_names> load(cache_reader& in);
};

}  // namespace detail

/// The requested members of one sample, in the order of the request. `T` is file_range before read(), bytes
/// after it. The source owns the key and the names of the fields, and outlives every record. A record that a
/// cache on disk has read owns its own.
template <class T>
class record {
 public:
  using value_type = T;
  static constexpr std::string_view saved_as = "record";

  record() = default;
  /// A record with the same key and fields, and no members yet: push_back the converted ones.
  template <class U>
  explicit record(const record<U>& like) noexcept
      : key(like.key), fields_(like.fields_), names_(like.names_) {}

  std::string_view key;  ///< the member's path without its extension

  std::size_t size() const noexcept { return size_; }
  T& operator[](std::size_t i) noexcept { return members_[i]; }
  const T& operator[](std::size_t i) const noexcept { return members_[i]; }
  /// The member of the field that is `extension`, or that has it among its alternatives.
  /// \throws wick::error if no field has it
  T& at(std::string_view extension) { return members_[index(extension)]; }
  const T& at(std::string_view extension) const { return members_[index(extension)]; }

  T* begin() noexcept { return members_.data(); }
  T* end() noexcept { return members_.data() + size_; }
  const T* begin() const noexcept { return members_.data(); }
  const T* end() const noexcept { return members_.data() + size_; }

  /// A copy, for a cache in memory.
  record clone() const {
    record out(*this, without_members());
    for (std::size_t i = 0; i < size_; ++i) {
      if constexpr (std::is_same_v<T, bytes>)
        out.members_[i] = bytes(members_[i].data(), members_[i].size());
      else
        out.members_[i] = members_[i];
    }
    return out;
  }
  /// For a cache on disk: writes the key, the names of the fields, and the members.
  void save(ext::cache_writer& out) const
    requires std::is_same_v<T, bytes>
  {
    const auto text = [&out](std::string_view of) {
      out.number(std::uint64_t{of.size()});
      out.put(of.data(), of.size());
    };
    text(key);
    const std::size_t named = fields_ != nullptr ? fields_->size() : 0;
    out.number(std::uint64_t{named});
    for (std::size_t i = 0; i < named; ++i) text(fields_->name(i));
    out.number(std::uint64_t{size_});
    for (const T& member : *this) text({reinterpret_cast<const char*>(member.data()), member.size()});
  }
  static record load(ext::cache_reader& in)
    requires std::is_same_v<T, bytes>
  {
    record out;
    out.names_ = detail::record_names::load(in);
    out.key = out.names_->key;
    out.fields_ = out.names_->fields.get();
    out.size_ = in.count();
    if (out.size_ > out.members_.size()) throw ext::cache_reader::unavailable();
    for (std::size_t i = 0; i < out.size_; ++i) {
      out.members_[i] = bytes(in.count());
      in.take(out.members_[i].data(), out.members_[i].size());
    }
    return out;
  }

  /// Adds a member, up to 8 of them.
  void push_back(T member) { members_.at(size_++) = std::move(member); }
  const detail::record_fields* fields() const noexcept { return fields_; }

 private:
  template <class>
  friend class record;
  friend class detail::record_fields;
  struct without_members {};
  record(std::string_view of, const detail::record_fields& fields) noexcept : key(of), fields_(&fields) {}
  record(const record& like, without_members)
      : key(like.key), fields_(like.fields_), size_(like.size_), names_(like.names_) {}

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
  std::shared_ptr<const detail::record_names> names_;  // owned by a record that a cache has read
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
