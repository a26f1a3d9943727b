#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/python.hpp"
#include "../support/temp_dir.hpp"
#include <wick/batch/batch.hpp>
#include <wick/cache/cache_in_memory.hpp>
#include <wick/cache/cache_on_disk.hpp>
#include <wick/cache/detail/origin.hpp>
#include <wick/ext/source.hpp>
#include <wick/io/read.hpp>
#include <wick/loader/loader.hpp>
#include <wick/pipeline/pipeline.hpp>
#include <wick/sampling/order.hpp>
#include <wick/text/tokens.hpp>

namespace wick_test::tokens_tests {

static_assert(wick::ext::source<wick::detail::token_chunks>);
static_assert(wick::ext::source<wick::detail::array_chunks>);

namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;
using wick_test::contains;
using wick_test::message_of;
using wick_test::run_python;
using wick_test::temp_dir;
using ids = std::vector<std::int64_t>;
struct pair {
  ids data, target;
  friend bool operator==(const pair&, const pair&) = default;
};
using pairs = std::vector<pair>;

template <class T>
std::string_view bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

template <class T>
std::vector<T> random_tokens(std::size_t n, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::vector<T> out(n);
  for (T& t : out) t = static_cast<T>(random());
  return out;
}

ids list_of(const auto& tokens) {
  ids out;
  for (std::size_t i = 0; i < tokens.size(); ++i) out.push_back(tokens[i]);
  return out;
}

/// Chunks by one pass, as the documentation says it.
template <class T>
pairs naive(const std::vector<T>& all, std::size_t length, std::size_t stride) {
  pairs out;
  for (std::size_t begin = 0; begin + length + 1 <= all.size(); begin += stride) {
    out.push_back({ids(all.begin() + static_cast<std::ptrdiff_t>(begin),
                       all.begin() + static_cast<std::ptrdiff_t>(begin + length)),
                   ids(all.begin() + static_cast<std::ptrdiff_t>(begin + 1),
                       all.begin() + static_cast<std::ptrdiff_t>(begin + length + 1))});
  }
  return out;
}
template <class T>
pairs naive_documents(const std::vector<T>& all, std::size_t length, std::size_t stride, std::int64_t end) {
  pairs out;
  for (std::size_t first = 0; first < all.size();) {
    std::size_t behind = first;
    while (behind < all.size() && static_cast<std::int64_t>(all[behind]) != end) ++behind;
    if (behind < all.size()) ++behind;
    for (std::size_t begin = first; begin + 1 < behind; begin += stride) {
      pair p;
      for (std::size_t i = begin; i < begin + length; ++i) {
        p.data.push_back(i + 1 < behind ? static_cast<std::int64_t>(all[i]) : end);
        p.target.push_back(i + 1 < behind ? static_cast<std::int64_t>(all[i + 1]) : -100);
      }
      out.push_back(p);
      if (begin + length + 1 >= behind) break;
    }
    first = behind;
  }
  return out;
}

/// What a loader gives, sample by sample.
template <class Source>
pairs taken(const Source& source, std::size_t workers = 1) {
  pairs out;
  wick::loader loader(wick::from(source) | wick::array_batch(3), {.workers = workers});
  for (auto& batch : loader.epoch(0)) {
    REQUIRE(batch.data.type() == wick::dtype::int64);
    const std::size_t length = static_cast<std::size_t>(batch.data.extents()[1]);
    const auto* data = batch.data.template as<std::int64_t>();
    const auto* target = batch.target.template as<std::int64_t>();
    for (std::int64_t i = 0; i < batch.data.extents()[0]; ++i, data += length, target += length)
      out.push_back({ids(data, data + length), ids(target, target + length)});
  }
  return out;
}
pairs read_all(const wick::detail::token_chunks& source, std::size_t workers = 1) {
  pairs out;
  wick::loader loader(source | wick::read(), {.workers = workers});
  for (auto& s : loader.epoch(0)) out.push_back({list_of(s.data), list_of(s.target)});
  return out;
}

}  // namespace

