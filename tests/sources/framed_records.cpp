// Records that say their lengths themselves, by a callable.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/numbers.hpp"
#include "../support/temp_dir.hpp"
#include <wick/core.hpp>

namespace wick_test::framed_records_tests {

static_assert(wick::ext::source<wick::detail::framed_records>);

namespace {

/// A byte of length, the record, a byte that ends it.
std::string framed(const std::vector<std::string>& records) {
  std::string out;
  for (const std::string& r : records) out += std::string(1, static_cast<char>(r.size())) + r + ';';
  return out;
}
wick::ext::record_frame frame(std::span<const std::byte> head) {
  const auto length = static_cast<std::uint64_t>(head[0]);
  if (length == 255) throw wick::error("no record has 255 bytes");
  return {.offset = 1, .length = length, .size = length + 2};
}
/// Two bytes of length, to have large ones.
std::string framed_large(const std::vector<std::string>& records) {
  std::string out;
  for (const std::string& r : records)
    out += std::string{static_cast<char>(r.size() & 0xFF), static_cast<char>(r.size() >> 8)} + r;
  return out;
}
wick::ext::record_frame frame_large(std::span<const std::byte> head) {
  if (head.size() < 2) throw wick::error("half a length");
  const auto length = static_cast<std::uint64_t>(head[0]) | static_cast<std::uint64_t>(head[1]) << 8;
  return {.offset = 2, .length = length, .size = length + 2};
}

std::vector<std::string> all_of(const wick::detail::framed_records& source) {
  wick::loader l(wick::from(source) | wick::read(), {.workers = 2});
  std::vector<std::string> out;
  while (const auto one = l.next()) out.emplace_back(one->text());
  return out;
}

}  // namespace

TEST_CASE("each record of each file is a sample, in their order") {
  const temp_dir dir;
  const std::string at = dir.path().string();
  write_file(at + "/a.bin", framed({"one", "", "three"}));
  write_file(at + "/b.bin", "");
  write_file(at + "/c.bin", framed({"four"}));
  const auto source = wick::records(wick::files(at + "/*.bin"), 1, frame);
  CHECK(source.size() == 4);
  CHECK(all_of(source) == std::vector<std::string>{"one", "", "three", "four"});
  CHECK(contains(source.key(3), "c.bin, record 0"));
  CHECK(source.at(2).offset == 8);
}

TEST_CASE("small records and large ones in turns, across the borders of what is read at a time") {
  const temp_dir dir;
  const std::string file = dir.path().string() + "/a.bin";
  std::vector<std::string> records;
  for (int i = 0; i < 300; ++i) {
    const std::size_t sizes[] = {0, 1, 100, 16'383, 16'384, 40'000, 65'535};
    records.emplace_back(sizes[(i * i + i / 7) % 7], static_cast<char>('a' + i % 26));
  }
  write_file(file, framed_large(records));
  CHECK(all_of(wick::records(wick::files({file}), 2, frame_large)) == records);
}

TEST_CASE("damaged files are refused by name and place") {
  const temp_dir dir;
  const std::string file = dir.path().string() + "/a.bin";
  const auto message = [&](const std::string& content, auto by) {
    write_file(file, content);
    return message_of([&] { return wick::records(wick::files({file}), 1, by); });
  };
  CHECK(contains(message(framed({"one", "two"}) + "\x05"
                                                  "ab",
                         frame),
                 "a.bin", "record 2, at byte 10", "a frame of 7 bytes, and the file has 3 more", "cut off"));
  CHECK(contains(message(framed({"one"}) + "\xFF", frame), "record 1, at byte 5", "no record has 255 bytes"));
  CHECK(contains(message("x", [](std::span<const std::byte>) { return wick::ext::record_frame{}; }),
                 "a frame of 0", "check the callable"));
  CHECK(contains(message("xyz",
                         [](std::span<const std::byte>) {
                           return wick::ext::record_frame{
                               .offset = 2, .length = ~std::uint64_t{0}, .size = 3};
                         }),
                 "check the callable"));
  CHECK(contains(message("", frame), "a.bin", "nothing in 1 file"));
  CHECK(contains(message_of([&] { return wick::records(wick::files({file + "x"}), 1, frame); }), "a.binx"));
}

TEST_CASE("a file that is cut off later is an error of its samples") {
  const temp_dir dir;
  const std::string file = dir.path().string() + "/a.bin";
  write_file(file, framed({"one", "two"}));
  const auto source = wick::records(wick::files({file}), 1, frame);
  write_file(file, framed({"one"}));
  wick::loader l(wick::from(source) | wick::read());
  CHECK(contains(message_of([&] { return l.next(); }), "a.bin, record 0", "since it was indexed"));
}

TEST_CASE("its fingerprint is of paths and lengths") {
  const temp_dir dir;
  const std::string file = dir.path().string() + "/a.bin";
  const auto print = [&](const std::vector<std::string>& records) {
    write_file(file, framed(records));
    return wick::records(wick::files({file}), 1, frame).fingerprint();
  };
  CHECK(print({"one", "two"}) == print({"eno", "owt"}));
  CHECK(print({"one", "two"}) != print({"on", "three"}));
}

}  // namespace wick_test::framed_records_tests
