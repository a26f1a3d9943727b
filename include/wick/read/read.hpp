/// \file
/// read(): from where a sample lies to its bytes, on a worker when they are cached, else on an I/O thread.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>

#include <wick/read/detail/cached_read.hpp>
#include <wick/read/detail/file_io.hpp>
#include <wick/read/file_stamp.hpp>
#include <wick/read/location.hpp>
#include <wick/read/record.hpp>
#include <wick/run/executor.hpp>
#include <wick/run/task.hpp>
#include <wick/sample/context.hpp>
#include <wick/sample/error.hpp>
#include <wick/sample/sample.hpp>
#include <wick/sample/stage.hpp>

namespace wick {

namespace detail {

struct read_options {
  /// A sample with more bytes (all members of a record together) is an error of that sample.
  std::uint64_t max_bytes = std::uint64_t{1} << 30;
};

/// How many bytes lie there: as the source said, or up to the end of the file as it is now. May block; leaves
/// no file open. \throws wick::error
inline std::uint64_t length_of(const location& where) {
  if (where.length != location::whole) return where.length;
  const std::uint64_t size = where.file >= 0 ? size_of_file(where.file) : size_of_file(where.path);
  return size > where.offset ? size - where.offset : 0;
}

/// Reads locations one after another; neighbors in one file open it once. Blocks. For I/O threads.
class location_reader {
 public:
  location_reader() noexcept = default;
  location_reader(const location_reader&) = delete;
  location_reader& operator=(const location_reader&) = delete;
  ~location_reader() { close(); }

  /// `length`: what length_of() said. \throws wick::error when the file can't be opened, or isn't as long any
  /// more
  bytes read(const location& where, std::uint64_t length) {
    const int file = where.file >= 0 ? where.file : open(where.path);
    file_watch watch = file_watch::begin(file, where.indexed);
    if (where.length == location::whole) {
      const std::uint64_t size = watch.before.size;
      if (size != where.offset + length) {
        throw error("has " + std::to_string(size) + " bytes, and had " +
                    std::to_string(where.offset + length) +
                    " a moment ago; it is being written. Read it when that is done");
      }
    }
    bytes out(static_cast<std::size_t>(length));
    const std::size_t n = read_up_to(file, out.data(), out.size(), where.offset);
    watch.end(file, where.indexed);
    if (n != out.size()) {
      throw error("ends after " + std::to_string(where.offset + n) + " bytes, wanted were " +
                  std::to_string(where.offset + length) + "; the file became shorter since it was indexed");
    }
    return out;
  }

 private:
  int open(const char* path) {
    if (opened_ == nullptr || std::strcmp(opened_, path) != 0) {
      close();  // never two at a time
      own_ = open_when_possible(path);
      opened_ = path;
      note_place(path, own_.get());
    }
    return own_.get();
  }
  void close() noexcept {
    if (own_) open_now().fetch_sub(1, std::memory_order_relaxed);
    own_.close();
    opened_ = nullptr;
  }
  /// Files that reads have open in this process.
  static std::atomic<int>& open_now() noexcept {
    static constinit std::atomic<int> count{0};
    return count;
  }
  /// Where the process has no descriptor left, the other reads will give theirs back. When there are none for
  /// half a second the program has them all.
  static file_handle open_when_possible(const char* path) {
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

  file_handle own_;
  const char* opened_ = nullptr;
};

/// What read() does with one location and with a record of them, said once.
template <class From>
struct read_shape;
template <>
struct read_shape<location> {
  using to = bytes;
  using lengths = std::uint64_t;
  template <class F>
  static std::uint64_t measure(const location& where, lengths& out, F&& length) {
    return out = length(where);
  }
  template <class F>
  static bytes read(const location& where, const lengths& known, F&& one) {
    return one(where, known);
  }
};
template <>
struct read_shape<record<location>> {
  using to = record<bytes>;
  using lengths = std::array<std::uint64_t, record_fields::max_fields>;
  /// The sum; at most 2^64 - 1.
  template <class F>
  static std::uint64_t measure(const record<location>& where, lengths& out, F&& length) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < where.size(); ++i) {
      out[i] = length(where[i]);
      sum = out[i] > ~sum ? ~std::uint64_t{0} : sum + out[i];
    }
    return sum;
  }
  template <class F>
  static record<bytes> read(const record<location>& where, const lengths& known, F&& one) {
    record<bytes> out(where);
    for (std::size_t i = 0; i < where.size(); ++i) out.push_back(one(where[i], known[i]));
    return out;
  }
};

/// \throws wick::error
inline void check_size(std::uint64_t found, const read_options& options) {
  if (found <= options.max_bytes) return;
  throw error("has " + std::to_string(found) + " bytes, more than the " + std::to_string(options.max_bytes) +
              " that read() takes for a sample; write read({.max_bytes = " + std::to_string(found) +
              "}) if that is right");
}

/// Blocks. \throws wick::error
template <class From>
typename read_shape<From>::to read_now(const From& where, const typename read_shape<From>::lengths& known) {
  location_reader reader;
  return read_shape<From>::read(
      where, known, [&](const location& l, std::uint64_t length) { return reader.read(l, length); });
}

/// The slow way: an I/O thread looks how long the files are, and reads them at once where the memory bound
/// has room. Else the sample waits for room, with no file open, and goes there again. `reserved` bytes it has
/// already. All members of a record are reserved together.
template <class From>
task<typename read_shape<From>::to> read_waiting(From where, context* c, std::uint64_t reserved,
                                                 read_options options) {
  using shape = read_shape<From>;
  typename shape::lengths known{};
  std::uint64_t total = 0;
  auto looking = c->on()->io().run(*c->on(), [&where, &known, &total, c, reserved, options] {
    if (c->stop().stop_requested()) throw error("read: cancelled");
    std::optional<typename shape::to> got;
    total = shape::measure(where, known, length_of);
    check_size(total, options);
    if (total <= reserved || c->try_reserve(static_cast<std::size_t>(total - reserved)))
      got = read_now(where, known);
    return got;
  });
  std::optional<typename shape::to> got = co_await looking;
  if (got) co_return std::move(*got);
  auto room = c->reserve(static_cast<std::size_t>(total - reserved));
  co_await room;
  auto reading = c->on()->io().run(*c->on(), [&where, &known, c] {
    if (c->stop().stop_requested()) throw error("read: cancelled");
    return read_now(where, known);
  });
  typename shape::to out = co_await reading;
  co_return out;
}

/// What awaiting read() does: at once where all lies in the page cache, else by the I/O threads.
template <class From>
class [[nodiscard]] read_operation {
  using shape = detail::read_shape<From>;
  using to = typename shape::to;

