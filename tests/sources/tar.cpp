#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/interrupted.hpp"
#include "../support/message_of.hpp"
#include "../support/processes.hpp"
#include "../support/python.hpp"
#include "../support/tar_writer.hpp"
#include "../support/temp_dir.hpp"
#include <wick/ext/source.hpp>
#include <wick/io/detail/file_io.hpp>
#include <wick/io/detail/index_lock.hpp>
#include <wick/sources/tar.hpp>

namespace wick_test::tar_tests {

static_assert(wick::ext::source<wick::detail::tar_samples>);
static_assert(wick::ext::source<wick::detail::tar_records>);

namespace {

namespace fs = std::filesystem;
using wick_test::contains;
using wick_test::message_of;
using wick_test::tar_writer;
using wick_test::temp_dir;

/// What a file range points to, as read() would get it.
std::string content(const wick::ext::file_range& l) {
  wick::detail::file_handle opened;
  if (l.file < 0) opened = wick::detail::open_file(l.path);
  std::string out(static_cast<std::size_t>(l.length), '\0');
  const int fd = l.file < 0 ? opened.get() : l.file;
  REQUIRE(::pread(fd, out.data(), out.size(), static_cast<::off_t>(l.offset)) ==
          static_cast<::ssize_t>(out.size()));
  return out;
}

std::vector<std::string> keys(const auto& source) {
  std::vector<std::string> out;
  for (std::uint64_t i = 0; i < source.size(); ++i) {
    const std::string key = source.key(i);
    out.push_back(key.substr(key.find(".tar: ") + 6));
  }
  return out;
}

bool shell(const std::string& command) { return std::system((command + " >/dev/null 2>&1").c_str()) == 0; }

using list = std::vector<std::string>;

}  // namespace

TEST_CASE("pictures come with the number in KEY.cls, in the order of the archive") {
  const temp_dir dir;
  const auto shard = dir.write("a.tar", tar_writer()
                                            .add("./d/", {}, {.type = '5'})
                                            .add("./d/0.jpg", "first picture")
                                            .add("./d/0.cls", "7\n")
                                            .add("./d/1.cls", " -3 ")
                                            .add("./d/1.JPEG", std::string(5000, 'x'))
                                            .add("e.x/2.png", "third")
                                            .add("e.x/2.cls", "+12")
                                            .done());
  const wick::detail::tar_samples source = wick::tar(shard);
  REQUIRE(source.size() == 3);
  CHECK(keys(source) == list{"d/0", "d/1", "e.x/2"});
  CHECK(source.at(0).target == 7);
  CHECK(source.at(1).target == -3);
  CHECK(source.at(2).target == 12);
  CHECK(content(source.at(0).data) == "first picture");
  CHECK(content(source.at(1).data) == std::string(5000, 'x'));
  CHECK(content(source.at(2).data) == "third");
  CHECK(source.at(0).data.file >= 0);
  CHECK(std::string(source.at(0).data.path) == shard.string());
  CHECK(source.key(2) == shard.string() + ": e.x/2");
}

TEST_CASE("only the members asked for are indexed, in the order they were asked for") {
  const temp_dir dir;
  const auto shard = dir.write("a.tar", tar_writer()
                                            .add("0.json", "{}")
                                            .add("0.jpg", "J0")
                                            .add("0.seg.png", "S0")
                                            .add("0.txt", "T0")
                                            .add("1.txt", "T1")
                                            .add("1.png", "P1")
                                            .done());
  const wick::detail::tar_records source = wick::tar(shard, {"txt", "jpg;png"});
  REQUIRE(source.size() == 2);
  const wick::record<wick::ext::file_range> first = source.at(0), second = source.at(1);
  CHECK(first.key == "0");
  CHECK(first.size() == 2);
  CHECK(content(first[0]) == "T0");
  CHECK(content(first.at("jpg")) == "J0");
  CHECK(content(second.at("png")) == "P1");
  const wick::detail::tar_records masks =
      wick::tar(shard, {"seg.png"}, {.missing_member = wick::missing_member::leave_out});
  CHECK(masks.size() == 1);
  CHECK(content(masks.at(0)[0]) == "S0");
}

TEST_CASE("of alternatives the first asked for is taken, wherever it lies") {
  const temp_dir dir;
  const auto shard = dir.write(
      "a.tar", tar_writer().add("0.png", "P").add("0.jpg", "J").add("1.jpg", "J").add("1.png", "P").done());
  const auto picked = [&](const char* wanted) {
    const wick::detail::tar_records source = wick::tar(shard, {wanted});
    return content(source.at(0)[0]) + content(source.at(1)[0]);
  };
  CHECK(picked("jpg;png") == "JJ");
  CHECK(picked("png;jpg") == "PP");
}

TEST_CASE("building the index reads headers and labels, not pictures") {
  const temp_dir dir;
  tar_writer w;
  for (int i = 0; i < 20; ++i) {
    w.add(std::to_string(i) + ".jpg", std::string(200'000, 'j')).add(std::to_string(i) + ".cls", "1");
  }
  const auto large = dir.write("a.tar", w.done());
  const wick::detail::tar_samples source = wick::tar(large);
  CHECK(source.size() == 20);
  CHECK(source.bytes_scanned() <= 20 * 2 * 4096 + 8192);

  tar_writer small;
  for (int i = 0; i < 2000; ++i)
    small.add(std::to_string(i) + ".png", "tiny").add(std::to_string(i) + ".cls", "1");
  const auto dense = dir.write("b.tar", small.done());
  const wick::detail::tar_samples tiny = wick::tar(dense);
  CHECK(tiny.size() == 2000);
  CHECK(tiny.bytes_scanned() <= fs::file_size(dense));
}

TEST_CASE("shards are named by braces, wildcards or lists, and follow each other") {
  const temp_dir dir;
  for (int s = 0; s < 12; ++s) {
    char name[32];
    std::snprintf(name, sizeof name, "t-%03d.tar", s);
    dir.write(name, tar_writer()
                        .add(std::to_string(s) + ".jpg", "x")
                        .add(std::to_string(s) + ".cls", std::to_string(s))
                        .done());
  }
  const auto targets = [](const wick::detail::tar_samples& source) {
    std::vector<std::int64_t> out;
    for (std::uint64_t i = 0; i < source.size(); ++i) out.push_back(source.at(i).target);
    return out;
  };
  using numbers = std::vector<std::int64_t>;
  CHECK(targets(wick::tar(dir / "t-{009..011}.tar")) == numbers{9, 10, 11});
  CHECK(targets(wick::tar((dir / "t-*.tar").string())) == numbers{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  CHECK(targets(wick::tar({dir / "t-003.tar", dir / "t-00{0,1}.tar"})) == numbers{3, 0, 1});
  CHECK(targets(wick::tar(list{(dir / "t-002.tar").string()})) == numbers{2});
  CHECK(wick::tar(dir / "t-*.tar", {"jpg", "cls"}).shards().size() == 12);
}

TEST_CASE("one key in two shards is two samples") {
  const temp_dir dir;
  for (const char* n : {"a.tar", "b.tar"})
    dir.write(n, tar_writer().add("0.jpg", n).add("0.cls", "0").done());
  CHECK(wick::tar(dir / "*.tar").size() == 2);
}

TEST_CASE("what is no member of a sample is passed over") {
  const temp_dir dir;
  const auto shard = dir.write("a.tar", tar_writer()
                                            .add("README", "no extension")
                                            .add(".hidden.jpg", "hidden")
                                            .add("d/._0.jpg", "left by macOS")
                                            .add("__index__.json", "metadata")
                                            .add("pipe.jpg", {}, {.type = '6'})
                                            .add("dev.jpg", {}, {.type = '3'})
                                            .add("old/", {}, {.type = '\0', .magic = ""})
                                            .add("d/0.jpg", "x")
                                            .add("d/0.cls", "0")
                                            .add("d/__p-iA312kg.jpg", "a name, and no metadata")
                                            .add("d/__p-iA312kg.cls", "1")
                                            .done());
  CHECK(keys(wick::tar(shard)) == list{"d/0", "d/__p-iA312kg"});
}

TEST_CASE("archives of every format that the system's tar writes are read") {
  if (!shell("tar --version | grep GNU")) {
    MESSAGE("no GNU tar here");
    return;
  }
  const temp_dir dir;
  const std::string far =
      "a-folder-with-a-rather-long-name/another-one-below-it-which-is-long-too/and-a-third-one";
  const std::string longer = far + "/" + std::string(180, 'k');
  dir.write("in/0001.jpg", "J1");
  dir.write("in/0001.cls", "1");
  dir.write("in/" + far + "/0002.jpg", "J2");
  dir.write("in/" + far + "/0002.cls", "2");
  for (const std::string format : {"v7", "ustar", "oldgnu", "gnu", "pax"}) {
    CAPTURE(format);
    const bool unlimited = format == "pax" || format == "gnu" || format == "oldgnu";
    if (unlimited) {
      dir.write("in/" + longer + "/0003\nx.jpg", "J3");
      dir.write("in/" + longer + "/0003\nx.cls", "3");
    }
    const bool all = format != "v7";
    const std::string what = all ? "." : "0001.jpg 0001.cls";
    REQUIRE(shell("cd " + (dir / "in").string() + " && tar --sort=name --format=" + format + " -cf ../" +
                  format + ".tar " + what));
    const wick::detail::tar_samples source = wick::tar(dir / (format + ".tar"));
    std::vector<std::pair<std::string, std::int64_t>> found;
    for (std::uint64_t i = 0; i < source.size(); ++i) {
      found.emplace_back(content(source.at(i).data), source.at(i).target);
    }
    std::vector<std::pair<std::string, std::int64_t>> expected = {{"J1", 1}};
    if (all) expected.emplace_back("J2", 2);
    if (unlimited) expected.insert(expected.end() - 1, {"J3", 3});
    std::sort(found.begin(), found.end());
    std::sort(expected.begin(), expected.end());
    CHECK(found == expected);
    if (unlimited) {
      bool seen = false;
      for (const std::string& k : keys(source)) seen |= k == longer + "/0003\\x0ax";
      CHECK(seen);
    }
    fs::remove_all(dir / "in" / longer);
  }
}

TEST_CASE("archives that follow each other in one file are read on") {
  const temp_dir dir;
  const std::string a = tar_writer().add("0.jpg", "a").add("0.cls", "0").done();
  const std::string b = tar_writer().add("1.jpg", "b").add("1.cls", "1").zeros(17).done();
  CHECK(keys(wick::tar(dir.write("c.tar", a + b + a + b))) == list{"0", "1", "0", "1"});
  CHECK(keys(wick::tar(dir.write("d.tar", a + std::string(100, '\0')))) == list{"0"});
  CHECK(contains(message_of([&] { return wick::tar(dir.write("e.tar", a + std::string(512, 'x'))); }),
                 "has something at offset 3072, past the end of the archive, that isn't a header"));
}

TEST_CASE("sizes in binary and in pax headers are understood") {
  const temp_dir dir;
  const auto shard = dir.write(
      "a.tar", tar_writer()
                   .add("0.jpg", "binary", {.base_256 = true})
                   .add("0.cls", "0")
                   .add("x", tar_writer::pax("path", "dir/long name.jpg") + tar_writer::pax("size", "9"),
                        {.type = 'x'})
                   .header("short.jpg", 9, {.size = 0})
                   .blocks("nine char")
                   .add("dir/long name.cls", "1")
                   .add("g", tar_writer::pax("comment", "of git archive"), {.type = 'g'})
                   .add("p.jpg", "with prefix", {.prefix = "some/where"})
                   .add("some/where/p.cls", "2")
                   .add("gnu.jpg", "no prefix", {.magic = "ustar  ", .prefix = "14766132373"})
                   .add("gnu.cls", "3")
                   .add("old.jpg", "v7", {.type = '\0', .magic = ""})
                   .add("old.cls", "4", {.type = '7'})
                   .done());
  const wick::detail::tar_samples source = wick::tar(shard);
  CHECK(keys(source) == list{"0", "dir/long name", "some/where/p", "gnu", "old"});
  CHECK(content(source.at(0).data) == "binary");
  CHECK(content(source.at(1).data) == "nine char");
}

TEST_CASE("a global pax path does not outlive its archive's members, an own one wins") {
  const temp_dir dir;
  const auto shard = dir.write("a.tar", tar_writer()
                                            .add("x", tar_writer::pax("path", "one.jpg"), {.type = 'x'})
                                            .add("ignored", "1")
                                            .add("one.cls", "1")
                                            .done());
  CHECK(keys(wick::tar(shard)) == list{"one"});
}

TEST_CASE("a missing shard is an error that says which") {
  const temp_dir dir;
  const std::string good = tar_writer().add("0.jpg", "x").add("0.cls", "0").done();
  dir.write("t-0.tar", good);
  dir.write("t-2.tar", good);
  const auto message = [&](const wick::shard_list& s) { return message_of([&] { return wick::tar(s); }); };
  CHECK(contains(message(dir / "t-{0..2}.tar"),
                 "/t-1.tar: tar: can't open it: No such file or directory (shard 2 of 3)"));
  CHECK(contains(message_of([&] { return wick::tar(dir / "u-*.tar"); }), "/u-*.tar: tar: matches no file"));
  CHECK(contains(message(dir.path()), "tar: is a folder, not a file"));
  CHECK(contains(message("/dev/null"), "tar: is a character device, not a file"));
  CHECK(contains(message_of([] { return wick::tar("https://host/t-{0..9}.tar"); }), "tar: is a URL"));
  CHECK(contains(message_of([] { return wick::tar(list{}); }), "tar: the list of shards is empty"));
}

TEST_CASE("an archive that is cut off is an error wherever the cut is, until only zeros are lost") {
  const temp_dir dir;
  const std::string whole = tar_writer().add("0.jpg", std::string(700, 'x')).add("0.cls", "0").done();
  const std::size_t members = whole.size() - 1024;
  for (std::size_t size = 0; size < whole.size(); size += size < 1030 || size > members - 3 ? 1 : 37) {
    CAPTURE(size);
    const std::string message =
        message_of([&] { return wick::tar(dir.write("cut.tar", whole.substr(0, size))); });
    CHECK(message.empty() == (size >= members + 512));
    CHECK((message.empty() || contains(message, "/cut.tar: tar: ")));
  }
  const auto message = [&](std::size_t size) {
    return message_of([&] { return wick::tar(dir.write("cut.tar", whole.substr(0, size))); });
  };
  CHECK(contains(message(0), "is empty (0 bytes), not a tar archive"));
  CHECK(contains(
      message(1000),
      "cut off: \"0.jpg\" (header at offset 0, 700 bytes) needs 1212 bytes of the file, which has 1000"));
  CHECK(contains(message(1700),
                 "cut off: the header at offset 1536 needs 2048 bytes of the file, which has 1700"));
  CHECK(contains(message(members), "ends after 2560 bytes without the blocks of zeros", "truncate -s +1024"));
}

TEST_CASE("damaged headers are errors that give the place, the expected value and the one found") {
  const temp_dir dir;
  const tar_writer start = tar_writer().add("0.jpg", "x").add("0.cls", "0");
  const auto message = [&](tar_writer w) {
    return message_of([&] { return wick::tar(dir.write("bad.tar", w.done())); });
  };
  const auto after = [&](std::string_view name, std::string_view data, const tar_writer::how& how) {
    return message(tar_writer(start).add(name, data, how));
  };
  CHECK(contains(after("1.jpg", "x", {.good_checksum = false}),
                 "/bad.tar: tar: the header at offset 2048 has a wrong checksum (says ", ", and it is "));
  tar_writer flipped = tar_writer(start).add("1.jpg", "x");
  flipped.bytes[2048 + 130] = static_cast<char>(flipped.bytes[2048 + 130] ^ 1);
  CHECK(contains(message(flipped), "offset 2048 has a wrong checksum"));
  flipped.bytes[2048 + 150] = 'z';
  CHECK(contains(message(flipped), "has a wrong checksum (says no number"));
  CHECK(contains(after("1.jpg", "x", {.size = 1LL << 32}),
                 "cut off: \"1.jpg\" (header at offset 2048, 4294967296 bytes)"));
  CHECK(contains(after("1.jpg", "x", {.size = INT64_MAX, .base_256 = true}), "cut off: \"1.jpg\""));
  CHECK(contains(after("1.jpg", "x", {.type = 'M'}), "continues from another volume (\"1.jpg\")"));

  tar_writer no_size = tar_writer(start).add("1.jpg", "x");
  no_size.bytes.replace(2048 + 124, 4, "what");
  tar_writer::seal(no_size.bytes.data() + 2048);
  CHECK(contains(message(no_size), "offset 2048 has a size that isn't a number"));
  tar_writer negative = tar_writer(start).add("1.jpg", "x");
  negative.bytes.replace(2048 + 124, 12, std::string(12, '\xFF'));
  tar_writer::seal(negative.bytes.data() + 2048);
  CHECK(contains(message(negative), "offset 2048 has a size that isn't a number"));
}

TEST_CASE("damaged pax and long-name headers are errors") {
  const temp_dir dir;
  const auto message = [&](std::string_view data, const tar_writer::how& how, bool follow = true) {
    tar_writer w = tar_writer().add("h", data, how);
    if (follow) w.add("0.jpg", "x").add("0.cls", "0");
    return message_of([&] { return wick::tar(dir.write("bad.tar", w.done())); });
  };
  CHECK(contains(
      message("nonsense", {.type = 'x'}),
      "the header at offset 0 has a pax record that is not \"LENGTH KEY=VALUE\" (found \"nonsense\")"));
  CHECK(contains(message("99 path=a\n", {.type = 'x'}), "has a pax record that is not"));
  CHECK(contains(message("0 path=a\n", {.type = 'x'}), "has a pax record that is not"));
  CHECK(contains(message("99999999999999999999999 path=a\n", {.type = 'x'}), "has a pax record that is not"));
  CHECK(contains(message("10 path_aa\n", {.type = 'x'}), "pax record"));
  CHECK(contains(message("11 path_aa\n", {.type = 'x'}), "without '='"));
  CHECK(contains(message(tar_writer::pax("size", "many"), {.type = 'x'}),
                 "pax size that isn't a number (\"many\")"));
  CHECK(contains(message(tar_writer::pax("path", std::string("a\0b.jpg", 7)), {.type = 'x'}),
                 "a name with a NUL in it"));
  CHECK(contains(message(tar_writer::pax("path", "0.jpg"), {.type = 'x'}, false),
                 "the header at offset 0 announces a member, and zeros follow"));
  CHECK(contains(message("long/name.jpg", {.type = 'L'}, false), "announces a member"));
  CHECK(contains(message(std::string((1 << 20) + 1, 'n'), {.type = 'L'}), "more than 1 MiB"));
  for (const char type : {'x', 'g'}) {
    CHECK(contains(message(tar_writer::pax("path", std::string(65'537, 'n')), {.type = type}),
                   "the header at offset 0 has a name of 65537 bytes"));
  }
}

TEST_CASE("an archive with any bytes changed is read or refused, never worse") {
  const temp_dir dir;
  const std::string whole = tar_writer()
                                .add("x", tar_writer::pax("path", "a/0.jpg"), {.type = 'x'})
                                .add("h", std::string(600, 'x'))
                                .add("L", "a/0.cls", {.type = 'L'})
                                .add("h", "5")
                                .add("1.jpg", "x", {.magic = "ustar  ", .base_256 = true})
                                .add("1.cls", "1")
                                .done();
  std::uint32_t state = 1;
  const auto random = [&state](std::size_t below) {
    return ((state = state * 1664525u + 1013904223u) >> 8) % below;
  };
  for (int round = 0; round < 3000; ++round) {
    std::string changed = whole;
    for (std::size_t n = 1 + random(4); n > 0; --n) {
      changed[random(whole.size())] = static_cast<char>("0 7=\n\xFF\x80\0SgxL"[random(12)]);
    }
    // Half of the damage comes with a checksum that holds.
    for (std::size_t block = 0; random(2) == 0 && block < whole.size(); block += 512) {
      if (whole.compare(block + 257, 5, "ustar") == 0) tar_writer::seal(changed.data() + block);
    }
    const auto shard = dir.write("changed.tar", changed);
    const std::string message = message_of([&] {
      const wick::detail::tar_samples source =
          wick::tar(shard, {.missing_member = wick::missing_member::leave_out});
      for (std::uint64_t i = 0; i < source.size(); ++i) content(source.at(i).data);
    });
    CHECK((message.empty() || contains(message, "tar: ")));
  }
}

TEST_CASE("sparse members are refused when they are wanted, and stepped over when not") {
  const temp_dir dir;
  // Old GNU format, with one more block of its map after the header.
  tar_writer old;
  old.header("0.jpg", 3, {.type = 'S', .magic = "ustar  "});
  old.bytes[482] = 1;
  tar_writer::seal(old.bytes.data());
  old.bytes.append(512, '\0');
  old.blocks("abc").add("0.txt", "T").add("0.cls", "0");
  const auto shard = dir.write("old.tar", old.done());
  CHECK(contains(message_of([&] { return wick::tar(shard); }),
                 "/old.tar: 0: tar: the member \"0.jpg\" is stored as a sparse file", "without --sparse"));
  CHECK(content(wick::tar(shard, {"txt"}).at(0)[0]) == "T");

  if (!shell("tar --version | grep GNU")) return;
  dir.write("in/k.jpg", "start");
  fs::resize_file(dir / "in/k.jpg", 1 << 20);
  dir.write("in/k.txt", "text");
  for (const std::string how : {"--format=gnu", "--format=pax --sparse-version=0.0",
                                "--format=pax --sparse-version=0.1", "--format=pax --sparse-version=1.0"}) {
    CAPTURE(how);
    REQUIRE(shell("cd " + (dir / "in").string() + " && tar --sparse " + how + " -cf ../s.tar k.jpg k.txt"));
    if (fs::file_size(dir / "s.tar") > 1 << 20) continue;  // the file system kept no hole
    CHECK(contains(message_of([&] { return wick::tar(dir / "s.tar", {"jpg"}); }),
                   "/s.tar: k: tar: the member \"k.jpg\" is stored as a sparse file"));
    const wick::detail::tar_records texts = wick::tar(dir / "s.tar", {"txt"});
    REQUIRE(texts.size() == 1);
    CHECK(content(texts.at(0)[0]) == "text");
  }
}

TEST_CASE("compressed archives and other files are distinguished") {
  const temp_dir dir;
  const auto message = [&](std::string_view content) {
    return message_of(
        [&] { return wick::tar(dir.write("bad.tar", std::string(content) + std::string(2000, 'x'))); });
  };
  CHECK(contains(message("\x1F\x8B\x08"), "/bad.tar: tar: is compressed with gzip",
                 "unpack it to a plain .tar"));
  CHECK(contains(message("BZh9"), "compressed with bzip2"));
  CHECK(contains(message("\x28\xB5\x2F\xFD"), "compressed with zstd"));
  CHECK(contains(message("\xFD"
                         "7zXZ"),
                 "compressed with xz"));
  CHECK(
      contains(message("\x89PNG"), "is not a tar archive (starts with 89 50 4e 47, and no header is there)"));
}

TEST_CASE("a label that is no whole number is an error with its key and the text found") {
  const temp_dir dir;
  const auto message = [&](std::string_view label) {
    return message_of([&] {
      return wick::tar(dir.write("a.tar", tar_writer().add("d/0.jpg", "x").add("d/0.cls", label).done()));
    });
  };
  CHECK(contains(message("cat"), "/a.tar: d/0: tar: \"d/0.cls\" holds \"cat\" (3 bytes), not a whole number",
                 "{\"jpg\", \"cls\"}"));
  for (const char* bad : {"", " \n", "1.5", "1 2", "0x10", "--1", "99999999999999999999", "1\n2"}) {
    CAPTURE(bad);
    CHECK(contains(message(bad), "not a whole number"));
  }
  CHECK(contains(message(std::string(5000, '1')), "(5000 bytes), not a whole number"));
  for (const char* good : {"0", "7\r\n", "-9223372036854775808", "007", "3.0", "1e2"})
    CHECK(message(good).empty());
}

TEST_CASE("samples that lack a member are refused with what they have, or left out and counted") {
  const temp_dir dir;
  const auto shard = dir.write("a.tar", tar_writer()
                                            .add("0.jpg", "x")
                                            .add("0.cls", "0")
                                            .add("1.jpg", "x")
                                            .add("1.json", "{}")
                                            .add("2.cls", "2")
                                            .add("3.jpg", "x")
                                            .add("3.cls", "3")
                                            .done());
  CHECK(contains(
      message_of([&] { return wick::tar(shard); }),
      "/a.tar: 1: tar: has no member \"cls\", only \"jpg\", \"json\"; members of a sample must lie side by "
      "side "
      "(tar --sort=name); to leave such samples out, set .missing_member = wick::missing_member::leave_out"));
  const wick::detail::tar_samples some =
      wick::tar(shard, {.missing_member = wick::missing_member::leave_out});
  CHECK(keys(some) == list{"0", "3"});
  CHECK(some.skipped() == 2);
  CHECK(some.at(1).target == 3);
  CHECK(contains(message_of([&] {
                   return wick::tar(shard, {"wav"}, {.missing_member = wick::missing_member::leave_out});
                 }),
                 "no sample in 1 shards (4 incomplete ones left out)", "the wanted ones are \"wav\""));
  CHECK(contains(message_of([&] { return wick::tar(dir.write("nothing.tar", tar_writer().done())); }),
                 "no sample in 1 shards"));
}

TEST_CASE("a member that is only a link to another is no member, and said so") {
  const temp_dir dir;
  const auto shard =
      dir.write("a.tar", tar_writer().add("0.jpg", "x").add("0.cls", {}, {.type = '1', .size = 700}).done());
  CHECK(contains(
      message_of([&] { return wick::tar(shard); }),
      "has no member \"cls\", only \"jpg\", \"cls\" (a link: write the archive with tar --dereference"));
}

TEST_CASE("two members of one name are an error") {
  const temp_dir dir;
  const auto shard = dir.write("a.tar", tar_writer()
                                            .add("0.jpg", "x")
                                            .add("0.txt", "a")
                                            .add("0.JPG", "y")
                                            .add("0.txt", "b")
                                            .add("0.cls", "0")
                                            .done());
  CHECK(contains(message_of([&] { return wick::tar(shard); }),
                 "/a.tar: 0: tar: two members are named \"0.JPG\" (data at offsets 512 and 2560)"));
  CHECK(wick::tar(shard, {"cls"}).size() == 1);
}

TEST_CASE("a key with a line break is printed on one line") {
  const temp_dir dir;
  const auto shard = dir.write("a\nb.tar", tar_writer().add("x\ny.jpg", "x").add("x\ny.cls", "0").done());
  const wick::detail::tar_samples source = wick::tar(shard);
  CHECK(contains(source.key(0), "a\\x0ab.tar: x\\x0ay"));
  CHECK(wick::tar(shard, {"jpg"}).at(0).key == "x\ny");
}

TEST_CASE("the fingerprint follows keys, sizes and labels, not the folder or the cut into shards") {
  const temp_dir dir;
  const auto of = [&](const char* name, const char* data, const char* label, const char* key = "0") {
    const std::string k = key;
    return wick::tar(dir.write(name, tar_writer().add(k + ".jpg", data).add(k + ".cls", label).done()))
        .fingerprint();
  };
  const std::uint64_t first = of("a.tar", "ab", "1");
  CHECK(first == of("elsewhere/b.tar", "ab", "1"));
  CHECK(first != of("a.tar", "abc", "1"));
  CHECK(first != of("a.tar", "ab", "2"));
  CHECK(first != of("a.tar", "ab", "1", "1"));
}

TEST_CASE("shards are opened by path when the process has no descriptors to spare") {
  const temp_dir dir;
  list many;
  for (int s = 0; s < 40; ++s) {
    many.push_back(dir.write(std::to_string(s) + ".tar",
                             tar_writer().add("k.jpg", std::to_string(s)).add("k.cls", "0").done())
                       .string());
  }
  const auto open_now = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  const auto before = open_now();
  {
    const wick::detail::tar_samples open = wick::tar(many);
    CHECK(open.at(39).data.file >= 0);
    CHECK(open_now() == before + 40);
    CHECK(content(open.at(39).data) == "39");
  }
  CHECK(open_now() == before);

  ::rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  ::rlimit low = limit;
  low.rlim_cur = 128;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &low) == 0);
  {
    const wick::detail::tar_samples closed = wick::tar(many);
    CHECK(closed.at(39).data.file == -1);
    CHECK(open_now() == before);
    CHECK(content(closed.at(39).data) == "39");
    const wick::detail::tar_samples few = wick::tar(list(many.begin(), many.begin() + 20));
    const wick::detail::tar_samples too_many = wick::tar(list(many.begin(), many.begin() + 20));
    CHECK(few.at(0).data.file >= 0);
    CHECK(too_many.at(0).data.file == -1);
  }
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
}

namespace {

/// Some shards whose last change is a while ago.
struct old_shards {
  explicit old_shards(int count) {
    for (int shard = 0; shard < count; ++shard) {
      tar_writer w;
      w.add("./folder/", "", {.type = '5'});
      for (int i = 0; i < 20; ++i) {
        const std::string key = "./folder/" + std::to_string(shard * 100 + i);
        w.add(key + ".jpg", std::string(static_cast<std::size_t>(i) * 97, 'j'));
        w.add(key + ".cls", std::to_string(i) + "\n");
        w.add(key + ".json", "{}");
      }
      write(shard, w.done());
    }
  }
  std::string path(int shard) const { return dir.path().string() + "/s" + std::to_string(shard) + ".tar"; }
  void write(int shard, const std::string& bytes, int seconds_ago = 100) const {
    wick_test::write_file(path(shard), bytes);
    fs::last_write_time(path(shard), fs::file_time_type::clock::now() - std::chrono::seconds(seconds_ago));
  }
  auto pictures(bool keep = true) const {
    return wick::tar(dir.path().string() + "/s*.tar", {.keep_index = keep});
  }
  temp_dir dir;
};

template <class Source>
std::vector<std::string> described(const Source& source) {
  std::vector<std::string> out;
  for (std::uint64_t i = 0; i < source.size(); ++i) {
    const auto one = source.at(i);
    out.push_back(source.key(i) + ' ' + std::to_string(one.data.offset) + ' ' +
                  std::to_string(one.data.length) + ' ' + std::to_string(one.target));
  }
  return out;
}

}  // namespace

TEST_CASE("an index that is kept beside the shards gives the same samples, and no shard is read") {
  const old_shards of(3);
  const auto plain = of.pictures(false);
  CHECK(!fs::exists(of.path(0) + ".wickidx"));
  const auto first = of.pictures();
  CHECK(first.bytes_scanned() > 0);
  CHECK(first.note() == "");
  const auto second = of.pictures();
  CHECK(second.bytes_scanned() == 0);
  CHECK(second.size() == 60);
  CHECK(described(second) == described(plain));
  CHECK(second.fingerprint() == plain.fingerprint());
  // It serves other members, too.
  const auto records = wick::tar(of.dir.path().string() + "/s*.tar", {"json", "jpg"}, {.keep_index = true});
  CHECK(records.bytes_scanned() == 0);
  CHECK(content(records.at(41)[0]) == "{}");
  CHECK(content(records.at(41)[1]) == std::string(97, 'j'));
  CHECK(fs::file_size(of.path(0) + ".wickidx") < 20 * 64);
  // A pattern that matches the indexes, too.
  CHECK(described(wick::tar((of.dir / "*").string(), {.keep_index = true})) == described(plain));
}

TEST_CASE("a shard that was changed, or whose index is damaged, is walked again, and its index replaced") {
  const old_shards of(2);
  const auto expected = described(of.pictures());
  const std::string index = of.path(1) + ".wickidx", good = wick_test::read_file(index);
  const auto again = [&](const std::string& damaged) {
    wick_test::write_file(index, damaged);
    const auto source = of.pictures();
    CHECK(source.bytes_scanned() > 0);
    CHECK(described(source) == expected);
    CHECK(wick_test::read_file(index) == good);
  };
  for (std::size_t i = 0; i < good.size(); i += 11) {
    std::string damaged = good;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x41);
    again(damaged);
  }
  again("");
  again(good.substr(0, good.size() - 1));
  again(wick_test::read_file(of.path(0) + ".wickidx").substr(0, 60));
  of.write(1, tar_writer().add("a.jpg", "new").add("a.cls", "5").done(), 50);
  CHECK(of.pictures().size() == 21);
  CHECK(of.pictures().bytes_scanned() == 0);
}

TEST_CASE("an index with a right checksum that names what no shard has is refused") {
  const old_shards of(1);
  static_cast<void>(of.pictures());
  const std::string index = of.path(0) + ".wickidx", good = wick_test::read_file(index);
  const auto refused = [&](const std::string& members) {
    std::string all = good.substr(0, 32) + std::string("\xFF\xFF\0\0\0\0\0\0", 8) + members;
    const std::uint64_t checksum = wick::ext::fingerprint_hash().add(all).value();
    for (int i = 0; i < 8; ++i) all += static_cast<char>(checksum >> 8 * i & 0xFF);
    wick_test::write_file(index, all);
    return message_of([&] { return of.pictures(); });
  };
  const std::string file("\0", 1), label = std::string("\0\5a.cls", 7) + file + std::string("\0\1", 2) + '7';
  CHECK(refused(std::string("\0\5a.jpg", 7) + file + std::string("\0\1", 2) + label) == "");
  const std::string far = "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F";
  CHECK(contains(refused(std::string("\0\5a.jpg", 7) + file + far + '\1' + label),
                 "s0.tar.wickidx: tar: ", "don't lie in the shard", "remove it"));
  CHECK(contains(refused(std::string("\0\5a.jpg", 7) + file + '\0' + far + label), "don't lie in the shard"));
  // 20,000 names of 60,000 bytes, which share all but the last of them.
  std::string names =
      std::string("\0\xE0\xD4\3", 4) + std::string(60'000, 'n') + file + std::string("\0\0", 2);
  for (int i = 0; i < 20'000; ++i)
    names += std::string("\xDF\xD4\3\1", 4) + 'm' + file + std::string("\0\0", 2);
  CHECK(contains(refused(names), "names without an end"));
}

TEST_CASE("the index of a shard that was just written is not kept, and what can't be written is a note") {
  const old_shards of(2);
  of.write(1, wick_test::read_file(of.path(1)), 0);
  fs::create_directory(of.path(0) + ".wickidx");
  const auto source = of.pictures();
  CHECK(source.size() == 40);
  CHECK(contains(source.note(), "s0.tar.wickidx", "walked at each start"));
  CHECK(!fs::exists(of.path(1) + ".wickidx"));
}

TEST_CASE("of processes that start at once one walks the shards, and the others read its indexes") {
  const temp_dir cache;
  ::setenv("XDG_CACHE_HOME", cache.path().c_str(), 1);
  const old_shards of(60);
  const std::uint64_t all = of.pictures(false).bytes_scanned();
  std::vector<int> walked = wick_test::in_processes(4, [&] {
    const auto source = of.pictures();
    if (source.size() != 60 * 20) return 3;
    return source.bytes_scanned() == 0 ? 0 : source.bytes_scanned() == all ? 1 : 2;
  });
  std::sort(walked.begin(), walked.end());
  CHECK(walked == std::vector<int>{0, 0, 0, 1});
  CHECK(fs::is_empty(cache / "wick"));
  ::unsetenv("XDG_CACHE_HOME");
}

TEST_CASE("who starts while another process writes the indexes waits, also where some are there") {
  const temp_dir cache;
  ::setenv("XDG_CACHE_HOME", cache.path().c_str(), 1);
  const old_shards of(4);
  static_cast<void>(of.pictures());
  fs::remove(of.path(2) + ".wickidx");
  wick::detail::index_lock other;
  other.take(of.path(0) + ".wickidx");
  std::atomic<bool> done{false};
  std::thread second([&] {
    CHECK(of.pictures().size() == 4 * 20);
    done = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  CHECK_FALSE(done);
  other.release();
  second.join();
  CHECK(fs::exists(of.path(2) + ".wickidx"));
  ::unsetenv("XDG_CACHE_HOME");
}

TEST_CASE("an interruption is heard while a shard is walked") {
  const temp_dir dir;
  const std::string shard = dir.write("a.tar", tar_writer().add("a.txt", "1").done());
  CHECK(wick_test::gives_up([&] { return wick::tar(shard, {"txt"}); }));
}

TEST_CASE("what webdataset writes is read back equal") {
  const temp_dir dir;
  if (!wick_test::run_python("webdataset", dir, R"(
with webdataset.TarWriter('a.tar') as w:
    for i in range(50):
        w.write({'__key__': 'folder/%04d' % i, 'jpg': bytes([i]) * (100 + i), 'cls': i * 3, 'json': {'n': i}})
)"))
    return;
  const auto pictures = wick::tar(dir.path().string() + "/a.tar");
  const auto records = wick::tar(dir.path().string() + "/a.tar", {"json", "jpg"});
  REQUIRE(pictures.size() == 50);
  for (std::uint64_t i = 0; i < 50; ++i) {
    CHECK(pictures.at(i).target == static_cast<std::int64_t>(i) * 3);
    CHECK(content(pictures.at(i).data) ==
          std::string(static_cast<std::size_t>(100 + i), static_cast<char>(i)));
    CHECK(contains(content(records.at(i)[0]), "\"n\"", std::to_string(i)));
  }
}

TEST_CASE("a member whose extension has a blank in it is found, and blanks around one are nothing") {
  const temp_dir dir;
  const auto path = dir.write("a.tar", tar_writer().add("1.x y", "data").add("1.cls", "3").done());
  const auto records = wick::tar(path, {"x y", " cls ; txt "});
  CHECK(records.size() == 1);
  CHECK(records.at(0)[0].length == 4);
  CHECK(contains(message_of([&] { return wick::tar(path, {"xy"}); }),
                 "has no member \"xy\", only \"x y\", \"cls\""));
}

TEST_CASE("keys with dots in them end at the last dot where the options say so") {
  const temp_dir dir;
  const auto path = dir.write("a.tar", tar_writer()
                                           .add("in.v1/v1.0_0.jpg", "a")
                                           .add("in.v1/v1.0_0.cls", "1")
                                           .add("in.v1/v1.0_1.jpg", "bc")
                                           .add("in.v1/v1.0_1.cls", "2")
                                           .add("in.v1/.hidden.jpg", "x")
                                           .add("in.v1/README", "x")
                                           .done());
  CHECK(contains(message_of([&] { return wick::tar(path); }), "v1: tar: has no member", "only \"0_0.jpg\"",
                 "ends at the first dot", ".key = wick::tar_key::to_last_dot"));
  const auto samples = wick::tar(path, {.key = wick::tar_key::to_last_dot});
  REQUIRE(samples.size() == 2);
  CHECK(samples.key(1).ends_with("in.v1/v1.0_1"));
  CHECK(samples.at(1).target == 2);
  const auto twice = dir.write("b.tar", tar_writer().add("v1.0.jpg", "a").add("v1.0.jpg", "b").done());
  CHECK(contains(message_of([&] { return wick::tar(twice, {"0.jpg"}); }), "two members", "to_last_dot"));
}

}  // namespace wick_test::tar_tests
