/// \file
/// Reads ranges of objects over HTTP: many requests at a time, by one thread that never blocks.
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

/// What one attempt at a request sends.
struct http_address {
  std::string url;
  std::vector<std::string> headers;  ///< "Name: value"
  std::string ca_file = {};          ///< empty: as the options say
  std::uint64_t keys = 0;            ///< with which of the locator's keys it is signed
  bool same_size_is_same = false;    ///< whatever the ETag says
  /// What to do when the server refuses it: ends a message. A literal.
  const char* advice = "check the credentials";
};

/// Whether one of "Name: value" has this name, given in lower case.
bool has_header(const std::vector<std::string>& headers, std::string_view name);

/// Says where an object is at the moment of an attempt: a signature ends with its minutes.
class http_locator {
 public:
  virtual ~http_locator() = default;
  /// Whether locate() has an answer without waiting; it is asked again soon. By the client's thread.
  virtual bool ready(const char* /*url*/) { return true; }
  /// Called by the client's thread. \throws wick::error
  virtual http_address locate(const char* url) = 0;
  /// The server refuses the address of `url` that was signed with `keys`. Whether there are others by now. By
  /// the client's thread.
  virtual bool has_other_settings(const char* url, std::uint64_t keys) = 0;
  /// The server has refused a request for its time: `there` is the server's (-1: unknown), `here` this
  /// machine's. By the client's thread.
  virtual void server_time(std::int64_t /*here*/, std::int64_t /*there*/) noexcept {}
  /// The server has redirected the address of `url`, with success. By the client's thread.
  virtual void redirected(const char* /*url*/, const char* /*to*/) {}
  /// The pattern with a revision that doesn't move, where its store has revisions. Any thread.
  /// \throws wick::error
  virtual std::string pinned(class http_client& /*client*/, const std::string& pattern) { return pattern; }
  /// The list of what `pattern` stands for. Any thread.
  virtual std::vector<remote_name> names(class http_client& client, const std::string& pattern) = 0;
};

/// An object store over libcurl's multi interface.
///
/// Its thread starts with the first read. It has as many requests under way as give most, keeps connections,
/// and asks again for what is missing where a connection breaks or the server is busy. Where a server fails
/// several times in a row, one request at a time tries it until it answers.
///
/// Each answer is checked: its status, the range, and whether the object is the one of the first answer.
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
  /// The whole of an answer, for lists. Waits. \throws wick::error, also when it has more than `most` bytes
  std::string get(const http_address& from, std::size_t most);

 private:
  void begin(remote_read& read, const http_address* whole);

  struct state;
  owned<state> state_;
  process_mark born_;
};

}  // namespace wick::detail
