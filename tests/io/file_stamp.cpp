#include <cstddef>
#include <cstdint>
#include <ctime>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/tar_writer.hpp"
#include "support/temp_dir.hpp"
#include <wick/ext/file_stamp.hpp>
#include <wick/io/detail/cached_read.hpp>
#include <wick/io/detail/source_file.hpp>
#include <wick/io/read.hpp>
#include <wick/loader/loader.hpp>
#include <wick/sources/files.hpp>
#include <wick/sources/tar.hpp>

namespace wick_test::file_stamp_tests {

namespace {

namespace fs = std::filesystem;
using wick_test::contains;
using wick_test::message_of;
using wick_test::temp_dir;

constexpr int shards = 20, samples = 15;

std::string content(char mark, int i) { return std::string(700 + static_cast<std::size_t>(i) * 7, mark); }

/// The same keys, sizes and offsets, whatever the mark.
std::string shard_of(char mark) {
  wick_test::tar_writer out;
  for (int i = 0; i < samples; ++i) {
    const std::string key = std::to_string(i);
    out.add(key + ".jpg", content(mark, i)).add(key + ".cls", std::to_string(i));
  }
  return out.done();
}

/// As if it had been there for long: how finely changes are distinguished depends on the file system.
void make_old(const fs::path& path) {
  const ::timespec times[2] = {{1'000'000'000, 5}, {1'000'000'000, 5}};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times, 0) == 0);
}

std::vector<std::string> write_shards(const temp_dir& dir) {
  std::vector<std::string> out;
  for (int s = 0; s < shards; ++s) {
    out.push_back(dir.write("s" + std::to_string(s) + ".tar", shard_of('a')).string());
    make_old(out.back());
  }
  return out;
}

/// Calls `make` where there are not descriptors enough to keep the shards open.
template <class Make>
auto with_few_descriptors(Make make) {
  ::rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  ::rlimit few = before;
  few.rlim_cur = 64;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  auto out = make();
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  return out;
}

struct outcome {
  int right = 0, wrong = 0;
  std::vector<std::string> errors;
};

/// An epoch in which, after ten samples, `change` happens to every shard.
template <class Source, class Text, class Change>
outcome epoch_with(const Source& source, const std::vector<std::string>& paths, Text text, Change change) {
  wick::loader l(Source(source) | wick::read(), {.workers = 2, .prefetch = 4, .prefetch_next_epoch = false});
  outcome out;
  for (int n = 0;; ++n) {
    if (n == 10) {
      for (const std::string& path : paths) change(fs::path(path));
    }
    try {
      auto sample = l.next();
      if (!sample) break;
      const std::string got = text(*sample);
      const bool good = !got.empty() && got.find_first_not_of('a') == std::string::npos;
      ++(good ? out.right : out.wrong);
    } catch (const wick::error& e) {
      out.errors.push_back(e.what());
    }
  }
  return out;
}

/// A read that opens by path may have the file open at the very time of the change: `when_open` then.
void check(const outcome& o, std::string_view when_open, std::string_view when_opened) {
  CHECK(o.wrong == 0);
  CHECK(o.right >= 10);
  CHECK(o.errors.size() == static_cast<std::size_t>(shards * samples - o.right));
  REQUIRE(!o.errors.empty());
  for (const std::string& e : o.errors) {
    CHECK_MESSAGE(contains(e, ".tar: ", ": read: the file ", "since it was indexed",
                           "make the source and the loader again"),
                  e);
    const bool says_what = contains(e, when_open) || contains(e, when_opened);
    CHECK_MESSAGE(says_what, e);
  }
}

template <class Change>
void try_change(Change change, std::string_view when_open, std::string_view by_path) {
  const auto bytes_of = [](const auto& s) { return std::string(s.data.text()); };
  const auto member_of = [](const auto& r) { return std::string(r[0].text()); };
  for (const bool kept : {true, false}) {
    CAPTURE(kept);
    const std::string_view when_opened = kept ? when_open : by_path;
    const temp_dir one, two;
    const auto first = write_shards(one), second = write_shards(two);
    const auto plain = [&] { return wick::tar(first); };
    const auto records = [&] { return wick::tar(second, {"jpg"}); };
    const wick::detail::tar_samples photos = kept ? plain() : with_few_descriptors(plain);
    const wick::detail::tar_records parts = kept ? records() : with_few_descriptors(records);
    REQUIRE((photos.at(0).data.file >= 0) == kept);
    check(epoch_with(photos, first, bytes_of, change), when_open, when_opened);
    check(epoch_with(parts, second, member_of, change), when_open, when_opened);
  }
}

}  // namespace

