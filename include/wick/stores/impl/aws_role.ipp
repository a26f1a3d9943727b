// Implements stores/detail/aws_role.hpp. Included in exactly one file of a program, which links curl.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <map>
#include <mutex>
#include <pugixml.hpp>
#include <thread>
#include <utility>

#include <wick/async/detail/interruption.hpp>
#include <wick/base/detail/condition.hpp>
#include <wick/base/detail/signal_mask.hpp>
#include <wick/base/detail/thread_name.hpp>
#include <wick/io/detail/json_reader.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/stores/detail/aws_role.hpp>
#include <wick/stores/impl/aws_role_fetch.ipp>

namespace wick::inline v0_1::detail {

namespace {

/// The string members of a JSON object.
std::map<std::string, std::string> strings_of(std::string_view text) try {
  std::map<std::string, std::string> out;
  json_reader json(text);
  json.object([&](std::string name) {
    if (json.at_string())
      out[std::move(name)] = json.string();
    else
      json.skip();
  });
  return out;
} catch (const error& e) {
  throw error(std::string("the answer has no keys: it isn't an object of JSON (") + e.what() + ")");
}

aws_role_keys checked(aws_role_keys keys) {
  if (keys.access_key.empty() || keys.secret_key.empty())
    throw error("the answer has no keys (AccessKeyId, SecretAccessKey)");
  for (const std::string* const text : {&keys.access_key, &keys.secret_key, &keys.session_token}) {
    if (!std::all_of(text->begin(), text->end(), [](char c) { return c > ' ' && c < '\x7F'; }))
      throw error("the answer has keys with a character that no key has");
  }
  return keys;
}

}  // namespace

std::int64_t parse_iso_time(const std::string& text) noexcept {
  std::tm t{};
  int end = 0;
  if (std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d%n", &t.tm_year, &t.tm_mon, &t.tm_mday, &t.tm_hour,
                  &t.tm_min, &t.tm_sec, &end) != 6)
    return 0;
  t.tm_year -= 1900;
  t.tm_mon -= 1;
  const char* rest = text.c_str() + end;
  if (*rest == '.')
    for (++rest; *rest >= '0' && *rest <= '9';) ++rest;
  char sign = 'Z';
  int hours = 0, minutes = 0;
  if (*rest != 'Z' && std::sscanf(rest, "%c%2d:%2d", &sign, &hours, &minutes) < 2) return 0;
  const std::int64_t offset = (sign == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
  return static_cast<std::int64_t>(::timegm(&t)) - (sign == 'Z' ? 0 : offset);
}

aws_role_keys parse_role_json(std::string_view json) {
  std::map<std::string, std::string> all = strings_of(json);
  if (const std::string code = all["Code"]; !code.empty() && code != "Success")
    throw error(printable((code + ": " + all["Message"]).substr(0, 300)));
  const std::string token = all["Token"];
  return checked({all["AccessKeyId"], all["SecretAccessKey"], token.empty() ? all["SessionToken"] : token,
                  parse_iso_time(all["Expiration"])});
}

aws_role_keys parse_role_xml(std::string_view xml) {
  pugi::xml_document document;
  document.load_buffer(xml.data(), xml.size());
  const pugi::xml_node keys = document.child("AssumeRoleWithWebIdentityResponse")
                                  .child("AssumeRoleWithWebIdentityResult")
                                  .child("Credentials");
  return checked({keys.child_value("AccessKeyId"), keys.child_value("SecretAccessKey"),
                  keys.child_value("SessionToken"), parse_iso_time(keys.child_value("Expiration"))});
}

namespace {

const char* name_of(aws_role::kind of) noexcept {
  switch (of) {
    case aws_role::kind::web_identity:
      return "the web identity (AWS_ROLE_ARN) gives no keys";
    case aws_role::kind::process:
      return "credential_process gives no keys";
    case aws_role::kind::container:
      return "the container's role (AWS_CONTAINER_CREDENTIALS_…) gives no keys";
    case aws_role::kind::google_instance:
      return "the virtual machine's service account gives no token";
    default:
      return "the instance's role gives no keys";
  }
}

}  // namespace

struct aws_role_client::state {
  explicit state(aws_role r) : role(std::move(r)) {}

