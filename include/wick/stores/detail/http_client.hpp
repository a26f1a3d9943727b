// Reads ranges of objects over HTTP: many requests at a time, on a few threads that never block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <wick/base/detail/owned.hpp>
#include <wick/base/detail/process.hpp>
#include <wick/io/detail/object_store.hpp>
#include <wick/stores/remote.hpp>

namespace wick::inline v0_1::detail {

/// The address and headers of one attempt at a request.
struct http_address {
  std::string url;
  std::vector<std::string> headers;  ///< "Name: value"
  std::string ca_file = {};          ///< empty for the one in the options
  std::uint64_t keys = 0;            ///< the number of the locator's keys that sign it
  bool same_size_is_same = false;    ///< regardless of the ETag
  /// What to do if the server refuses the request, as the end of a message. A literal.
  const char* advice = "check the credentials";
};

/// Whether one of the "Name: value" lines has this name, given in lower case.
bool has_header(const std::vector<std::string>& headers, std::string_view name);

/// Locates an object for each attempt, since a signature expires within minutes. The client's threads call
/// its functions one at a time, but for pinned() and names().
class http_locator {
 public:
  virtual ~http_locator() = default;
  /// Whether locate() can return without waiting; if not, it is called again soon.
  virtual bool ready(const char* /*url*/) { return true; }
  /// \throws wick::error
  virtual http_address locate(const char* url) = 0;
  /// The server refused the address of `url` that was signed with `keys`. Returns whether there are other
  /// keys by now.
  virtual bool has_other_settings(const char* url, std::uint64_t keys) = 0;
  /// The server refused a request because of its time: `there` is the server's (-1: unknown), `here` this
  /// machine's.
  virtual void server_time(std::int64_t /*here*/, std::int64_t /*there*/) noexcept {}
  /// The server redirected the address of `url`, and the redirect succeeded.
  virtual void redirected(const char* /*url*/, const char* /*to*/) {}
  /// The pattern with a fixed revision, if its store has revisions. Any thread.
  /// \throws wick::error
  virtual std::string pinned(class http_client& /*client*/, const std::string& pattern) { return pattern; }
  /// The objects that `pattern` matches. Any thread.
  virtual std::vector<remote_name> names(class http_client& client, const std::string& pattern) = 0;
};

/// An object store over libcurl's multi interface.
///
/// Its threads start with their first reads. They keep connections, adapt the number of concurrent requests
/// to the throughput, and request what is missing again when a connection breaks or the server is busy. After
/// several failures of a server in a row, one request at a time probes it until it responds.
///
/// Each response is checked: its status, its range, and whether it is of the same object as the first
/// response.
class http_client : public object_store {
 public:
  http_client(const remote_options& options, std::unique_ptr<http_locator> locator);
  ~http_client() override;

  void begin(remote_read& read) override;
  void call_off(remote_read& read) noexcept override;
  std::size_t at_a_time() const noexcept override;
  std::string pinned(const std::string& pattern) override;
  std::vector<remote_name> names(const std::string& pattern) override;
  std::string note() const override;
  /// A whole response, for lists. Waits. \throws wick::error, also when it has more than `most` bytes
  std::string get(const http_address& from, std::size_t most);

 private:
  void begin(remote_read& read, const http_address* whole);

  struct state;
  owned<state> state_;
  process_mark born_;
};

}  // namespace wick::detail
