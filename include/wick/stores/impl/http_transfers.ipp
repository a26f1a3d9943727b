// A thread of an http_client: sends requests, and repeats those that fail. Used only by http_client.ipp.
#pragma once

#include <ctime>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <pthread.h>
#include <random>
#include <signal.h>
#include <thread>

#include <wick/async/stop_token.hpp>
#include <wick/base/detail/cpu_set.hpp>
#include <wick/base/detail/thread_name.hpp>
#include <wick/stores/impl/http_pace.ipp>
#include <wick/stores/impl/http_request.ipp>
#include <wick/stores/impl/http_sockets.ipp>

namespace wick::inline v0_1::detail {

namespace {

std::chrono::nanoseconds in_seconds(double s) {
  return std::chrono::nanoseconds(static_cast<std::int64_t>(std::clamp(s, 0.0, 1e9) * 1e9));
}

}  // namespace

/// The requests of one of a client's threads, which alone calls most of these functions.
struct http_transfers {
  http_transfers(http_pace& p, std::size_t number) : pace(p), index(number) {}
  http_transfers(const http_transfers&) = delete;
  http_transfers& operator=(const http_transfers&) = delete;

  /// Lets the thread look at what has changed. With the mutex locked. Any thread.
  void wake() noexcept {
    if (std::exchange(asleep, false)) sockets->wake();
  }
  void run();
  void start_some(http_clock::time_point now);
  void start(http_request& r, const http_address& to);
  /// None while keys are fetched. \throws wick::error
  std::optional<http_address> address_of(const http_request& r);
  void ended(http_request& r, CURLcode code);
  /// Sends late requests a second time.
  void hedge(http_clock::time_point now);
  bool may_hedge() const noexcept;
  void second_ended(http_request& second, CURLcode code);
  void drop_second(http_request& r) noexcept;
  void succeeded(http_request& r) noexcept;
  /// False if it is sent again. \throws wick::error
  bool done(http_request& r, CURLcode code);
  void again(http_request& r, const std::string& why);
  /// Gives up requests that were tried and are out of time: in trouble, only one attempt is made at a time.
  void give_up_waiting(http_clock::time_point now);
  void release(http_request& r) noexcept;
  void finish(http_request& r, std::exception_ptr failed) noexcept;
  void drop_called_off();
  int milliseconds_to_wait(http_clock::time_point now) const noexcept;
  http_clock::time_point running_time() const noexcept { return pace.running_time(); }
  bool in_trouble() const noexcept { return pace.in_trouble(); }

  http_pace& pace;
  const remote_options& options = pace.options;
  const std::size_t index;  // of the client's threads
  const cpu_set cpus = cpu_set::of_this_thread();

  std::mutex mutex;
  std::vector<http_request*> fresh;  // from begin(); guarded, like the next three
  bool stopping = false, any_called_off = false, asleep = false;
  std::optional<http_sockets> sockets;  // from the first begin() on, as the thread
  std::thread thread;

  std::atomic<std::size_t> unfinished{0};  // requests from begin() to finish()

  // Used by this thread:
  std::deque<http_request*> waiting;
  std::vector<http_request*> active;
  std::vector<std::unique_ptr<http_handle>> idle;
  std::uint64_t recoveries = 0;  // of the pace, that it has seen
  std::minstd_rand random;
  std::atomic<http_clock::rep> busy{0}, pauses{0};  // time with requests under way; short pauses between
  std::atomic<std::uint64_t> requests{0}, retries{0}, twice{0}, connections{0}, bytes{0};
  std::atomic<std::uint64_t> crowded{0}, alone{0};  // successful requests: with others waiting, and without
};

inline void http_transfers::run() {
  name_this_thread("wick-net", index);
  cpus.apply();
  block_signal(SIGPIPE);         // a peer that closes a connection must not raise it
  http_clock::duration asked{};  // how long this thread meant to sleep
  http_clock::time_point last = running_time();
  const auto note_time = [&] {
    const http_clock::time_point now = pace.woke(last, std::exchange(asked, {}));
    const http_clock::duration took = std::max(now - last, http_clock::duration(0));
    if (!active.empty() || took < std::chrono::seconds(1))
      (active.empty() ? pauses : busy).fetch_add(took.count(), std::memory_order_relaxed);
    last = now;
  };
  const auto end = [this](CURL* easy, CURLcode code) {
    void* of = nullptr;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &of);
    ended(*static_cast<http_request*>(of), code);
  };
  for (;;) {
    bool look_for_called_off = false;
    {
      const std::lock_guard lock(mutex);
      asleep = false;
      waiting.insert(waiting.end(), fresh.begin(), fresh.end());
      fresh.clear();
      look_for_called_off = std::exchange(any_called_off, false);
      if (stopping) {
        for (http_request* r : waiting) r->called_off = true;
        for (http_request* r : active) r->called_off = !r->second();
        look_for_called_off = true;
      }
    }
    if (look_for_called_off) drop_called_off();
    {
      const std::lock_guard lock(mutex);
      if (stopping && fresh.empty()) return;
    }
    note_time();
    start_some(last);
    if (may_hedge()) hedge(last);
    sockets->act_on_time();
    note_time();
    int wait = sockets->take_ended(end) ? 0 : milliseconds_to_wait(running_time());
    {
      const std::lock_guard lock(mutex);
      asleep = wait != 0 && fresh.empty() && !any_called_off && !stopping;
      if (!asleep) wait = 0;
    }
    asked = std::chrono::milliseconds(wait);
    sockets->wait(wait);
    note_time();  // before requests end: times that include a stop would be in the far future
    sockets->take_ended(end);
  }
}