TEST_CASE_TEMPLATE("tokens of any type are numbers of 64 bits in a batch", T, std::uint8_t, std::int8_t,
                   std::uint16_t, std::int16_t, std::uint32_t, std::int32_t, std::int64_t) {
  std::vector<T> all = random_tokens<T>(100);
  all[3] = std::numeric_limits<T>::max();
  all[4] = std::numeric_limits<T>::min();
  const pairs wanted = naive(all, 11, 11);
  REQUIRE(wanted.size() == 9);
  CHECK(taken(wick::tokens(all) | wick::chunks(11)) == wanted);
  const temp_dir dir;
  const auto path = dir.write("train.bin", bytes_of(all));
  CHECK(read_all(wick::tokens<T>(path) | wick::chunks(11)) == wanted);
}

TEST_CASE("chunks begin a stride apart, and the last needs one token more") {
  std::vector<std::uint16_t> all = random_tokens<std::uint16_t>(40);
  for (std::size_t length = 1; length <= 9; ++length) {
    for (std::size_t stride = 1; stride <= 12; ++stride) {
      for (std::size_t n = length + 1; n <= 30; ++n) {
        const std::vector<std::uint16_t> some(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n));
        const auto source = wick::tokens(some) | wick::chunks(length, {.stride = stride});
        const pairs wanted = naive(some, length, stride);
        REQUIRE(source.size() == wanted.size());
        const std::size_t last = wanted.size() - 1;
        CHECK(list_of(source.at(last).data) == wanted[last].data);
        CHECK(list_of(source.at(last).target) == wanted[last].target);
      }
    }
  }
  CHECK(contains(message_of([&] { return wick::tokens(all) | wick::chunks(40); }),
                 "40 tokens make no chunk of 40"));
  CHECK(contains(message_of([&] { return wick::chunks(0); }), "at least 1"));
  CHECK(contains(message_of([&] { return wick::chunks(4, {.stride = 0}); }), "a stride of 0 tokens",
                 "leave it out"));
}

TEST_CASE("chunks within documents have each token of each, and fill up the last") {
  std::mt19937_64 random(2);
  for (int round = 0; round < 400; ++round) {
    std::vector<std::uint16_t> all(random() % 60 + 2);
    for (auto& t : all) t = static_cast<std::uint16_t>(random() % 6);
    all[0] = 1, all[1] = 5;
    const std::size_t length = 1 + random() % 8, stride = 1 + random() % 10;
    const pairs wanted = naive_documents(all, length, stride, 5);
    const wick::chunks_options options{.stride = stride, .within_documents = 5};
    CHECK(taken(wick::tokens(all) | wick::chunks(length, options)) == wanted);
  }
  const std::vector<std::uint16_t> none{1, 2, 3};
  CHECK(contains(message_of([&] { return wick::tokens(none) | wick::chunks(2, {.within_documents = 7}); }),
                 "no token 7"));
  const std::vector<std::uint16_t> short_ones{7, 7, 7};
  CHECK(contains(
      message_of([&] { return wick::tokens(short_ones) | wick::chunks(2, {.within_documents = 7}); }),
      "make no chunk"));
  const std::vector<std::uint8_t> small{1, 44, 3};
  CHECK(contains(message_of([&] { return wick::tokens(small) | wick::chunks(2, {.within_documents = 300}); }),
                 ".within_documents = 300: no token of 8 bits"));
  const temp_dir dir;
  dir.write("small.bin", bytes_of(small));
  CHECK(contains(message_of([&] {
                   return wick::tokens<std::uint8_t>(dir / "small.bin") |
                          wick::chunks(2, {.within_documents = -1});
                 }),
                 ".within_documents = -1: no token of 8 bits"));
}