 public:
  read_operation(From where, context& c, const read_options& options)
      : where_(std::move(where)), context_(&c), options_(options) {}

  bool await_ready() {
    if (context_->on() == nullptr) {  // no loader: a plain call
      typename shape::lengths known{};
      detail::check_size(shape::measure(where_, known, detail::length_of), options_);
      out_ = detail::read_now(where_, known);
      return true;
    }
    return try_cached();
  }
  [[gnu::noinline]] bool await_suspend(std::coroutine_handle<> waiter) {
    slow_ = detail::read_waiting<From>(std::move(where_), context_, reserved_, options_);
    awaiting_.emplace(slow_.operator co_await());
    return awaiting_->await_suspend(waiter);
  }
  to await_resume() {
    if (awaiting_) return awaiting_->await_resume();
    return std::move(*out_);
  }

 private:
  bool try_cached() {
    detail::cached_reader reader;
    bool at_hand = true;
    typename shape::lengths known{};
    const std::uint64_t total = shape::measure(where_, known, [&](const location& l) {
      // Of a record only what is open already: one descriptor at a time is enough for a sample.
      std::uint64_t length = 0;
      at_hand = at_hand && (l.file >= 0 || std::is_same_v<From, location>)&&reader.measure(l, length);
      return length;
    });
    if (!at_hand) return false;
    detail::check_size(total, options_);
    if (!context_->try_reserve(static_cast<std::size_t>(total))) return false;
    reserved_ = total;
    bool all = true;
    to got = shape::read(where_, known, [&](const location& l, std::uint64_t length) {
      if (!all) return bytes();
      bytes one(static_cast<std::size_t>(length));
      all = reader.read(l, one.data(), one.size());
      return one;
    });
    if (!all || !reader.unchanged()) return false;
    out_ = std::move(got);
    return true;
  }

  From where_;
  context* context_;
  read_options options_;
  std::uint64_t reserved_ = 0;
  std::optional<to> out_;
  task<to> slow_;
  std::optional<typename task<to>::awaiter> awaiting_;
};

class read_stage {
 public:
  using stage_kind = on_data;
  static constexpr std::string_view name = "read";
  explicit read_stage(const read_options& options = {}) noexcept : options_(options) {}
  read_operation<location> operator()(location where, context& c) const { return {where, c, options_}; }
  read_operation<record<location>> operator()(record<location> where, context& c) const {
    return {std::move(where), c, options_};
  }

 private:
  read_options options_;
};

}  // namespace detail

/// Reads a location (or all members of a record) into wick::bytes. Never blocks a worker: what is not in the
/// page cache is read by the executor's I/O threads, and what exceeds the loader's memory bound waits, lowest
/// position first. A sample that waits for memory has no file open. A stage of the user's may read more:
/// `co_await wick::read()(where, c)`. \throws wick::error when the file can't be opened, ends early, or is
/// larger than `max_bytes`
inline detail::read_stage read(detail::read_options options = {}) noexcept {
  return detail::read_stage(options);
}

}  // namespace wick
