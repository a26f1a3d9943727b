/// \file
/// A source of pictures that lie in one sub-folder per class, as for torchvision's ImageFolder.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wick/read/detail/folder.hpp>
#include <wick/read/detail/walk.hpp>
#include <wick/read/location.hpp>
#include <wick/sample/error.hpp>
#include <wick/sample/sample.hpp>
#include <wick/sample/source.hpp>

namespace wick {

namespace detail {

struct image_folder_options {
  /// Which files are pictures, by the end of their names, in lower or upper case; all files when empty.
  std::vector<std::string> extensions = {".jpg", ".jpeg", ".png",  ".ppm", ".bmp",
                                         ".pgm", ".tif",  ".tiff", ".webp"};
  /// Let a class be without pictures.
  bool allow_empty = false;
};

}  // namespace detail

/// Pictures that lie as ROOT/CLASS/…/picture.jpg: the classes are the sub-folders of ROOT in the order of
/// their names, and a sample's target is the index of its class. Order, targets and extensions are those of
/// torchvision, except that hidden files and folders (._a.jpg, .ipynb_checkpoints) are left out. Links are
/// followed, and a folder with several names counts under each. Two links are not followed: one that leads
/// back to a folder above it, and one to a folder that was already listed, when a link led to where it lies.
/// Files directly in ROOT are no samples. The folders are listed once, here; 8 bytes and the path are kept
/// for each sample.
class image_folder {
 public:
  /// \throws wick::error when the folder is missing or can't be listed, has no class or no picture, or a
  /// class has none
  explicit image_folder(const std::filesystem::path& root, detail::image_folder_options options = {}) {
    std::string folder = root.native();
    while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
    for (std::string& e : options.extensions) {
      for (char& c : e) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    auto data = std::make_shared<table>();
    data->root_size = folder.size();
    data->classes = list_classes(folder, options);
    for (const std::string& name : data->classes) {
      const std::string path = detail::join_path(folder, name);
      const std::vector<detail::folder_files> found =
          detail::walk_files(path, "image_folder", options.extensions);
      if (!keep(*data, found) && !options.allow_empty) throw no_pictures(path, options);
    }
    if (data->samples.empty()) throw no_pictures(folder, options);
    data->samples.shrink_to_fit();
    data_ = std::move(data);
  }

  std::uint64_t size() const noexcept { return data_->samples.size(); }
  sample<location, std::int64_t> at(std::uint64_t i) const noexcept {
    const entry e = data_->samples[i];
    return {{.path = data_->paths[e.target].get() + e.offset}, static_cast<std::int64_t>(e.target)};
  }
  std::string key(std::uint64_t i) const { return detail::printable(at(i).data.path); }
  /// The names of the sub-folders; a target is an index into them.
  const std::vector<std::string>& classes() const noexcept { return data_->classes; }
  /// Of class names and of paths below the root, so that the data may move.
  std::uint64_t fingerprint() const noexcept {
    fingerprint_hash h;
    for (const std::string& c : classes()) h.add(c);
    for (std::uint64_t i = 0; i < size(); ++i) h.add(std::string_view(at(i).data.path + data_->root_size));
    return h.add(size()).value();
  }

 private:
  struct entry {
    std::uint32_t target;
    std::uint32_t offset;  // of the path in its class's block
  };
  struct table {
    std::vector<std::string> classes;
    std::vector<std::unique_ptr<char[]>> paths;  // a block a class: path NUL path NUL …
    std::vector<entry> samples;
    std::size_t root_size = 0;
  };

  static std::vector<std::string> list_classes(const std::string& root,
                                               const detail::image_folder_options& options) {
    std::vector<std::string> classes;
    std::uint64_t pictures = 0;
    detail::list_folder(root, "image_folder", [&](std::string_view name, detail::entry_kind kind) {
      if (detail::is_folder(kind)) classes.emplace_back(name);
      if (kind == detail::entry_kind::file && detail::has_extension(name, options.extensions)) ++pictures;
    });
    if (classes.empty() && pictures == 0) {
      throw detail::source_error(root, "image_folder",
                                 "has no class sub-folders and no pictures; check the path");
    }
    if (classes.empty()) {
      throw detail::source_error(
          root, "image_folder",
          "has no class sub-folders (" + std::to_string(pictures) +
              " pictures lie directly in it); put them in one sub-folder per class, or use "
              "wick::files");
    }
    std::sort(classes.begin(), classes.end());
    return classes;
  }

  static error no_pictures(const std::string& folder, const detail::image_folder_options& options) {
    std::string wanted;
    for (const std::string& e : options.extensions) wanted += " " + e;
    return detail::source_error(
        folder, "image_folder",
        "has no pictures" + (wanted.empty() ? wanted : " (wanted:" + detail::printable(wanted) + ")") +
            "; remove the folder, name other extensions, or set .allow_empty = true");
  }

  /// Adds one class. Returns whether there was a picture.
  static bool keep(table& data, const std::vector<detail::folder_files>& found) {
    std::uint64_t bytes = 0, count = 0;
    for (const detail::folder_files& f : found) {
      count += f.names.size();
      for (const std::string& name : f.names) bytes += f.folder.size() + 1 + name.size() + 1;
    }
    if (bytes > std::numeric_limits<std::uint32_t>::max()) {
      throw error("image_folder: the paths of one class take more than 4 GiB");
    }
    const auto target = static_cast<std::uint32_t>(data.paths.size());
    data.paths.push_back(std::make_unique_for_overwrite<char[]>(bytes));
    char* const block = data.paths.back().get();
    char* to = block;
    const auto append = [&to](std::string_view text) {
      std::memcpy(to, text.data(), text.size());
      to += text.size();
    };
    for (const detail::folder_files& f : found) {
      for (const std::string& name : f.names) {
        data.samples.push_back({target, static_cast<std::uint32_t>(to - block)});
        append(f.folder);
        append("/");
        append(name);
        *to++ = '\0';
      }
    }
    return count != 0;
  }

  std::shared_ptr<const table> data_;
};

namespace detail {}  // namespace detail

}  // namespace wick
