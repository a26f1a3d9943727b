/// \file
/// A source of files, one sample each.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wick/read/detail/glob.hpp>
#include <wick/read/location.hpp>
#include <wick/sample/error.hpp>
#include <wick/sample/source.hpp>

namespace wick {

/// Each file is a sample: `at(i)` is its location. The paths are kept, not checked: a file that is missing or
/// unreadable is an error of its sample when it is read.
class files {
 public:
  /// These files, in this order. \throws wick::error for an empty list
  explicit files(const std::vector<std::filesystem::path>& paths) { keep(paths); }
  explicit files(std::initializer_list<std::filesystem::path> paths) { keep(paths); }

  /// All files that match "photos/*.jpg" (`*`, `?`, `[…]`, `**` for any depth of folders, `{a,b}`,
  /// `{00..12}`), in natural order (f2 before f10). Hidden files are left out. \throws wick::error when
  /// nothing matches, or a folder on the way can't be listed
  template <class Pattern>
    requires std::convertible_to<const Pattern&, std::string>
  explicit files(const Pattern& pattern) {
    const std::string text(pattern);
    const std::vector<std::string> found = detail::expand_pattern(text, "files");
    struct ::stat status {};
    if (found.size() == 1 && ::stat(found[0].c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
      throw detail::source_error(text, "files",
                                 "is a folder; write \"" + detail::join_path(detail::printable(text), "*") +
                                     "\", or use wick::image_folder");
    }
    keep(found);
  }

  std::uint64_t size() const noexcept { return data_->offsets.size(); }
  location at(std::uint64_t i) const noexcept { return {.path = path(i)}; }
  const char* path(std::uint64_t i) const noexcept { return data_->arena.data() + data_->offsets[i]; }
  std::string key(std::uint64_t i) const { return detail::printable(path(i)); }
  /// Of the paths below the folder that all share, so that the data may move.
  std::uint64_t fingerprint() const noexcept {
    fingerprint_hash h;
    for (std::uint64_t i = 0; i < size(); ++i) h.add(std::string_view(path(i)).substr(data_->shared_prefix));
    return h.add(size()).value();
  }

 private:
  struct table {
    std::string arena;  // path NUL path NUL …
    std::vector<std::uint64_t> offsets;
    std::size_t shared_prefix = 0;
  };

  template <class Paths>
  void keep(const Paths& paths) {
    if (std::size(paths) == 0) throw error("files: the list is empty; give it at least one path");
    auto data = std::make_shared<table>();
    std::size_t total = 0;
    for (const auto& p : paths) total += native(p).size() + 1;
    data->arena.reserve(total);
    data->offsets.reserve(std::size(paths));
    for (const auto& p : paths) {
      const std::string_view text = native(p);
      if (text.empty())
        throw error("files: path " + std::to_string(data->offsets.size()) + " of the list is empty");
      data->offsets.push_back(data->arena.size());
      data->arena.append(text).push_back('\0');
    }
    data->shared_prefix = shared_prefix(*data);
    data_ = std::move(data);
  }

  static std::string_view native(const std::filesystem::path& p) noexcept { return p.native(); }
  static std::string_view native(const std::string& p) noexcept { return p; }

  static std::size_t shared_prefix(const table& data) noexcept {
    const std::string_view first(data.arena.data());
    std::size_t shared = first.rfind('/') + 1;
    for (const std::uint64_t offset : data.offsets) {
      const std::string_view path(data.arena.data() + offset);
      while (shared > 0 && path.substr(0, shared) != first.substr(0, shared)) {
        shared = shared == 1 ? 0 : first.rfind('/', shared - 2) + 1;
      }
    }
    return shared;
  }

  std::shared_ptr<const table> data_;
};

namespace detail {}  // namespace detail

}  // namespace wick
