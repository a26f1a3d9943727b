// read(): from a sample's location to its bytes, on a worker if they are cached, else on an I/O thread.
#pragma once

#include <array>
#include <atomic>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
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
#include <wick/io/detail/object_store.hpp>
#include <wick/io/detail/plain_file.hpp>
#include <wick/io/detail/read_group.hpp>
#include <wick/io/record.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/sample.hpp>

namespace wick::inline v0_1 {

/// Options of read().
struct read_options {
  /// A sample fails if its file, or its record with all its members, has more bytes.
  std::uint64_t max_bytes = std::uint64_t{1} << 30;
};

namespace detail {

/// The number of bytes in the range: as the source said, or up to the current end of the file. May block;
/// leaves no file open. \throws wick::error
std::uint64_t length_of(const file_range& where);

/// Reads file ranges one after another; neighbors in one file open it once. Blocks. For I/O threads.
class file_range_reader {
 public:
  file_range_reader() noexcept = default;
  file_range_reader(const file_range_reader&) = delete;
  file_range_reader& operator=(const file_range_reader&) = delete;
  ~file_range_reader() { close(); }

  /// `length` is the result of length_of(). \throws wick::error if the file can't be opened, or isn't as long
  /// any more
  bytes read(const file_range& where, std::uint64_t length);

 private:
  bytes read_once(const file_range& where, std::uint64_t length);
  int open(const char* path);
  void close() noexcept;
  /// The number of files that reads have open in this process.
  static std::atomic<int>& open_now() noexcept;
  /// If the process has no descriptors left, waits for other reads to give theirs back. If reads have had no
  /// file open for half a second, the program itself holds all descriptors.
  static file_handle open_when_possible(const char* path);

  file_handle own_;
  const char* opened_ = nullptr;
};

/// Adds a part to a list that has room for no more in place: the first time, those in place move into it.
void add_part(std::vector<range_part>& all, std::span<range_part> in_place, const file_range& where);

/// The parts of a sample that are in files, and then their bytes. The first N need no allocation.
template <std::size_t N>
class part_list {
 public:
  void add(const file_range& where) {
    if (size_ < N)
      first_[size_].where = where;
    else
      add_part(more_, first_, where);
    ++size_;
  }
  std::span<range_part> all() noexcept { return {more_.empty() ? first_.data() : more_.data(), size_}; }

 private:
  std::array<range_part, N> first_{};
  std::vector<range_part> more_;  // all of them, if there are more than N
  std::size_t size_ = 0;
};

/// How an item is read: `split(where, f)` calls f(file_range) for each of its parts, `usual` of which are
/// common, and `join(where, parts)` makes the result of read() from their bytes.
template <class From>
struct read_shape;
template <>
struct read_shape<file_range> {
  static constexpr std::size_t usual = 1;
  template <class F>
  static void split(const file_range& where, F&& f) {
    f(where);
  }
  static bytes join(const file_range&, std::span<range_part> parts) { return std::move(parts[0].content); }
};
template <>
struct read_shape<record<file_range>> {
  static constexpr std::size_t usual = record_fields::max_fields;
  template <class F>
  static void split(const record<file_range>& where, F&& f) {
    for (const file_range& each : where) f(each);
  }
  static record<bytes> join(const record<file_range>& where, std::span<range_part> parts) {
    record<bytes> out(where);
    for (range_part& each : parts) out.push_back(std::move(each.content));
    return out;
  }
};

/// \throws wick::error
void check_size(std::uint64_t found, const read_options& options);

/// Reads the parts of a sample: at once if all are in the page cache, otherwise on I/O threads. Parts on
/// servers take no thread of the executor. Memory for all parts is reserved together. Call it with the same
/// parts each time.
class range_reads {
 public:
  range_reads(context& c, const read_options& options) noexcept : context_(&c), options_(options) {}
  /// Whether all parts are read. \throws wick::error
  bool begin(std::span<range_part> parts);
  bool wait(std::span<range_part> parts, std::coroutine_handle<> waiter);
  /// \throws wick::error, wick::cancelled
  void end() {
    if (awaiting_) awaiting_->await_resume();
  }

 private:
  bool try_cached(std::span<range_part> parts);

  context* context_;
  read_options options_;
  std::uint64_t reserved_ = 0;
  bool remote_ = false;
  task<void> slow_;
  std::optional<typename task<void>::awaiter> awaiting_;
};

/// The operation that awaiting read() performs.
template <class From>
class [[nodiscard]] read_operation {
  using shape = read_shape<From>;

 public:
  /// await_ready() may be called without a coroutine; if it returns false, the operation is dropped, and a
  /// new one is awaited.
  static constexpr bool can_be_tried = true;
  read_operation(From where, context& c, const read_options& options)
      : where_(std::move(where)), reads_(c, options) {}

  bool await_ready() {
    shape::split(where_, [this](const file_range& part) { parts_.add(part); });
    return reads_.begin(parts_.all());
  }
  [[gnu::noinline]] bool await_suspend(std::coroutine_handle<> waiter) {
    return reads_.wait(parts_.all(), waiter);
  }
  auto await_resume() {
    reads_.end();
    return shape::join(where_, parts_.all());
  }

