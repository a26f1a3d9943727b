#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <sys/stat.h>
#include <utility>
#include <vector>

#include "support/doctest.hpp"
#include "support/evict.hpp"
#include "support/message_of.hpp"
#include "support/temp_dir.hpp"
#include <wick/batch/batch.hpp>
#include <wick/ext/file_stamp.hpp>
#include <wick/io/detail/cached_read.hpp>
#include <wick/io/detail/plain_file.hpp>
#include <wick/io/detail/read_group.hpp>
#include <wick/io/read.hpp>
#include <wick/loader/loader.hpp>
#include <wick/sampling/order.hpp>
#include <wick/sources/decode_raw.hpp>
#include <wick/sources/records.hpp>

namespace wick_test::read_group_tests {

namespace {

namespace fs = std::filesystem;
using wick::detail::read_group;
using wick::ext::file_range;
using wick_test::contains;
using state = wick::detail::read_group::state;

/// A file whose byte i is i + start, modulo 251.
class indexed_file {
 public:
  indexed_file(const temp_dir& dir, const std::string& name, std::size_t size, std::size_t start = 0) {
    for (std::size_t i = 0; i < size; ++i) text_ += static_cast<char>((i + start) % 251);
    path_ = dir.write(name, text_).string();
    auto opened = wick::detail::open_plain(path_.c_str());
    file_ = std::move(opened.file);
    stamp_ = wick::ext::file_stamp::of(file_.get());
  }
  file_range range(std::uint64_t offset, std::uint64_t length) const {
    return {
        .path = path_.c_str(), .file = file_.get(), .offset = offset, .length = length, .indexed = &stamp_};
  }
  const std::string& path() const noexcept { return path_; }
  /// Whether its bytes can be read without waiting, on this file system.
  bool is_cached() const { return wick::detail::may_read_cached(stamp_); }

