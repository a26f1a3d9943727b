// Sources that look into their files, on servers: the same samples as from the disk, for few requests.
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <vector>

#include "server.hpp"
#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/temp_dir.hpp"
#include "support/tf_record.hpp"
#include <wick/async/detail/interruption.hpp>
#include <wick/batch/batch.hpp>
#include <wick/cache/cache_on_disk.hpp>
#include <wick/io/read.hpp>
#include <wick/loader/loader.hpp>
#include <wick/sampling/order.hpp>
#include <wick/sources/file_windows.hpp>
#include <wick/sources/framed_records.hpp>
#include <wick/sources/records.hpp>
#include <wick/sources/tar.hpp>
#include <wick/sources/tfrecords.hpp>
#include <wick/stores/remote.hpp>
#include <wick/tables/csv.hpp>
#include <wick/text/lines.hpp>
#include <wick/text/tokens.hpp>

namespace wick_test::sources_tests {

using wick_test::contains;
using wick_test::faulty_server;
using wick_test::message_of;
using wick_test::temp_dir;
using wick_test::write_file;

namespace {

using contents = std::vector<std::string>;

std::string numbers(std::size_t n, std::size_t bytes, std::uint32_t random) {
  std::string out(n * bytes, '\0');
  for (char& c : out) c = static_cast<char>((random = random * 1664525 + 1013904223) >> 24);
  return out;
}

/// What an epoch gives, with the samples' keys as they are below the folder, and the source's fingerprint.
template <class Source>
contents epoch_of(const Source& source, std::string_view folder) {
  wick::loader train(source | wick::shuffle() | wick::read() | wick::group(4),
                     {.seed = 1, .workers = 2, .prefetch_next_epoch = false});
  contents out{std::to_string(source.fingerprint())};
  for (auto& group : train.epoch(0)) {
    for (wick::bytes& b : group) out.emplace_back(b.text());
  }
  for (std::uint64_t i = 0; i < source.size(); ++i) out.push_back(source.key(i).substr(folder.size()));
  return out;
}
contents tokens_of(const wick::detail::token_chunks& source) {
  wick::loader train(source | wick::shuffle() | wick::read() | wick::array_batch(8),
                     {.seed = 1, .workers = 2, .prefetch_next_epoch = false});
  contents out{std::to_string(source.fingerprint())};
  for (auto& batch : train.epoch(0)) {
    const auto rows = static_cast<std::size_t>(batch.data.extents()[0]);
    const auto bytes = rows * static_cast<std::size_t>(batch.data.extents()[1]) * sizeof(std::int64_t);
    out.emplace_back(reinterpret_cast<const char*>(batch.data.as<std::int64_t>()), bytes);
    out.emplace_back(reinterpret_cast<const char*>(batch.target.as<std::int64_t>()), bytes);
  }
  return out;
}

/// A byte that says how many follow.
wick::ext::record_frame counted(std::span<const std::byte> head) {
  const auto n = std::to_integer<std::uint64_t>(head[0]);
  return {.offset = 1, .length = n, .size = n + 1};
}

constexpr long late = 4;  // so many may be sent a second time

struct served {
  temp_dir folder;
  faulty_server server{folder};
  std::string at = folder.path().string() + "/";
  std::string url(const std::string& name) const { return server.url("ok", name); }
};

}  // namespace

TEST_CASE("records on a server are those of the disk") {
  const served s;
  write_file(s.folder / "a0.bin", "head" + numbers(50, 24, 1));
  write_file(s.folder / "a1.bin", "head" + numbers(7, 24, 2));
  const auto of = [&](const std::string& pattern) {
    return wick::records(wick::files(pattern), 24, {.header = 4});
  };
  s.server.forget();
  CHECK(epoch_of(of(s.url("a{0..1}.bin")), s.url("")) == epoch_of(of(s.at + "a{0..1}.bin"), s.at));
  const long requests = s.server.count("requests");  // one a file, and one a record
  CHECK(requests >= 2 + 57);
  CHECK(requests <= 2 + 57 + late);

  using row = std::array<std::uint8_t, 24>;
  const auto here = wick::in_memory<row>(wick::files(s.at + "a0.bin"), {.header = 4}),
             there = wick::in_memory<row>(wick::files(s.url("a0.bin")), {.header = 4});
  REQUIRE(there.size() == 50);
  for (std::uint64_t i = 0; i < 50; ++i) CHECK(here.at(i) == there.at(i));

  CHECK(contains(message_of([&] { return of(s.url("none.bin")); }),
                 s.url("none.bin") + ": records: ", "404 Not Found"));
  write_file(s.folder / "odd.bin", "head" + numbers(1, 25, 1));
  CHECK(contains(message_of([&] { return of(s.url("odd.bin")); }), s.url("odd.bin") + ": records: has 29",
                 "check the size of a record"));
  CHECK(contains(message_of([&] { return of(s.url("none.bin?key=SECRET")); }), "none.bin: records: "));
  CHECK_FALSE(contains(message_of([&] { return of(s.url("none.bin?key=SECRET")); }), "SECRET"));
}

TEST_CASE("windows on a server are those of the disk") {
  const served s;
  write_file(s.folder / "a.f32", numbers(40, 16, 3));
  const auto of = [&](const std::string& path) {
    return wick::windows(wick::files(path), {.row_bytes = 16}, 5, 2);
  };
  CHECK(epoch_of(of(s.url("a.f32")), s.url("")) == epoch_of(of(s.at + "a.f32"), s.at));
}

TEST_CASE("framed records on a server are those of the disk, and are found by a request a file") {
  const served s;
  for (int f = 0; f < 2; ++f) {
    std::string all;
    for (int i = 0; i < 200; ++i)
      all += static_cast<char>(i) + numbers(static_cast<std::size_t>(i), 1, static_cast<std::uint32_t>(f));
    write_file(s.folder / ("a" + std::to_string(f) + ".bin"), all);
  }
  const auto of = [&](const std::string& pattern) { return wick::records(wick::files(pattern), 1, counted); };
  s.server.forget();
  const auto source = of(s.url("a{0..1}.bin"));
  CHECK(s.server.count("requests") == 2 * 2);
  CHECK(epoch_of(source, s.url("")) == epoch_of(of(s.at + "a{0..1}.bin"), s.at));
  write_file(s.folder / "cut.bin", std::string(1, '\x09'));
  CHECK(contains(message_of([&] { return of(s.url("cut.bin")); }), s.url("cut.bin") + ": records: record 0",
                 "cut off or damaged"));
}

TEST_CASE("lines and documents on a server are those of the disk, and their index is kept") {
  const served s;
  std::string text;
  for (int i = 0; i < 3000; ++i) text += "line " + std::to_string(i) + (i % 7 == 0 ? "\n\n" : "\n");
  write_file(s.folder / "a.txt", text);
  write_file(s.folder / "b.txt", "one\r\n\r\ntwo");
  const std::vector<std::string> local{s.at + "a.txt", s.at + "b.txt"}, urls{s.url("a.txt"), s.url("b.txt")};
  CHECK(epoch_of(wick::lines(urls), s.url("")) == epoch_of(wick::lines(local), s.at));
  CHECK(epoch_of(wick::documents(urls), s.url("")) == epoch_of(wick::documents(local), s.at));

  std::vector<std::string> many;
  for (int i = 0; i < 30; ++i) {
    write_file(s.folder / ("m" + std::to_string(i) + ".txt"), "of " + std::to_string(i) + "\nand another\n");
    many.push_back(s.server.url("late", "m" + std::to_string(i) + ".txt"));
  }
  s.server.forget();
  const auto all = wick::lines(many);  // several at a time
  CHECK(s.server.count("requests") <= 30 * 2 + late);
  REQUIRE(all.size() == 60);
  for (std::uint64_t i = 0; i < 60; ++i) CHECK(all.key(i) == many[i / 2] + ":" + std::to_string(i % 2 + 1));
  many[17] += "x";
  CHECK(contains(message_of([&] { return wick::lines(many); }), many[17] + ": lines: ", "404"));

  // One URL among more files than the process may have open.
  ::rlimit limit{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &limit) == 0);
  ::rlimit low = limit;
  low.rlim_cur = 64;
  std::vector<std::string> mixed;
  for (int i = 0; i < 100; ++i) mixed.push_back(s.at + "m" + std::to_string(i % 30) + ".txt");
  mixed[50] = s.url("a.txt");
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &low) == 0);
  std::uint64_t lines = 0;
  const std::string failed = message_of([&] { return lines = wick::lines(mixed).size(); });
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &limit) == 0);
  CHECK(failed == "");
  CHECK(lines == 99 * 2 + 3429);  // with 429 empty ones

  const std::string index = (s.folder / "index").string();
  CHECK(wick::lines(urls, {.index = index}).bytes_scanned() == text.size() + 10);
  s.server.forget();
  const auto known = wick::lines(urls, {.index = index});
  CHECK(known.bytes_scanned() == 0);
  CHECK(s.server.count("requests") == 2);
  // A signature that changes changes nothing.
  CHECK(wick::lines({s.url("a.txt?sig=1/2"), s.url("b.txt?sig=3/4")}, {.index = index}).bytes_scanned() == 0);
  CHECK(wick::lines({s.url("a.txt?sig=1/2")}).fingerprint() ==
        wick::lines({s.url("a.txt?sig=5")}).fingerprint());
  write_file(s.folder / "b.txt", "one\r\n\r\nTWO");
  CHECK(wick::lines(urls, {.index = index}).bytes_scanned() == 10);
}

