/// \file
/// The bodies of what system/detail/thread_name.hpp declares. Included in exactly one file of a program.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <string>
#include <string_view>
#ifdef __linux__
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <wick/system/detail/thread_name.hpp>

namespace wick::detail {

#ifdef __linux__

namespace thread_look {

/// What the system's file says of a thread, in one line; empty where it says nothing.
inline std::string line_of(int id, const char* file) {
  const std::string path = "/proc/self/task/" + std::to_string(id) + '/' + file;
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return {};
  char text[512];
  const ::ssize_t n = ::read(fd, text, sizeof(text));
  ::close(fd);
  std::string out(text, n > 0 ? static_cast<std::size_t>(n) : 0);
  return out.substr(0, out.find('\n'));
}

inline std::string file_at(unsigned long descriptor) {
  const std::string path = "/proc/self/fd/" + std::to_string(descriptor);
  char target[512];
  const ::ssize_t n = ::readlink(path.c_str(), target, sizeof(target));
  return n > 0 ? std::string(target, static_cast<std::size_t>(n)) : std::string();
}

/// Of a call that is known by its number. Those with a file have it as their first argument.
inline std::string call_named(long number, unsigned long first) {
  const auto with_file = [&](const char* doing) {
    const std::string file = file_at(first);
    return doing + (file.empty() ? " descriptor " + std::to_string(first) : ' ' + file);
  };
  switch (number) {
    case SYS_read:
    case SYS_pread64:
    case SYS_readv:
    case SYS_preadv:
      return with_file("reads from");
    case SYS_write:
    case SYS_pwrite64:
    case SYS_writev:
      return with_file("writes to");
    case SYS_recvfrom:
    case SYS_recvmsg:
      return with_file("receives from");
    case SYS_sendto:
    case SYS_sendmsg:
      return with_file("sends to");
    case SYS_connect:
      return with_file("connects");
    case SYS_accept:
    case SYS_accept4:
      return with_file("waits for a connection to");
    case SYS_fsync:
    case SYS_fdatasync:
      return with_file("writes to the disk");
    case SYS_flock:
      return with_file("waits for the lock of");
    case SYS_fcntl:
      return with_file("waits for a lock in");
    case SYS_ioctl:
      return with_file("controls");
    case SYS_openat:
      return "opens a file";
#ifdef SYS_open
    case SYS_open:
      return "opens a file";
#endif
    case SYS_futex:
      return "waits for a lock or for another thread (futex)";
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
      return "sleeps";
#ifdef SYS_poll
    case SYS_poll:
    case SYS_select:
    case SYS_epoll_wait:
#endif
    case SYS_ppoll:
    case SYS_pselect6:
    case SYS_epoll_pwait:
      return "waits for files or sockets (poll)";
    case SYS_wait4:
    case SYS_waitid:
      return "waits for a process";
    case SYS_munmap:
    case SYS_mmap:
    case SYS_madvise:
      return "changes the memory map";
    default:
      return "is in system call " + std::to_string(number);
  }
}

/// By the name of the kernel's function that it sleeps in.
inline std::string sleep_named(std::string_view where) {
  const auto has = [&](std::string_view part) { return where.find(part) != std::string_view::npos; };
  if (has("futex")) return "waits for a lock or for another thread (futex)";
  if (has("pipe_read") || has("pipe_wait")) return "reads from a pipe or FIFO";
  if (has("wait_for_partner") || has("fifo_open")) return "opens a FIFO";
  if (has("nanosleep")) return "sleeps";
  if (has("poll") || has("select")) return "waits for files or sockets (poll)";
  if (has("skb_recv") || has("tcp_recvmsg") || has("stream_read") || has("sk_wait_data"))
    return "receives from a socket";
  return "is in the kernel's " + std::string(where);
}

inline std::string doing(int id) {
  const std::string call = line_of(id, "syscall");
  if (!call.empty() && call[0] >= '0' && call[0] <= '9') {
    char* rest = nullptr;
    const long number = std::strtol(call.c_str(), &rest, 10);
    return call_named(number, std::strtoul(rest, nullptr, 16));
  }
  if (const std::string where = line_of(id, "wchan"); where.size() > 1) return sleep_named(where);
  const std::string stat = line_of(id, "stat");  // "4242 (name) R …"
  const std::size_t name_end = stat.rfind(')');
  if (name_end == std::string::npos || name_end + 2 >= stat.size()) return {};
  switch (stat[name_end + 2]) {
    case 'R':
      return "computes";
    case 'D':
      return "waits for a disk or another device";
    case 'S':
      return "sleeps in the kernel";
    default:
      return {};
  }
}

}  // namespace thread_look

std::string what_thread_does(int id) {
  if (id == 0) return {};
  const std::string name = thread_look::line_of(id, "comm");
  if (name.empty()) return {};
  const std::string doing = thread_look::doing(id);
  return name + " (thread " + std::to_string(id) + ')' + (doing.empty() ? "" : ' ' + doing);
}

#else

std::string what_thread_does(int) { return {}; }

#endif

}  // namespace wick::detail
