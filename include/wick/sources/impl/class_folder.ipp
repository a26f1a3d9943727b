// Implements sources/class_folder.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>

#include <wick/base/detail/owned.hpp>
#include <wick/ext/source.hpp>
#include <wick/sources/class_folder.hpp>
#include <wick/sources/detail/folder.hpp>
#include <wick/sources/detail/walk.hpp>

namespace wick::inline v0_1 {

/// The content of the folders when they were listed.
struct class_folder::table {
  struct entry {
    std::uint32_t target;
    std::uint32_t offset;  // of the path in its class's block
  };
  std::vector<std::string> classes;
  std::vector<detail::owned<char[]>> paths;  // a block for each class: path NUL path NUL …
  std::vector<entry> samples;
  std::size_t root_size = 0;
  std::shared_ptr<detail::object_store> store;    // of a folder in S3
  std::unique_ptr<ext::remote_object[]> objects;  // the objects of its files

  static std::vector<std::string> list_classes(const std::string& root, const class_folder_options& options,
                                               words in_messages);
  static error no_files(const std::string& folder, const class_folder_options& options, words in_messages);
  /// Adds one class. Returns whether there was a file.
  bool keep(const std::vector<detail::folder_files>& found, words in_messages);
};

std::vector<std::string> class_folder::table::list_classes(const std::string& root,
                                                           const class_folder_options& options,
                                                           words in_messages) {
  const std::string files = in_messages.files;
  std::vector<std::string> classes;
  std::uint64_t loose = 0;
  detail::list_folder(root, in_messages.source, [&](std::string_view name, detail::entry_kind kind) {
    if (detail::is_folder(kind)) classes.emplace_back(name);
    if (kind == detail::entry_kind::file && detail::has_extension(name, options.extensions)) ++loose;
  });
  if (classes.empty() && loose == 0) {
    throw detail::source_error(root, in_messages.source,
                               "has no class sub-folders and no " + files + "; check the path");
  }
  if (classes.empty()) {
    throw detail::source_error(root, in_messages.source,
                               "has no class sub-folders (" + std::to_string(loose) + " " + files +
                                   " lie directly in it); put them in one sub-folder per class, or use "
                                   "wick::files");
  }
  std::sort(classes.begin(), classes.end());
  return classes;
}

error class_folder::table::no_files(const std::string& folder, const class_folder_options& options,
                                    words in_messages) {
  std::string wanted;
  for (const std::string& e : options.extensions) wanted += " " + e;
  return detail::source_error(folder, in_messages.source,
                              std::string("has no ") + in_messages.files +
                                  (wanted.empty() ? wanted : " (wanted:" + detail::printable(wanted) + ")") +
                                  "; remove the folder, name other extensions, or set .allow_empty = true");
}

bool class_folder::table::keep(const std::vector<detail::folder_files>& found, words in_messages) {
  std::uint64_t bytes = 0, count = 0;
  for (const detail::folder_files& f : found) {
    count += f.names.size();
    for (const std::string& name : f.names) bytes += f.folder.size() + 1 + name.size() + 1;
  }
  if (bytes > std::numeric_limits<std::uint32_t>::max()) {
    throw error(std::string(in_messages.source) + ": the paths of one class take more than 4 GiB");
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

void lower_case_extensions(class_folder_options& options) {
  for (std::string& e : options.extensions) {
    for (char& c : e) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
}

/// A file in S3, described by its name.
struct listed_file {
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

class_folder::class_folder(const remote_list& folder, class_folder_options options)
    : class_folder(folder, std::move(options), words()) {}
class_folder::class_folder(const remote_list& folder, class_folder_options options, words in_messages) {
  keep(folder, std::move(options), in_messages);
}

void class_folder::keep(const remote_list& objects, class_folder_options options, words in_messages) {
  if (objects.folder.empty() || objects.names.empty())
    throw error(std::string(in_messages.source) +
                ": remote() names single objects; give it one folder: \"s3://bucket/train/\"");
  lower_case_extensions(options);
  std::string_view root = objects.folder;
  while (root.ends_with('/')) root.remove_suffix(1);
  auto data = std::make_shared<table>();
  data->root_size = root.size();
  std::vector<listed_file> found;
  std::vector<std::string_view> labels;
  for (const detail::remote_name& n : objects.names) {
    const std::size_t slash = n.url.rfind('/');
    const listed_file p{std::string_view(n.url).substr(0, slash), std::string_view(n.url).substr(slash + 1),
                        &n};
    if (p.folder.size() <= root.size() || p.hidden(root.size())) continue;
    labels.push_back(p.label(root.size()));
    if (detail::has_extension(p.name, options.extensions)) found.push_back(p);
  }
  if (found.empty()) throw table::no_files(std::string(root), options, in_messages);
  std::sort(labels.begin(), labels.end());
  labels.erase(std::unique(labels.begin(), labels.end()), labels.end());
  // In the order of walk_files().
  std::sort(found.begin(), found.end(), [&](const listed_file& a, const listed_file& b) {
    return std::tuple(a.label(root.size()), a.folder, a.name) <
           std::tuple(b.label(root.size()), b.folder, b.name);
  });
  data->objects = std::make_unique<ext::remote_object[]>(found.size());
  std::size_t end = 0;
  for (const std::string_view label : labels) {
    std::vector<detail::folder_files> of_class;
    for (; end < found.size() && found[end].label(root.size()) == label; ++end) {
      const listed_file& p = found[end];
      if (of_class.empty() || of_class.back().folder != p.folder)
        of_class.push_back({std::string(p.folder), {}});
      of_class.back().names.emplace_back(p.name);
      data->objects[end].store = objects.store.get();
      data->objects[end].size.store(p.object->size, std::memory_order_relaxed);
      data->objects[end].version.store(data->objects[end].indexed = p.object->version,
                                       std::memory_order_relaxed);
    }
    data->classes.emplace_back(label);
    if (!data->keep(of_class, in_messages) && !options.allow_empty)
      throw table::no_files(std::string(root) + "/" + std::string(label), options, in_messages);
  }
  data->samples.shrink_to_fit();
  data->store = objects.store;
  data_ = std::move(data);
}

class_folder::class_folder(const std::string& root, class_folder_options options)
    : class_folder(root, std::move(options), words()) {}
class_folder::class_folder(const std::string& root, class_folder_options options, words in_messages) {
  std::string folder = root;
  while (folder.size() > 1 && folder.back() == '/') folder.pop_back();
  if (detail::is_url(root)) {
    std::shared_ptr<detail::object_store> store = detail::store_of(root, in_messages.source);
    folder = store->pinned(folder + '/');
    std::vector<detail::remote_name> names = store->names(folder);
    keep({std::move(store), std::move(names), std::move(folder)}, std::move(options), in_messages);
    return;
  }
  lower_case_extensions(options);
  auto data = std::make_shared<table>();
  data->root_size = folder.size();
  data->classes = table::list_classes(folder, options, in_messages);
  for (const std::string& name : data->classes) {
    const std::string path = detail::join_path(folder, name);
    const std::vector<detail::folder_files> found =
        detail::walk_files(path, in_messages.source, options.extensions);
    if (!data->keep(found, in_messages) && !options.allow_empty)
      throw table::no_files(path, options, in_messages);
  }
  if (data->samples.empty()) throw table::no_files(folder, options, in_messages);
  data->samples.shrink_to_fit();
  data_ = std::move(data);
}

std::uint64_t class_folder::size() const noexcept { return data_->samples.size(); }
const std::vector<std::string>& class_folder::classes() const noexcept { return data_->classes; }

sample<ext::file_range, std::int64_t> class_folder::at(std::uint64_t i) const noexcept {
  const table::entry e = data_->samples[i];
  return {{.path = data_->paths[e.target].get() + e.offset,
           .remote = data_->objects == nullptr ? nullptr : &data_->objects[i]},
          static_cast<std::int64_t>(e.target)};
}

std::string class_folder::note() const {
  return data_->store == nullptr ? std::string() : data_->store->note();
}

std::uint64_t class_folder::fingerprint() const noexcept {
  ext::fingerprint_hash h;
  for (const std::string& c : classes()) h.add(c);
  for (std::uint64_t i = 0; i < size(); ++i) {
    h.add(std::string_view(at(i).data.path + data_->root_size));
    if (data_->objects == nullptr) continue;
    const ext::remote_object& object = data_->objects[i];
    h.add(object.size.load(std::memory_order_relaxed)).add(object.indexed);
  }
  return h.add(size()).value();
}

}  // namespace wick
