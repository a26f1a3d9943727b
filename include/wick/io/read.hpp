/// \file
/// read(): from where a sample lies to its bytes, on a worker when they are cached, else on an I/O thread.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/async/detail/awaitable.hpp>
#include <wick/async/executor.hpp>
#include <wick/async/task.hpp>
#include <wick/ext/file_range.hpp>
#include <wick/ext/stage.hpp>
#include <wick/io/detail/cached_read.hpp>
#include <wick/io/detail/object_store.hpp>
#include <wick/io/record.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/sample.hpp>

namespace wick::inline v0_1 {

/// Options of read().
struct read_options {
  /// A file, or a record with all its members, of more bytes is an error of its sample.
  std::uint64_t max_bytes = std::uint64_t{1} << 30;
};

namespace detail {

/// How many bytes lie there: as the source said, or up to the end of the file as it is now. May block; leaves
/// no file open. \throws wick::error
std::uint64_t length_of(const file_range& where);

/// Reads file ranges one after another; neighbors in one file open it once. Blocks. For I/O threads.
class file_range_reader {
 public:
  file_range_reader() noexcept = default;
  file_range_reader(const file_range_reader&) = delete;
  file_range_reader& operator=(const file_range_reader&) = delete;
  ~file_range_reader() { close(); }

  /// `length`: what length_of() said. \throws wick::error when the file can't be opened, or isn't as long any
  /// more
  bytes read(const file_range& where, std::uint64_t length);

 private:
  bytes read_once(const file_range& where, std::uint64_t length);
  int open(const char* path);
  void close() noexcept;
  /// Files that reads have open in this process.
  static std::atomic<int>& open_now() noexcept;
  /// Where the process has no descriptor left, the other reads give theirs back. When there are none for
  /// half a second the program has them all.
  static file_handle open_when_possible(const char* path);

