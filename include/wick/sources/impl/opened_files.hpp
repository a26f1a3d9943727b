/// \file
/// The bodies of what sources/detail/opened_files.hpp declares. Included in exactly one file of a program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <fcntl.h>
#include <string>
#include <utility>
#include <vector>

#include <wick/async/detail/interruption.hpp>
#include <wick/io/detail/kept_file.hpp>
#include <wick/io/detail/object_store.hpp>
#include <wick/io/detail/source_file.hpp>
#include <wick/io/file_range.hpp>
#include <wick/io/read.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/sample.hpp>
#include <wick/sources/detail/opened_files.hpp>

namespace wick::inline v0_1::detail {

opened_files::opened_files(const files& of, const char* who) : paths_(of), who_(who), open_(size()) {
  stamps_.reserve(size());
  std::vector<remote_read> unknown;
  std::vector<std::size_t> numbers;
  std::vector<std::byte> firsts(size());  // what counts is the answers' heads
  for (std::size_t f = 0; f < size(); ++f) {
    const file_range where = paths_.at(f);
    if (where.remote == nullptr) continue;
    on_servers_ = true;
    if (where.remote->size.load(std::memory_order_acquire) != remote_object::unknown) continue;
    remote_read& read = unknown.emplace_back();
    read.url = where.path;
    read.object = where.remote;
    read.pieces[0] = {0, 1, &firsts[f]};
    read.count = 1;
    read.may_end_early = true;
    numbers.push_back(f);
  }
  if (unknown.empty()) return;
  remote_wait all(unknown.size());
  for (remote_read& r : unknown) all.add(r, [](remote_read& read) { read.object->store->begin(read); });
  const remote_read* const failed = all.wait();
  if (failed == nullptr) return;
  try {
    std::rethrow_exception(failed->failed);
  } catch (const error& e) {
    throw fault(numbers[static_cast<std::size_t>(failed - unknown.data())], e.what());
  }
}

std::size_t read_up_to(const file_range& of, std::byte* to, std::size_t size, std::uint64_t offset) {
  if (of.remote != nullptr) return read_remote_up_to(of.path, *of.remote, to, size, offset);
  return on_kept_file(of, [&] { return read_up_to(of.file, to, size, offset); });
}

std::size_t opened_files::look::read(std::byte* to, std::size_t size, std::uint64_t offset) const {
  check_interruption();
  return read_up_to(where_, to, size, offset);
}

void opened_files::look::read_ahead(bool all) const noexcept {
#ifdef POSIX_FADV_SEQUENTIAL
  if (!remote())
    static_cast<void>(
        ::posix_fadvise(file_.file.get(), 0, 0, all ? POSIX_FADV_SEQUENTIAL : POSIX_FADV_NORMAL));
#else
  static_cast<void>(all);
#endif
}

opened_files::look opened_files::open(std::size_t file) const {
  look out;
  out.where_ = paths_.at(file);
  if (out.remote()) {
    // The version in the place of the time of change. Without one there is none that tells two states apart.
    const std::uint64_t version = out.where_.remote->version.load(std::memory_order_acquire);
    out.stamp_.size = out.where_.remote->size.load(std::memory_order_acquire);
    out.stamp_.seconds = static_cast<std::int64_t>(version == 0 ? std::uint64_t{1} << 62 : version >> 40);
    out.stamp_.nanoseconds = static_cast<std::int64_t>(version & ((std::uint64_t{1} << 40) - 1));
  } else {
    out.file_ = open_regular(out.where_.path, who_);
    out.stamp_ = out.file_.stamp;
    out.where_.file = out.file_.file.get();
  }
  return out;
}

void opened_files::keep(look&& looked) {
  if (!looked.remote()) require_unchanged(looked.file_, looked.where_.path, who_);
  stamps_.push_back(looked.stamp_);
  open_.keep(std::move(looked.file_.file));
}

file_range opened_files::range(std::size_t file, std::uint64_t offset, std::uint64_t length) const noexcept {
  file_range out = paths_.at(file);
  out.offset = offset;
  out.length = length;
  out.indexed = &stamps_[file];
  if (out.remote == nullptr) out.file = open_[file];
  return out;
}

error opened_files::fault(std::size_t file, const std::string& what) const {
  return error(paths_.key(file) + ": " + who_ + ": " + what);
}

std::vector<bytes> opened_files::read(const std::vector<file_range>& ranges) const {
  std::vector<bytes> out(ranges.size());
  std::vector<remote_part> remote;
  std::uint64_t sum = 0;
  file_range_reader reader;
  for (std::size_t i = 0; i < ranges.size(); ++i) {
    if (ranges[i].remote != nullptr) {
      remote.push_back({ranges[i], {}});
      sum += ranges[i].length;
      continue;
    }
    try {
      out[i] = reader.read(ranges[i], ranges[i].length);
    } catch (const error& e) {
      throw source_error(ranges[i].path, who_, e.what());
    }
  }
  if (remote.empty()) return out;
  try {
    read_remote_now(remote, sum);
  } catch (const error& e) {
    const bool one = remote.front().where.remote == remote.back().where.remote;
    throw source_error(shown_url(remote.front().where.path) + (one ? "" : " and those behind it"), who_,
                       e.what());
  }
  for (std::size_t i = 0, r = 0; i < ranges.size(); ++i) {
    if (ranges[i].remote != nullptr) out[i] = std::move(remote[r++].content);
  }
  return out;
}

}  // namespace wick::detail