TEST_CASE("files are one stream, wherever it is cut") {
  const std::vector<std::uint16_t> all = random_tokens<std::uint16_t>(5000);
  const std::string_view raw = bytes_of(all);
  const temp_dir dir;
  dir.write("whole.bin", raw);
  const std::size_t cuts[] = {0, 2, 2, 8, 10, 200, 4000, 4002, raw.size()};
  for (std::size_t f = 0; f + 1 < std::size(cuts); ++f)
    dir.write("part-" + std::to_string(f) + ".bin",
              std::string(10, 'h') + std::string(raw.substr(cuts[f], cuts[f + 1] - cuts[f])));
  for (const std::optional<std::int64_t> within : {std::optional<std::int64_t>(), {all[17]}}) {
    const wick::chunks_options options{.stride = 50, .within_documents = within};
    const auto whole = wick::tokens(dir / "whole.bin") | wick::chunks(64, options);
    const auto parts = wick::tokens(dir / "part-*.bin", {.header = 10}) | wick::chunks(64, options);
    const pairs wanted = !within ? naive(all, 64, 50) : naive_documents(all, 64, 50, *within);
    CHECK(read_all(whole) == wanted);
    CHECK(read_all(parts, 4) == wanted);
    CHECK(taken(wick::in_memory(wick::tokens(dir / "part-*.bin", {.header = 10})) |
                wick::chunks(64, options)) == wanted);
    CHECK(whole.fingerprint() == parts.fingerprint());
    CHECK(parts.key(0) == (dir / "part-0.bin").string() + ": token 0");
  }
  // Without descriptors to keep, files are opened by their paths, by I/O threads.
  ::rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  ::rlimit few = before;
  few.rlim_cur = 31;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
  const auto parts = wick::tokens(dir / "part-*.bin", {.header = 10}) | wick::chunks(64);
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(parts.at(0).from->part(0, 1).file == -1);
  CHECK(read_all(parts, 2) == naive(all, 64, 64));
}

TEST_CASE("what is no file of such tokens is an error of the source") {
  const temp_dir dir;
  const auto odd = dir.write("odd.bin", "12345");
  CHECK(contains(message_of([&] { return wick::tokens(odd); }), "odd.bin: tokens: has 5 bytes", "2 each"));
  CHECK(wick::tokens(odd, {.header = 1}).store->size() == 2);
  CHECK(contains(message_of([&] { return wick::tokens(odd, {.header = 6}); }), "has 5 bytes"));
  CHECK(contains(message_of([&] { return wick::tokens<std::uint32_t>(dir.write("six", "123456")); }),
                 "4 each"));
  const auto npy =
      dir.write("a.npy", std::string("\x93NUMPY\x01\x00\x76\x00", 10) + std::string(0x76, ' ') + "abcd");
  CHECK(contains(message_of([&] { return wick::tokens(npy); }), "NumPy", ".header = 128"));
  CHECK(wick::tokens(npy, {.header = 128}).store->size() == 2);
  CHECK(contains(message_of([&] { return wick::tokens({(dir / "none").string()}); }), "none: tokens: "));
}

TEST_CASE("the fingerprint differs with the tokens and with what is cut of them") {
  std::vector<std::uint16_t> all = random_tokens<std::uint16_t>(5000);
  const temp_dir dir;
  const auto path = dir.write("a.bin", bytes_of(all));
  const auto of = [&](std::size_t length, const wick::chunks_options& options = {}) {
    const auto in_file = (wick::tokens(path) | wick::chunks(length, options)).fingerprint();
    const auto in_memory = (wick::tokens(all) | wick::chunks(length, options)).fingerprint();
    CHECK(in_file == (wick::tokens(path) | wick::chunks(length, options)).fingerprint());
    return std::pair(in_file, in_memory);
  };
  const auto same = of(64);
  for (const auto& other : {of(63), of(64, {.stride = 1}), of(64, {.within_documents = all[5]})}) {
    CHECK(other.first != same.first);
    CHECK(other.second != same.second);
  }
  CHECK(of(64, {.stride = 64}) == same);
  const std::vector<std::int32_t> with_ends{1, 2, 3, -1, 4, 5, 6, 7, -1};
  CHECK((wick::tokens(with_ends) | wick::chunks(2, {.within_documents = -1})).fingerprint() !=
        (wick::tokens(with_ends) | wick::chunks(2)).fingerprint());
  all[100] = static_cast<std::uint16_t>(all[100] + 1);
  dir.write("a.bin", bytes_of(all));
  CHECK(of(64).first != same.first);
  CHECK(of(64).second != same.second);
}

TEST_CASE("tokens read into memory outlive their files, which must not change before") {
  const std::vector<std::uint32_t> all = random_tokens<std::uint32_t>(3'000'000);  // several pieces
  const temp_dir dir;
  const auto path = dir.write("a.bin", bytes_of(all));
  const auto stream = wick::tokens<std::uint32_t>(path);
  const auto source = wick::in_memory(stream) | wick::chunks(1000);
  fs::resize_file(path, 100);
  CHECK(taken(source, 2) == naive(all, 1000, 1000));
  CHECK(source.fingerprint() == (wick::tokens(all) | wick::chunks(1000)).fingerprint());
  CHECK(contains(message_of([&] { return wick::in_memory(stream); }), "a.bin: ", "since it was indexed"));
  fs::remove(path);
  CHECK(contains(message_of([&] { return wick::in_memory(stream); }), "a.bin: "));
}