  file_handle own_;
  const char* opened_ = nullptr;
};

/// What read() does with one file range and with a record of them, said once.
template <class From>
struct read_shape;
template <>
struct read_shape<file_range> {
  using to = bytes;
  using lengths = std::uint64_t;
  template <class F>
  static std::uint64_t measure(const file_range& where, lengths& out, F&& length) {
    return out = length(where);
  }
  template <class F>
  static bytes read(const file_range& where, const lengths& known, F&& one) {
    return one(where, known);
  }
};
template <>
struct read_shape<record<file_range>> {
  using to = record<bytes>;
  using lengths = std::array<std::uint64_t, record_fields::max_fields>;
  /// The sum; at most 2^64 - 1.
  template <class F>
  static std::uint64_t measure(const record<file_range>& where, lengths& out, F&& length) {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < where.size(); ++i) {
      out[i] = length(where[i]);
      sum = out[i] > ~sum ? ~std::uint64_t{0} : sum + out[i];
    }
    return sum;
  }
  template <class F>
  static record<bytes> read(const record<file_range>& where, const lengths& known, F&& one) {
    record<bytes> out(where);
    for (std::size_t i = 0; i < where.size(); ++i) out.push_back(one(where[i], known[i]));
    return out;
  }
};

/// \throws wick::error
void check_size(std::uint64_t found, const read_options& options);

/// The ranges in it.
template <class From>
std::vector<remote_part> remote_parts(const From& where) {
  std::vector<remote_part> out;
  typename read_shape<From>::lengths lengths{};
  read_shape<From>::measure(where, lengths, [&out](const file_range& l) {
    out.push_back({l, {}});
    return std::uint64_t{0};
  });
  return out;
}
/// What read() makes of the parts, which are read.
template <class From>
typename read_shape<From>::to from_parts(const From& where, std::vector<remote_part>& parts) {
  typename read_shape<From>::lengths known{};
  std::size_t measured = 0, taken = 0;
  read_shape<From>::measure(where, known,
                            [&](const file_range&) { return parts[measured++].content.size(); });
  return read_shape<From>::read(
      where, known, [&](const file_range&, std::uint64_t) { return std::move(parts[taken++].content); });
}
/// Of objects on servers, which are read by no thread of the executor.
template <class From>
task<typename read_shape<From>::to> read_from_store(From where, context* c, read_options options) {
  std::vector<remote_part> parts = remote_parts(where);
  auto reading = read_remote(&parts, c, options.max_bytes);
  co_await std::move(reading);
  co_return from_parts(where, parts);
}

/// Blocks. \throws wick::error
template <class From>
typename read_shape<From>::to read_now(const From& where, const typename read_shape<From>::lengths& known) {
  file_range_reader reader;
  return read_shape<From>::read(
      where, known, [&](const file_range& l, std::uint64_t length) { return reader.read(l, length); });
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
      std::vector<remote_part> parts = remote_parts(where_);
      if (std::any_of(parts.begin(), parts.end(),
                      [](const remote_part& p) { return p.where.remote != nullptr; })) {
        read_remote_now(parts, options_.max_bytes);
        out_ = from_parts(where_, parts);
        return true;
      }
      typename shape::lengths known{};
      detail::check_size(shape::measure(where_, known, detail::length_of), options_);
      out_ = detail::read_now(where_, known);
      return true;
    }
    return try_cached();
  }
  [[gnu::noinline]] bool await_suspend(std::coroutine_handle<> waiter) {
    slow_ = remote_ ? detail::read_from_store<From>(std::move(where_), context_, options_)
                    : detail::read_waiting<From>(std::move(where_), context_, reserved_, options_);
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
    const std::uint64_t total = shape::measure(where_, known, [&](const file_range& l) {
      // Of a record only what is open already: one descriptor at a time is enough for a sample.
      std::uint64_t length = 0;
      remote_ = remote_ || l.remote != nullptr;
      at_hand =
          at_hand && !remote_ && (l.file >= 0 || std::is_same_v<From, file_range>)&&reader.measure(l, length);
      return length;
    });
    if (!at_hand) return false;
    detail::check_size(total, options_);
    if (!context_->try_reserve(static_cast<std::size_t>(total))) return false;
    reserved_ = total;
    bool all = true;
    try {
      out_ = shape::read(where_, known, [&](const file_range& l, std::uint64_t length) {
        bytes one(all ? static_cast<std::size_t>(length) : 0);
        all = all && reader.read(l, one.data(), one.size());
        return all ? std::move(one) : bytes();
      });
    } catch (const error&) {  // damaged; unless it was changed, which an I/O thread reports
      if (reader.unchanged()) throw;
      return false;
    }
    return all && reader.unchanged();
  }

  From where_;
  context* context_;
  read_options options_;
  std::uint64_t reserved_ = 0;
  bool remote_ = false;
  std::optional<to> out_;
  task<to> slow_;
  std::optional<typename task<to>::awaiter> awaiting_;
};

/// An item that knows how it is read, for samples that are no ranges of files: a row of a table, a value of a
/// database. `read(c, options)` gives what is awaited for a `read_type`. It never blocks a worker, takes its
/// memory from the loader's bound, and does not refer to the item, which is gone by then.
template <class T>
concept reads_itself = requires(const T& where, context& c, const read_options& options) {
  typename T::read_type;
  { where.read(c, options) } -> awaitable;
};

/// What read() makes of an item: bytes of each file range in it.
template <class T>
struct once_all_read {
  using type =
      std::conditional_t<std::is_void_v<typename once_read<T>::type>, T, typename once_read<T>::type>;
  static constexpr bool differs = !std::is_void_v<typename once_read<T>::type>;
};
template <class D, class T>
struct once_all_read<sample<D, T>> {
  using type = sample<typename once_all_read<D>::type, typename once_all_read<T>::type>;
  static constexpr bool differs = once_all_read<D>::differs || once_all_read<T>::differs;
};
template <class... T>
struct once_all_read<std::tuple<T...>> {
  using type = std::tuple<typename once_all_read<T>::type...>;
  static constexpr bool differs = (once_all_read<T>::differs || ...);
};

/// An item that is read as a whole, since several of its parts lie somewhere. A sample<> of which only the
/// data does is read by that.
template <class T>
inline constexpr bool is_read_whole = false;
template <class D, class T>
inline constexpr bool is_read_whole<sample<D, T>> = once_all_read<T>::differs;
template <class... T>
inline constexpr bool is_read_whole<std::tuple<T...>> = once_all_read<std::tuple<T...>>::differs;