TEST_CASE("tokens on a server are those of the disk, also where a chunk lies in two files") {
  const served s;
  std::string both = numbers(1333, 2, 4);
  for (std::size_t i = 1; i < both.size(); i += 2) both[i] = 0;  // tokens from 0 to 255
  write_file(s.folder / "t0.bin", both.substr(0, 2000));
  write_file(s.folder / "t1.bin", both.substr(2000));
  const auto of = [&](const std::string& pattern) { return wick::tokens(pattern) | wick::chunks(16); };
  s.server.forget();
  CHECK(tokens_of(of(s.url("t{0..1}.bin"))) == tokens_of(of(s.at + "t{0..1}.bin")));
  // Sizes, the first bytes, pieces for the fingerprint, one a chunk, and two of one chunk.
  CHECK(s.server.count("requests") <= 2 + 1 + 3 + 83 + 1 + late);
  CHECK(of(s.url("t{0..1}.bin")).key(63) == s.url("t1.bin") + ": token 8");
  const auto within = [&](const std::string& pattern) {
    return wick::tokens(pattern) | wick::chunks(16, {.within_documents = 77});
  };
  CHECK(tokens_of(within(s.url("t{0..1}.bin"))) == tokens_of(within(s.at + "t{0..1}.bin")));
  CHECK(contains(message_of([&] { return of(s.url("none.bin")); }), s.url("none.bin") + ": tokens: ", "404"));
  write_file(s.folder / "odd.bin", "123");
  CHECK(
      contains(message_of([&] { return of(s.url("odd.bin")); }), s.url("odd.bin") + ": tokens: has 3 bytes"));
}

