/// \file
/// The bodies of what sources/image_folder.hpp declares. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wick/async/detail/owned.hpp>
#include <wick/io/file_range.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/sample.hpp>
#include <wick/pipeline/source.hpp>
#include <wick/sources/detail/folder.hpp>
#include <wick/sources/detail/walk.hpp>
#include <wick/sources/image_folder.hpp>

namespace wick {

/// What the folders held when they were listed.
struct image_folder::table {
  struct entry {
    std::uint32_t target;
    std::uint32_t offset;  // of the path in its class's block
  };
  std::vector<std::string> classes;
  std::vector<detail::owned<char[]>> paths;  // a block a class: path NUL path NUL …
  std::vector<entry> samples;
  std::size_t root_size = 0;

  static std::vector<std::string> list_classes(const std::string& root, const image_folder_options& options);
  static error no_pictures(const std::string& folder, const image_folder_options& options);
  /// Adds one class. Returns whether there was a picture.
  bool keep(const std::vector<detail::folder_files>& found);
};

std::vector<std::string> image_folder::table::list_classes(const std::string& root,
                                                           const image_folder_options& options) {
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

error image_folder::table::no_pictures(const std::string& folder, const image_folder_options& options) {
  std::string wanted;
  for (const std::string& e : options.extensions) wanted += " " + e;
  return detail::source_error(folder, "image_folder",
                              "has no pictures" +
                                  (wanted.empty() ? wanted : " (wanted:" + detail::printable(wanted) + ")") +
                                  "; remove the folder, name other extensions, or set .allow_empty = true");
}

bool image_folder::table::keep(const std::vector<detail::folder_files>& found) {
  std::uint64_t bytes = 0, count = 0;
  for (const detail::folder_files& f : found) {
    count += f.names.size();
    for (const std::string& name : f.names) bytes += f.folder.size() + 1 + name.size() + 1;
  }
  if (bytes > std::numeric_limits<std::uint32_t>::max()) {
    throw error("image_folder: the paths of one class take more than 4 GiB");
  }
  const auto target = static_cast<std::uint32_t>(paths.size());
  paths.emplace_back(bytes);
  char* const block = paths.back().get();
  char* to = block;
  const auto append = [&to](std::string_view text) {
    std::memcpy(to, text.data(), text.size());
    to += text.size();
  };
  for (const detail::folder_files& f : found) {
    for (const std::string& name : f.names) {
      samples.push_back({target, static_cast<std::uint32_t>(to - block)});
      append(f.folder);
      append("/");
      append(name);
      *to++ = '\0';
    }
  }
  return count != 0;
}

image_folder::image_folder(const std::string& root, image_folder_options options) {
  std::string folder = root;
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  for (std::string& e : options.extensions) {
    for (char& c : e) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  auto data = std::make_shared<table>();
  data->root_size = folder.size();
  data->classes = table::list_classes(folder, options);
  for (const std::string& name : data->classes) {
    const std::string path = detail::join_path(folder, name);
    const std::vector<detail::folder_files> found =
        detail::walk_files(path, "image_folder", options.extensions);
    if (!data->keep(found) && !options.allow_empty) throw table::no_pictures(path, options);
  }
  if (data->samples.empty()) throw table::no_pictures(folder, options);
  data->samples.shrink_to_fit();
  data_ = std::move(data);
}

std::uint64_t image_folder::size() const noexcept { return data_->samples.size(); }
const std::vector<std::string>& image_folder::classes() const noexcept { return data_->classes; }

sample<file_range, std::int64_t> image_folder::at(std::uint64_t i) const noexcept {
  const table::entry e = data_->samples[i];
  return {{.path = data_->paths[e.target].get() + e.offset}, static_cast<std::int64_t>(e.target)};
}

std::uint64_t image_folder::fingerprint() const noexcept {
  fingerprint_hash h;
  for (const std::string& c : classes()) h.add(c);
  for (std::uint64_t i = 0; i < size(); ++i) h.add(std::string_view(at(i).data.path + data_->root_size));
  return h.add(size()).value();
}

}  // namespace wick