  static std::int64_t now() noexcept { return static_cast<std::int64_t>(std::time(nullptr)); }
  bool valid() const noexcept { return !keys.access_key.empty() && (keys.ends == 0 || now() < keys.ends); }
  /// Returns whether get() can return. Needs the mutex.
  bool look() {
    const bool due = keys.access_key.empty() || must_renew || (keys.ends != 0 && now() >= renew_at);
    if (due && !fetching && (failure == nullptr || now() >= retry_at)) start();
    if (must_renew) return false;
    return valid() || (failure != nullptr && !fetching);
  }
  void start() {
    if (thread.joinable()) thread.join();  // it has ended
    fetching = true;
    try {
      const signals_blocked quiet;
      thread = std::thread([this] { fetch(); });
    } catch (...) {
      fetching = false;
      throw;
    }
  }
  void fetch() noexcept {
    name_this_thread("wick-keys", 0);
    aws_role_keys got;
    std::exception_ptr why;
    try {
      got = role_fetch(role, stopping).keys();
      if (got.ends != 0 && got.ends <= now()) throw passing_error("its keys have ended already");
    } catch (...) {
      why = std::current_exception();
    }
    const std::lock_guard lock(mutex);
    fetching = false;
    must_renew = false;
    failure = why;
    if (why == nullptr) {
      keys = std::move(got);
      // Five minutes before they expire, or in the last quarter of a short life.
      renew_at = keys.ends - std::min<std::int64_t>(300, (keys.ends - now()) / 4 + 1);
    } else {
      retry_at = now() + 1;
      renew_at = now() + 10;  // while the old ones are valid
    }
    changed.notify_all();
  }

  const aws_role role;
  mutable std::mutex mutex;
  condition changed;
  std::thread thread;
  std::atomic<bool> stopping{false};
  bool fetching = false, must_renew = false;
  aws_role_keys keys;  // no access key: none have been fetched
  std::int64_t renew_at = 0, retry_at = 0;
  std::string renewed;  // the access key that was refused last
  std::exception_ptr failure;
};

aws_role_client::aws_role_client(aws_role role) : state_(make_owned<state>(std::move(role))) {}

aws_role_client::~aws_role_client() {
  state_->stopping = true;
  if (state_->thread.joinable()) state_->thread.join();
}

bool aws_role_client::ready() {
  const std::lock_guard lock(state_->mutex);
  return state_->look();
}

aws_role_keys aws_role_client::get() {
  state& s = *state_;
  std::unique_lock lock(s.mutex);
  while (!s.look()) {
    s.changed.wait_for(lock, std::chrono::milliseconds(100));
    lock.unlock();
    check_interruption();
    lock.lock();
  }
  if (s.valid()) return s.keys;
  try {
    std::rethrow_exception(s.failure);
  } catch (const std::exception& e) {
    throw passing_error(
        (is_last_resort() ? "" : "s3: ") + std::string(name_of(s.role.of)) + ": " + e.what() +
        (is_last_resort() ? "" : "; check it, or ask without a signature: .anonymous = true"));
  }
}

bool aws_role_client::is_last_resort() const noexcept {
  return state_->role.of == aws_role::kind::instance || state_->role.of == aws_role::kind::google_instance;
}

bool aws_role_client::refused(const std::string& access_key) {
  state& s = *state_;
  const std::lock_guard lock(s.mutex);
  if (s.keys.access_key != access_key || s.must_renew) return true;  // others exist or are on their way
  if (s.renewed == access_key) return false;
  s.renewed = access_key;
  s.must_renew = true;
  s.failure = nullptr;
  return true;
}

}  // namespace wick::detail
