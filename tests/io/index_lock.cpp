// The lock by which one process makes an index while others wait.
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/temp_dir.hpp"
#include <wick/async/detail/interruption.hpp>
#include <wick/io/detail/index_lock.hpp>
#include <wick/io/detail/user_cache.hpp>

namespace wick_test::index_lock_tests {

namespace {

using wick::detail::index_lock;

struct cache_folder {
  cache_folder() { ::setenv("XDG_CACHE_HOME", dir.path().c_str(), 1); }
  cache_folder(const cache_folder&) = delete;
  cache_folder& operator=(const cache_folder&) = delete;
  ~cache_folder() { ::unsetenv("XDG_CACHE_HOME"); }
  bool empty() const { return wick_test::fs::is_empty(dir / "wick"); }
  wick_test::temp_dir dir;
};

}  // namespace

TEST_CASE("who comes second waits until the first is done, and holds nothing") {
  const cache_folder cache;
  std::optional<index_lock> first(std::in_place);
  first->take("train.index");
  first->take("train.index");
  CHECK_FALSE(cache.empty());
  std::atomic<int> started{0};
  std::atomic<bool> done{false};
  index_lock second;
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&] {
      ++started;
      second.take(wick_test::fs::absolute("x/../train.index").string());
      CHECK(done);
    });
  }
  index_lock().take("other.index");
  while (started != 3) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  done = true;
  first.reset();
  for (std::thread& t : threads) t.join();
  CHECK(cache.empty());
}

TEST_CASE("a process that is killed holds it no more, and a forked one never did") {
  const cache_folder cache;
  std::array<int, 2> has_it{};
  REQUIRE(::pipe(has_it.data()) == 0);
  const ::pid_t holder = ::fork();
  if (holder == 0) {
    index_lock lock;
    lock.take("train.index");
    for (static_cast<void>(::write(has_it[1], "x", 1) == 1);;) ::pause();
  }
  char word = 0;
  REQUIRE(::read(has_it[0], &word, 1) == 1);
  for (const int end : has_it) ::close(end);
  std::atomic<bool> killed{false};
  std::thread killer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
    killed = true;
    ::kill(holder, SIGKILL);
  });
  index_lock next;
  next.take("train.index");
  CHECK(killed);
  killer.join();
  ::waitpid(holder, nullptr, 0);

  std::optional<index_lock> lock(std::in_place);
  lock->take("other.index");
  const ::pid_t child = ::fork();
  if (child == 0) {
    for (;;) ::pause();
  }
  lock.reset();
  index_lock again;
  again.take("other.index");
  CHECK_FALSE(cache.empty());  // it has the lock, since it didn't wait
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

TEST_CASE("where no file can be made for it, it is as if none were needed") {
  const wick_test::temp_dir dir;
  ::setenv("XDG_CACHE_HOME", dir.write("a file").c_str(), 1);
  index_lock one, two;
  one.take("train.index");
  two.take("train.index");
  ::unsetenv("XDG_CACHE_HOME");
}

TEST_CASE("who waits can be interrupted, and take it later") {
  const cache_folder cache;
  index_lock first, second;
  first.take("train.index");
  struct interrupted {};
  wick::detail::interruption() = [] { throw interrupted(); };
  CHECK_THROWS_AS(second.take("train.index"), interrupted);
  wick::detail::interruption() = nullptr;
  first.release();
  second.take("train.index");
  CHECK_FALSE(cache.empty());
}

TEST_CASE("without a home, files are kept in a folder of this user's alone, or not at all") {
  namespace fs = wick_test::fs;
  const char* const home = std::getenv("HOME");
  const std::string had = home == nullptr ? "" : home;
  const wick_test::temp_dir dir;
  const fs::path own = dir.path() / ("wick-" + std::to_string(::geteuid()));
  const auto kept = [] { return wick::detail::user_cache_path("shard.tar", "wickidx"); };
  ::unsetenv("XDG_CACHE_HOME");
  ::setenv("HOME", "relative", 1);
  ::setenv("TMPDIR", dir.path().c_str(), 1);
  CHECK(fs::path(kept()).parent_path() == own);
  ::unsetenv("HOME");
  CHECK(kept() == kept());
  CHECK(fs::path(kept()).parent_path() == own);
  CHECK((fs::status(own).permissions() & fs::perms::others_all) == fs::perms::none);
  CHECK(kept() != wick::detail::user_cache_path("other.tar", "wickidx"));

  // Others may write to it, or it is a link that another user may have made.
  fs::permissions(own, fs::perms::others_write, fs::perm_options::add);
  CHECK(kept().empty());
  fs::remove(own);
  fs::create_directory(dir.path() / "elsewhere");
  fs::create_symlink(dir.path() / "elsewhere", own);
  CHECK(kept().empty());
  index_lock unlocked;
  unlocked.take("train.index");
  fs::remove(own);
  fs::create_directory(own);
  if (::geteuid() == 0 && ::chown(own.c_str(), 65'534, 65'534) == 0) CHECK(kept().empty());

  ::unsetenv("TMPDIR");
  if (home != nullptr) ::setenv("HOME", had.c_str(), 1);
}

}  // namespace wick_test::index_lock_tests
