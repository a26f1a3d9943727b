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

#include <wick/base/detail/cpus.hpp>
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

struct http_client::state {
  state(const remote_options& o, std::unique_ptr<http_locator> l) : pace(o, std::move(l), threads_of(o)) {
    for (std::size_t i = 0; i < pace.threads; ++i)
      threads.push_back(std::make_unique<http_transfers>(pace, i));
  }

  static std::size_t threads_of(const remote_options& o) {
    const std::size_t wanted = o.threads.value_or(std::clamp<std::size_t>(available_cpus() / 4, 1, 4));
    return std::min(wanted, most_threads);
  }
  /// The thread with the fewest requests.
  http_transfers& least_busy() const noexcept {
    return **std::min_element(threads.begin(), threads.begin() + static_cast<std::ptrdiff_t>(pace.used()),
                              [](const auto& x, const auto& y) {
                                return x->unfinished.load(std::memory_order_relaxed) <
                                       y->unfinished.load(std::memory_order_relaxed);
                              });
  }
  template <class T>
  T sum(std::atomic<T> http_transfers::*of) const noexcept {
    T out = 0;
    for (const auto& t : threads) out += (t.get()->*of).load(std::memory_order_relaxed);
    return out;
  }
  /// The time with requests under way: mostly, the first thread has some if any other has.
  http_clock::duration busy() const noexcept {
    return http_clock::duration(threads.front()->busy.load(std::memory_order_relaxed));
  }

  /// What limits the throughput: the server's refusals, the loader, the number of requests, or the network.
  std::string verdict() const {
    const auto share = [](std::uint64_t part, std::uint64_t of) {
      return static_cast<double>(part) / static_cast<double>(std::max<std::uint64_t>(of, 1));
    };
    const std::uint64_t sent = sum(&http_transfers::requests), again = sum(&http_transfers::retries),
                        waits = sum(&http_transfers::crowded), none_wait = sum(&http_transfers::alone);
    if (share(again, sent) >= 0.02) {
      std::array<char, 128> text{};
      std::snprintf(
          text.data(), text.size(),
          "%.2g %% of the requests are refused or broken off: the server holds back, or the link is bad",
          100 * share(again, sent));
      return text.data();
    }
    if (share(waits, waits + none_wait) < 0.5) {
      const auto some = static_cast<std::uint64_t>(busy().count());
      const auto none = static_cast<std::uint64_t>(threads.front()->pauses.load(std::memory_order_relaxed));
      return share(some, some + none) > 0.8
                 ? "all that the loader asks for is under way: with more .prefetch it asks for more"
                 : "the loader asks for no more: servers don't limit it";
    }
    const std::size_t now = pace.limit();
    if (now == pace.most()) {
      return "more requests wait than are sent: give wick::remote more than .requests = " +
             std::to_string(now);
    }
    return "more requests at a time bring no more: the link or the server is the limit";
  }

  static constexpr std::size_t most_threads = 16;
  http_pace pace;
  std::vector<std::unique_ptr<http_transfers>> threads;
};

http_client::http_client(const remote_options& options, std::unique_ptr<http_locator> locator)
    : state_(make_owned<state>(options, std::move(locator))) {}

http_client::~http_client() {
  if (born_.elsewhere()) {  // in a forked child, which doesn't have the thread
    static_cast<void>(state_.release());
    return;
  }
  for (const auto& t : state_->threads) {
    const std::lock_guard lock(t->mutex);
    t->stopping = true;
    t->wake();
  }
  for (const auto& t : state_->threads) {
    if (t->thread.joinable()) t->thread.join();
  }
}

void http_client::begin(remote_read& read) { begin(read, nullptr); }

void http_client::begin(remote_read& read, const http_address* whole) {
  born_.require_same("an object of a server was read");
  auto request = std::make_unique<http_request>(read, whole);
  http_transfers& by = state_->least_busy();
  const std::lock_guard lock(by.mutex);
  by.fresh.push_back(request.get());
  if (!by.thread.joinable()) {
    try {
      by.sockets.emplace(static_cast<long>(by.pace.most()));
      const signals_blocked quiet;
      by.thread = std::thread([&by] { by.run(); });
    } catch (...) {
      by.fresh.pop_back();
      throw;
    }
  }
  by.unfinished.fetch_add(1, std::memory_order_relaxed);
  read.thread = by.index;
  read.under_way = request.release();
  by.wake();
}

void http_client::call_off(remote_read& read) noexcept {
  http_transfers& by = *state_->threads[read.thread];
  const std::lock_guard lock(by.mutex);
  if (read.under_way == nullptr) return;
  static_cast<http_request*>(read.under_way)->called_off = true;
  by.any_called_off = true;
  by.wake();
}

std::size_t http_client::at_a_time() const noexcept { return state_->pace.limit(); }

std::string http_client::pinned(const std::string& pattern) {
  return state_->pace.locator->pinned(*this, pattern);
}

std::vector<remote_name> http_client::names(const std::string& pattern) {
  return state_->pace.locator->names(*this, pattern);
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
  const std::uint64_t requests = s.sum(&http_transfers::requests);
  if (requests == 0) return {};
  const double seconds = std::max(std::chrono::duration<double>(s.busy()).count(), 1e-3);
  const auto bytes = static_cast<double>(s.sum(&http_transfers::bytes));
  std::array<char, 256> text{};
  std::snprintf(text.data(), text.size(),
                "servers: %.3g GB at %.3g MB/s; %" PRIu64 " requests (%" PRIu64 " again, %" PRIu64
                " twice), %zu at a time, %" PRIu64
                " connections; the first byte after %.3g ms (median), %.3g ms (p99)",
                1e-9 * bytes, 1e-6 * bytes / seconds, requests, s.sum(&http_transfers::retries),
                s.sum(&http_transfers::twice), at_a_time(), s.sum(&http_transfers::connections),
                1e3 * s.pace.first_bytes.median(), 1e3 * s.pace.first_bytes.p99());
  return std::string(text.data()) + "; " + s.verdict();
}

}  // namespace wick::detail