TEST_CASE("a shard that is replaced in mid-epoch gives no sample any more, but an error that names it") {
  try_change(
      [](const fs::path& path) {
        const fs::path other = path.string() + ".new";
        wick_test::write_file(other, shard_of('b'));
        make_old(other);  // the same size and time: another file all the same
        fs::rename(other, path);
      },
      "was deleted or replaced", "was replaced");
}

TEST_CASE("a shard that is rewritten in place in mid-epoch gives no sample any more, but an error") {
  try_change([](const fs::path& path) { wick_test::write_file(path, shard_of('b')); }, "was changed",
             "was changed");
}

TEST_CASE("a shard that becomes shorter or longer in mid-epoch gives no sample any more, but an error") {
  const std::string size = " (it had " + std::to_string(shard_of('a').size()) + " bytes, and has ";
  try_change([](const fs::path& path) { fs::resize_file(path, 5000); }, "was changed", "was changed");
  try_change([](const fs::path& path) { std::ofstream(path, std::ios::app) << "more"; }, "was changed",
             "was changed");
  const temp_dir dir;
  const auto path = dir.write("s.tar", shard_of('a'));
  wick::loader l(wick::tar(path.string()) | wick::read(), {.workers = 1});
  fs::resize_file(path, 5000);
  CHECK(contains(message_of([&] { return l.next(); }), size + "5000)"));
}

