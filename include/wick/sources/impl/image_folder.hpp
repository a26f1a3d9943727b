/// \file
/// The bodies of what sources/image_folder.hpp declares. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <wick/async/detail/owned.hpp>
#include <wick/io/detail/object_store.hpp>
#include <wick/io/file_range.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/sample.hpp>
#include <wick/pipeline/source.hpp>
#include <wick/sources/detail/folder.hpp>
#include <wick/sources/detail/walk.hpp>
#include <wick/sources/image_folder.hpp>

namespace wick::inline v0_1 {

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
  std::shared_ptr<detail::object_store> store;       // of a folder in S3, and
  std::unique_ptr<detail::remote_object[]> objects;  // its pictures

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

namespace {

void lower_case_extensions(image_folder_options& options) {
  for (std::string& e : options.extensions) {
    for (char& c : e) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
}

/// A picture in S3, by what its name says.
struct listed_picture {
  std::string_view folder, name;  // "s3://bucket/train/cat/young", "a.jpg"
  const detail::remote_name* object;

  bool hidden(std::size_t root_size) const noexcept {
    return name.starts_with('.') || folder.find("/.", root_size) != std::string_view::npos;
  }
  std::string_view label(std::size_t root_size) const noexcept {
    const std::string_view below = folder.substr(root_size + 1);
    return below.substr(0, below.find('/'));
  }
};

}  // namespace

image_folder::image_folder(const detail::remote_list& folder, image_folder_options options) {
  keep(folder, std::move(options));
}

void image_folder::keep(const detail::remote_list& objects, image_folder_options options) {
  if (objects.folder.empty() || objects.names.empty())
    throw error("image_folder: remote() names single objects; give it one folder: \"s3://bucket/train/\"");
  lower_case_extensions(options);
  std::string_view root = objects.folder;
  while (root.ends_with('/')) root.remove_suffix(1);
  auto data = std::make_shared<table>();
  data->root_size = root.size();
  std::vector<listed_picture> found;
  std::vector<std::string_view> labels;
  for (const detail::remote_name& n : objects.names) {
    const std::size_t slash = n.url.rfind('/');
    const listed_picture p{std::string_view(n.url).substr(0, slash),
                           std::string_view(n.url).substr(slash + 1), &n};
    if (p.folder.size() <= root.size() || p.hidden(root.size())) continue;
    labels.push_back(p.label(root.size()));
    if (detail::has_extension(p.name, options.extensions)) found.push_back(p);
  }
  if (found.empty()) throw table::no_pictures(std::string(root), options);
  std::sort(labels.begin(), labels.end());
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  // As walk_files() has them.
  std::sort(found.begin(), found.end(), [&](const listed_picture& a, const listed_picture& b) {
    return std::tuple(a.label(root.size()), a.folder, a.name) <
           std::tuple(b.label(root.size()), b.folder, b.name);
  });
  data->objects = std::make_unique<detail::remote_object[]>(found.size());
  std::size_t end = 0;
  for (const std::string_view label : labels) {
    std::vector<detail::folder_files> of_class;
    for (; end < found.size() && found[end].label(root.size()) == label; ++end) {
      const listed_picture& p = found[end];
      if (of_class.empty() || of_class.back().folder != p.folder)
        of_class.push_back({std::string(p.folder), {}});
      of_class.back().names.emplace_back(p.name);
      data->objects[end].store = objects.store.get();
      data->objects[end].size.store(p.object->size, std::memory_order_relaxed);
      data->objects[end].version.store(data->objects[end].indexed = p.object->version,
                                       std::memory_order_relaxed);
    }
    data->classes.emplace_back(label);
    if (!data->keep(of_class) && !options.allow_empty)
      throw table::no_pictures(std::string(root) + "/" + std::string(label), options);
  }
  data->samples.shrink_to_fit();
  data->store = objects.store;
  data_ = std::move(data);
}

image_folder::image_folder(const std::string& root, image_folder_options options) {
  std::string folder = root;
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  if (detail::is_url(root)) {
    folder += '/';
    std::shared_ptr<detail::object_store> store = detail::store_of(root, "image_folder");
    std::vector<detail::remote_name> names = store->names(folder);
    keep({std::move(store), std::move(names), std::move(folder)}, std::move(options));
    return;
  }
  lower_case_extensions(options);
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
  return {{.path = data_->paths[e.target].get() + e.offset,
           .remote = data_->objects == nullptr ? nullptr : &data_->objects[i]},
          static_cast<std::int64_t>(e.target)};
}

std::string image_folder::note() const {
  return data_->store == nullptr ? std::string() : data_->store->note();
}

std::uint64_t image_folder::fingerprint() const noexcept {
  fingerprint_hash h;
  for (const std::string& c : classes()) h.add(c);
  for (std::uint64_t i = 0; i < size(); ++i) {
    h.add(std::string_view(at(i).data.path + data_->root_size));
    if (data_->objects == nullptr) continue;
    const detail::remote_object& object = data_->objects[i];
    h.add(object.size.load(std::memory_order_relaxed)).add(object.indexed);
  }
  return h.add(size()).value();
}

}  // namespace wick
