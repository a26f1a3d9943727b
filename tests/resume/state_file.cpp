#include <atomic>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <signal.h>
#include <string>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/own_mounts.hpp"
#include "support/temp_dir.hpp"
#include <wick/resume/state_file.hpp>

namespace wick_test::state_file_tests {

using wick_test::contains;
using wick_test::message_of;

namespace {

std::size_t files_in(const std::filesystem::path& folder) {
  std::size_t n = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++n;
  return n;
}

std::string write_error(const std::filesystem::path& path, std::size_t size = 100) {
  return message_of([&] {
    wick::write_state(path, std::vector<std::byte>(size, std::byte{1}));
    return 0;
  });
}

/// A state that says whether it is whole: one byte all over, of a size that hangs on it.
std::vector<std::byte> pattern(int i) {
  return std::vector<std::byte>(500 + static_cast<std::size_t>(i % 200) * 17,
                                static_cast<std::byte>(i % 200));
}
bool is_whole(const std::vector<std::byte>& state) {
  return !state.empty() && state == pattern(static_cast<int>(state[0]));
}

/// Runs `body` in a child, which ends with what it returns.
template <class Body>
::pid_t in_child(Body body) {
  const ::pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  return child;
}
int end_of(::pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

::mode_t mode_of(const std::filesystem::path& path) {
  struct ::stat status {};
  return ::stat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
}

}  // namespace

TEST_CASE("what is written is read, over an older one too, and nothing else is left in the folder") {
  const wick_test::temp_dir folder;
  const auto path = folder.path() / "state";
  for (const std::size_t size : {0, 1, 188, 4096}) {
    const std::vector<std::byte> bytes(size, std::byte{7});
    wick::write_state(path, bytes);
    CHECK(wick::read_state(path) == bytes);
  }
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("who reads while it is written finds a whole state, the old or the new one") {
  const wick_test::temp_dir folder;
  const auto path = folder.path() / "state";
  wick::write_state(path, std::vector<std::byte>(3000, std::byte{0}));
  std::atomic<bool> done{false};
  std::atomic<int> torn{0}, reads{0};
  std::thread reader([&] {
    do {
      const auto got = wick::read_state(path);
      if (got.size() != 3000) ++torn;
      for (const std::byte b : got) torn += b != got.front();
      ++reads;
    } while (!done);
  });
  for (int i = 1; i < 100; ++i)
    wick::write_state(path, std::vector<std::byte>(3000, static_cast<std::byte>(i)));
  done = true;
  reader.join();
  CHECK(torn == 0);
  CHECK(reads > 0);
}

TEST_CASE("a file that can't be read or written is named, and the old one stays") {
  const wick_test::temp_dir folder;
  const auto path = folder.path() / "state";
  CHECK(
      contains(message_of([&] { return wick::read_state(path); }), "state: can't be opened", "No such file"));
  CHECK(contains(message_of([&] {
                   wick::write_state(folder.path() / "none" / "state", {});
                   return 0;
                 }),
                 "none/state", "No such file"));
  std::filesystem::create_directory(path);
  std::ofstream(path / "x") << "not empty";
  CHECK(contains(message_of([&] {
                   wick::write_state(path, {});
                   return 0;
                 }),
                 "state: is a folder, and only a regular file is replaced"));
  CHECK(files_in(folder.path()) == 1);
  const auto large = folder.path() / "large";
  std::ofstream(large) << std::string(10'000, 'x');
  CHECK(contains(message_of([&] { return wick::read_state(large); }), "is it the right file?"));
}

TEST_CASE("threads and processes that write one state at once all succeed, and who reads finds a whole one") {
  const wick_test::temp_dir folder;
  const auto path = folder.path() / "state";
  wick::write_state(path, pattern(0));
  constexpr int processes = 3, threads = 3, rounds = 20;
  std::vector<::pid_t> children;
  for (int p = 0; p < processes; ++p) {
    children.push_back(in_child([&] {
      std::atomic<int> failed{0}, torn{0};
      std::vector<std::thread> team;
      for (int t = 0; t < threads; ++t) {
        team.emplace_back([&, t] {
          for (int i = 0; i < rounds; ++i) {
            failed += !message_of([&] {
                         wick::write_state(path, pattern(1 + (p * threads + t) * rounds + i));
                         return 0;
                       }).empty();
            torn += message_of([&] { return torn += !is_whole(wick::read_state(path)); }).empty() ? 0 : 1;
          }
        });
      }
      for (std::thread& t : team) t.join();
      return failed * 1 + torn * 16 > 255 ? 255 : failed + torn * 16;
    }));
  }
  for (const ::pid_t child : children) CHECK(end_of(child) == 0);
  CHECK(is_whole(wick::read_state(path)));
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("a link that was planted under a name one could guess leads nowhere") {
  const wick_test::temp_dir folder;
  const auto victim = folder.write("victim", "precious");
  const auto path = folder / "state";
  std::filesystem::create_symlink(victim, folder / ("state.writing-" + std::to_string(::getpid())));
  wick::write_state(path, pattern(1));
  CHECK(wick_test::read_file(victim) == "precious");
  // And one under the state's own name is replaced, not followed.
  std::filesystem::remove(path);
  std::filesystem::create_symlink(victim, path);
  wick::write_state(path, pattern(2));
  CHECK(wick_test::read_file(victim) == "precious");
  CHECK(std::filesystem::is_regular_file(std::filesystem::symlink_status(path)));
  CHECK(wick::read_state(path) == pattern(2));
}

TEST_CASE("a state keeps the mode it had, and a new one has what the umask allows") {
  const wick_test::temp_dir folder;
  const ::mode_t mask = ::umask(027);
  const auto path = folder / "state";
  wick::write_state(path, pattern(1));
  CHECK(mode_of(path) == 0640);
  for (const ::mode_t mode : {0600u, 0664u, 0444u}) {
    REQUIRE(::chmod(path.c_str(), mode) == 0);
    wick::write_state(path, pattern(2));
    CHECK(mode_of(path) == mode);
  }
  ::umask(mask);
}

TEST_CASE("a disk that is full leaves the old state, says so, and keeps nothing of the new one") {
  const wick_test::temp_dir folder;
  const auto path = folder / "state";
  wick::write_state(path, pattern(1));
  const ::pid_t child = in_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const ::rlimit limit{1000, 1000};
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
    const std::string text = write_error(path, 4000);
    return contains(text, "state: can't be written: File too large", "the file is as it was") ? 0 : 2;
  });
  CHECK(end_of(child) == 0);
  CHECK(wick::read_state(path) == pattern(1));
  CHECK(files_in(folder.path()) == 1);

  const bool tried = wick_test::with_own_mounts([&] {
    const auto small = folder.path() / "small";
    std::filesystem::create_directory(small);
    if (!wick_test::mount_small(small, 64 * 1024)) return false;
    wick::write_state(small / "state", pattern(1));
    std::ofstream(small / "rest") << std::string(100'000, 'x');
    CHECK(contains(write_error(small / "state", 4000), "state: can't be written: No space left on device"));
    CHECK(wick::read_state(small / "state") == pattern(1));
    CHECK(files_in(small) == 2);
    std::filesystem::remove(small / "rest");
    wick::write_state(small / "state", pattern(2));
    CHECK(wick::read_state(small / "state") == pattern(2));
    return true;
  });
  if (!tried) MESSAGE("skipped a real full disk: no file system may be mounted here");
}

TEST_CASE(
    "a writer that is killed at any moment leaves a whole state, and what else it left goes with the next") {
  const wick_test::temp_dir folder;
  const auto path = folder / "state";
  wick::write_state(path, pattern(0));
  for (int round = 0; round < 20; ++round) {
    const ::pid_t child = in_child([&] {
      for (int i = 1;; ++i) wick::write_state(path, pattern(i));
      return 0;
    });
    for (int seen = 0, last = -1; seen < 1 + round % 3;) {
      const std::vector<std::byte> state = wick::read_state(path);
      REQUIRE(is_whole(state));
      const int now = static_cast<int>(state[0]);
      seen += now != last;
      last = now;
    }
    REQUIRE(::kill(child, SIGKILL) == 0);
    CHECK(end_of(child) == -SIGKILL);
    CHECK(is_whole(wick::read_state(path)));
  }
  wick::write_state(path, pattern(5));
  CHECK(wick::read_state(path) == pattern(5));
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("what dead writers left is removed, what living ones write and what others own is not") {
  const wick_test::temp_dir folder;
  folder.write(".wick-writing-0123456789abcdef", "left");
  const auto alive = folder.write(".wick-writing-00000000000000aa", "half");
  for (const char* other : {".wick-writing-", ".wick-writing-notes", "x.wick-writing-0123456789abcdef",
                            ".wick-writing-0123456789abcdef.txt"}) {
    folder.write(other, "mine");
  }
  const auto elsewhere = folder.write("elsewhere", "mine");
  std::filesystem::create_symlink(elsewhere, folder / ".wick-writing-00000000000000bb");
  std::filesystem::create_directory(folder / ".wick-writing-00000000000000cc");
  const int held = ::open(alive.c_str(), O_WRONLY | O_CLOEXEC);
  REQUIRE(::flock(held, LOCK_EX) == 0);
  wick::write_state(folder / "state", pattern(1));
  CHECK(!std::filesystem::exists(folder / ".wick-writing-0123456789abcdef"));
  CHECK(std::filesystem::exists(alive));
  CHECK(std::filesystem::is_symlink(folder / ".wick-writing-00000000000000bb"));
  CHECK(wick_test::read_file(elsewhere) == "mine");
  CHECK(files_in(folder.path()) == 9);
  ::close(held);
  wick::write_state(folder / "state", pattern(1));
  CHECK(!std::filesystem::exists(alive));
}

TEST_CASE("a name as long as names get is no hindrance") {
  const wick_test::temp_dir folder;
  const auto path = folder / std::string(255, 'n');
  wick::write_state(path, pattern(1));
  CHECK(wick::read_state(path) == pattern(1));
}

TEST_CASE("a FIFO, a socket or a device is named, not waited for and not replaced") {
  const wick_test::temp_dir folder;
  const auto fifo = folder / "fifo", device = folder / "device", socket = folder / "socket";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  CHECK(contains(write_error(fifo), "fifo: state: is a FIFO (named pipe), and only a regular file"));
  CHECK(std::filesystem::is_fifo(fifo));
  CHECK(contains(message_of([&] { return wick::read_state(fifo); }),
                 "fifo: state: is a FIFO (named pipe), not"));
  ::sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socket.c_str(), sizeof(address.sun_path) - 1);
  const int s = ::socket(AF_UNIX, SOCK_STREAM, 0);
  REQUIRE(::bind(s, reinterpret_cast<const ::sockaddr*>(&address), sizeof(address)) == 0);
  CHECK(contains(write_error(socket), "is a socket"));
  CHECK(contains(message_of([&] { return wick::read_state(socket); }), "is a socket, not a file"));
  ::close(s);
  CHECK(contains(message_of([&] { return wick::read_state("/dev/null"); }), "is a character device"));
  if (::mknod(device.c_str(), S_IFCHR | 0600, ::makedev(1, 3)) == 0) {
    CHECK(contains(write_error(device), "is a character device"));
    CHECK(std::filesystem::is_character_file(device));
  }
  CHECK(contains(write_error(folder / "state" / ".."), "state"));
}

}  // namespace wick_test::state_file_tests
