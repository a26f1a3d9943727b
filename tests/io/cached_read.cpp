#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#if __has_include(<linux/openat2.h>)
#include <linux/openat2.h>
#endif
#include <optional>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "support/doctest.hpp"
#include "support/eventually.hpp"
#include "support/fuse_server.hpp"
#include "support/message_of.hpp"
#include "support/own_mounts.hpp"
#include "support/tar_writer.hpp"
#include "support/temp_dir.hpp"
#include <wick/io/detail/cached_read.hpp>
#include <wick/io/detail/known_folders.hpp>
#include <wick/io/read.hpp>
#include <wick/loader/loader.hpp>
#include <wick/sampling/order.hpp>
#include <wick/sources/files.hpp>
#include <wick/sources/tar.hpp>

namespace wick_test::cached_read_tests {

namespace {

namespace fs = std::filesystem;
using wick_test::contains;
using wick_test::message_of;
using wick_test::temp_dir;
using paths = std::vector<fs::path>;

/// Whether a pool has had to start its threads: they start with the first call that may block.
bool io_threads_run() {
  for (const auto& task : fs::directory_iterator("/proc/self/task")) {
    std::ifstream in(task.path() / "comm");
    std::string name;
    if (std::getline(in, name) && name.starts_with("wick-io")) return true;
  }
  return false;
}

/// Whether the kernel opens this file, which was just written, and reads it without waiting for a disk.
bool tells_what_is_cached([[maybe_unused]] const fs::path& path) {
#if defined(SYS_openat2) && defined(RESOLVE_CACHED) && defined(RWF_NOWAIT)
  struct open_how how = {};
  how.flags = O_RDONLY | O_CLOEXEC;
  how.resolve = RESOLVE_CACHED;
  const auto file = static_cast<int>(::syscall(SYS_openat2, AT_FDCWD, path.c_str(), &how, sizeof(how)));
  if (file < 0) return false;
  char byte = 0;
  const ::iovec part = {&byte, 1};
  const bool read = ::preadv2(file, &part, 1, 0, RWF_NOWAIT) == 1;
  ::close(file);
  return read;
#else
  return false;
#endif
}

/// Reads them all, errors included. Whether no I/O thread was needed.
bool read_without_io_threads(const paths& list) {
  // A thread that has been joined may be listed for a moment.
  REQUIRE(wick_test::eventually([] { return !io_threads_run(); }));
  wick::loader l(wick::files(list) | wick::read(), {.workers = 1, .prefetch_next_epoch = false});
  for (;;) {
    try {
      if (!l.next()) break;
    } catch (const wick::error&) {
    }
  }
  return !io_threads_run();
}

std::string error_of(const fs::path& path) {
  wick::loader l(wick::files({path}) | wick::read(), {.workers = 1});
  return message_of([&] { return l.next(); });
}

}  // namespace

TEST_CASE("one file that can't be opened, or can't say what is cached, costs the others nothing") {
  const temp_dir dir;
  paths good;
  for (int i = 0; i < 20; ++i) good.push_back(dir.write(std::to_string(i), std::string(1000, 'x')));
  if (!tells_what_is_cached(good[0])) {
    MESSAGE("skipped: this file system can't be asked for what is cached");
    return;
  }
  read_without_io_threads(good);
  REQUIRE(read_without_io_threads(good));
  const auto still = [&](const std::string& after) { CHECK_MESSAGE(read_without_io_threads(good), after); };

  fs::create_symlink("loop", dir / "loop");
  read_without_io_threads({good[0] / "x", dir / "loop", dir / std::string(300, 'n'), dir / "none"});
  still("ENOTDIR, ELOOP, ENAMETOOLONG, ENOENT");

  ::rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  {
    wick::loader l(wick::files(good) | wick::read(), {.workers = 1, .prefetch_next_epoch = false});
    ::rlimit none = limit;
    none.rlim_cur = 0;
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
    std::exception_ptr thrown;  // looked at when there are descriptors again, which UBSan needs for that
    try {
      l.next();
    } catch (...) {
      thrown = std::current_exception();
    }
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
    REQUIRE(thrown);
    CHECK(contains(message_of([&]() -> int { std::rethrow_exception(thrown); }), "Too many open files",
                   "ulimit -n"));
  }
  still("EMFILE");

  std::error_code none;
  if (const fs::path memory = "/dev/shm"; fs::is_directory(memory, none)) {
    const fs::path other = memory / ("wick-test-" + std::to_string(::getpid()));
    wick_test::write_file(other, "in memory");
    read_without_io_threads({other});
    read_without_io_threads({other});
    fs::remove(other);
    still("a file system without RWF_NOWAIT");
  }
}

TEST_CASE("a sample that would begin past the end of its file is an error, and one at the end is empty") {
  struct part {
    std::string path;
    std::uint64_t from;
    std::uint64_t length = wick::ext::file_range::whole;
    std::uint64_t size() const { return 1; }
    wick::ext::file_range at(std::uint64_t) const {
      return {.path = path.c_str(), .offset = from, .length = length};
    }
  };
  const temp_dir dir;
  const std::string path = dir.write("five", "12345").string();
  // By an I/O thread, then by workers, who know the place by then.
  for (int turn = 0; turn < 3; ++turn) {
    for (const std::uint64_t from : {0u, 3u, 5u, 6u, 1000u}) {
      wick::loader l(part{path, from} | wick::read(), {.workers = 1, .prefetch_next_epoch = false});
      std::optional<wick::bytes> got;
      const std::string error = message_of([&] { return (got = l.next()).has_value(); });
      CHECK(got.has_value() == (from <= 5));
      if (got)
        CHECK(got->text() == std::string_view("12345").substr(from));
      else
        CHECK(contains(error, "has 5 bytes", "byte " + std::to_string(from), "became shorter"));

      wick::loader of_a_length(part{path, from, 3} | wick::read(),
                               {.workers = 1, .prefetch_next_epoch = false});
      if (from + 3 > 5) {
        CHECK(contains(message_of([&] { return of_a_length.next().has_value(); }),
                       "has 5 bytes, and the sample is said to end at byte " + std::to_string(from + 3),
                       "the source is wrong about it"));
      } else {
        CHECK(of_a_length.next()->text() == std::string_view("12345").substr(from, 3));
      }
    }
  }
}

TEST_CASE("a FIFO, a socket, a device or a folder is an error by name, for workers and I/O threads alike") {
  const temp_dir dir;
  const fs::path fifo = dir / "fifo", socket = dir / "socket", device = dir / "device",
                 folder = dir / "folder";
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  fs::create_directory(folder);
  ::sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socket.c_str(), sizeof(address.sun_path) - 1);
  const int s = ::socket(AF_UNIX, SOCK_STREAM, 0);
  REQUIRE(::bind(s, reinterpret_cast<const ::sockaddr*>(&address), sizeof(address)) == 0);
  const fs::path good = dir.write("good", "x");
  for (int round = 0; round < 2; ++round) {  // in the second one the folder is known
    CHECK(contains(error_of(fifo),
                   "fifo: read: is a FIFO (named pipe), not a file; give the path of a regular file"));
    CHECK(contains(error_of(socket), "socket: read: is a socket, not a file"));
    CHECK(contains(error_of("/dev/null"), "/dev/null: read: is a character device, not a file"));
    CHECK(contains(error_of(folder), "folder: read: is a folder, not a file"));
    CHECK(error_of(good).empty());
  }
  CHECK(contains(message_of([&] { return wick::tar(fifo.string()); }), "fifo: tar: is a FIFO (named pipe)"));
  ::close(s);
}

