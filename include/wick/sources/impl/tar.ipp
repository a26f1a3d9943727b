// Implements sources/tar.hpp. Included in exactly one file of a program.
#pragma once

#include <cstddef>
#include <string_view>

#include <wick/io/detail/replace_file.hpp>
#include <wick/io/detail/source_file.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/sources/detail/glob.hpp>
#include <wick/sources/detail/kept_tar.hpp>
#include <wick/sources/detail/tar_scan.hpp>
#include <wick/sources/tar.hpp>

namespace wick::inline v0_1 {

shard_list::shard_list(std::initializer_list<std::string> patterns) { add_all(patterns); }

void shard_list::add_all(const std::vector<std::string>& patterns) {
  for (const std::string& p : patterns) add(p);
  if (paths.empty()) throw error("tar: the list of shards is empty; name at least one");
}

namespace {

/// Whether it is an index next to a shard, written by .keep_index or wick-index.
bool is_kept_index(const std::string& name) noexcept { return name.ends_with(".wickidx"); }

}  // namespace

shard_list::shard_list(const remote_list& objects) : store_(objects.store) {
  for (const detail::remote_name& n : objects.names) paths.push_back(n.url);
  std::erase_if(paths, is_kept_index);
}

void shard_list::add(const std::string& pattern) {
  if (detail::is_url(pattern)) {
    if (store_ == nullptr) store_ = detail::store_of(pattern, "tar");
    for (detail::remote_name& n : store_->names(pattern)) paths.push_back(std::move(n.url));
  } else {
    for (std::string& p : detail::expand_pattern(pattern, "tar")) paths.push_back(std::move(p));
  }
  std::erase_if(paths, is_kept_index);
}

}  // namespace wick

namespace wick::inline v0_1::detail {

tar_samples::tar_samples(shard_list shards, tar_options options)
    : index_(std::make_shared<const detail::tar_index>(
          std::move(shards.paths), std::move(shards.store_),
          record_fields({"jpg;jpeg;png;ppm;bmp;pgm;tif;tiff;webp;gif", "cls"}), true,
          options.missing_member == missing_member::leave_out, options.keep_index,
          options.key == tar_key::to_last_dot)) {}

sample<file_range, std::int64_t> tar_samples::at(std::uint64_t i) const noexcept {
  const detail::tar_index::member& m = *index_->at(i);
  return {{index_->path(i), index_->file(i), m.offset, m.length, index_->stamp(i), index_->object(i)},
          index_->target(i)};
}

std::string tar_samples::key(std::uint64_t i) const {
  return printable(index_->shard(i)) + ": " + printable(index_->key(i));
}

tar_records::tar_records(shard_list shards, const std::vector<std::string>& members, tar_options options)
    : index_(std::make_shared<const detail::tar_index>(
          std::move(shards.paths), std::move(shards.store_), record_fields(members), false,
          options.missing_member == missing_member::leave_out, options.keep_index,
          options.key == tar_key::to_last_dot)) {}

record<file_range> tar_records::at(std::uint64_t i) const {
  record<file_range> out = index_->fields().start<file_range>(index_->key(i));
  const detail::tar_index::member* m = index_->at(i);
  for (std::size_t f = 0; f < index_->members(); ++f) {
    out.push_back(
        {index_->path(i), index_->file(i), m[f].offset, m[f].length, index_->stamp(i), index_->object(i)});
  }
  return out;
}

std::string tar_records::key(std::uint64_t i) const {
  return printable(index_->shard(i)) + ": " + printable(index_->key(i));
}

}  // namespace wick::detail

namespace wick::inline v0_1 {

detail::tar_samples tar(shard_list shards, tar_options options) {
  return detail::tar_samples(std::move(shards), options);
}

std::uint64_t write_tar_index(const std::string& shard) {
  const detail::opened_file opened = detail::open_regular(shard, "tar");
  detail::tar_scan members(shard, opened.file.get(), opened.stamp.size);
  detail::kept_tar_writer out;
  std::uint64_t count = 0;
  for (detail::tar_entry entry; members.next(entry); ++count) out.add(entry, members);
  detail::require_unchanged(opened, shard, "tar");
  const std::string all = out.finish(opened.stamp);
  detail::replace_file(shard + ".wickidx", std::as_bytes(std::span(all)), "index");
  return count;
}

detail::tar_records tar(shard_list shards, std::initializer_list<std::string> members, tar_options options) {
  return detail::tar_records(std::move(shards), members, options);
}

}  // namespace wick
