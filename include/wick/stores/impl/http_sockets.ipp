// Lets curl transfer when its sockets are ready, which epoll tells. Used only by http_client.ipp.
#pragma once

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <curl/curl.h>
#include <new>
#include <optional>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <system_error>
#include <unistd.h>

#include <wick/io/detail/plain_file.hpp>

namespace wick::inline v0_1::detail {

/// A curl multi handle, whose sockets cost nothing while they aren't ready: curl_multi_perform() and
/// curl_multi_poll() look at all of them each time. One thread calls all functions but wake().
class http_sockets {
 public:
  /// \throws std::bad_alloc, std::system_error if the process has too many open files
  explicit http_sockets(long most_connections)
      : events_(open_or_throw(::epoll_create1(EPOLL_CLOEXEC))),
        waker_(open_or_throw(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK))) {
    if (!watch(EPOLL_CTL_ADD, waker_.get(), EPOLLIN)) open_or_throw(-1);
    static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
    multi_ = started == CURLE_OK ? curl_multi_init() : nullptr;
    if (multi_ == nullptr) throw std::bad_alloc();
    curl_multi_setopt(multi_, CURLMOPT_MAXCONNECTS, most_connections);
    curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &on_socket);
    curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, static_cast<void*>(this));
    curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &on_timer);
    curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, static_cast<void*>(this));
  }
  http_sockets(const http_sockets&) = delete;
  http_sockets& operator=(const http_sockets&) = delete;
  ~http_sockets() { curl_multi_cleanup(multi_); }

  /// Begins the transfer of a handle at the next act_on_time(). \throws std::bad_alloc
  void add(CURL* easy) {
    if (curl_multi_add_handle(multi_, easy) != CURLM_OK) throw std::bad_alloc();
  }
  void remove(CURL* easy) noexcept { curl_multi_remove_handle(multi_, easy); }

  /// Does what is due: begins transfers that were added, and ends those that time out.
  void act_on_time() {
    if (!due_ || std::chrono::steady_clock::now() < *due_) return;
    due_.reset();
    act(CURL_SOCKET_TIMEOUT, 0);
  }
  /// Waits until sockets are ready, and transfers; at most for `milliseconds`, and until something is due.
  void wait(int milliseconds) {
    std::array<::epoll_event, 64> ready;
    const int n = ::epoll_wait(events_.get(), ready.data(), static_cast<int>(ready.size()),
                               due_ ? std::min(milliseconds, left_until(*due_)) : milliseconds);
    for (int i = 0; i < n; ++i) {
      const ::epoll_event& e = ready[static_cast<std::size_t>(i)];
      if (e.data.fd == waker_.get()) {
        std::uint64_t wakes = 0;
        static_cast<void>(::read(waker_.get(), &wakes, sizeof wakes));
        continue;
      }
      act(e.data.fd, ((e.events & EPOLLIN) != 0 ? CURL_CSELECT_IN : 0) |
                         ((e.events & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0) |
                         ((e.events & (EPOLLERR | EPOLLHUP)) != 0 ? CURL_CSELECT_ERR : 0));
    }
  }
  /// Ends a wait(), or the next one. Any thread.
  void wake() noexcept {
    const std::uint64_t one = 1;
    static_cast<void>(::write(waker_.get(), &one, sizeof one));
  }
  /// Calls `ended(CURL*, CURLcode)` for each transfer that has ended. Returns whether there are any.
  template <class Ended>
  bool take_ended(Ended&& ended) {
    int left = 0;
    bool any = false;
    while (const CURLMsg* m = curl_multi_info_read(multi_, &left)) {
      if (m->msg != CURLMSG_DONE) continue;
      ended(m->easy_handle, m->data.result);
      any = true;
    }
    return any;
  }

 private:
  static int open_or_throw(int fd) {
    if (fd < 0) throw std::system_error(errno, std::generic_category(), "a store's thread can't be started");
    return fd;
  }
  static int left_until(std::chrono::steady_clock::time_point t) noexcept {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(t - std::chrono::steady_clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1'000'000));
  }
  bool watch(int operation, int fd, std::uint32_t for_what) noexcept {
    ::epoll_event e{};
    e.events = for_what;
    e.data.fd = fd;
    return ::epoll_ctl(events_.get(), operation, fd, &e) == 0;
  }
  void act(curl_socket_t socket, int on) {
    int running = 0;
    curl_multi_socket_action(multi_, socket, on, &running);
  }
  static int on_socket(CURL*, curl_socket_t socket, int what, void* self, void* watched) noexcept {
    auto& s = *static_cast<http_sockets*>(self);
    if (what == CURL_POLL_REMOVE) {
      s.watch(EPOLL_CTL_DEL, socket, 0);
      return 0;
    }
    const std::uint32_t wanted =
        ((what & CURL_POLL_IN) != 0 ? EPOLLIN : 0u) | ((what & CURL_POLL_OUT) != 0 ? EPOLLOUT : 0u);
    const bool is_new = watched == nullptr;  // unless its number was closed and used again
    if (!s.watch(is_new ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, socket, wanted) &&
        !s.watch(is_new ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket, wanted))
      return -1;
    if (is_new) curl_multi_assign(s.multi_, socket, self);  // passed from now on as `watched`
    return 0;
  }
  static int on_timer(CURLM*, long milliseconds, void* self) noexcept {
    auto& due = static_cast<http_sockets*>(self)->due_;
    if (milliseconds < 0)
      due.reset();
    else
      due = std::chrono::steady_clock::now() + std::chrono::milliseconds(milliseconds);
    return 0;
  }

  file_handle events_, waker_;
  CURLM* multi_ = nullptr;
  std::optional<std::chrono::steady_clock::time_point> due_;  // when curl wants to act, regardless of sockets
};

}  // namespace wick::detail
