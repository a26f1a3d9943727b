// A link for benchmarks: a relay in front of a server that delays all bytes and lets through so many a
// second.
#pragma once

#include <arpa/inet.h>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <fcntl.h>
#include <map>
#include <memory>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdexcept>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace wick_bench {

inline int loopback_socket(int port, bool listens) {
  const int s = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
  ::sockaddr_in a{};
  a.sin_family = AF_INET;
  a.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
  a.sin_port = ::htons(static_cast<std::uint16_t>(port));
  ::setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  ::setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const bool good = listens
                        ? ::bind(s, reinterpret_cast<::sockaddr*>(&a), sizeof a) == 0 && ::listen(s, 512) == 0
                        : ::connect(s, reinterpret_cast<::sockaddr*>(&a), sizeof a) == 0;
  if (good) return s;
  ::close(s);
  return -1;
}

/// The relay is a process of its own.
class relay {
 public:
  /// From a port that it finds to `target`: each byte comes `delay` later, and `rate` bytes a second come
  /// from the server.
  /// One request in `slow_one_in` reaches the server 2 s later; 0: none.
  relay(int target, std::chrono::microseconds delay, double rate, unsigned slow_one_in = 0) {
    const int listener = loopback_socket(0, true);
    ::sockaddr_in a{};
    ::socklen_t size = sizeof a;
    if (listener < 0 || ::getsockname(listener, reinterpret_cast<::sockaddr*>(&a), &size) != 0)
      throw std::runtime_error("stores: no port for a relay");
    port_ = ::ntohs(a.sin_port);
    child_ = ::fork();
    if (child_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      ::signal(SIGPIPE, SIG_IGN);
      run(listener, target, delay, rate, slow_one_in);
    }
    ::close(listener);
  }
  relay(const relay&) = delete;
  relay& operator=(const relay&) = delete;
  ~relay() {
    ::kill(child_, SIGKILL);
    ::waitpid(child_, nullptr, 0);
  }
  int port() const noexcept { return port_; }

 private:
  using clock = std::chrono::steady_clock;
  /// One way of a connection.
  struct way {
    int from, to;
    bool limited;  // by the rate
    bool ended = false;
    struct piece {
      clock::time_point due;
      std::vector<char> bytes;
      std::size_t sent = 0;
    };
    std::deque<piece> pieces;
    std::size_t held = 0;
  };

  [[noreturn]] static void run(int listener, int target, std::chrono::microseconds delay, double rate,
                               unsigned slow_one_in) {
    constexpr std::size_t most_held = std::size_t{4} << 20, most_read = std::size_t{64} << 10;
    const int events = ::epoll_create1(EPOLL_CLOEXEC);
    const auto watch = [&](int fd, unsigned what) {
      ::epoll_event e{};
      e.events = what;
      e.data.fd = fd;
      ::epoll_ctl(events, EPOLL_CTL_ADD, fd, &e);
    };
    watch(listener, EPOLLIN);
    std::map<int, std::unique_ptr<way>> ways;  // by where they come from
    unsigned requests = 0;
    double room = 0;  // bytes that may pass now
    clock::time_point last = clock::now();
    std::vector<char> buffer(most_read);
    for (;;) {
      ::epoll_event got[64];
      int timeout = ways.empty() ? 1000 : 1;
      const int n = ::epoll_wait(events, got, 64, timeout);
      for (int i = 0; i < n; ++i) {
        if (got[i].data.fd != listener) continue;
        const int client = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
        const int server = loopback_socket(target, false);
        if (client < 0 || server < 0) continue;
        const int on = 1;
        ::setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        ::fcntl(server, F_SETFL, O_NONBLOCK);
        ways[client] = std::make_unique<way>(way{client, server, false, false, {}, 0});
        ways[server] = std::make_unique<way>(way{server, client, true, false, {}, 0});
        watch(client, EPOLLIN | EPOLLET);
        watch(server, EPOLLIN | EPOLLET);
      }
      const clock::time_point now = clock::now();
      room = std::min(room + std::chrono::duration<double>(now - last).count() * rate, rate * 0.005);
      last = now;
      std::vector<int> gone;
      for (auto& [fd, w] : ways) {
        while (!w->ended && w->held < most_held) {
          const ::ssize_t size = ::recv(w->from, buffer.data(), buffer.size(), 0);
          if (size < 0 && (errno == EAGAIN || errno == EINTR)) break;
          if (size <= 0) {
            w->ended = true;
            break;
          }
          const bool slow = slow_one_in != 0 && !w->limited && ++requests % slow_one_in == 0;
          w->pieces.push_back(
              {now + delay + std::chrono::seconds(slow ? 2 : 0), {buffer.data(), buffer.data() + size}});
          w->held += static_cast<std::size_t>(size);
        }
        while (!w->pieces.empty() && w->pieces.front().due <= now && (!w->limited || room > 0)) {
          way::piece& p = w->pieces.front();
          const ::ssize_t size =
              ::send(w->to, p.bytes.data() + p.sent, p.bytes.size() - p.sent, MSG_NOSIGNAL);
          if (size <= 0) break;
          p.sent += static_cast<std::size_t>(size);
          w->held -= static_cast<std::size_t>(size);
          if (w->limited) room -= static_cast<double>(size);
          if (p.sent == p.bytes.size()) w->pieces.pop_front();
        }
        if (w->ended && w->pieces.empty()) gone.push_back(fd);
      }
      for (const int fd : gone) {
        const auto at = ways.find(fd);
        if (at == ways.end()) continue;
        const int other = at->second->to;
        ways.erase(at);
        ways.erase(other);
        ::close(fd);
        ::close(other);
      }
    }
  }

  int port_ = 0;
  ::pid_t child_ = -1;
};

}  // namespace wick_bench