TEST_CASE("a shard that can't be read any more by its descriptor is opened again by its path") {
  // As after a restart of the server of a network file system. This one can't be read, and is the same file.
  const temp_dir dir;
  const auto paths = write_shards(dir);
  const wick::detail::tar_samples photos = wick::tar(paths);
  const wick::ext::file_range range = photos.at(0).data;
  REQUIRE(range.file >= 0);
  const auto spoil = [&] {
    const wick::detail::file_handle unreadable(::open(range.path, O_WRONLY | O_CLOEXEC));
    REQUIRE(unreadable);
    REQUIRE(::dup2(unreadable.get(), range.file) == range.file);
  };
  const auto read = [&] {
    wick::detail::file_range_reader reader;
    return std::string(reader.read(range, wick::detail::length_of(range)).text());
  };
  const std::string expected = read();
  spoil();
  CHECK(read() == expected);
  std::vector<std::byte> again(expected.size());
  CHECK(wick::detail::read_up_to(range.file, again.data(), again.size(), range.offset) == expected.size());
  CHECK((::fcntl(range.file, F_GETFD) & FD_CLOEXEC) != 0);
  spoil();
  {
    std::size_t right = 0;
    wick::loader l(wick::detail::tar_samples(photos) | wick::read(), {.workers = 2});
    for (auto& b : l.epoch(0)) right += b.data.size() != 0;
    CHECK(right == photos.size());
  }  // it reads the next epoch ahead
  spoil();
  fs::rename(range.path, std::string(range.path) + ".old");
  wick_test::write_file(range.path, std::string(100'000, 'x'));
  CHECK(contains(message_of([&] { return read(); }), "the file was", "since it was indexed"));
  fs::remove(range.path);
  CHECK(contains(message_of([&] { return read(); }), "can't read it: Bad file descriptor"));
}

TEST_CASE("a shard that only gets another name or mode, or is looked at, is the same") {
  const temp_dir dir;
  const auto paths = write_shards(dir);
  const outcome o = epoch_with(
      wick::tar(paths), paths, [](const auto& s) { return std::string(s.data.text()); },
      [](const fs::path& path) {
        fs::permissions(path, fs::perms::owner_read);
        fs::create_hard_link(path, path.string() + ".link");
        wick_test::read_file(path);
      });
  CHECK(o.right == shards * samples);
  CHECK(o.wrong == 0);
  CHECK(o.errors.empty());
}

TEST_CASE("a stamp tells another file, another size, another time and a lost name apart") {
  const wick::ext::file_stamp then{
      .device = 1, .inode = 2, .size = 3, .seconds = 4, .nanoseconds = 5, .linked = true, .local = true};
  const auto change = [&](auto edit, bool local = true) {
    wick::ext::file_stamp before = then, now = then;
    before.local = local;
    edit(now);
    const char* const what = before.change(now);
    return std::string(what == nullptr ? "" : what);
  };
  CHECK(change([](auto&) {}).empty());
  CHECK(change([](auto& s) { ++s.device; }) == "was replaced");
  CHECK(change([](auto& s) { ++s.inode; }) == "was replaced");
  CHECK(change([](auto& s) { ++s.inode, ++s.device; }, false).empty());
  CHECK(change([](auto& s) { ++s.size; }, false) == "was changed");
  CHECK(change([](auto& s) { ++s.seconds; }) == "was changed");
  CHECK(change([](auto& s) { ++s.nanoseconds; }) == "was changed");
  CHECK(change([](auto& s) { s.linked = false; }) == "was deleted or replaced");
  CHECK(then.change(then) == nullptr);
}

TEST_CASE("a file that changes while it is read is an error, not a sample cut off or mixed") {
  const temp_dir dir;
  const auto path = dir.write("growing.jpg", std::string(1000, 'x'));
  const auto changed = [&](auto change) {
    wick_test::write_file(path, std::string(1000, 'x'));
    make_old(path);
    const wick::detail::file_handle file = wick::detail::open_file(path.c_str());
    wick::detail::file_watch watch = wick::detail::file_watch::begin(file.get(), nullptr);
    change();
    return message_of([&] {
      watch.end(file.get(), nullptr);
      return 0;
    });
  };
  CHECK(changed([] {}).empty());
  CHECK(contains(changed([&] { std::ofstream(path, std::ios::app) << "y"; }),
                 "the file was changed since it was opened (it had 1000 bytes, and has 1001)",
                 "let its writer end"));
  CHECK(contains(changed([&] { fs::resize_file(path, 10); }), "has 10)"));
  CHECK(contains(changed([&] { wick_test::write_file(path, std::string(1000, 'y')); }),
                 "the file was changed since it was opened;"));
  CHECK(changed([&] { fs::remove(path); }).empty());  // who has it open may read it

  // The workers' way says nothing, and leaves it to the I/O threads.
  wick::loader learning(wick::files({path.string()}) | wick::read(), {.workers = 1});
  wick_test::write_file(path, std::string(1000, 'x'));
  make_old(path);
  REQUIRE(message_of([&] { return learning.next(); }).empty());
  const wick::ext::file_range where{.path = path.c_str()};
  wick::detail::cached_reader quick;
  std::uint64_t length = 0;
  if (quick.measure(where, length)) {
    REQUIRE(length == 1000);
    std::vector<std::byte> got(1000);
    REQUIRE(quick.read(where, got.data(), got.size()));
    CHECK(quick.unchanged());
    std::ofstream(path, std::ios::app) << "y";
    CHECK(!quick.unchanged());
  }
}

TEST_CASE("a file that is being written while a source indexes it is refused") {
  const temp_dir dir;
  const std::string path = dir.write("s.tar", "x").string();
  const wick::detail::opened_file opened = wick::detail::open_regular(path, "tar");
  wick::detail::require_unchanged(opened, path, "tar");
  std::ofstream(path, std::ios::app) << "y";
  CHECK(contains(message_of([&] {
                   wick::detail::require_unchanged(opened, path, "tar");
                   return 0;
                 }),
                 "s.tar: tar: it was changed while it was read; let its writer end first"));
}

TEST_CASE("a stamp of an open file knows what it is, and refuses what is no file") {
  const temp_dir dir;
  const auto path = dir.write("x", "12345");
  const wick::detail::file_handle file = wick::detail::open_file(path.c_str());
  const wick::ext::file_stamp stamp = wick::ext::file_stamp::of(file.get());
  CHECK(stamp.size == 5);
  CHECK(stamp.linked);
  CHECK(stamp.local == wick::detail::is_local(file.get()));
  const wick::detail::file_handle folder(::open(dir.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  CHECK(contains(message_of([&] { return wick::ext::file_stamp::of(folder.get()).size; }),
                 "is a folder, not a file"));
}

TEST_CASE("a file that was changed a moment ago is not settled") {
  using wick::ext::file_stamp;
  CHECK(file_stamp{.seconds = ::time(nullptr) - 10}.settled());
  CHECK_FALSE(file_stamp{.seconds = ::time(nullptr)}.settled());
  CHECK_FALSE(file_stamp{.seconds = ::time(nullptr) + 1000}.settled());
}

}  // namespace wick_test::file_stamp_tests