inline void http_transfers::drop_called_off() {
  std::vector<http_request*> gone;
  {
    const std::lock_guard lock(mutex);
    const auto take = [&gone](auto& from) {
      auto kept = from.begin();
      for (http_request* r : from) {
        if (r->called_off)
          gone.push_back(r);
        else
          *kept++ = r;
      }
      from.erase(kept, from.end());
    };
    take(waiting);
    take(active);
  }
  for (http_request* r : gone) {
    drop_second(*r);
    release(*r);
    finish(*r, std::make_exception_ptr(cancelled()));
  }
}

inline void http_transfers::start_some(http_clock::time_point now) {
  if (recoveries != pace.recoveries()) {
    recoveries = pace.recoveries();
    for (http_request* r : waiting) r->due = {};
  }
  const bool probing = in_trouble();
  const std::size_t most = probing ? 1 : pace.limit_of(index);
  if (active.empty() || !probing) pace.end_probe(index);
  if (probing) give_up_waiting(now);
  if (probing && (waiting.empty() || !active.empty() || !pace.begin_probe(index))) return;
  for (std::size_t i = 0; i < waiting.size() && active.size() < most;) {
    http_request& r = *waiting[i];
    if (r.due > now && !probing) {
      ++i;
      continue;
    }
    std::exception_ptr failed;
    std::optional<http_address> to;
    try {
      to = address_of(r);
      if (!to) {
        r.due = now + std::chrono::milliseconds(20);
        ++i;
        continue;
      }
    } catch (...) {
      failed = std::current_exception();
    }
    waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
    if (to) {
      try {
        active.push_back(&r);
        start(r, *to);
        continue;
      } catch (...) {
        failed = std::current_exception();
      }
    }
    std::erase(active, &r);
    release(r);
    finish(r, std::move(failed));
  }
  if (probing && active.empty()) pace.end_probe(index);
}

inline std::optional<http_address> http_transfers::address_of(const http_request& r) {
  if (r.whole != nullptr) return *r.whole;
  const std::lock_guard lock(pace.locating);
  if (!pace.locator->ready(r.read->url)) return std::nullopt;
  return pace.locator->locate(r.read->url);
}

inline void http_transfers::start(http_request& r, const http_address& to) {
  r.sent = running_time();
  if (r.attempts == 0) r.begun = r.sent;
  if (idle.empty()) {
    r.handle = std::make_unique<http_handle>();
  } else {
    r.handle = std::move(idle.back());
    idle.pop_back();
  }
  r.sizes_only = options.compare_sizes_only || to.same_size_is_same;
  r.versions = &pace.versions;
  r.prepare(to, options);
  sockets->add(r.handle->curl);
  requests.fetch_add(1, std::memory_order_relaxed);
}

inline void http_transfers::ended(http_request& r, CURLcode code) {
  long made = 0;
  curl_off_t received = 0;
  curl_easy_getinfo(r.handle->curl, CURLINFO_NUM_CONNECTS, &made);
  curl_easy_getinfo(r.handle->curl, CURLINFO_SIZE_DOWNLOAD_T, &received);
  connections.fetch_add(static_cast<std::uint64_t>(std::max(made, 0L)), std::memory_order_relaxed);
  bytes.fetch_add(static_cast<std::uint64_t>(std::max<curl_off_t>(received, 0)), std::memory_order_relaxed);
  curl_off_t first = 0;
  curl_easy_getinfo(r.handle->curl, CURLINFO_STARTTRANSFER_TIME_T, &first);
  r.first_byte = 1e-6 * static_cast<double>(first);
  long redirects = 0;
  const char* last = nullptr;
  curl_easy_getinfo(r.handle->curl, CURLINFO_REDIRECT_COUNT, &redirects);
  curl_easy_getinfo(r.handle->curl, CURLINFO_EFFECTIVE_URL, &last);
  if (redirects > 0 && last != nullptr && r.good && r.whole == nullptr) {
    const std::lock_guard lock(pace.locating);
    pace.locator->redirected(r.read->url, last);
  }
  if (r.second()) return second_ended(r, code);
  drop_second(r);
  std::erase(active, &r);
  release(r);
  std::exception_ptr failed;
  try {
    if (!done(r, code)) return;
  } catch (...) {
    failed = std::current_exception();
  }
  finish(r, std::move(failed));  // not in the handler, which would hold the exception while others read it
}