TEST_CASE("TFRecord files on a server are those of the disk") {
  const served s;
  std::string all;
  for (std::size_t i = 0; i < 60; ++i)
    all += wick_test::tf_record(numbers(i * 8000, 1, static_cast<std::uint32_t>(i)));
  write_file(s.folder / "a.tfrecord", all);
  s.server.forget();
  const auto source = wick::tfrecords(s.url("a.tfrecord"));
  CHECK(s.server.count("requests") <= 3 + late);  // of 8 MiB each, also where the frames are large
  CHECK(epoch_of(source, s.url("")) == epoch_of(wick::tfrecords(s.at + "a.tfrecord"), s.at));
  const wick::framed_options kept{.index = (s.folder / "a.index").string()};
  CHECK(wick::tfrecords(s.url("a.tfrecord"), kept).bytes_scanned() == all.size());
  s.server.forget();
  const auto again = wick::tfrecords(s.url("a.tfrecord"), kept);
  CHECK(s.server.count("requests") == 1);  // for the size
  CHECK(again.bytes_scanned() == 0);
  CHECK(again.fingerprint() == source.fingerprint());
  write_file(s.folder / "a.tfrecord", wick_test::tf_record("other"));
  CHECK(wick::tfrecords(s.url("a.tfrecord"), kept).size() == 1);
}

