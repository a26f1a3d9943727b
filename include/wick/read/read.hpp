/// \file
/// read(): from where a sample lies to its bytes, on a worker when they are cached, else on an I/O thread.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <wick/flow/context.hpp>
#include <wick/flow/error.hpp>
#include <wick/flow/sample.hpp>
#include <wick/flow/stage.hpp>
#include <wick/read/detail/file_io.hpp>
#include <wick/read/location.hpp>
#include <wick/read/record.hpp>
#include <wick/run/budget.hpp>
#include <wick/run/executor.hpp>
#include <wick/run/task.hpp>

namespace wick {

namespace detail {

/// A location with a descriptor and a length.
struct opened_location {
  file_handle own;
  int file = -1;
  std::uint64_t offset = 0, length = 0;

  /// Blocks. \throws wick::error
  static opened_location open(const location& where) {
    opened_location out;
    out.offset = where.offset;
    out.length = where.length;
    out.file = where.file;
    if (where.file < 0) {
      out.own = open_file(where.path);
      out.file = out.own.get();
    }
    if (where.length == location::whole) {
      const std::uint64_t size = size_of_file(out.file);
      out.length = size > where.offset ? size - where.offset : 0;
    }
    return out;
  }

  /// Blocks. \throws wick::error when the file ends early
  bytes read(byte_charge charge) const {
    bytes out(static_cast<std::size_t>(length));
    const std::size_t n = read_up_to(file, out.data(), out.size(), offset);
    if (n != out.size()) {
      throw error("ends after " + std::to_string(offset + n) + " bytes, wanted were " + std::to_string(offset + length) +
                  "; the file became shorter since it was indexed");
    }
    out.charge(std::move(charge));
    return out;
  }
};

/// What the first trip to an I/O thread brings: the bytes, or (the budget being spent) only the open file.
struct first_trip {
  opened_location where;
  std::optional<bytes> got;
};

inline task<bytes> read_waiting(location where, executor* on, byte_budget* memory, std::uint64_t position,
                                stop_token stop) {
  auto operation = on->io().run(*on, [where, memory, stop] {
    if (stop.stop_requested()) throw error("read: cancelled");
    first_trip trip{opened_location::open(where), std::nullopt};
    byte_charge charge = memory->try_acquire(static_cast<std::size_t>(trip.where.length));
    if (charge) trip.got = trip.where.read(std::move(charge));
    return trip;
  });
  first_trip trip = co_await operation;
  if (trip.got) co_return std::move(*trip.got);
  auto room = memory->acquire(*on, static_cast<std::size_t>(trip.where.length), position);
  byte_charge charge = co_await room;
  auto second = on->io().run(*on, [&trip, &charge, stop] {
    if (stop.stop_requested()) throw error("read: cancelled");
    return trip.where.read(std::move(charge));
  });
  bytes out = co_await second;
  co_return out;
}

/// All members at once: a sample that took room for one and waited for the next could wait for ever.
inline task<record<bytes>> read_waiting(record<location> where, executor* on, byte_budget* memory,
                                        std::uint64_t position, stop_token stop) {
  auto opening = on->io().run(*on, [&where, stop] {
    if (stop.stop_requested()) throw error("read: cancelled");
    record<opened_location> out(where);
    for (const location& l : where) out.push_back(opened_location::open(l));
    return out;
  });
  record<opened_location> opened = co_await opening;
  std::size_t total = 0;
  for (const opened_location& o : opened) total += static_cast<std::size_t>(o.length);
  auto room = memory->acquire(*on, total, position);
  byte_charge charge = co_await room;
  auto reading = on->io().run(*on, [&opened, &charge, stop] {
    if (stop.stop_requested()) throw error("read: cancelled");
    record<bytes> out(opened);
    for (const opened_location& o : opened) {
      out.push_back(o.read(charge.split(static_cast<std::size_t>(o.length))));
    }
    return out;
  });
  record<bytes> out = co_await reading;
  co_return out;
}

}  // namespace detail

/// What read() returns: awaited, it gives the bytes. Bytes in the page cache are copied at once, without a suspension.
template <class From, class To>
class [[nodiscard]] read_operation {
 public:
  read_operation(From where, context& c) noexcept : where_(std::move(where)), context_(&c) {}

  bool await_ready() {
    if (context_->on() == nullptr || context_->memory() == nullptr) {  // no loader: a plain call
      out_ = read_now(where_);
      return true;
    }
    return try_cached(where_);
  }
  [[gnu::noinline]] bool await_suspend(std::coroutine_handle<> waiter) {
    slow_ = detail::read_waiting(std::move(where_), context_->on(), context_->memory(), context_->position(),
                                 context_->stop());
    awaiting_.emplace(slow_.operator co_await());
    return awaiting_->await_suspend(waiter);
  }
  To await_resume() {
    if (awaiting_) return awaiting_->await_resume();
    return std::move(*out_);
  }

 private:
  static bytes read_now(const location& where) { return detail::opened_location::open(where).read({}); }
  static record<bytes> read_now(const record<location>& where) {
    record<bytes> out(where);
    for (const location& l : where) out.push_back(read_now(l));
    return out;
  }

  bool try_cached(const location& where) {
    detail::file_handle own;
    int file = where.file;
    std::uint64_t length = where.length;
    if (file < 0) {
      own = detail::open_cached(where.path);
      if (!own) return false;
      file = own.get();
    }
    if (length == location::whole) {
      const std::uint64_t size = detail::size_of_file(file);
      length = size > where.offset ? size - where.offset : 0;
    }
    byte_charge charge = context_->memory()->try_acquire(static_cast<std::size_t>(length));
    if (!charge) return false;
    bytes got(static_cast<std::size_t>(length));
    if (!detail::read_cached(file, got.data(), got.size(), where.offset)) return false;
    got.charge(std::move(charge));
    out_ = std::move(got);
    return true;
  }
  bool try_cached(const record<location>& where) {
    std::size_t total = 0;
    for (const location& l : where) {
      if (l.file < 0 || l.length == location::whole) return false;
      total += static_cast<std::size_t>(l.length);
    }
    byte_charge charge = context_->memory()->try_acquire(total);
    if (!charge) return false;
    record<bytes> got(where);
    for (const location& l : where) {
      bytes one(static_cast<std::size_t>(l.length));
      if (!detail::read_cached(l.file, one.data(), one.size(), l.offset)) return false;
      one.charge(charge.split(one.size()));
      got.push_back(std::move(one));
    }
    out_ = std::move(got);
    return true;
  }

  From where_;
  context* context_;
  std::optional<To> out_;
  task<To> slow_;
  std::optional<typename task<To>::awaiter> awaiting_;
};

struct read_stage {
  using stage_kind = on_data;
  static constexpr std::string_view name = "read";
  read_operation<location, bytes> operator()(location where, context& c) const { return {where, c}; }
  read_operation<record<location>, record<bytes>> operator()(record<location> where, context& c) const {
    return {std::move(where), c};
  }
};
static_assert(stage_of<read_stage, on_data>);

/// Reads a location (or all members of a record) into wick::bytes. Never blocks a worker: what is not in the page cache
/// is read by the executor's I/O threads, and what exceeds the loader's memory budget waits, lowest position first.
/// \throws wick::error when the file can't be opened or ends early
inline read_stage read() noexcept { return {}; }

}  // namespace wick
