// A source of files, one sample each.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <wick/base/detail/owned.hpp>
#include <wick/ext/file_range.hpp>
#include <wick/io/remote_list.hpp>

namespace wick::inline v0_1 {

/// Each file is a sample: `at(i)` is the range of all its bytes. The paths are kept, not checked: a missing
/// or unreadable file is an error of its sample when it is read. For files on servers, pass the result of
/// wick::remote(), or URLs if the program includes <wick/stores/remote.hpp>. The sources that take files
/// accept the same: records(), tokens(), lines(), and parquet.
class files {
 public:
  /// These files, in this order. \throws wick::error for an empty list
  explicit files(const std::vector<std::string>& paths);
  template <class Path>
    requires std::convertible_to<const Path&, std::string>
  explicit files(const std::vector<Path>& paths)
      : files(std::vector<std::string>(paths.begin(), paths.end())) {}
  explicit files(std::initializer_list<std::string> paths);
  /// The result of wick::remote().
  explicit files(const remote_list& objects);

  /// All files that match a pattern such as "photos/*.jpg" (`*`, `?`, `[…]`, `**` for any depth of folders,
  /// `{a,b}`, `{00..12}`), in natural order (f2 before f10). Hidden files are skipped. \throws wick::error
  /// when nothing matches, or when a folder on the way can't be listed
  template <class Pattern>
    requires std::convertible_to<const Pattern&, std::string>
  explicit files(const Pattern& pattern) {
    find(pattern);
  }

  std::uint64_t size() const noexcept { return data_->offsets.size(); }
  ext::file_range at(std::uint64_t i) const noexcept { return {.path = path(i), .remote = data_->object(i)}; }
  const char* path(std::uint64_t i) const noexcept { return data_->arena.data() + data_->offsets[i]; }
  std::string key(std::uint64_t i) const;
  /// The path below the files' common folder, without the query of a web server's URL, which may be a
  /// signature.
  std::string_view name(std::uint64_t i) const noexcept;
  /// A hash of the paths below the files' common folder, so the data may move, and of the sizes and ETags
  /// that S3 lists.
  std::uint64_t fingerprint() const noexcept;
  /// A line for the report: the requests to the server.
  std::string note() const { return data_->store == nullptr ? std::string() : data_->store->note(); }

 private:
  struct table {
    std::string arena;  // path NUL path NUL …
    std::vector<std::uint64_t> offsets;
    std::size_t shared_prefix = 0;
    std::shared_ptr<detail::object_store> store;  // of URLs
    detail::owned<ext::remote_object[]> objects;
    ext::remote_object* object(std::uint64_t i) const noexcept {
      return !objects || objects[i].store == nullptr ? nullptr : &objects[i];
    }
  };

  void keep(std::span<const std::string> paths, std::shared_ptr<detail::object_store> store = nullptr);
  void find(const std::string& pattern);
  static std::size_t shared_prefix(const table& data) noexcept;

  std::shared_ptr<const table> data_;
};

}  // namespace wick