TEST_CASE("an object that changes after it was looked into is an error of its samples") {
  const served s;
  write_file(s.folder / "a.bin", numbers(10, 8, 6));
  const auto source = wick::records(wick::files(s.url("a.bin")), 8);
  write_file(s.folder / "a.bin", numbers(10, 8, 7));
  wick::loader train(source | wick::read() | wick::group(1), {.workers = 1});
  CHECK(contains(message_of([&] { return train.next(); }), s.url("a.bin") + ", record 0",
                 "was changed on the server"));
  // It became shorter.
  const auto longer = wick::records(wick::files(s.url("a.bin")), 8);
  write_file(s.folder / "a.bin", numbers(5, 8, 7));
  wick::loader last(longer | wick::subset({9}) | wick::read() | wick::group(1), {.workers = 1});
  CHECK(contains(message_of([&] { return last.next(); }), s.url("a.bin") + ", record 9",
                 "was changed on the server: it had 80 bytes, and has 40"));
}

TEST_CASE("a cache on disk sees that an object has changed") {
  const served s;
  const temp_dir cache;
  const auto epoch = [&] {
    const auto source = wick::records(wick::files(s.url("a.bin")), 8);
    wick::loader train(source | wick::read() | wick::cache_on_disk(cache.path().string()) | wick::group(4),
                       {.workers = 1, .prefetch_next_epoch = false});
    std::string all;
    for (auto& group : train.epoch(0)) {
      for (wick::bytes& b : group) all += b.text();
    }
    return all;
  };
  for (const std::uint32_t state : {6u, 6u, 7u}) {
    const std::string now = numbers(10, 8, state);
    write_file(s.folder / "a.bin", now);
    CHECK(epoch() == now);
  }
}

TEST_CASE("a cache on disk tells objects apart that only their query does") {
  const served s;
  const temp_dir cache;
  for (const char* name : {"1", "2", "3"}) write_file(s.folder / name, std::string("of ") + name);
  const auto epoch = [&](const std::string& ids) {
    const wick::files source(s.server.url("id", "get?id=" + ids));
    wick::loader train(source | wick::read() | wick::cache_on_disk(cache.path().string()) | wick::group(2),
                       {.workers = 1, .prefetch_next_epoch = false});
    contents all;
    for (auto& group : train.epoch(0)) {
      for (wick::bytes& b : group) all.emplace_back(b.text());
    }
    return all;
  };
  CHECK(epoch("{1,2}&X-Amz-Signature=1") == contents{"of 1", "of 2"});
  CHECK(epoch("{2,3}&X-Amz-Signature=2") == contents{"of 2", "of 3"});
  s.server.forget();
  CHECK(epoch("{2,3}&X-Amz-Signature=3") == contents{"of 2", "of 3"});
  CHECK(s.server.count("requests") == 0);  // another signature is the same object
}

