#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/interrupted.hpp"
#include "../support/message_of.hpp"
#include "../support/processes.hpp"
#include "../support/temp_dir.hpp"
#include <wick/batch/batch.hpp>
#include <wick/ext/source.hpp>
#include <wick/io/detail/file_extents.hpp>
#include <wick/io/detail/file_io.hpp>
#include <wick/io/detail/kept_index.hpp>
#include <wick/io/read.hpp>
#include <wick/loader/loader.hpp>
#include <wick/pipeline/pipeline.hpp>
#include <wick/sampling/order.hpp>
#include <wick/text/detail/text_scan.hpp>
#include <wick/text/lines.hpp>

namespace wick_test::lines_tests {

static_assert(wick::ext::source<wick::detail::text_samples>);

namespace {

namespace fs = std::filesystem;
using wick::detail::text_samples;
using wick_test::contains;
using wick_test::message_of;
using wick_test::temp_dir;
using list = std::vector<std::string>;

std::string content(const wick::ext::file_range& l) {
  wick::detail::file_handle opened;
  if (l.file < 0) opened = wick::detail::open_file(l.path);
  std::string out(static_cast<std::size_t>(l.length), '\0');
  const int fd = l.file < 0 ? opened.get() : l.file;
  REQUIRE(::pread(fd, out.data(), out.size(), static_cast<::off_t>(l.offset)) ==
          static_cast<::ssize_t>(out.size()));
  return out;
}
list contents(const text_samples& source) {
  list out;
  for (std::uint64_t i = 0; i < source.size(); ++i) out.push_back(content(source.at(i)));
  return out;
}

/// Gives a file a time of change that lies some seconds back, as those have that no program writes any more.
fs::path settled(const fs::path& path, std::int64_t seconds = 100) {
  const ::timespec then{::time(nullptr) - seconds, 123'456'789};
  const std::array<::timespec, 2> times{then, then};
  REQUIRE(::utimensat(AT_FDCWD, path.c_str(), times.data(), 0) == 0);
  return path;
}

std::string many_lines(int n) {
  std::string out;
  for (int i = 0; i < n; ++i)
    out += "line " + std::to_string(i) + std::string(static_cast<std::size_t>(i * 7 % 90), 'x') + "\n";
  return out;
}

}  // namespace

TEST_CASE("lines of several files are samples in the files' order") {
  const temp_dir dir;
  dir.write("a2.txt", "one\ntwo");
  dir.write("a10.txt", "three\r\n\r\nfive\n");
  dir.write("a9.txt");
  dir.write("b.md", "no");
  const text_samples all = wick::lines(dir / "*.txt");
  CHECK(contents(all) == list{"one", "two", "three", "", "five"});
  CHECK(all.key(1) == (dir / "a2.txt").string() + ":2");
  CHECK(all.key(4) == (dir / "a10.txt").string() + ":3");
  CHECK(all.at(2).indexed != nullptr);
  const text_samples full = wick::lines({(dir / "a10.txt").string()}, {.skip_empty = true});
  CHECK(contents(full) == list{"three", "five"});
  CHECK(full.key(1) == (dir / "a10.txt").string() + ": byte 9");
}

TEST_CASE("documents of a file are samples") {
  const temp_dir dir;
  const auto path = dir.write("a.txt", "one\nmore\n\n\ntwo\n");
  CHECK(contents(wick::documents(path)) == list{"one\nmore", "two"});
  CHECK(contents(wick::documents(path, {.separator = "more"})) == list{"one", "two"});
  CHECK(contents(wick::documents({path.string(), path.string()})) ==
        list{"one\nmore", "two", "one\nmore", "two"});
}

TEST_CASE("what has no line, is missing, or is compressed is an error of the source") {
  const temp_dir dir;
  const auto empty = dir.write("empty.txt");
  CHECK(contains(message_of([&] { return wick::lines(empty); }), "empty.txt: lines: nothing in 1 file"));
  CHECK(contains(message_of([&] { return wick::documents(dir.write("n.txt", "\n\n")); }),
                 "documents: nothing"));
  CHECK(contains(message_of([&] { return wick::lines({(dir / "none.txt").string()}); }),
                 "none.txt: lines: ", "No such file"));
  CHECK(contains(message_of([&] { return wick::lines(dir / "*.xyz"); }), "matches no file"));
  CHECK(contains(message_of([&] { return wick::lines(dir.write("z.gz", "\x1F\x8B\b....\n")); }),
                 "z.gz: lines: is compressed with gzip"));
  CHECK(contains(message_of([&] { return wick::lines({dir.path().string()}); }), "lines: ", "folder"));
}

TEST_CASE("the fingerprint is that of names and places, wherever the files lie") {
  const temp_dir a, b;
  a.write("x/1.txt", "one\ntwo\n"), a.write("x/2.txt", "three\n");
  b.write("other/1.txt", "one\ntwo\n"), b.write("other/2.txt", "three\n");
  const auto same = wick::lines(a / "x/*.txt").fingerprint();
  CHECK(wick::lines(b / "other/*.txt").fingerprint() == same);
  CHECK(wick::lines(a / "x/1.txt").fingerprint() != same);
  CHECK(wick::lines(a / "x/*.txt", {.skip_empty = true}).fingerprint() == same);
  b.write("other/1.txt", "on\netwo\n");
  CHECK(wick::lines(b / "other/*.txt").fingerprint() != same);
}

TEST_CASE("a line beyond 4 GiB is where it is") {
  // No test waits here for 4 GiB of nothing to be read: that lines are found there is shown beside text_scan.
  const temp_dir dir;
  const auto path = dir.write("large.txt", "first\n");
  constexpr std::uint64_t hole = (std::uint64_t{4} << 30) + 12'345;
  fs::resize_file(path, hole);
  std::ofstream(path, std::ios::binary | std::ios::app) << "\nlast\nend";
  settled(path);
  wick::detail::file_extents extents;
  extents.add({0, 5});
  extents.add({6, hole - 6});
  extents.add({hole + 1, 4});
  extents.add({hole + 6, 3});
  struct ::stat about {};
  REQUIRE(::stat(path.c_str(), &about) == 0);
  const auto stamp = wick::ext::file_stamp::of(about);
  const auto index = (dir / "kept").string();
  wick::detail::kept_index::write(index, wick::detail::text_rule().fingerprint(),
                                  {{"large.txt", &stamp, &extents}});
  const text_samples all = wick::lines(path, {.index = index});
  CHECK(all.bytes_scanned() == 0);
  REQUIRE(all.size() == 4);
  CHECK(all.at(1).offset == 6);
  CHECK(all.at(1).length == hole - 6);
  CHECK(content(all.at(2)) == "last");
  CHECK(content(all.at(3)) == "end");
}

TEST_CASE("an index that is kept saves reading the files, and gives the same") {
  const temp_dir dir;
  for (int f = 0; f < 3; ++f) settled(dir.write("t/" + std::to_string(f) + ".txt", many_lines(500 + f)));
  const auto index = (dir / "kept").string();
  const text_samples plain = wick::lines(dir / "t/*.txt");
  const text_samples first = wick::lines(dir / "t/*.txt", {.index = index});
  CHECK(first.bytes_scanned() > 0);
  CHECK(first.note().empty());
  const text_samples second = wick::lines(dir / "t/*.txt", {.index = index});
  CHECK(second.bytes_scanned() == 0);
  CHECK(contents(second) == contents(plain));
  CHECK(second.fingerprint() == plain.fingerprint());
  CHECK(second.at(7).indexed != nullptr);

  SUBCASE("for other samples of the same files it is made again") {
    CHECK(wick::lines(dir / "t/*.txt", {.index = index, .skip_empty = true}).bytes_scanned() > 0);
    CHECK(wick::documents(dir / "t/*.txt", {.index = index}).bytes_scanned() > 0);
    CHECK(wick::documents(dir / "t/*.txt", {.separator = "x", .index = index}).bytes_scanned() > 0);
    CHECK(wick::documents(dir / "t/*.txt", {.separator = "x", .index = index}).bytes_scanned() == 0);
    CHECK(wick::documents(dir / "t/*.txt", {.separator = "y", .index = index}).bytes_scanned() > 0);
  }
  SUBCASE("a file that is changed, added or taken away is seen, and only that one is read") {
    settled(dir.write("t/1.txt", "other\n"), 50);
    text_samples now = wick::lines(dir / "t/*.txt", {.index = index});
    CHECK(now.bytes_scanned() == 6);
    CHECK(contents(now) == contents(wick::lines(dir / "t/*.txt")));
    settled(dir.write("t/1.txt", "AB\nCDE"), 49);  // as long as before
    now = wick::lines(dir / "t/*.txt", {.index = index});
    CHECK(now.bytes_scanned() == 6);
    CHECK(contents(now) == contents(wick::lines(dir / "t/*.txt")));
    settled(dir.write("t/3.txt", "new"));
    CHECK(wick::lines(dir / "t/*.txt", {.index = index}).bytes_scanned() == 3);
    fs::remove(dir / "t/0.txt");
    now = wick::lines(dir / "t/*.txt", {.index = index});
    CHECK(now.bytes_scanned() == 0);
    CHECK(contents(now) == contents(wick::lines(dir / "t/*.txt")));
    fs::rename(dir / "t", dir / "u");
    now = wick::lines(dir / "u/*.txt", {.index = index});
    CHECK(now.bytes_scanned() == 0);
    CHECK(contents(now) == contents(wick::lines(dir / "u/*.txt")));
  }
  SUBCASE("a file that was changed a moment ago may change again within the same tick, and is not kept") {
    dir.write("t/2.txt", "abc\n");
    CHECK(wick::lines(dir / "t/*.txt", {.index = index}).bytes_scanned() == 4);
    CHECK(wick::lines(dir / "t/*.txt", {.index = index}).bytes_scanned() == 4);
  }
}

TEST_CASE("an index with any byte changed, or cut anywhere, gives the right lines or is refused") {
  const temp_dir dir;
  settled(dir.write("t/a.txt", many_lines(40)));
  settled(dir.write("t/b.txt", "x\n\ny\r\nz"));
  const auto index = (dir / "kept").string();
  const list wanted = contents(wick::lines(dir / "t/*.txt", {.index = index}));
  const std::string good = wick_test::read_file(index);
  const std::uint64_t rule = wick::detail::text_rule().fingerprint();
  wick::detail::file_extents found;
  const auto stamp = *wick::lines(dir / "t/a.txt").at(0).indexed;
  int refused = 0;
  const auto try_parsing = [&](const std::string& damaged) {
    fs::remove(index);  // some file systems bring a file to the disk that is written over
    wick_test::write_file(index, damaged);
    try {
      const wick::detail::kept_index kept(index, rule);
      CHECK(kept.size() == 0);
      CHECK_FALSE(kept.find("a.txt", stamp, found));
    } catch (const wick::error&) {
      ++refused;
    }
  };
  REQUIRE(wick::detail::kept_index(index, rule).find("a.txt", stamp, found));
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = good;
      damaged[i] = static_cast<char>(damaged[i] ^ 1 << bit);
      try_parsing(damaged);
    }
  }
  CHECK(refused == 8 * 8);  // where it says what it is
  for (std::size_t i = 0; i < good.size(); ++i) try_parsing(good.substr(0, i));
  try_parsing(good + '\0');
  CHECK(refused == 8 * 8);

  refused = 0;
  const auto try_with = [&](const std::string& damaged) {
    wick_test::write_file(index, damaged);
    try {
      const text_samples got = wick::lines(dir / "t/*.txt", {.index = index});
      CHECK(got.bytes_scanned() > 0);
      CHECK(contents(got) == wanted);
      CHECK(wick_test::read_file(index) == good);  // made again
    } catch (const wick::error& e) {
      CHECK(contains(e.what(), "kept: index: is not an index", "give .index a path of its own"));
      CHECK(wick_test::read_file(index) == damaged);
      ++refused;
    }
  };
  for (std::size_t i = 0; i < good.size(); i += 7) {
    std::string damaged = good;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x10);
    try_with(damaged);
    try_with(good.substr(0, i));
  }
  CHECK(refused == 2);
}