TEST_CASE("a file that changes or is cut after it was looked at is an error of its chunks") {
  const std::vector<std::uint16_t> all = random_tokens<std::uint16_t>(3000);
  const temp_dir dir;
  const auto path = dir.write("a.bin", bytes_of(all));
  const auto source = wick::tokens(path) | wick::chunks(64);
  SUBCASE("cut") { fs::resize_file(path, 100); }
  SUBCASE("grown") { std::ofstream(path, std::ios::app) << "more"; }
  SUBCASE("replaced") {
    dir.write("b.bin", bytes_of(all));
    fs::rename(dir / "b.bin", path);
  }
  wick::loader loader(source | wick::read() | wick::array_batch(8), {.workers = 2});
  const std::string message = message_of([&] {
    for (auto& batch : loader.epoch(0)) static_cast<void>(batch);
    return 0;
  });
  CHECK(contains(message, "a.bin: token ", ": read: the file was ", "since it was indexed"));
}

TEST_CASE("chunks come in the same batches at any number of workers and ranks, and after a resume") {
  const std::vector<std::uint16_t> all = random_tokens<std::uint16_t>(20'000);
  const temp_dir dir;
  dir.write("a-0.bin", bytes_of(all).substr(0, 17'002));
  dir.write("a-1.bin", bytes_of(all).substr(17'002));
  const auto pipe = [&](std::uint32_t rank, std::uint32_t ranks) {
    return wick::tokens(dir / "a-*.bin") | wick::chunks(64, {.stride = 32}) | wick::shuffle() |
           wick::shard(rank, ranks) | wick::read() | wick::array_batch(24);
  };
  const auto add = [](std::vector<ids>& batches, std::size_t number, const auto& batch) {
    if (batches.size() <= number) batches.resize(number + 1);
    for (const auto* a : {&batch.data, &batch.target}) {
      const auto* values = a->template as<std::int64_t>();
      for (std::int64_t i = 0; i < a->extents()[0]; ++i) {
        batches[number].push_back(values[i * 64]);
        batches[number].push_back(values[i * 64 + 63]);
      }
    }
    std::sort(batches[number].begin(), batches[number].end());
  };
  const auto run = [&](std::size_t workers, std::uint32_t ranks) {
    std::vector<ids> batches;
    for (std::uint32_t r = 0; r < ranks; ++r) {
      wick::loader loader(pipe(r, ranks), {.seed = 9, .workers = workers});
      std::size_t number = 0;
      for (auto& batch : loader.epoch(2)) add(batches, number++, batch);
    }
    return batches;
  };
  const auto wanted = run(1, 1);
  CHECK(wanted.size() == 26);
  CHECK(run(4, 1) == wanted);
  CHECK(run(1, 2) == wanted);
  CHECK(run(4, 4) == wanted);

  std::vector<std::byte> state;
  {
    wick::loader loader(pipe(0, 1), {.seed = 9, .workers = 4});
    std::size_t number = 0;
    for (auto& batch : loader.epoch(2)) {
      static_cast<void>(batch);
      if (++number == 11) {
        state = loader.state();
        break;
      }
    }
  }
  wick::loader loader(pipe(0, 1), {.seed = 9, .workers = 2});
  loader.load_state(state);
  std::vector<ids> rest(wanted.begin(), wanted.begin() + 11);
  std::size_t number = 11;
  for (auto& batch : loader.epoch(2)) add(rest, number++, batch);
  CHECK(rest == wanted);
}

TEST_CASE("chunks of tokens are kept by both caches, read from files or of a vector") {
  std::vector<std::int16_t> all = random_tokens<std::int16_t>(300);
  for (const std::size_t end : {20, 24, 90, 205}) all[end] = 77;
  const temp_dir dir;
  dir.write("a.bin", bytes_of(all).substr(0, 202));
  const auto file = dir.write("b.bin", bytes_of(all).substr(202)).string();
  const auto folder = (dir / "cache").string();
  const auto twice = [](auto pipeline) {
    pairs out;
    wick::loader loader(std::move(pipeline), {.workers = 2});
    for (std::uint64_t e = 0; e < 2; ++e)
      for (auto& s : loader.epoch(e)) out.push_back({list_of(s.data), list_of(s.target)});
    return out;
  };
  const auto two_epochs = [](const pairs& one) {
    pairs out = one;
    out.insert(out.end(), one.begin(), one.end());
    return out;
  };
  const pairs wanted = two_epochs(naive(all, 7, 7));
  const auto read = [&] {
    return wick::tokens<std::int16_t>(dir / "*.bin") | wick::chunks(7) | wick::read();
  };
  CHECK(twice(read() | wick::cache_in_memory()) == wanted);
  CHECK(twice(read() | wick::cache_on_disk(folder)) == wanted);
  CHECK(twice(read() | wick::cache_on_disk(folder)) == wanted);  // all of it from the disk
  CHECK(twice(wick::tokens(all) | wick::chunks(7) | wick::cache_in_memory()) == wanted);

  // Filler is kept, too.
  const auto documents = [&] {
    return wick::tokens<std::int16_t>(dir / "*.bin") | wick::chunks(7, {.within_documents = 77}) |
           wick::read();
  };
  const pairs of_documents = two_epochs(naive_documents(all, 7, 7, 77));
  CHECK(twice(documents() | wick::cache_on_disk((dir / "documents").string())) == of_documents);
  CHECK(twice(documents() | wick::cache_on_disk((dir / "documents").string())) == of_documents);
  std::vector<std::int16_t> other = all;
  other[290] = static_cast<std::int16_t>(other[290] + 1);
  wick_test::write_file(file, bytes_of(other).substr(202));
  const pairs changed = two_epochs(naive(other, 7, 7));
  CHECK(twice(read() | wick::cache_on_disk(folder)) == changed);
}

TEST_CASE("a cache on disk tells chunks apart, and those of a file that was written again") {
  const temp_dir dir;
  const std::vector<std::uint16_t> all = random_tokens<std::uint16_t>(100);
  const auto path = dir.write("a.bin", bytes_of(all));
  const auto origins = [&](std::size_t length) {
    const auto source = wick::tokens(path) | wick::chunks(length);
    return std::vector{wick::detail::origin_of(source.at(0)), wick::detail::origin_of(source.at(1))};
  };
  const auto before = origins(7);
  CHECK(before[0] != before[1]);
  CHECK(origins(7) == before);
  CHECK(origins(8)[0] != before[0]);
  fs::last_write_time(path, fs::last_write_time(path) + std::chrono::seconds(10));
  CHECK(origins(7)[0] != before[0]);
  CHECK(origins(7)[1] != before[1]);
}

TEST_CASE("a file that is compressed or in another format isn't taken for tokens, though its size fits") {
  const temp_dir dir;
  const auto said = [&](const std::string& content, const wick::tokens_options& options = {}) {
    const auto path = dir.write("train.bin", content + std::string(content.size() % 2, ' '));
    return message_of([&] { return wick::tokens(path, options); });
  };
  CHECK(contains(said("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"),
                 "train.bin: tokens: is a Git LFS pointer", "git lfs pull"));
  CHECK(contains(said("<!DOCTYPE html><html><body>404</body></html>"), "is an HTML page"));
  CHECK(contains(said("BZh91AY&SY12345678"), "compressed with bzip2", "set .raw = true"));
  CHECK(said("BZh91AY&SY12345678", {.raw = true}).empty());
  CHECK(contains(said("BZh91AY&SY12345678", {.header = 4}), "compressed with bzip2"));
  CHECK(contains(said("RIFF\x24\0\0\0WAVEfmt "s), "a WAV file"));
  CHECK(said("RIFF\x24\0\0\0WAVEfmt "s, {.header = 12}).empty());
  CHECK(said(std::string("\x1F\x8B is a token")).empty());
  if (run_python("gzip, zlib, array", dir, R"(
data = array.array('H', [i * i % 5000 for i in range(3000)]).tobytes()
for name, pack in (('gzip', gzip.compress), ('zlib', zlib.compress)):
    packed = pack(data)
    open(name, 'wb').write(packed + b' ' * (len(packed) % 2))
)")) {
    CHECK(contains(message_of([&] { return wick::tokens(dir / "gzip"); }), "is compressed with gzip",
                   "gunzip"));
    CHECK(contains(message_of([&] { return wick::tokens(dir / "zlib"); }), "is compressed with zlib"));
  }
}

TEST_CASE("chunks with segments say which document each token is in, and where in it") {
  std::vector<std::uint16_t> all{5, 6, 0, 7, 0, 0, 8, 9, 10, 11, 12, 0, 13, 14, 15, 16, 17};
  const temp_dir dir;
  const auto path = dir.write("train.bin", bytes_of(all));
  const auto check = [](auto&& pipeline) {
    wick::loader l(std::forward<decltype(pipeline)>(pipeline) | wick::array_batch(8));
    auto batch = l.epoch(0).next();
    REQUIRE(batch);
    CHECK(batch->data.extents() == wick::shape{4, 4});
    CHECK(batch->data.type() == wick::dtype::int64);
    CHECK(batch->segments.extents() == wick::shape{4, 4});
    CHECK(batch->segments.type() == wick::dtype::int32);
    CHECK(batch->positions.type() == wick::dtype::int32);
    const auto* segments = batch->segments.template as<std::int32_t>();
    const auto* positions = batch->positions.template as<std::int32_t>();
    CHECK(std::vector(segments, segments + 16) ==
          std::vector<std::int32_t>{1, 1, 1, 2, 1, 2, 3, 3, 1, 1, 1, 1, 1, 1, 1, 1});
    CHECK(std::vector(positions, positions + 16) ==
          std::vector<std::int32_t>{0, 1, 2, 0, 0, 0, 0, 1, 0, 1, 2, 3, 0, 1, 2, 3});
    CHECK(batch->data.template as<std::int64_t>()[4] == 0);
    CHECK(batch->target.template as<std::int64_t>()[4] == 0);
    CHECK(batch->target.template as<std::int64_t>()[15] == 17);
  };
  const auto read = [&] { return wick::tokens(path) | wick::chunks(4, {.segments = 0}) | wick::read(); };
  check(read());
  check(read() | wick::cache_in_memory());
  check(read() | wick::cache_on_disk((dir / "cache").string()));
  check(read() | wick::cache_on_disk((dir / "cache").string()));  // all of it from the disk
  check(wick::from(wick::tokens(all) | wick::chunks(4, {.segments = 0})));
  check(wick::from(wick::in_memory(wick::tokens(path)) | wick::chunks(4, {.segments = 0})));
}

TEST_CASE("segments are those of the tokens, at any length and stride, and of any type") {
  std::vector<std::int32_t> all(400);
  std::mt19937 random(3);
  for (auto& t : all) t = static_cast<std::int32_t>(random() % 7) - 3;
  for (const std::size_t length : {std::size_t{1}, std::size_t{5}, std::size_t{64}}) {
    for (const std::optional<std::uint64_t> stride : {std::optional<std::uint64_t>(), {1}, {9}}) {
      const auto source = wick::tokens(all) | wick::chunks(length, {.stride = stride, .segments = -2});
      const auto plain = wick::tokens(all) | wick::chunks(length, {.stride = stride});
      REQUIRE(source.size() == plain.size());
      CHECK(source.fingerprint() != plain.fingerprint());
      for (std::uint64_t i = 0; i < source.size(); ++i) {
        const auto one = source.at(i);
        CHECK(list_of(one.data) == list_of(plain.at(i).data));
        CHECK(list_of(one.target) == list_of(plain.at(i).target));
        std::int64_t segment = 1, position = 0;
        for (std::size_t t = 0; t < length; ++t) {
          CHECK(one.segments[t] == segment);
          CHECK(one.positions[t] == position++);
          if (one.data[t] == -2) ++segment, position = 0;
        }
      }
    }
  }
}

TEST_CASE("segments want a token that the files can have") {
  const auto all = random_tokens<std::uint16_t>(40);
  CHECK(message_of([&] { return wick::tokens(all) | wick::chunks(4, {.segments = 70000}); }) ==
        "chunks: .segments = 70000: no token of 16 bits is that; give the one that ends each document");
  CHECK(contains(message_of([&] { return wick::tokens(all) | wick::chunks(4, {.segments = -1}); }), "-1"));
  CHECK(contains(message_of([&] { return wick::chunks(0, {.segments = 1}); }), "length of 0"));
}

}  // namespace wick_test::tokens_tests