/// What a message calls one part of several: its file, or the key of a record. The source has both.
inline const char* name_of_part(const file_range& part) noexcept {
  return part.path == nullptr ? "" : part.path;
}
template <class T>
std::string_view name_of_part(const T& part) noexcept {
  if constexpr (requires { std::string_view(part.key); })
    return part.key;
  else
    return {};
}
/// \throws the same error, with the part's name before its text
[[noreturn]] void fail_part(std::string_view name, const error& why);

template <class... T>
task<typename once_all_read<std::tuple<T...>>::type> read_tuple(std::tuple<T...> parts, context* c,
                                                                read_options options);

/// Reads one part, or all parts of it.
template <class T>
task<typename once_all_read<T>::type> read_part(T part, context* c, read_options options) {
  if constexpr (!once_all_read<T>::differs) {
    co_return std::move(part);
  } else if constexpr (is_sample<T>) {
    auto reading = read_tuple(std::tuple(std::move(part.data), std::move(part.target)), c, options);
    auto got = co_await std::move(reading);
    typename once_all_read<T>::type out{std::move(std::get<0>(got)), std::move(std::get<1>(got))};
    co_return out;
  } else if constexpr (is_read_whole<T>) {
    auto reading = read_tuple(std::move(part), c, options);
    auto got = co_await std::move(reading);
    co_return got;
  } else if constexpr (reads_itself<T>) {
    auto reading = part.read(*c, options);
    auto got = co_await std::move(reading);
    co_return got;
  } else {
    const auto name = name_of_part(part);
    read_operation<T> reading(std::move(part), *c, options);
    try {
      auto got = co_await reading;
      co_return got;
    } catch (const error& e) {
      fail_part(name, e);
    }
  }
}

/// One part after the other, so that a sample has one file open at a time.
template <class... T>
task<typename once_all_read<std::tuple<T...>>::type> read_tuple(std::tuple<T...> parts, context* c,
                                                                read_options options) {
  if constexpr (sizeof...(T) == 0) {
    co_return std::tuple<>();
  } else {
    // NOLINTNEXTLINE(cppcoreguidelines-avoid-reference-coroutine-parameters): no coroutine
    auto split = [](T&... each) { return std::tuple<T&...>(each...); };
    auto refs = std::apply(split, parts);
    auto first_reading = read_part(std::move(std::get<0>(refs)), c, options);
    auto first = co_await std::move(first_reading);
    auto others = [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::make_tuple(std::move(std::get<I + 1>(refs))...);
    }(std::make_index_sequence<sizeof...(T) - 1>{});
    auto rest_reading = read_tuple(std::move(others), c, options);
    auto rest = co_await std::move(rest_reading);
    auto out = std::tuple_cat(std::make_tuple(std::move(first)), std::move(rest));
    co_return out;
  }
}

class read_stage {
 public:
  static constexpr stage_traits traits{.name = "read"};
  explicit read_stage(const read_options& options = {}) noexcept : options_(options) {}
  read_operation<file_range> operator()(file_range where, context& c) const { return {where, c, options_}; }
  read_operation<record<file_range>> operator()(record<file_range> where, context& c) const;
  /// Of what another room has said how to read.
  template <class From>
    requires(sizeof(read_shape<From>) != 0)
  read_operation<From> operator()(From where, context& c) const {
    return {std::move(where), c, options_};
  }
  template <reads_itself Item>
  auto operator()(Item where, context& c) const {
    return where.read(c, options_);
  }
  template <class Item>
    requires is_read_whole<Item>
  task<typename once_all_read<Item>::type> operator()(Item where, context& c) const {
    return read_part(std::move(where), &c, options_);
  }

 private:
  read_options options_;
};

}  // namespace detail

/// Reads a file_range (or all members of a record, or all ranges of a zipped sample) into wick::bytes, and a
/// row of a table into its values. Never blocks a worker: I/O threads of the executor read bytes that are not
/// in the page cache. Where the loader's memory bound has no room, samples wait, and the lowest position
/// goes first. A sample that waits for memory has no file open. Your own stage may read more:
/// `co_await wick::read()(where, c)`. \throws wick::error when the file
/// can't be opened, ends early, or is larger than `max_bytes`
detail::read_stage read(read_options options = {}) noexcept;

}  // namespace wick
