// Implements io/detail/read_group.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <memory>
#include <sys/stat.h>
#include <sys/uio.h>

#include <wick/ext/file_stamp.hpp>
#include <wick/io/detail/cached_read.hpp>
#include <wick/io/detail/read_group.hpp>

namespace wick::inline v0_1::detail {

void read_group::clear(std::uint64_t most) noexcept {
  std::destroy_n(parts_.data(), used_);
  most_ = std::min(most, most_bytes);
  samples_ = used_ = 0;
  bytes_ = 0;
  last_ = nullptr;
}

void read_group::begin() noexcept {
  all_[samples_++] = {static_cast<std::uint8_t>(used_), 0, state::missing, 0};
}

void read_group::leave_out() noexcept {
  one& sample = all_[samples_ - 1];
  std::destroy_n(parts_.data() + sample.first, sample.count);
  used_ = sample.first;
  bytes_ -= sample.bytes;
  sample = {sample.first, 0, state::left_out, 0};
}

void read_group::leave_all_out() noexcept {
  for (one& sample : std::span(all_).first(samples_)) sample.is = state::left_out;
}

bool read_group::empty() const noexcept {
  return std::all_of(all_.begin(), all_.begin() + samples_,
                     [](const one& sample) { return sample.is == state::left_out; });
}

void read_group::add(const file_range& where, std::uint64_t max_bytes) noexcept {
  one& sample = all_[samples_ - 1];
  if (sample.is == state::left_out) return;
  std::uint64_t length = where.length;
  const bool suits = used_ < most_parts && where.file >= 0 && where.indexed != nullptr &&
                     where.remote == nullptr && length != file_range::whole &&
                     length <= std::min(most_ - bytes_, max_bytes) && sample.bytes <= max_bytes - length &&
                     (where.indexed == last_ || may_read_cached(*where.indexed));
  if (!suits) return leave_out();
  last_ = where.indexed;
  std::construct_at(parts_.data() + used_++, range_part{where, {}, length});
  ++sample.count;
  sample.bytes += length;
  bytes_ += length;
}

/// Reads parts that lie one after the other in a file, from `first` on. Returns their number.
std::size_t read_group::read_neighbors(std::size_t first) noexcept {
  const file_range& begin = parts_[first].where;
  std::array<::iovec, most_parts> to;
  std::size_t n = 0;
  for (std::uint64_t end = begin.offset; first + n < used_; ++n) {
    range_part& p = parts_[first + n];
    if (p.where.file != begin.file || p.where.offset != end) break;
    to[n] = {p.content.data(), p.content.size()};
    end += p.length;
  }
  std::uint64_t got = read_cached(begin.file, std::span(to).first(n), begin.offset, begin.indexed->device);
  for (std::size_t i = first; i < first + n; ++i) {
    missing_[i] = got < parts_[i].length;
    got -= std::min(got, parts_[i].length);
  }
  return n;
}

/// Looks at each file once.
void read_group::check_files() noexcept {
  std::array<const file_range*, most_parts> files;
  std::array<bool, most_parts> changed;
  std::size_t n = 0;
  for (std::size_t i = 0; i < used_; ++i) {
    const file_range& where = parts_[i].where;
    const auto same = [&](const file_range* of) {
      return of->file == where.file && of->indexed == where.indexed;
    };
    std::size_t at = n;
    while (at != 0 && !same(files[at - 1])) --at;
    if (at == 0) {
      struct ::stat about {};
      files[n] = &where;
      changed[n] =
          ::fstat(where.file, &about) != 0 || where.indexed->change(file_stamp::of(about)) != nullptr;
      at = ++n;
    }
    if (changed[at - 1]) missing_.set(i);
  }
}

void read_group::read() noexcept {
  missing_.reset();
  try {
    for (range_part& p : std::span(parts_).first(used_))
      p.content = wick::bytes(static_cast<std::size_t>(p.length));
  } catch (const std::bad_alloc&) {
    return leave_all_out();
  }
  for (std::size_t i = 0; i < used_;) i += read_neighbors(i);
  check_files();
  for (one& sample : std::span(all_).first(samples_)) {
    if (sample.is == state::left_out) continue;
    bool all = true;
    for (std::size_t i = 0; i < sample.count; ++i) all = all && !missing_[sample.first + i];
    if (all) sample.is = state::there;
  }
}

}  // namespace wick::detail