TEST_CASE("what lies at .index and is no index stays as it is") {
  const temp_dir dir;
  const auto text = settled(dir.write("a.txt", "one\ntwo\n"));
  CHECK(contains(message_of([&] { return wick::lines(text, {.index = text.string()}); }),
                 "a.txt: index: is not an index (starts with \"one"));
  CHECK(wick_test::read_file(text) == "one\ntwo\n");
  CHECK(contains(message_of([&] { return wick::lines(text, {.index = dir.path().string()}); }),
                 "index: ", "folder"));
}

TEST_CASE("where the index can't be written the lines are there, and the report says so") {
  const temp_dir dir;
  const auto text = settled(dir.write("a.txt", "one\ntwo\n"));
  const auto check = [&](const text_samples& all) {
    CHECK(contents(all) == list{"one", "two"});
    CHECK(contains(all.note(), "index: ", "Without it the files are read through at each start"));
    wick::loader loader(all | wick::read() | [](std::string_view t) {
      return static_cast<std::int64_t>(t.size());
    } | wick::array_batch(2));
    for (auto& batch : loader.epoch(0)) static_cast<void>(batch);
    CHECK(contains(loader.report().to_string(), "note: ", "Without it the files"));
  };
  check(wick::lines(text, {.index = (dir / "no/such/folder/kept").string()}));
  // A disk that is full: no byte of a file can be written.
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const ::rlimit none{0, 0};
    ::setrlimit(RLIMIT_FSIZE, &none);
    const text_samples all = wick::lines(text, {.index = (dir / "kept").string()});
    ::_exit(all.size() == 2 && contains(all.note(), "can't be written", "Without it") ? 0 : 1);
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK_FALSE(fs::exists(dir / "kept"));
}

