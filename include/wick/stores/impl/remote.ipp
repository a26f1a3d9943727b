// Implements stores/remote.hpp. Included in exactly one file of a program, which links curl.
#pragma once

#include <atomic>
#include <iterator>
#include <mutex>
#include <utility>

#include <wick/base/detail/process.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/stores/detail/http_client.hpp>
#include <wick/stores/detail/url_locator.hpp>
#include <wick/stores/remote.hpp>

namespace wick::inline v0_1 {

std::shared_ptr<detail::object_store> detail::open_store(const remote_options& options) {
  return std::make_shared<http_client>(options, std::make_unique<url_locator>(options));
}

namespace {

/// Shared by all lists without options, so that sources share its connections.
std::shared_ptr<detail::object_store> default_store() {
  static std::mutex mutex;
  static std::weak_ptr<detail::object_store> kept;
  static detail::process_mark made_in;
  const std::lock_guard lock(mutex);
  std::shared_ptr<detail::object_store> now = kept.lock();
  if (now == nullptr || made_in.elsewhere()) {  // in a forked child, the parent's store has no thread
    kept = now = detail::open_store(remote_options{});
    made_in = {};
  }
  return now;
}

}  // namespace

remote_list remote(const std::string& pattern) { return remote(std::vector<std::string>{pattern}); }

remote_list remote(const std::string& pattern, const remote_options& options) {
  return remote(std::vector<std::string>{pattern}, options);
}

remote_list remote(const std::vector<std::string>& patterns) {
  return detail::named_by(default_store(), patterns);
}

remote_list remote(const std::vector<std::string>& patterns, const remote_options& options) {
  if (options.requests == 0u) throw error("remote: .requests is 0; it is at least 1, or left out");
  if (options.threads == 0u) throw error("remote: .threads is 0; it is at least 1, or left out");
  return detail::named_by(detail::open_store(options), patterns);
}

remote_list remote(std::initializer_list<std::string> patterns) {
  return remote(std::vector<std::string>(patterns));
}

remote_list remote(std::initializer_list<std::string> patterns, const remote_options& options) {
  return remote(std::vector<std::string>(patterns), options);
}

bool detail::use_remote_for_urls() noexcept {
  url_store().store(&default_store, std::memory_order_release);
  return true;
}

remote_list detail::named_by(std::shared_ptr<object_store> store, const std::vector<std::string>& patterns) {
  remote_list out{{std::move(store), {}}};
  for (const std::string& given : patterns) {
    const std::string pattern = out.store->pinned(given);
    std::vector<remote_name> found = out.store->names(pattern);
    out.names.insert(out.names.end(), std::make_move_iterator(found.begin()),
                     std::make_move_iterator(found.end()));
    if (patterns.size() == 1 && pattern.ends_with('/')) out.folder = pattern;
  }
  if (out.names.empty()) throw error("remote: the list is empty; give it at least one URL");
  return out;
}

}  // namespace wick