TEST_CASE("a source of many objects gives up at the first error, and where the program is interrupted") {
  const served s;
  write_file(s.folder / "bad.tar", "this is no archive");
  const auto silent = [&](const std::string& name) { return s.server.url("hang", name); };
  const auto begun = std::chrono::steady_clock::now();
  CHECK(contains(message_of([&] {
                   return wick::tar({silent("a.tar"), silent("b.tar"), s.url("bad.tar"), silent("c.tar")});
                 }),
                 "bad.tar", "tar"));
  CHECK(contains(message_of([&] {
                   const std::vector<std::string> urls{silent("a.tfrecord"), s.url("none.tfrecord")};
                   return wick::tfrecords(urls);
                 }),
                 "none.tfrecord: tfrecords: ", "404"));

  struct interrupted {};
  static std::atomic<int> asked;
  asked = 0;
  wick::detail::interruption() = [] {
    if (++asked == 3) throw interrupted();
  };
  CHECK_THROWS_AS(wick::tokens(s.server.url("hang", "a.bin")), interrupted);
  asked = 0;
  CHECK_THROWS_AS(wick::tar({silent("a.tar"), silent("b.tar"), silent("c.tar")}), interrupted);
  wick::detail::interruption() = nullptr;
  CHECK(std::chrono::steady_clock::now() - begun < std::chrono::seconds(30));  // of 60 that each would wait
}

TEST_CASE("names in a table are percent-encoded below a URL, and a URL that isn't encoded is refused") {
  const temp_dir dir;
  const std::vector<std::string> names{"a#1.bin",   "a#2.bin",       "b c.bin",    "100%.bin",
                                       "q?x=1.bin", "\u00fc&+;.bin", "sub/%41.bin"};
  std::string table = "path\n";
  for (const std::string& name : names) {
    dir.write(name, "content of " + name);
    table += name + "\n";
  }
  const faulty_server server(dir);
  const wick::csv list(dir.write("list.csv", table));
  const wick::files all = list.files("path", {.root = server.url("ok", "")});
  wick::loader loader(all | wick::read() | wick::group(1));
  for (const std::string& name : names) {
    const auto group = loader.next();
    REQUIRE(group);
    CHECK((*group)[0].text() == "content of " + name);
  }
  const auto said = [&](const std::string& name) {
    return message_of([&] { return wick::files({server.url("ok", name)}); });
  };
  CHECK(contains(said("b c.bin"), "is a URL with \" \" in it; write %20"));
  CHECK(contains(said("a#1.bin"), "is a URL with \"#\" in it; write %23"));
  CHECK(contains(said("100%.bin"), "is a URL with \"%\" in it; write %25"));
  CHECK(said("b%20c.bin").empty());
  CHECK(contains(message_of([&] { return wick::remote(server.url("ok", "b c-{1..2}.bin")); }), "write %20"));
  CHECK(contains(message_of([&] { return wick::tar(server.url("ok", "b c.tar")); }), "write %20"));
}

TEST_CASE("a file on a server that is compressed or another format is named where numbers are wanted") {
  const temp_dir dir;
  dir.write("packed.bin", "BZh91AY&SY" + numbers(1014, 1, 1));
  const faulty_server server(dir);
  const std::string url = server.url("ok", "packed.bin");
  CHECK(contains(message_of([&] { return wick::tokens(url); }), "tokens: is compressed with bzip2"));
  CHECK(contains(message_of([&] { return wick::records(wick::files({url}), 16); }),
                 "is compressed with bzip2"));
  CHECK(wick::tokens(url, {.raw = true}).store->size() == 512);
}

TEST_CASE("bytes that a server compresses are refused with the encoding's name, and are not asked for") {
  const temp_dir dir;
  dir.write("a.bin", numbers(100, 8, 3));
  const faulty_server server(dir);
  const auto said = [&](const char* kind) {
    const std::string url = server.url(kind, "a.bin");
    std::string text = message_of([&] { return wick::tokens(url); });
    CHECK(message_of([&] { return wick::records(wick::files({url}), 8); }).empty() == text.empty());
    wick::loader loader(wick::files({url}) | wick::read() | wick::group(1));
    CHECK(message_of([&] { return loader.next(); }).empty() == text.empty());
    return text;
  };
  CHECK(contains(said("encoded"), "compressed (Content-Encoding: gzip)", "store it uncompressed"));
  CHECK(said("packed").empty());
  CHECK(said("chunked_name").empty());
}

}  // namespace wick_test::sources_tests
