// Implements io/read.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <string>
#include <thread>

#include <wick/ext/file_stamp.hpp>
#include <wick/io/detail/cached_read.hpp>
#include <wick/io/detail/file_io.hpp>
#include <wick/io/detail/kept_file.hpp>
#include <wick/io/read.hpp>

namespace wick::inline v0_1::detail {

void add_part(std::vector<range_part>& all, std::span<range_part> in_place, const file_range& where) {
  if (all.empty())
    all.assign(std::make_move_iterator(in_place.begin()), std::make_move_iterator(in_place.end()));
  all.push_back({where});
}

std::uint64_t length_of(const file_range& where) {
  if (where.length != file_range::whole) return where.length;
  const std::uint64_t size = on_kept_file(
      where, [&] { return where.file >= 0 ? size_of_file(where.file) : size_of_file(where.path); });
  if (where.offset > size) {
    throw error(
        "has " + std::to_string(size) + " bytes, and byte " + std::to_string(where.offset) +
        " is where the sample is said to begin; the file became shorter, or the source is wrong about it");
  }
  return size - where.offset;
}

bytes file_range_reader::read(const file_range& where, std::uint64_t length) {
  return on_kept_file(where, [&] { return read_once(where, length); });
}

bytes file_range_reader::read_once(const file_range& where, std::uint64_t length) {
  const int file = where.file >= 0 ? where.file : open(where.path);
  file_watch watch = file_watch::begin(file, where.indexed);
  if (where.length == file_range::whole) {
    const std::uint64_t size = watch.before.size;
    if (size != where.offset + length) {
      throw error("has " + std::to_string(size) + " bytes, and had " + std::to_string(where.offset + length) +
                  " a moment ago; it is being written. Read it when that is done");
    }
  }
  bytes out(static_cast<std::size_t>(length));
  const std::size_t n = read_up_to(file, out.data(), out.size(), where.offset);
  watch.end(file, where.indexed);
  if (n != out.size()) {
    throw error("has " + std::to_string(watch.before.size) +
                " bytes, and the sample is said to end at byte " + std::to_string(where.offset + length) +
                "; the file became shorter, or the source is wrong about it");
  }
  return out;
}

int file_range_reader::open(const char* path) {
  if (opened_ == nullptr || std::strcmp(opened_, path) != 0) {
    close();  // never two at a time
    own_ = open_when_possible(path);
    opened_ = path;
    note_place(path, own_.get());
  }
  return own_.get();
}

void file_range_reader::close() noexcept {
  if (own_) open_now().fetch_sub(1, std::memory_order_relaxed);
  own_.close();
  opened_ = nullptr;
}

std::atomic<int>& file_range_reader::open_now() noexcept {
  static constinit std::atomic<int> count{0};
  return count;
}

file_handle file_range_reader::open_when_possible(const char* path) {
  constexpr auto pause = std::chrono::milliseconds(2);
  plain_file opened = open_plain(path);
  for (int alone = 0; is_out_of_descriptors(opened.fault) && alone < 250;) {
    std::this_thread::sleep_for(pause);
    alone = open_now().load(std::memory_order_relaxed) != 0 ? 0 : alone + 1;
    opened = open_plain(path);
  }
  file_handle out = checked_file(std::move(opened));
  open_now().fetch_add(1, std::memory_order_relaxed);
  return out;
}

void check_size(std::uint64_t found, const read_options& options) {
  if (found <= options.max_bytes) return;
  throw error("has " + std::to_string(found) + " bytes, more than the " + std::to_string(options.max_bytes) +
              " that read() takes for a sample; write read({.max_bytes = " + std::to_string(found) +
              "}) if that is right");
}

namespace {

std::uint64_t measure(std::span<range_part> parts) {
  std::uint64_t sum = 0;  // at most 2^64 - 1
  for (range_part& p : parts) {
    p.length = length_of(p.where);
    sum = p.length > ~sum ? ~std::uint64_t{0} : sum + p.length;
  }
  return sum;
}

/// Blocks. \throws wick::error
void read_now(std::span<range_part> parts) {
  file_range_reader reader;
  for (range_part& p : parts) p.content = reader.read(p.where, p.length);
}

void require_wanted(const context& c) {
  if (c.stop().stop_requested()) throw error("read: cancelled");
}

/// The slow way: an I/O thread finds out the files' sizes, and reads them at once if the memory bound has
/// room. Otherwise the sample waits for room, with no file open, and then returns to an I/O thread.
/// `reserved` bytes are reserved already.
task<void> read_waiting(std::span<range_part> parts, context* c, std::uint64_t reserved,
                        read_options options) {
  std::uint64_t total = 0;
  auto looking = c->on()->io().run(*c->on(), [parts, &total, c, reserved, options] {
    require_wanted(*c);
    total = measure(parts);
    check_size(total, options);
    const bool room = total <= reserved || c->try_reserve(static_cast<std::size_t>(total - reserved));
    if (room) read_now(parts);
    return room;
  });
  const bool there = co_await looking;
  if (there) co_return;
  auto room = c->reserve(static_cast<std::size_t>(total - reserved));
  co_await room;
  auto reading = c->on()->io().run(*c->on(), [parts, c] {
    require_wanted(*c);
    read_now(parts);
  });
  co_await reading;
}

}  // namespace

bool range_reads::begin(std::span<range_part> parts) {
  if (context_->on() != nullptr) return try_cached(parts);
  // Without a loader: a plain call.
  if (std::any_of(parts.begin(), parts.end(),
                  [](const range_part& p) { return p.where.remote != nullptr; })) {
    read_remote_now(parts, options_.max_bytes);
  } else {
    check_size(measure(parts), options_);
    read_now(parts);
  }
  return true;
}

bool range_reads::wait(std::span<range_part> parts, std::coroutine_handle<> waiter) {
  slow_ = remote_ ? read_remote(parts, context_, options_.max_bytes)
                  : read_waiting(parts, context_, reserved_, options_);
  awaiting_.emplace(slow_.operator co_await());
  return awaiting_->await_suspend(waiter);
}

bool range_reads::try_cached(std::span<range_part> parts) {
  cached_reader reader;
  bool ready = true;
  std::uint64_t total = 0;
  for (range_part& p : parts) {
    remote_ = remote_ || p.where.remote != nullptr;
    // Of several parts, only those whose file is open already: a sample needs at most one descriptor at a
    // time.
    ready =
        ready && !remote_ && (p.where.file >= 0 || parts.size() == 1) && reader.measure(p.where, p.length);
    total = p.length > ~total ? ~std::uint64_t{0} : total + p.length;
  }
  if (!ready) return false;
  check_size(total, options_);
  if (!context_->try_reserve(static_cast<std::size_t>(total))) return false;
  reserved_ = total;
  bool all = true;
  for (range_part& p : parts) {
    p.content = bytes(static_cast<std::size_t>(p.length));
    all = all && reader.read(p.where, p.content.data(), p.content.size());
    if (!all) break;
  }
  if (all && reader.unchanged()) return true;
  for (range_part& p : parts) p.content = {};  // the I/O threads allocate their own
  return false;
}

void fail_part(std::string_view name, const error& why) {
  const std::string text = (name.empty() ? "" : printable(name) + ": ") + why.what();
  if (dynamic_cast<const passing_failure*>(&why) != nullptr) throw passing_error(text);
  throw error(text);
}

read_operation<record<file_range>> read_stage::operator()(record<file_range> where, context& c) const {
  return {std::move(where), c, options_};
}

}  // namespace wick::detail

namespace wick::inline v0_1 {

detail::read_stage read(read_options options) noexcept { return detail::read_stage(options); }

}  // namespace wick
