/// \file
/// Bytes that lie on a server: the interface by which sources and read() meet an object store.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <wick/async/stop_token.hpp>
#include <wick/async/task.hpp>
#include <wick/ext/file_range.hpp>
#include <wick/ext/fingerprint.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/sample.hpp>

namespace wick::inline v0_1 {

namespace detail {
class object_store;
}

/// An object of a store. Kept by its source, which outlives all reads.
struct remote_object {
  static constexpr std::uint64_t unknown = ~std::uint64_t{0};

  detail::object_store* store = nullptr;
  std::uint64_t indexed = 0;                 ///< its version when the source looked into it; 0: it did not
  std::atomic<std::uint64_t> size{unknown};  ///< bytes, as the first answer says
  std::atomic<std::uint64_t> version{0};     ///< a hash of the first answer's ETag, or date; 0: no answer yet
};

}  // namespace wick

namespace wick::inline v0_1::detail {

/// The server answers, and doesn't give the object: it is not there, or not for this user.
class store_refusal : public error {
 public:
  using error::error;
};
/// It gives this user nothing, for now: the object itself may be good.
class store_denial : public store_refusal, public passing_failure {
 public:
  using store_refusal::store_refusal;
};

/// A read that is under way: pieces of one object, by one request. Belongs to the caller, who keeps it where
/// it is until `done` is called.
struct remote_read {
  struct piece {
    std::uint64_t offset = 0;
    std::size_t length = 0;
    std::byte* to = nullptr;
  };
  static constexpr std::size_t max_pieces = 8;

  const char* url = nullptr;
  remote_object* object = nullptr;
  std::array<piece, max_pieces>
      pieces{};                ///< one after the other in the object; bytes between them are dropped
  std::size_t count = 0;       ///< of pieces
  bool may_end_early = false;  ///< of one piece: the object may have fewer bytes
  /// Called once, on a thread of the store. It may end the life of the read.
  void (*done)(remote_read&) noexcept = nullptr;
  void* owner = nullptr;  ///< for `done`

  // Once done:
  std::size_t got = 0;        ///< bytes of the last piece
  std::exception_ptr failed;  ///< a wick::error without the object's name, or wick::cancelled
  void* under_way = nullptr;  ///< the store's own

  std::uint64_t first() const noexcept { return pieces[0].offset; }
  std::uint64_t end() const noexcept { return pieces[count - 1].offset + pieces[count - 1].length; }
};

/// An object by name, and what a list of its server said of it.
struct remote_name {
  std::string url;
  std::uint64_t size = remote_object::unknown;
  std::uint64_t version = 0;
};

/// Where objects are read by ranges.
class object_store {
 public:
  virtual ~object_store() = default;
  /// Begins a read. Any thread. \throws std::bad_alloc, std::system_error when no thread can be started, and
  /// std::logic_error in a forked child; then `done` is not called
  virtual void begin(remote_read& read) = 0;
  /// The read ends soon, with wick::cancelled unless it has ended already. The caller sees to it that `read`
  /// lives.
  virtual void call_off(remote_read& read) noexcept = 0;
  /// How many reads it makes at a time, as far as others wait.
  virtual std::size_t at_a_time() const noexcept = 0;
  /// The pattern with a revision that doesn't move, where the store has revisions. May ask the server.
  /// \throws wick::error
  virtual std::string pinned(const std::string& pattern) { return pattern; }
  /// What `pattern` stands for. May ask the server. \throws wick::error
  virtual std::vector<remote_name> names(const std::string& pattern) = 0;
  /// What it has done so far, as a line of the report.
  virtual std::string note() const = 0;
};

/// Objects by name: what is in a wick::remote_list.
struct remote_objects {
  std::shared_ptr<object_store> store;
  std::vector<remote_name> names;
  std::string folder = {};  ///< "s3://bucket/train/", when they are all that is in it
};

/// Whether it begins as a URL does: "https://…".
bool is_url(std::string_view text) noexcept;
/// Whether it names an object of a bucket or a hub, as in "s3://…": a name that may have any character, and
/// no query.
bool is_in_bucket(std::string_view url) noexcept;
/// A URL as messages, keys and fingerprints show it: without name, password, and query, which may be secret.
std::string shown_url(std::string_view url);

/// \throws wick::error for a URL of a web server that has a blank, a "#", or a "%" that encodes nothing: a
/// server would get another name
void require_encoded(std::string_view url, std::string_view who);

/// Without what is after "?" of a web server's, which may be a signature that changes.
std::string_view without_query(std::string_view url) noexcept;

/// Adds what is there, without the parameters of signatures, which change.
void add_query(fingerprint_hash& h, std::string_view url) noexcept;

/// Gives the store of URLs that a source was given as text. Set by stores/remote.hpp, where a program
/// includes it.
using store_opener = std::shared_ptr<object_store> (*)();
std::atomic<store_opener>& url_store() noexcept;
/// \throws wick::error where the program has none
std::shared_ptr<object_store> store_of(std::string_view url, std::string_view who);

/// A range and, once read, its bytes.
struct range_part {
  file_range where;
  bytes content = {};
  std::uint64_t length = 0;  ///< of a local file, once measured
};

/// Reads all parts, neighbors in an object by one request. Waits for memory first, then for the store.
/// \throws wick::error, wick::cancelled
task<void> read_remote(std::span<range_part> parts, context* c, std::uint64_t max_bytes);
/// The same on the calling thread, which waits until `stop` is requested.
void read_remote_now(std::span<range_part> parts, std::uint64_t max_bytes, const stop_token& stop = {});
/// Waits for them on the calling thread. \throws wick::error, wick::cancelled
void wait_for_remote(std::span<remote_read> reads, const stop_token& stop = {});
/// Bytes from `offset` on, as many as the object has, at most `size`. Waits. \throws wick::error
std::size_t read_remote_up_to(const char* url, remote_object& object, std::byte* to, std::size_t size,
                              std::uint64_t offset);

}  // namespace wick::detail