 private:
  From where_;
  part_list<shape::usual> parts_;
  range_reads reads_;
};

/// An item that knows how to read itself, for samples that aren't ranges of files: a row of a table, a value
/// of a database. `read(c, options)` returns an awaitable that gives a `read_type`. It never blocks a worker,
/// takes its memory from the loader's bound, and doesn't refer to the item, which is gone by then.
template <class T>
concept reads_itself = requires(const T& where, context& c, const read_options& options) {
  typename T::read_type;
  { where.read(c, options) } -> awaitable;
};

/// The result of read() for an item: each file range in it becomes bytes.
template <class T>
struct read_result {
  using type =
      std::conditional_t<std::is_void_v<typename once_read<T>::type>, T, typename once_read<T>::type>;
  static constexpr bool differs = !std::is_void_v<typename once_read<T>::type>;
};
template <class D, class T>
struct read_result<sample<D, T>> {
  using type = sample<typename read_result<D>::type, typename read_result<T>::type>;
  static constexpr bool differs = read_result<D>::differs || read_result<T>::differs;
};
template <class... T>
struct read_result<std::tuple<T...>> {
  using type = std::tuple<typename read_result<T>::type...>;
  static constexpr bool differs = (read_result<T>::differs || ...);
};

/// Whether read() takes an item as a whole, since several of its parts are to be read. For a sample<> with
/// only data to read, read() takes the data.
template <class T>
inline constexpr bool is_read_whole = false;
template <class D, class T>
inline constexpr bool is_read_whole<sample<D, T>> = read_result<T>::differs;
template <class... T>
inline constexpr bool is_read_whole<std::tuple<T...>> = read_result<std::tuple<T...>>::differs;

/// The name of one part of several in a message: its file, or the key of a record. The source owns both.
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
task<typename read_result<std::tuple<T...>>::type> read_tuple(std::tuple<T...> parts, context* c,
                                                              read_options options);

/// Reads one part, or all parts of it.
template <class T>
task<typename read_result<T>::type> read_part(T part, context* c, read_options options) {
  if constexpr (!read_result<T>::differs) {
    co_return std::move(part);
  } else if constexpr (is_sample<T>) {
    auto reading = detail::read_tuple(std::tuple(std::move(part.data), std::move(part.target)), c, options);
    auto got = co_await std::move(reading);
    typename read_result<T>::type out{std::move(std::get<0>(got)), std::move(std::get<1>(got))};
    co_return out;
  } else if constexpr (is_read_whole<T>) {
    auto reading = detail::read_tuple(std::move(part), c, options);
    auto got = co_await std::move(reading);
    co_return got;
  } else if constexpr (reads_itself<T>) {
    auto reading = part.read(*c, options);
    auto got = co_await std::move(reading);
    co_return got;
  } else {
    const auto name = detail::name_of_part(part);
    read_operation<T> reading(std::move(part), *c, options);
    try {
      auto got = co_await reading;
      co_return got;
    } catch (const error& e) {
      fail_part(name, e);
    }
  }
}

/// Reads one part after the other, so that a sample has one file open at a time.
template <class... T>
task<typename read_result<std::tuple<T...>>::type> read_tuple(std::tuple<T...> parts, context* c,
                                                              read_options options) {
  if constexpr (sizeof...(T) == 0) {
    co_return std::tuple<>();
  } else {
    // NOLINTNEXTLINE(cppcoreguidelines-avoid-reference-coroutine-parameters): no coroutine
    auto split = [](T&... each) { return std::tuple<T&...>(each...); };
    auto refs = std::apply(split, parts);
    auto first_reading = detail::read_part(std::move(std::get<0>(refs)), c, options);
    auto first = co_await std::move(first_reading);
    auto others = [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::make_tuple(std::move(std::get<I + 1>(refs))...);
    }(std::make_index_sequence<sizeof...(T) - 1>{});
    auto rest_reading = detail::read_tuple(std::move(others), c, options);
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
  /// For an item whose read_shape is defined in another room.
  template <class From>
    requires(sizeof(read_shape<From>) != 0)
  read_operation<From> operator()(From where, context& c) const {
    return {std::move(where), c, options_};
  }
  template <reads_itself Item>
  auto operator()(Item where, context& c) const {
    return where.read(c, options_);
  }
  /// Adds the parts of an item to those that are read together.
  template <class From>
    requires(sizeof(read_shape<From>) != 0)
  void add_to(read_group& all, const From& where) const {
    read_shape<From>::split(where, [&](const file_range& part) { all.add(part, options_.max_bytes); });
  }
  /// The result for an item whose parts were read together.
  template <class From>
    requires(sizeof(read_shape<From>) != 0)
  auto join(const From& where, std::span<range_part> parts) const {
    return read_shape<From>::join(where, parts);
  }
  template <class Item>
    requires is_read_whole<Item>
  task<typename read_result<Item>::type> operator()(Item where, context& c) const {
    return detail::read_part(std::move(where), &c, options_);
  }

 private:
  read_options options_;
};

}  // namespace detail

/// Reads a file_range (or all members of a record, or all ranges of a zipped sample) into wick::bytes, and a
/// row of a table into its values. Never blocks a worker: I/O threads of the executor read bytes that aren't
/// in the page cache. If the loader's memory bound has no room, samples wait, and the lowest position goes
/// first. A sample that waits for memory has no file open. Your own stage may read more:
/// `co_await wick::read()(where, c)`. \throws wick::error if the file can't be opened, ends early, or is
/// larger than `max_bytes`
detail::read_stage read(read_options options = {}) noexcept;

}  // namespace wick
