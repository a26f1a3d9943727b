// Objects on servers: the interface between object stores and sources and read().
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

namespace wick::inline v0_1::detail {
class object_store;
}  // namespace wick::detail

namespace wick::inline v0_1::ext {

/// An object in a store. Owned by its source, which outlives all reads.
struct remote_object {
  static constexpr std::uint64_t unknown = ~std::uint64_t{0};

  detail::object_store* store = nullptr;
  std::uint64_t indexed = 0;                 ///< its version when the source indexed it; 0 if it didn't
  std::atomic<std::uint64_t> size{unknown};  ///< bytes, as in the first response
  std::atomic<std::uint64_t> version{0};     ///< a hash of the first response's ETag, or date; 0 until then
};

}  // namespace wick::ext

namespace wick::inline v0_1::detail {

/// The server responds, but doesn't give the object: it doesn't exist, or not for this user.
class store_refusal : public error {
 public:
  using error::error;
};
/// The server denies this user access, for now; the object itself may be good.
class store_denial : public store_refusal, public passing_failure {
 public:
  using store_refusal::store_refusal;
};

/// A read: pieces of one object, in one request. Owned by the caller, who must not move or destroy it until
/// `done` is called.
struct remote_read {
  struct piece {
    std::uint64_t offset = 0;
    std::size_t length = 0;
    std::byte* to = nullptr;
  };
  static constexpr std::size_t max_pieces = 8;

  const char* url = nullptr;
  remote_object* object = nullptr;
  std::array<piece, max_pieces> pieces{};  ///< in the object's order; bytes between them are dropped
  std::size_t count = 0;                   ///< number of pieces
  bool may_end_early = false;              ///< for a single piece: the object may have fewer bytes
  /// Called once, on a thread of the store. It may destroy the read.
  void (*done)(remote_read&) noexcept = nullptr;
  void* owner = nullptr;  ///< for `done`

  // Set once it is done:
  std::size_t got = 0;        ///< bytes of the last piece
  std::exception_ptr failed;  ///< a wick::error without the object's name, or wick::cancelled
  void* under_way = nullptr;  ///< for the store's use, like `thread`
  std::size_t thread = 0;

  std::uint64_t first() const noexcept { return pieces[0].offset; }
  std::uint64_t end() const noexcept { return pieces[count - 1].offset + pieces[count - 1].length; }
};

/// An object's name, and its size and version if its server listed them.
struct remote_name {
  std::string url;
  std::uint64_t size = remote_object::unknown;
  std::uint64_t version = 0;
};

/// A store of objects that are read by ranges.
class object_store {
 public:
  virtual ~object_store() = default;
  /// Begins a read. Any thread. \throws std::bad_alloc, std::system_error if no thread can be started, and
  /// std::logic_error in a forked child; then `done` isn't called
  virtual void begin(remote_read& read) = 0;
  /// Makes the read end soon, with wick::cancelled unless it has ended already. The caller ensures that
  /// `read` still exists.
  virtual void call_off(remote_read& read) noexcept = 0;
  /// The number of reads that it makes at a time while others wait.
  virtual std::size_t at_a_time() const noexcept = 0;
  /// The pattern with a fixed revision, if the store has revisions. May ask the server.
  /// \throws wick::error
  virtual std::string pinned(const std::string& pattern) { return pattern; }
  /// The objects that `pattern` matches. May ask the server. \throws wick::error
  virtual std::vector<remote_name> names(const std::string& pattern) = 0;
  /// A summary of its work so far, as a line of the report.
  virtual std::string note() const = 0;
};

/// Objects by name: the content of a wick::remote_list.
struct remote_objects {
  std::shared_ptr<object_store> store;
  std::vector<remote_name> names;
  std::string folder = {};  ///< "s3://bucket/train/", if they are all of its objects
};

/// Whether it begins like a URL: "https://…".
bool is_url(std::string_view text) noexcept;
/// Whether it names an object in a bucket or hub, as in "s3://…". Such a name may have any character, and has
/// no query.
bool is_in_bucket(std::string_view url) noexcept;
/// The URL as shown in messages, keys, and fingerprints: without name, password, and query, which may be
/// secret.
std::string shown_url(std::string_view url);

/// \throws wick::error if a web server's URL has a blank, a "#", or a "%" that encodes nothing, since the
/// server would get another name
void require_encoded(std::string_view url, std::string_view who);

/// Removes the query of a web server's URL, which may be a signature that changes.
std::string_view without_query(std::string_view url) noexcept;

/// Adds the query's parameters, except those of signatures, which change.
void add_query(fingerprint_hash& h, std::string_view url) noexcept;

/// Returns the store for sources that are given URLs as text. Set by stores/remote.hpp, if a program includes
/// it.
using store_opener = std::shared_ptr<object_store> (*)();
std::atomic<store_opener>& url_store() noexcept;
/// \throws wick::error if the program has none
std::shared_ptr<object_store> store_of(std::string_view url, std::string_view who);

/// A range and, once it is read, its bytes.
struct range_part {
  file_range where;
  bytes content = {};
  std::uint64_t length = 0;  ///< of a local file, once it is measured
};

/// Reads all parts; neighbors in an object share a request. Waits for memory first, then for the store.
/// \throws wick::error, wick::cancelled
task<void> read_remote(std::span<range_part> parts, context* c, std::uint64_t max_bytes);
/// The same on the calling thread, which waits until it is done or `stop` is requested.
void read_remote_now(std::span<range_part> parts, std::uint64_t max_bytes, const stop_token& stop = {});
/// Waits for the reads on the calling thread. \throws wick::error, wick::cancelled
void wait_for_remote(std::span<remote_read> reads, const stop_token& stop = {});
/// Reads up to `size` bytes from `offset` on, fewer only at the object's end. Waits. \throws wick::error
std::size_t read_remote_up_to(const char* url, remote_object& object, std::byte* to, std::size_t size,
                              std::uint64_t offset);

}  // namespace wick::detail
