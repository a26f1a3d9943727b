// Implements stores/detail/http_client.hpp. Included in exactly one file of a program, which links curl.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <curl/curl.h>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include <wick/base/detail/signal_mask.hpp>
#include <wick/io/detail/percent_encoding.hpp>
#include <wick/io/detail/remote_wait.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/stores/detail/http_client.hpp>
#include <wick/stores/impl/http_request.ipp>
#include <wick/stores/impl/http_second_requests.ipp>
#include <wick/stores/impl/http_transfers.ipp>

namespace wick::inline v0_1::detail {

bool has_header(const std::vector<std::string>& headers, std::string_view name) {
  return std::any_of(headers.begin(), headers.end(), [name](const std::string& line) {
    return without_blanks(lower_case(line.substr(0, line.find(':')))) == name;
  });
}

struct http_client::state : http_transfers {
  using http_transfers::http_transfers;

  /// What limits the throughput: the server's refusals, the loader, the number of requests, or the network.
  std::string verdict() const {
    const auto share = [](std::uint64_t part, std::uint64_t of) {
      return static_cast<double>(part) / static_cast<double>(std::max<std::uint64_t>(of, 1));
    };
    const std::uint64_t sent = requests.load(std::memory_order_relaxed),
                        again = retries.load(std::memory_order_relaxed),
                        waits = crowded.load(std::memory_order_relaxed),
                        none_wait = alone.load(std::memory_order_relaxed);
    if (share(again, sent) >= 0.02) {
      std::array<char, 128> text{};
      std::snprintf(
          text.data(), text.size(),
          "%.2g %% of the requests are refused or broken off: the server holds back, or the link is bad",
          100 * share(again, sent));
      return text.data();
    }
    if (share(waits, waits + none_wait) < 0.5) {
      const auto some = static_cast<std::uint64_t>(busy.load(std::memory_order_relaxed));
      const auto none = static_cast<std::uint64_t>(pauses.load(std::memory_order_relaxed));
      return share(some, some + none) > 0.8
                 ? "all that the loader asks for is under way: with more .prefetch it asks for more"
                 : "the loader asks for no more: servers don't limit it";
    }
    const std::size_t now = limit.load(std::memory_order_relaxed);
    if (now == at_a_time.most()) {
      return "more requests wait than are sent: give wick::remote more than .requests = " +
             std::to_string(now);
    }
    return "more requests at a time bring no more: the link or the server is the limit";
  }
};

http_client::http_client(const remote_options& options, std::unique_ptr<http_locator> locator)
    : state_(make_owned<state>(options, std::move(locator))) {}

http_client::~http_client() {
  if (born_.elsewhere()) {  // in a forked child, which doesn't have the thread
    static_cast<void>(state_.release());
    return;
  }
  bool must_wake = false;
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
    must_wake = state_->must_wake();
  }
  if (must_wake) state_->sockets.wake();
  if (state_->thread.joinable()) state_->thread.join();
}

void http_client::begin(remote_read& read) { begin(read, nullptr); }

void http_client::begin(remote_read& read, const http_address* whole) {
  born_.require_same("an object of a server was read");
  state& s = *state_;
  auto request = std::make_unique<http_request>(read, whole);
  bool must_wake = false;
  {
    const std::lock_guard lock(s.mutex);
    s.fresh.push_back(request.get());
    if (!s.thread.joinable()) {
      try {
        const signals_blocked quiet;
        s.thread = std::thread([&s] { s.run(); });
      } catch (...) {
        s.fresh.pop_back();
        throw;
      }
    }
    read.under_way = request.release();
    must_wake = s.must_wake();
  }
  if (must_wake) s.sockets.wake();
}

void http_client::call_off(remote_read& read) noexcept {
  state& s = *state_;
  bool must_wake = false;
  {
    const std::lock_guard lock(s.mutex);
    if (read.under_way == nullptr) return;
    static_cast<http_request*>(read.under_way)->called_off = true;
    s.any_called_off = true;
    must_wake = s.must_wake();
  }
  if (must_wake) s.sockets.wake();
}

std::size_t http_client::at_a_time() const noexcept { return state_->limit.load(std::memory_order_relaxed); }

std::string http_client::pinned(const std::string& pattern) {
  return state_->locator->pinned(*this, pattern);
}

std::vector<remote_name> http_client::names(const std::string& pattern) {
  return state_->locator->names(*this, pattern);
}

std::string http_client::get(const http_address& from, std::size_t most) {
  const auto out = std::make_unique_for_overwrite<char[]>(most);  // more than most pages need
  remote_object object{this};
  remote_read read;
  read.url = from.url.c_str();
  read.object = &object;
  read.pieces[0] = {0, most, reinterpret_cast<std::byte*>(out.get())};
  read.count = 1;
  read.may_end_early = true;
  remote_wait waiting(1);
  waiting.add(read, [&](remote_read& r) { begin(r, &from); });
  if (waiting.wait() != nullptr) std::rethrow_exception(read.failed);
  if (read.got == most)
    throw error("the server sends a list of more than " + std::to_string(most) + " bytes");
  return {out.get(), read.got};
}

std::string http_client::note() const {
  const state& s = *state_;
  const auto count = [](const std::atomic<std::uint64_t>& of) { return of.load(std::memory_order_relaxed); };
  if (count(s.requests) == 0) return {};
  const http_clock::duration busy(s.busy.load(std::memory_order_relaxed));
  const double seconds = std::max(std::chrono::duration<double>(busy).count(), 1e-3);
  const auto bytes = static_cast<double>(count(s.bytes));
  std::array<char, 256> text{};
  std::snprintf(text.data(), text.size(),
                "servers: %.3g GB at %.3g MB/s; %" PRIu64 " requests (%" PRIu64 " again, %" PRIu64
                " twice), %zu at a time, %" PRIu64
                " connections; the first byte after %.3g ms (median), %.3g ms (p99)",
                1e-9 * bytes, 1e-6 * bytes / seconds, count(s.requests), count(s.retries), count(s.twice),
                at_a_time(), count(s.connections), 1e3 * s.first_bytes.median(), 1e3 * s.first_bytes.p99());
  return std::string(text.data()) + "; " + s.verdict();
}

}  // namespace wick::detail
