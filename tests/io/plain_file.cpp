#include <cerrno>
#include <cstddef>
#include <fcntl.h>
#include <signal.h>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/temp_dir.hpp"
#include <wick/io/detail/plain_file.hpp>

namespace wick_test::plain_file_tests {

using wick::detail::open_plain;
using wick::detail::plain_file;
using wick_test::contains;
using wick_test::temp_dir;

namespace {

int leased = -1;
void give_up_lease(int) { ::fcntl(leased, F_SETLEASE, F_UNLCK); }

}  // namespace

TEST_CASE("a file opens, what is none is named, and what can't be opened has its reason") {
  const temp_dir dir;
  const auto path = dir.write("file", "12345");
  const plain_file file = open_plain(path.c_str());
  CHECK(file.file);
  CHECK(file.about.st_size == 5);
  CHECK(file.other == nullptr);
  CHECK(file.fault == 0);
  const auto fifo = dir / "fifo";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  CHECK(contains(open_plain(fifo.c_str()).other, "a FIFO"));
  CHECK(!open_plain(fifo.c_str()).file);
  CHECK(contains(open_plain("/dev/null").other, "a character device"));
  CHECK(contains(open_plain(dir.path().c_str()).other, "a folder"));
  CHECK(open_plain((dir / "none").c_str()).fault == ENOENT);
  CHECK(open_plain((dir / "none").c_str()).other == nullptr);
  CHECK(open_plain((path / "x").c_str()).fault == ENOTDIR);
}

TEST_CASE("a file that a server holds a lease on is waited for, not refused") {
  const temp_dir dir;
  const auto path = dir.write("file", "12345");
  leased = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  REQUIRE(leased >= 0);
  struct ::sigaction mine = {}, old = {};
  mine.sa_handler = give_up_lease;
  mine.sa_flags = SA_RESTART;
  ::sigemptyset(&mine.sa_mask);
  REQUIRE(::sigaction(SIGIO, &mine, &old) == 0);
  if (::fcntl(leased, F_SETLEASE, F_WRLCK) == 0) {
    const plain_file file = open_plain(path.c_str());
    CHECK(file.file);
    CHECK(file.fault == 0);
    CHECK(file.about.st_size == 5);
  } else {
    MESSAGE("skipped: this file system has no leases");
  }
  ::close(leased);
  REQUIRE(::sigaction(SIGIO, &old, nullptr) == 0);
}

}  // namespace wick_test::plain_file_tests