TEST_CASE("a named pipe that takes a file's place after its size was asked for is not waited for") {
  const temp_dir dir;
  const fs::path path = dir / "pipe";
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  wick::detail::file_range_reader reader;
  CHECK(contains(message_of([&] { return reader.read({.path = path.c_str()}, 10); }),
                 "is a FIFO (named pipe)"));
}

TEST_CASE("only I/O threads ever ask a file system that others answer for") {
  const temp_dir dir;
  const fs::path far = dir / "far", near = dir / "near";
  fs::create_directory(far);
  const std::string picture(10'000, 'p');
  const std::string shard = wick_test::tar_writer().add("k.jpg", picture).add("k.cls", "1").done();
  const bool tried = wick_test::with_own_mounts([&] {
    wick_test::fuse_server server(far, {{"a.jpg", picture}, {"b.jpg", picture}, {"s.tar", shard}});
    if (!server.mounted()) return false;
    wick_test::write_file(near / "c.jpg", picture);
    fs::create_symlink(far / "a.jpg", near / "link.jpg");
    fs::create_directory_symlink(far, near / "folder");
    const paths list = {far / "a.jpg", near / "c.jpg", near / "link.jpg", near / "folder/b.jpg",
                        far / "b.jpg"};
    const wick::detail::tar_samples records = wick::tar((far / "s.tar").string());
    wick::loader photos(wick::files(list) | wick::read(), {.workers = 2});
    wick::loader shards(wick::detail::tar_samples(records) | wick::read(), {.workers = 2});
    server.take_askers();
    std::size_t requests = 0;
    for (std::uint64_t epoch = 0; epoch < 5; ++epoch) {
      std::size_t samples = 0;
      for (auto& b : photos.epoch(epoch)) {
        CHECK(b.text() == picture);
        ++samples;
      }
      for (auto& b : shards.epoch(epoch)) {
        CHECK(b.data.text() == picture);
        ++samples;
      }
      CHECK(samples == list.size() + 1);
      for (const std::string& asker : server.take_askers()) {
        CHECK_MESSAGE(asker.starts_with("wick-io"), asker);
        ++requests;
      }
    }
    CHECK(requests > 10);
    return true;
  });
  if (!tried) MESSAGE("skipped: no FUSE file system may be mounted here");
}

TEST_CASE("cached files of any number of folders are read without I/O threads") {
  const temp_dir dir;
  paths first, second;
  for (int i = 0; i < 4; ++i) {
    first.push_back(dir.write("first/" + std::to_string(i) + "/a", std::string(1000, 'x')));
    second.push_back(dir.write("second/" + std::to_string(i) + "/a", std::string(1000, 'x')));
  }
  if (!tells_what_is_cached(first[0])) {
    MESSAGE("skipped: this file system can't be asked for what is cached");
    return;
  }
  read_without_io_threads(first);
  REQUIRE(read_without_io_threads(first));
  struct ::stat about {};
  REQUIRE(::stat(first[0].c_str(), &about) == 0);
  auto& known = wick::detail::known_folders::all();
  for (std::uint64_t i = 1; i <= 4'000'000; ++i)  // more than there's room for
    known.note_local((i * 0x9E3779B97F4A7C15u) | 1, static_cast<std::uint64_t>(about.st_dev));
  CHECK(read_without_io_threads(first));
  CHECK(read_without_io_threads(second));  // folders that there's no room for
  CHECK(read_without_io_threads(second));
}

TEST_CASE("a descriptor whose place is unknown is left to the I/O threads") {
  const temp_dir dir;
  const fs::path path = dir.write("x", "12345");
  const wick::detail::file_handle file = wick::detail::open_file(path.c_str());
  wick::ext::file_stamp stamp = wick::ext::file_stamp::of(file.get());
  wick::ext::file_range where{.path = path.c_str(), .file = file.get(), .offset = 1};
  std::uint64_t length = 0;
  CHECK(!wick::detail::cached_reader().measure(where, length));
  where.indexed = &stamp;
  stamp.local = false;
  CHECK(!wick::detail::cached_reader().measure(where, length));
  stamp.local = true;
  if (wick::detail::cached_reader().measure(where, length)) CHECK(length == 4);
}

TEST_CASE("which file systems are local is a list; all others, unknown ones too, may block") {
  using wick::detail::is_local_type;
  for (const std::uint64_t type : {0xEF53u, 0x58465342u, 0x9123683Eu, 0x01021994u, 0x794C7630u})
    CHECK(is_local_type(type));
  // NFS, SMB (2), CIFS, FUSE, 9P, Ceph, AFS, Coda, Lustre, GPFS, autofs, something new
  for (const std::uint64_t type :
       {0x6969u, 0xFE534D42u, 0xFF534D42u, 0x65735546u, 0x01021997u, 0x00C36400u, 0x5346414Fu, 0x73757245u,
        0x0BD00BD0u, 0x47504653u, 0x0187u, 0x12345678u}) {
    CHECK(!is_local_type(type));
  }
}

}  // namespace wick_test::cached_read_tests