TEST_CASE("processes that make the index at once all have it whole") {
  const temp_dir dir;
  settled(dir.write("a.txt", many_lines(3000)));
  const auto index = (dir / "kept").string();
  const list wanted = contents(wick::lines(dir / "a.txt"));
  std::vector<pid_t> children;
  for (int p = 0; p < 4; ++p) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    bool good = true;
    for (int i = 0; i < 25; ++i) {
      const text_samples all = wick::lines(dir / "a.txt", {.index = index});
      good =
          good && all.size() == wanted.size() && content(all.at(1234)) == wanted[1234] && all.note().empty();
      if (i % 3 == p % 3) ::unlink(index.c_str());
    }
    ::_exit(good ? 0 : 1);
  }
  for (const pid_t child : children) {
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(status == 0);
  }
  static_cast<void>(wick::lines(dir / "a.txt", {.index = index}));
  CHECK(contents(wick::lines(dir / "a.txt", {.index = index})) == wanted);
  CHECK(std::distance(fs::directory_iterator(dir.path()), {}) == 2);  // nothing else is left there
}

TEST_CASE("of processes that start at once one makes the index, and the others read it") {
  const temp_dir dir;
  ::setenv("XDG_CACHE_HOME", (dir / "cache").c_str(), 1);
  const std::string lines = many_lines(20'000);
  for (int f = 0; f < 8; ++f) settled(dir.write("t/" + std::to_string(f) + ".txt", lines));
  const auto start = [&](const std::string& index) {
    return wick_test::in_processes(4, [&] {
      const text_samples all = wick::lines(dir / "t/*.txt", {.index = index});
      if (all.size() != 160'000) return 3;
      return all.bytes_scanned() == 0 ? 0 : all.bytes_scanned() == 8 * lines.size() ? 1 : 2;
    });
  };
  std::vector<int> made = start((dir / "kept").string());
  std::sort(made.begin(), made.end());
  CHECK(made == std::vector<int>{0, 0, 0, 1});
  CHECK(start((dir / "kept").string()) == std::vector<int>(4, 0));
  CHECK(start((dir / "no/folder/kept").string()) == std::vector<int>(4, 1));  // it can't be written
  CHECK(fs::is_empty(dir / "cache/wick"));
  ::unsetenv("XDG_CACHE_HOME");
}

TEST_CASE("an interruption is heard while a file is read") {
  const temp_dir dir;
  const std::string file = dir.write("a.txt", std::string(std::size_t{3} << 20, '\n') + "one\n");
  CHECK(wick_test::gives_up([&] { return wick::lines(file); }));
}

TEST_CASE("a file that changes after the index is an error of each of its samples") {
  const temp_dir dir;
  const auto a = settled(dir.write("t/a.txt", "one\ntwo\n"));
  settled(dir.write("t/b.txt", "three\nfour\n"));
  const auto index = (dir / "kept").string();
  static_cast<void>(wick::lines(dir / "t/*.txt", {.index = index}));
  const text_samples all = wick::lines(dir / "t/*.txt", {.index = index});
  CHECK(all.bytes_scanned() == 0);
  SUBCASE("changed") { std::ofstream(a, std::ios::binary | std::ios::in) << "ON"; }
  SUBCASE("cut") { fs::resize_file(a, 5); }
  SUBCASE("grown") { std::ofstream(a, std::ios::app) << "more\n"; }
  SUBCASE("replaced") {
    dir.write("new", "eno\nowt\n");
    fs::rename(dir / "new", a);
  }
  SUBCASE("gone") { fs::remove(a); }
  wick::loader loader(all | wick::read() | [](std::string_view t) { return std::string(t); },
                      {.workers = 1, .on_error = wick::on_error::skip});
  list got;
  for (auto& text : loader.epoch(0)) got.push_back(text);
  CHECK(got == list{"three", "four"});
  REQUIRE(loader.failure_log().total() == 2);
}

TEST_CASE("the same lines come in the same batches at any number of workers and ranks, and after a resume") {
  const temp_dir dir;
  for (int f = 0; f < 3; ++f) settled(dir.write("t/" + std::to_string(f) + ".txt", many_lines(100 + f)));
  const text_samples all = wick::lines(dir / "t/*.txt");
  const auto pipe = [&](std::uint32_t rank, std::uint32_t ranks) {
    return all | wick::shuffle() | wick::shard(rank, ranks) | wick::read() |
           [](std::string_view t) { return std::string(t); } | wick::array_batch(12);
  };
  const auto run = [&](std::size_t workers, std::uint32_t ranks) {
    std::vector<list> batches;
    for (std::uint32_t r = 0; r < ranks; ++r) {
      wick::loader loader(pipe(r, ranks), {.seed = 5, .workers = workers});
      std::size_t number = 0;
      for (auto& batch : loader.epoch(3)) {
        if (batches.size() <= number) batches.resize(number + 1);
        list& into = batches[number++];
        into.insert(into.end(), batch.begin(), batch.end());
      }
    }
    return batches;
  };
  const auto wanted = run(1, 1);
  CHECK(wanted.size() == 26);
  CHECK(run(4, 1) == wanted);
  CHECK(run(4, 2) == wanted);
  CHECK(run(1, 4) == wanted);

  std::vector<std::byte> state;
  {
    wick::loader loader(pipe(0, 1), {.seed = 5, .workers = 4});
    std::size_t number = 0;
    for (auto& batch : loader.epoch(3)) {
      CHECK(list(batch.begin(), batch.end()) == wanted[number]);
      if (++number == 9) {
        state = loader.state();
        break;
      }
    }
  }
  wick::loader loader(wick::lines(dir / "t/*.txt", {.index = (dir / "kept").string()}) | wick::shuffle() |
                          wick::shard(0, 1) | wick::read() |
                          [](std::string_view t) { return std::string(t); } | wick::array_batch(12),
                      {.seed = 5, .workers = 2});
  loader.load_state(state);
  std::size_t number = 9;
  for (auto& batch : loader.epoch(3)) CHECK(list(batch.begin(), batch.end()) == wanted[number++]);
  CHECK(number == wanted.size());
}

TEST_CASE("lines of a web page are read where its name says so, and other formats are named") {
  const temp_dir dir;
  const auto said = [&](const char* name, const std::string& content) {
    const auto path = dir.write(name, content);
    return message_of([&] { return wick::lines(path); });
  };
  const std::string page = "<!doctype html>\n<html>\n";
  CHECK(contains(said("train.txt", page), "train.txt: lines: is an HTML page", "name it .html"));
  CHECK(said("train.html", page).empty());
  CHECK(contains(said("train.txt", "version https://git-lfs.github.com/spec/v1\noid sha256:0\n"),
                 "git lfs pull"));
  CHECK(contains(said("train.jsonl", "PAR1\x15\4\x15 and more"), "is a Parquet file"));
  CHECK(contains(said("train.txt", "BZh91AY&SY123"), "is compressed with bzip2"));
}

}  // namespace wick_test::lines_tests
