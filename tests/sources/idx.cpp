#include <array>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <string>
#include <vector>
#include <zlib.h>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/temp_dir.hpp"
#include <wick/sources/idx.hpp>

namespace wick_test::idx_tests {

static_assert(wick::ext::source<wick::idx>);

namespace {

using wick_test::contains;
using wick_test::message_of;
using wick_test::temp_dir;

std::string big_endian(std::uint64_t value, int bytes) {
  std::string out;
  for (int b = bytes; b-- > 0;) out += static_cast<char>(value >> (8 * b));
  return out;
}

std::string header(int type, std::initializer_list<std::uint32_t> extents) {
  std::string out{'\0', '\0', static_cast<char>(type), static_cast<char>(extents.size())};
  for (const std::uint32_t e : extents) out += big_endian(e, 4);
  return out;
}

std::string gzip(const std::string& data, int level = 6) {
  std::string out(data.size() + data.size() / 1000 + 64, '\0');
  ::z_stream z{};
  REQUIRE(::deflateInit2(&z, level, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  z.avail_in = static_cast<uInt>(data.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  REQUIRE(::deflate(&z, Z_FINISH) == Z_STREAM_END);
  out.resize(z.total_out);
  ::deflateEnd(&z);
  return out;
}

/// Noise: it does not compress, so that a cut takes data away.
std::string pixels(std::size_t count) {
  std::string out;
  std::uint32_t state = 1;
  for (std::size_t i = 0; i < count; ++i)
    out += static_cast<char>((state = state * 1664525u + 1013904223u) >> 24);
  return out;
}

const std::string images = header(0x08, {5, 4, 3}) + pixels(60);
const std::string labels = header(0x08, {5}) + std::string("\x03\x01\x04\x01\x05");

}  // namespace

TEST_CASE("pictures and labels are read, plain and compressed, to the same") {
  const temp_dir dir;
  const wick::idx plain(dir.write("i", images), dir.write("l", labels));
  const wick::idx packed(dir.write("i.gz", gzip(images)), dir.write("named-anything", gzip(labels)));
  for (const wick::idx* source : {&plain, &packed}) {
    REQUIRE(source->size() == 5);
    CHECK(source->format().extents == wick::shape{4, 3});
    CHECK(source->format().type == wick::dtype::uint8);
    CHECK(source->targets() == std::vector<std::int64_t>{3, 1, 4, 1, 5});
    const auto s = source->at(2);
    source->prefetch(2, 64);
    CHECK(s.target == 4);
    CHECK(std::memcmp(s.data.data(), pixels(60).data() + 24, 12) == 0);
  }
  CHECK(plain.fingerprint() == packed.fingerprint());
  CHECK(plain.key(3) == (dir / "i").string() + "[3]");
}

TEST_CASE("every element type comes in the machine's byte order") {
  const temp_dir dir;
  const auto l = dir.write("l", header(0x08, {1}) + std::string(1, '\0'));
  const auto first = [&]<class T>(int code, const std::string& data, T) {
    const wick::idx source(dir.write("i", header(code, {1, 2}) + data), l);
    CHECK(source.format().type == wick::detail::dtype_of<T>());
    return std::array<T, 2>{source.at(0).data.as<T>()[0], source.at(0).data.as<T>()[1]};
  };
  CHECK(first(0x08, "\x01\xFF", std::uint8_t{}) == std::array<std::uint8_t, 2>{1, 255});
  CHECK(first(0x09, "\x01\xFF", std::int8_t{}) == std::array<std::int8_t, 2>{1, -1});
  CHECK(first(0x0B, big_endian(0x0102, 2) + big_endian(0xFFFE, 2), std::int16_t{}) ==
        std::array<std::int16_t, 2>{258, -2});
  CHECK(first(0x0C, big_endian(1 << 20, 4) + big_endian(0xFFFFFFFD, 4), std::int32_t{}) ==
        std::array<std::int32_t, 2>{1 << 20, -3});
  CHECK(first(0x0D, big_endian(0x3FC00000, 4) + big_endian(0xC0000000, 4), float{}) ==
        std::array<float, 2>{1.5f, -2.0f});
  CHECK(first(0x0E, big_endian(0x3FF8000000000000, 8) + big_endian(0xC000000000000000, 8), double{}) ==
        std::array<double, 2>{1.5, -2.0});
}

TEST_CASE("labels may be of any integer type") {
  const temp_dir dir;
  const auto i = dir.write("i", header(0x08, {2, 1}) + "ab");
  CHECK(wick::idx(i, dir.write("l", header(0x0C, {2}) + big_endian(70000, 4) + big_endian(0xFFFFFF9C, 4)))
            .targets() == std::vector<std::int64_t>{70000, -100});
  CHECK(wick::idx(i, dir.write("l", header(0x0B, {2}) + big_endian(300, 2) + big_endian(1, 2))).targets() ==
        std::vector<std::int64_t>{300, 1});
  CHECK(wick::idx(i, dir.write("l", header(0x09, {2}) + "\x7F\x80")).targets() ==
        std::vector<std::int64_t>{127, -128});
}

TEST_CASE("an array of one dimension has rows that are scalars") {
  const temp_dir dir;
  const wick::idx source(dir.write("i", header(0x0B, {2}) + big_endian(5, 2) + big_endian(6, 2)),
                         dir.write("l", header(0x08, {2}) + "ab"));
  CHECK(source.format().extents == wick::shape{});
  CHECK(source.at(1).data.as<std::int16_t>()[0] == 6);
}

TEST_CASE("files of several gzip members are read to their end") {
  const temp_dir dir;
  const std::string two = gzip(images.substr(0, 30)) + gzip(images.substr(30));
  CHECK(wick::idx(dir.write("i", two), dir.write("l", labels)).size() == 5);
}

TEST_CASE("a data file that is missing, foreign, cut off or damaged is refused, and said how") {
  const temp_dir dir;
  const auto l = dir.write("l", labels);
  const auto message = [&](const std::string& content) {
    return message_of([&] { return wick::idx(dir.write("bad", content), l); });
  };
  CHECK(contains(message_of([&] { return wick::idx(dir / "none", l); }),
                 "/none: idx: can't open it: No such file"));
  CHECK(contains(message_of([&] { return wick::idx(dir.path(), l); }), "idx: is a folder"));
  CHECK(contains(message(""), "/bad: idx: is not an idx file: it starts with nothing"));
  CHECK(contains(message("\x89PNG...."), "it starts with 89 50 4e 47", "such as 00 00 08 03"));
  CHECK(contains(message(header(0x0A, {5, 4, 3})), "it starts with 00 00 0a 03"));
  CHECK(contains(message(header(0x08, {})), "it starts with 00 00 08 00"));
  CHECK(
      contains(message(header(0x08, {5, 1, 1, 1, 1, 1, 1, 1}) + "12345"), "has 8 dimensions, and at most 7"));
  CHECK(contains(message(images.substr(0, 9)), "cut off within its header"));
  CHECK(contains(message(images.substr(0, images.size() - 1)),
                 "cut off: its header announces 5 × [4, 3] uint8, which a file of 75 bytes cannot hold"));
  CHECK(contains(message(images.substr(0, 40)),
                 "announces 5 × [4, 3] uint8, which a file of 40 bytes cannot hold"));
  CHECK(contains(message(images + "x"), "is longer than the 60 bytes"));
  CHECK(contains(message(header(0x08, {0, 28, 28})), "no elements: 0 × [28, 28]"));
  CHECK(contains(message(header(0x08, {5, 0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF})),
                 "which a file of 20 bytes cannot hold"));
  CHECK(contains(message(header(0x0E, {0x80000000, 0x40000000})), "cannot hold"));

  const std::string packed = gzip(images);
  CHECK(contains(message(packed.substr(0, packed.size() / 2)), "cut off within its gzip data"));
  CHECK(contains(message(packed.substr(0, packed.size() - 3)), "cut off within its gzip data"));
  CHECK(contains(message(gzip(images.substr(0, 60))), "announces 60 bytes of data, and there are 44"));
  CHECK(contains(message(gzip(header(0x08, {60000, 28, 28}))), "cannot hold"));
  std::string damaged = packed;
  damaged[damaged.size() - 6] = static_cast<char>(damaged[damaged.size() - 6] ^ 1);  // in the checksum
  CHECK(contains(message(damaged), "its gzip data are damaged (", "incorrect data check"));
  damaged = gzip(images, 0);
  damaged[40] = static_cast<char>(damaged[40] ^ 1);
  CHECK(contains(message(damaged), "its gzip data are damaged ("));
}

TEST_CASE("any cut of a compressed file is noticed") {
  const temp_dir dir;
  const auto l = dir.write("l", labels);
  const std::string packed = gzip(images);
  for (std::size_t size = 0; size < packed.size(); ++size) {
    CAPTURE(size);
    CHECK_FALSE(message_of([&] { return wick::idx(dir.write("cut", packed.substr(0, size)), l); }).empty());
  }
}

TEST_CASE("labels that don't fit are refused, and said why") {
  const temp_dir dir;
  const auto i = dir.write("i", images);
  const auto message = [&](const std::string& content, wick::idx_options o = {}) {
    return message_of([&] { return wick::idx(i, dir.write("bad", content), o); });
  };
  CHECK(contains(message(header(0x08, {4}) + "abcd"), "/i: idx: 5 rows, but 4 labels in ", "/bad",
                 "train or t10k"));
  CHECK(contains(message(images),
                 "/bad: idx: labels are an array [N], found [5] × [4, 3]; the order is idx(images, labels)"));
  CHECK(contains(message(header(0x0D, {5}) + std::string(20, '\0')), "labels are integers, found float32"));
  CHECK(contains(message(labels, {.classes = 5}), "label 4 is 5, out of range for 5 classes"));
  CHECK(message(labels, {.classes = 6}).empty());
  CHECK(contains(message(header(0x09, {5}) + "\xFF\x01\x01\x01\x01", {.classes = 10}),
                 "label 0 is -1, out of range"));
}

TEST_CASE("Fashion-MNIST as Debian ships it is read whole") {
  const std::filesystem::path folder = "/usr/share/datasets/fashion-mnist";
  if (!std::filesystem::exists(folder)) {
    MESSAGE("not installed (apt install dataset-fashion-mnist)");
    return;
  }
  const wick::idx test(folder / "t10k-images-idx3-ubyte.gz", folder / "t10k-labels-idx1-ubyte.gz",
                       {.classes = 10});
  REQUIRE(test.size() == 10000);
  CHECK(test.format().extents == wick::shape{28, 28});
  std::array<int, 10> of_class{};
  for (std::uint64_t i = 0; i < test.size(); ++i) ++of_class[static_cast<std::size_t>(test.at(i).target)];
  for (const int n : of_class) CHECK(n == 1000);
}

}  // namespace wick_test::idx_tests