inline bool http_transfers::done(http_request& r, CURLcode code) {
  const bool answered = code == CURLE_OK || code == CURLE_WRITE_ERROR;
  if (answered && !r.checked && r.answer.status != 0) r.check_head();
  remote_read& read = *r.read;
  std::uint64_t size = read.object->size.load(std::memory_order_acquire);
  if (answered && r.answer.status == 416 && read.may_end_early) {  // it ends before the first byte
    std::uint64_t unknown = remote_object::unknown;
    if (r.answer.size == http_answer::unknown && r.from == 0)  // an empty object has no first byte
      read.object->size.compare_exchange_strong(unknown, 0, std::memory_order_acq_rel);
    size = read.object->size.load(std::memory_order_acquire);
    if (size <= r.from) return true;
  }
  if (r.has_all(code)) {
    succeeded(r);
    return true;
  }
  if (r.good && r.place == size && code == CURLE_OK) throw error(r.too_short(size));
  constexpr std::uint64_t progress = std::uint64_t{64} << 10;
  if (r.whole == nullptr && r.at > r.from && r.at - r.from >= progress) {  // a list starts over
    r.attempts = 0;
    r.begun = running_time();
  }
  std::string why = r.fault;
  if (!why.empty()) {
    const int status = r.answer.status;
    const bool refused = r.whole == nullptr && (status == 301 || (status >= 400 && status <= 404));
    const bool clock_differs = r.clock_differs();
    const std::lock_guard lock(pace.locating);
    if (clock_differs)
      pace.locator->server_time(std::time(nullptr), curl_getdate(r.answer.date.c_str(), nullptr));
    const bool signed_again = r.whole == nullptr;
    if (!r.answer.may_pass() && !(clock_differs && signed_again) &&
        !(refused && pace.locator->has_other_settings(read.url, r.keys))) {
      if (status == 404 || status == 410) throw store_refusal(r.verdict());
      throw store_denial(r.verdict());
    }
  } else {
    why = r.message[0] != '\0' ? r.message.data() : curl_easy_strerror(code);
    if (why.find("Unsupported proxy") != std::string::npos)  // its text includes the proxy's password
      why = std::string(curl_easy_strerror(code)) + "; check http_proxy, https_proxy and all_proxy";
    if (code == CURLE_OK) why = "the answer ends early";
    if (code != CURLE_OK && !may_pass(code)) throw error("can't be read from the server: " + printable(why));
  }
  again(r, why);
  return false;
}

inline void http_transfers::succeeded(http_request& r) noexcept {
  const bool others_wait = !waiting.empty();
  (others_wait ? crowded : alone).fetch_add(1, std::memory_order_relaxed);
  pace.succeeded(std::chrono::duration<double>(running_time() - r.sent).count(), r.first_byte, others_wait);
}

inline void http_transfers::again(http_request& r, const std::string& why) {
  constexpr double first_pause = 0.1, longest_pause = 2;
  constexpr std::uint32_t least_attempts = 3;
  const http_clock::time_point now = running_time();
  const bool tried_enough = r.attempts + 1 >= least_attempts || in_trouble();
  if (tried_enough && now - r.begun >= options.give_up_after) throw passing_error(r.gave_up(why, options));
  const double jitter = 0.5 + 0.5 * std::uniform_real_distribution<double>()(random);
  const double pause =
      std::min(first_pause * static_cast<double>(1u << std::min(r.attempts, 10u)), longest_pause);
  r.due = now + std::max(in_seconds(pause * jitter),
                         std::min(in_seconds(r.answer.retry_after), options.give_up_after));
  ++r.attempts;
  pace.failed(in_seconds(std::max(0.5 * jitter, std::min(r.answer.retry_after, 1.0))));
  r.why = why;
  if (in_trouble()) {  // this server may be gone while another works
    std::stable_partition(waiting.begin(), waiting.end(),
                          [of = r.server()](const http_request* w) { return w->server() != of; });
    waiting.push_back(&r);
  } else {
    waiting.push_front(&r);
  }
  retries.fetch_add(1, std::memory_order_relaxed);
}

inline void http_transfers::give_up_waiting(http_clock::time_point now) {
  for (std::size_t i = 0; i < waiting.size();) {
    http_request& r = *waiting[i];
    if (r.attempts == 0 || now - r.begun < options.give_up_after) {
      ++i;
      continue;
    }
    waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(i));
    std::exception_ptr failed;
    try {
      throw passing_error(r.gave_up(r.why, options));
    } catch (...) {  // the one above, or no memory for the text
      failed = std::current_exception();
    }
    finish(r, std::move(failed));
  }
}

inline void http_transfers::release(http_request& r) noexcept {
  if (r.handle == nullptr) return;
  sockets->remove(r.handle->curl);
  r.handle->forget();
  try {
    idle.push_back(std::move(r.handle));
  } catch (...) {
    r.handle.reset();
  }
}

inline void http_transfers::finish(http_request& r, std::exception_ptr failed) noexcept {
  const std::unique_ptr<http_request> gone(&r);
  remote_read& read = *r.read;
  {
    const std::lock_guard lock(mutex);
    read.under_way = nullptr;
  }
  unfinished.fetch_sub(1, std::memory_order_relaxed);
  read.failed = std::move(failed);
  read.done(read);
}

}  // namespace wick::detail
