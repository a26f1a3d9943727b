// Implements sources/files.hpp. Included in exactly one file of a program.
#pragma once

#include <atomic>
#include <sys/stat.h>
#include <utility>

#include <wick/ext/source.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/sources/detail/folder.hpp>
#include <wick/sources/detail/glob.hpp>
#include <wick/sources/files.hpp>

namespace wick::inline v0_1 {

void files::keep(std::span<const std::string> paths, std::shared_ptr<detail::object_store> store) {
  if (paths.empty()) throw error("files: the list is empty; give it at least one path");
  auto data = std::make_shared<table>();
  const bool listed = store != nullptr;  // by the store itself
  std::size_t total = 0;
  for (const std::string& path : paths) total += path.size() + 1;
  data->arena.reserve(total);
  data->offsets.reserve(paths.size());
  for (const std::string& path : paths) {
    if (path.empty())
      throw error("files: path " + std::to_string(data->offsets.size()) + " of the list is empty");
    data->offsets.push_back(data->arena.size());
    if (!listed && detail::is_url(path)) {
      detail::require_encoded(path, "files");
      if (store == nullptr) store = detail::store_of(path, "files");
      data->arena.append(store->pinned(path)).push_back('\0');
    } else {
      data->arena.append(path).push_back('\0');
    }
  }
  data->shared_prefix = shared_prefix(*data);
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (!detail::is_url(paths[i])) continue;
    if (!data->objects) data->objects = detail::owned<ext::remote_object[]>(paths.size());
    data->objects[i].store = store.get();
  }
  data->store = std::move(store);
  data_ = std::move(data);
}

files::files(const std::vector<std::string>& paths) { keep(paths); }
files::files(std::initializer_list<std::string> paths) { keep(paths); }
files::files(const remote_list& objects) {
  std::vector<std::string> urls;
  urls.reserve(objects.names.size());
  for (const detail::remote_name& n : objects.names) urls.push_back(n.url);
  keep(urls, objects.store);
  for (std::size_t i = 0; i < urls.size(); ++i) {
    ext::remote_object& object = data_->objects[i];
    object.size.store(objects.names[i].size, std::memory_order_relaxed);
    object.version.store(object.indexed = objects.names[i].version, std::memory_order_relaxed);
  }
}

void files::find(const std::string& pattern) {
  if (detail::is_url(pattern)) {
    std::shared_ptr<detail::object_store> store = detail::store_of(pattern, "files");
    *this = files(remote_list{store, store->names(pattern)});
    return;
  }
  const std::vector<std::string> found = detail::expand_pattern(pattern, "files");
  struct ::stat status {};
  if (found.size() == 1 && ::stat(found[0].c_str(), &status) == 0 && S_ISDIR(status.st_mode)) {
    throw detail::source_error(pattern, "files",
                               "is a folder; write \"" + detail::join_path(detail::printable(pattern), "*") +
                                   "\", or use wick::image_folder");
  }
  keep(found);
}

std::string files::key(std::uint64_t i) const {
  return detail::printable(data_->object(i) == nullptr ? std::string(path(i)) : detail::shown_url(path(i)));
}

std::string_view files::name(std::uint64_t i) const noexcept {
  return detail::without_query(path(i)).substr(data_->shared_prefix);
}

std::uint64_t files::fingerprint() const noexcept {
  ext::fingerprint_hash h;
  for (std::uint64_t i = 0; i < size(); ++i) {
    const ext::remote_object* const object = data_->object(i);
    h.add(name(i));
    if (object == nullptr) continue;
    detail::add_query(h, path(i));
    if (object->indexed != 0) h.add(object->size.load(std::memory_order_relaxed)).add(object->indexed);
  }
  return h.add(size()).value();
}

std::size_t files::shared_prefix(const table& data) noexcept {
  const std::string_view first = detail::without_query(data.arena.data());
  std::size_t shared = first.rfind('/') + 1;
  for (const std::uint64_t offset : data.offsets) {
    const std::string_view path = detail::without_query(data.arena.data() + offset);
    while (shared > 0 && path.substr(0, shared) != first.substr(0, shared)) {
      shared = shared == 1 ? 0 : first.rfind('/', shared - 2) + 1;
    }
  }
  return shared;
}

}  // namespace wick
