// Implements sources/detail/opened_files.hpp. Included in exactly one file of a program.
#pragma once

#include <array>
#include <exception>
#include <fcntl.h>
#include <utility>

#include <wick/async/detail/interruption.hpp>
#include <wick/io/detail/file_io.hpp>
#include <wick/io/detail/kept_file.hpp>
#include <wick/io/detail/remote_wait.hpp>
#include <wick/io/read.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/sources/detail/opened_files.hpp>

namespace wick::inline v0_1::detail {

opened_files::opened_files(const files& of, const char* who) : paths_(of), who_(who), open_(size()) {
  stamps_.reserve(size());
  std::vector<remote_read> unknown;
  std::vector<std::size_t> numbers;
  std::vector<std::byte> firsts;  // the response headers give the sizes, and these bytes the kinds
  for (std::size_t f = 0; f < size(); ++f) {
    const file_range where = paths_.at(f);
    if (where.remote == nullptr) continue;
    on_servers_ = true;
    if (where.remote->size.load(std::memory_order_acquire) != remote_object::unknown) continue;
    remote_read& read = unknown.emplace_back();
    read.url = where.path;
    read.object = where.remote;
    read.count = 1;
    read.may_end_early = true;
    numbers.push_back(f);
  }
  if (unknown.empty()) return;
  constexpr std::size_t start = file_kind::looked_at;
  firsts.resize(unknown.size() * start);
  for (std::size_t i = 0; i < unknown.size(); ++i) unknown[i].pieces[0] = {0, start, &firsts[i * start]};
  remote_wait all(unknown.size());
  for (remote_read& r : unknown) all.add(r, [](remote_read& read) { read.object->store->begin(read); });
  const remote_read* const failed = all.wait();
  if (failed == nullptr) {
    remote_kinds_.resize(size());
    for (std::size_t i = 0; i < unknown.size(); ++i) {
      const std::string_view text(reinterpret_cast<const char*>(&firsts[i * start]), unknown[i].got);
      remote_kinds_[numbers[i]] = kind_of_file(text, certainty::sure);
    }
    return;
  }
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

file_kind opened_files::look::kind(certainty how) const {
  std::array<std::byte, file_kind::looked_at> start{};
  const std::size_t n = read(start.data(), start.size(), 0);
  return kind_of_file({reinterpret_cast<const char*>(start.data()), n}, how);
}

void opened_files::require_plain(std::size_t file, const look& in, std::uint64_t header,
                                 std::string_view option) const {
  file_kind found;
  if (!in.remote() || (file == 0 && remote_kinds_.empty()))  // each other file on a server costs a request
    found = in.kind(certainty::sure);
  else if (!remote_kinds_.empty())
    found = remote_kinds_[file];
  if (!found || (found.is == file_kind::family::other && header != 0)) return;
  std::string text = found.text();
  if (found.header != 0) {
    text += ", or leave out its header: set " + std::string(option) + " = " + std::to_string(found.header);
  }
  throw fault(file, text + ". If these bytes are the data, set .raw = true");
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
    // The version takes the place of the modification time. Without one, no value can tell two states apart.
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
  std::vector<range_part> remote;
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
    throw source_error(shown_url(remote.front().where.path) + (one ? "" : " and those after it"), who_,
                       e.what());
  }
  for (std::size_t i = 0, r = 0; i < ranges.size(); ++i) {
    if (ranges[i].remote != nullptr) out[i] = std::move(remote[r++].content);
  }
  return out;
}

}  // namespace wick::detail