 private:
  std::string text_, path_;
  wick::detail::file_handle file_;
  wick::ext::file_stamp stamp_;
};

/// Begins a sample of these parts.
void add(read_group& to, const std::vector<file_range>& parts, std::uint64_t max_bytes = 1 << 20) {
  to.begin();
  for (const file_range& part : parts) to.add(part, max_bytes);
}
std::string text_of(std::span<wick::detail::range_part> parts) {
  std::string out;
  for (const auto& part : parts) out += part.content.text();
  return out;
}
/// What the file at `path` has there.
std::string part_of(const std::string& path, std::size_t offset, std::size_t length) {
  std::ifstream in(path, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(offset));
  std::string out(length, '\0');
  in.read(out.data(), static_cast<std::streamsize>(length));
  return out;
}

/// The number of read calls of this thread; -1 if the kernel doesn't tell.
long reads_so_far() {
  std::ifstream in("/proc/thread-self/io");
  for (std::string name; in >> name;) {
    long n = 0;
    in >> n;
    if (name == "syscr:") return n;
  }
  return -1;
}

}  // namespace

TEST_CASE("the samples of a group have the bytes that their ranges name") {
  const temp_dir dir;
  const indexed_file a(dir, "a", 5000), b(dir, "b", 5000, 100);
  if (!a.is_cached()) return;
  read_group group;
  add(group, {a.range(10, 20)});
  add(group, {b.range(4000, 1000), a.range(30, 5), b.range(0, 3)});
  add(group, {a.range(30, 0)});
  add(group, {});
  CHECK(group.bytes() == 20 + 1008);
  group.read();
  for (std::size_t i = 0; i < 4; ++i) CHECK(group.of(i) == state::there);
  CHECK(text_of(group.parts(0)) == part_of(a.path(), 10, 20));
  CHECK(text_of(group.parts(1)) ==
        part_of(b.path(), 4000, 1000) + part_of(a.path(), 30, 5) + part_of(b.path(), 0, 3));
  CHECK(text_of(group.parts(2)).empty());
  CHECK(group.parts(3).empty());
  CHECK(group.of(4) == state::left_out);

  group.clear();
  CHECK(group.bytes() == 0);
  add(group, {b.range(7, 7)});
  group.read();
  CHECK(text_of(group.parts(0)) == part_of(b.path(), 7, 7));
}

TEST_CASE("neighbors in a file are read by one call, and others by one each") {
  const temp_dir dir;
  const indexed_file a(dir, "a", 32 * 100), b(dir, "b", 32 * 100, 9);
  if (!a.is_cached() || reads_so_far() < 0) return;
  const auto calls_for = [&](const std::vector<file_range>& samples) {
    read_group group;
    for (const file_range& each : samples) add(group, {each});
    // Counting reads a file, too.
    const long none = reads_so_far();
    const long before = reads_so_far();
    group.read();
    const long after = reads_so_far();
    for (std::size_t i = 0; i < samples.size(); ++i) {
      REQUIRE(group.of(i) == state::there);
      CHECK(text_of(group.parts(i)) == part_of(samples[i].path, samples[i].offset, samples[i].length));
    }
    return after - before - (before - none);
  };
  std::vector<file_range> all, apart;
  for (std::size_t i = 0; i < 32; ++i) all.push_back(a.range(100 * i, 100));
  for (std::size_t i = 0; i < 32; i += 2) apart.push_back(a.range(100 * i, 100));
  CHECK(calls_for(all) == 1);
  CHECK(calls_for(apart) == 16);
  CHECK(calls_for({a.range(0, 100), a.range(100, 50), b.range(150, 50), b.range(200, 1), a.range(201, 9)}) ==
        3);
}

TEST_CASE("samples that a group can't have are left out, and take nothing from the others") {
  const temp_dir dir;
  const indexed_file a(dir, "a", 300'000);
  if (!a.is_cached()) return;
  file_range closed = a.range(0, 10), unknown = a.range(0, 10), remote = a.range(0, 10);
  closed.file = -1;
  unknown.indexed = nullptr;
  remote.remote = reinterpret_cast<wick::ext::remote_object*>(&remote);
  for (const file_range& bad : {closed, unknown, remote, a.range(0, file_range::whole),
                                a.range(0, read_group::most_bytes + 1), a.range(0, 1001)}) {
    read_group group;
    add(group, {a.range(0, 10)});
    group.begin();
    group.add(a.range(10, 10), 1000);
    group.add(bad, 1000);
    group.add(a.range(20, 10), 1000);
    add(group, {a.range(30, 10)});
    CHECK_FALSE(group.empty());
    CHECK(group.bytes() == 20);
    group.read();
    CHECK(group.of(0) == state::there);
    CHECK(group.of(1) == state::left_out);
    CHECK(group.of(2) == state::there);
    CHECK(text_of(group.parts(0)) + text_of(group.parts(2)) ==
          part_of(a.path(), 0, 10) + part_of(a.path(), 30, 10));
  }

  SUBCASE("the parts of a sample together are more than it may have") {
    read_group group;
    add(group, {a.range(0, 600), a.range(0, 401)}, 1000);
    CHECK(group.of(0) == state::left_out);
    CHECK(group.empty());
    CHECK(group.bytes() == 0);
    add(group, {a.range(0, 600), a.range(0, 400)}, 1000);
    group.read();
    CHECK(group.of(1) == state::there);
  }
  SUBCASE("the bytes of all together, and the number of parts, have a limit") {
    read_group group;
    add(group, {a.range(0, read_group::most_bytes - 10)});
    add(group, {a.range(0, 11)});
    add(group, {a.range(0, 10)});
    group.read();
    CHECK(group.of(0) == state::there);
    CHECK(group.of(1) == state::left_out);
    CHECK(group.of(2) == state::there);

    group.clear();
    for (std::size_t i = 0; i < read_group::most_samples; ++i)
      add(group, {a.range(10 * i, 1), a.range(10 * i + 5, 1), a.range(10 * i + 7, 1)});
    group.read();
    for (std::size_t i = 0; i < read_group::most_samples; ++i)
      CHECK((group.of(i) == state::there) == (i < read_group::most_parts / 3));
  }
  SUBCASE("the caller leaves one out, or all") {
    read_group group;
    add(group, {a.range(0, 10)});
    add(group, {a.range(10, 10)});
    group.leave_out();
    CHECK(group.bytes() == 10);
    CHECK_FALSE(group.empty());
    group.leave_all_out();
    CHECK(group.empty());
    CHECK(group.of(0) == state::left_out);
    group.clear(100);
    add(group, {a.range(0, 100)});
    add(group, {a.range(0, 1)});
    group.read();
    CHECK(group.of(0) == state::there);
    CHECK(group.of(1) == state::left_out);
  }
}

TEST_CASE("a sample whose file has changed, ends early, or isn't cached is missing, and no other") {
  const temp_dir dir;
  const indexed_file a(dir, "a", 100'000), b(dir, "b", 100'000, 5);
  if (!a.is_cached()) return;
  const auto read = [&](read_group& group) {
    add(group, {a.range(0, 100)});
    add(group, {b.range(50'000, 100)});
    add(group, {a.range(100, 100), b.range(50'100, 100)});
    add(group, {a.range(200, 100)});
    group.read();
  };
  read_group group;
  bool forgotten = false;
  SUBCASE("it was written to") { std::ofstream(b.path(), std::ios::app | std::ios::binary) << "more"; }
  SUBCASE("it became shorter") { fs::resize_file(b.path(), 50'050); }
  SUBCASE("it was emptied") { fs::resize_file(b.path(), 0); }
  SUBCASE("the kernel has forgotten it") {
    evict(b.path());
    forgotten = true;
  }
  read(group);
  CHECK(group.of(0) == state::there);
  if (forgotten) {  // unless the kernel has read it ahead meanwhile
    if (group.of(1) == state::there) CHECK(text_of(group.parts(1)) == part_of(b.path(), 50'000, 100));
    return;
  }
  CHECK(group.of(1) == state::missing);
  CHECK(group.of(2) == state::missing);
  CHECK(group.of(3) == state::there);
  CHECK(text_of(group.parts(3)) == part_of(a.path(), 200, 100));
}

TEST_CASE("a range beyond the end of a file is missing, and one that ends there isn't") {
  const temp_dir dir;
  const indexed_file a(dir, "a", 10'000);
  if (!a.is_cached()) return;
  read_group group;
  add(group, {a.range(9'900, 100)});
  add(group, {a.range(9'950, 51)});
  add(group, {a.range(0, 10), a.range(20'000, 10)});
  add(group, {a.range(9'000, 1'000)});
  group.read();
  CHECK(group.of(0) == state::there);
  CHECK(group.of(1) == state::missing);
  CHECK(group.of(2) == state::missing);
  CHECK(group.of(3) == state::there);
}

TEST_CASE("records that are read together stay within the loader's memory bound") {
  using few_bytes = std::array<std::uint8_t, 64>;
  const temp_dir dir;
  const auto path = dir.write("records.bin", std::string(20'000 * sizeof(few_bytes), 'x'));
  for (const std::size_t limit : {std::size_t{100}, std::size_t{1000}}) {
    wick::loader l(wick::records<few_bytes>(wick::files(path)) | wick::shuffle() | wick::read() |
                       wick::decode_raw<few_bytes>() | wick::array_batch(500),
                   {.workers = 1, .memory = limit});
    for (auto& batch : l.epoch(0)) CHECK(batch.template as<std::uint8_t>()[0] == 'x');
    CHECK(l.peak_bytes_in_flight() >= sizeof(few_bytes));
    CHECK(l.peak_bytes_in_flight() <= limit);
  }
}

TEST_CASE("a loader's records are the file's, in any order, cached or not, and the report counts each") {
  struct number {
    std::uint32_t value, square;
  };
  constexpr std::uint32_t count = 3000;
  const temp_dir dir;
  std::string text;
  for (std::uint32_t i = 0; i < count; ++i) {
    const number n{i, i * i};
    text.append(reinterpret_cast<const char*>(&n), sizeof n);
  }
  const auto path = dir.write("numbers.bin", text);
  wick::loader l(wick::records<number>(wick::files(path)) | wick::shuffle() | wick::read() |
                     wick::decode_raw<number>() | [](number n) { return std::pair(n.value, n.square); },
                 {.workers = 2, .prefetch_next_epoch = false});
  for (std::uint64_t epoch = 0; epoch < 4; ++epoch) {
    if (epoch % 2 == 1) evict(path);
    std::map<std::uint32_t, std::uint32_t> all;
    for (auto& [value, square] : l.epoch(epoch)) all.emplace(value, square);
    REQUIRE(all.size() == count);
    for (const auto& [value, square] : all) REQUIRE(square == value * value);
  }
  const wick::report r = l.report();
  for (const auto& stage : r.stages) {
    if (stage.name == "read" || stage.name == "decode_raw") CHECK(stage.count == 4 * count);
    if (stage.name == "read") CHECK(stage.bytes == 4 * count * sizeof(number));
  }
  CHECK(r.memory_used == 0);
}

TEST_CASE("a record that throws after read() fails alone, and says where") {
  const temp_dir dir;
  std::string text;
  for (std::uint32_t i = 0; i < 1000; ++i) text.append(reinterpret_cast<const char*>(&i), sizeof i);
  const auto path = dir.write("numbers.bin", text);
  struct number {
    std::uint32_t value;
  };
  const auto check = [](number n) {
    if (n.value % 100 == 7) throw std::runtime_error("seven");
    return n.value;
  };
  const auto pipeline = wick::records<number>(wick::files(path)) | wick::read() | wick::decode_raw<number>() |
                        wick::map("check", check);
  wick::loader_options options{
      .workers = 1, .prefetch_next_epoch = false, .on_error = wick::on_error(wick::on_error::skip)};
  wick::loader l(pipeline, options);
  std::size_t good = 0;
  for (const std::uint32_t value : l.epoch(0)) good += value % 100 != 7 ? 1 : 0;
  CHECK(good == 990);
  const auto& failures = l.failure_log().entries();
  REQUIRE(failures.size() == 10);
  CHECK(failures.front().stage == "check");
  CHECK(contains(failures.front().text, "seven"));

  // From now on they aren't read.
  options.quarantine = {(dir.path() / "bad").string()};
  l.write_quarantine(options.quarantine[0]);
  wick::loader again(pipeline, options);
  good = 0;
  for (const std::uint32_t value : again.epoch(0)) good += value % 100 != 7 ? 1 : 0;
  CHECK(good == 990);
  for (const auto& stage : again.report().stages)
    if (stage.name == "read") CHECK(stage.count == 990);
}

TEST_CASE("a file that becomes shorter in mid-epoch is an error of the samples that it has lost") {
  struct number {
    std::uint32_t value;
  };
  constexpr std::uint32_t count = 4000;
  const temp_dir dir;
  std::string text;
  for (std::uint32_t i = 0; i < count; ++i) text.append(reinterpret_cast<const char*>(&i), sizeof i);
  const auto path = dir.write("numbers.bin", text);
  wick::loader l(wick::records<number>(wick::files(path)) | wick::read() | wick::decode_raw<number>() |
                     [](number n) { return n.value; },
                 {.workers = 1, .prefetch_next_epoch = false});
  std::uint32_t next = 0;
  const std::string text_of_error = message_of([&] {
    for (const std::uint32_t value : l.epoch(0)) {
      REQUIRE(value == next++);
      if (next == 100) fs::resize_file(path, 4 * 200);
    }
  });
  CHECK(next < count);
  CHECK(contains(text_of_error, "numbers.bin"));
  CHECK(contains(text_of_error, "was changed since it was indexed"));
}

}  // namespace wick_test::read_group_tests
