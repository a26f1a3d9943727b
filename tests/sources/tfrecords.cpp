// TFRecord files: what other programs write is read back equal, and what is damaged is refused.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/evict.hpp"
#include "../support/message_of.hpp"
#include "../support/picture.hpp"
#include "../support/python.hpp"
#include "../support/temp_dir.hpp"
#include "../support/tf_record.hpp"
#include <wick/core.hpp>

namespace wick_test::tfrecords_tests {

using wick::tf_example;

static_assert(wick::ext::source<wick::detail::tf_records>);

namespace {

std::uint32_t crc(std::string_view of) {
  return wick::detail::crc32c(reinterpret_cast<const std::byte*>(of.data()), of.size());
}
/// A field of a message, of bytes.
std::string field(int number, const std::string& bytes) {
  std::string out(1, static_cast<char>(number << 3 | 2));
  std::size_t n = bytes.size();
  for (; n >= 128; n >>= 7) out += static_cast<char>((n & 0x7F) | 0x80);
  return out + static_cast<char>(n) + bytes;
}
std::string feature(const std::string& name, int kind, const std::string& list) {
  return field(1, field(1, name) + field(2, field(kind, list)));
}
std::string example(const std::string& features) { return field(1, features); }
tf_example parsed(const std::string& message) {
  return tf_example(wick::bytes(message.data(), message.size()));
}

}  // namespace

TEST_CASE("CRC-32C is that of RFC 3720, by table and by the processor") {
  CHECK(crc("123456789") == 0xE3069283u);
  CHECK(crc("") == 0);
  CHECK(crc(std::string(32, '\0')) == 0x8A9136AAu);
  CHECK(crc(std::string(32, '\xFF')) == 0x62A8AB43u);
  std::string up;
  for (int i = 0; i < 32; ++i) up += static_cast<char>(i);
  CHECK(crc(up) == 0x46DD794Eu);
}

TEST_CASE("records are read and their checksums are looked at") {
  const temp_dir dir;
  const std::string file = dir.path().string() + "/a.tfrecord";
  write_file(file, tf_record("one") + tf_record("") + tf_record(std::string(40'000, 'x')));
  const auto source = wick::tfrecords(file);
  CHECK(source.size() == 3);
  wick::loader l(wick::from(source) | wick::read(), {.workers = 2});
  CHECK(l.next()->text() == "one");
  CHECK(l.next()->empty());
  CHECK(l.next()->size() == 40'000);

  std::string damaged = tf_record("one") + tf_record("two");
  damaged[13] ^= 1;
  write_file(file, damaged);
  wick::loader bad(wick::tfrecords(file) | wick::read(), {.on_error = wick::on_error::skip});
  CHECK(bad.next()->text() == "two");
  CHECK(contains(bad.failure_log().entries().at(0).text, "checksum is wrong"));
}

TEST_CASE("records that are not in the page cache are read, and a change meanwhile is no damage") {
  const temp_dir dir;
  std::string all;
  const auto text = [](std::size_t i) { return std::string(5000 + i, static_cast<char>('a' + i % 26)); };
  for (std::size_t i = 0; i < 40; ++i) all += tf_record(text(i));
  const auto file = dir.write("a.tfrecord", all);
  wick::loader l(wick::tfrecords(file.string()) | wick::read(), {.workers = 2, .prefetch_next_epoch = false});
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    if (epoch != 1) evict(file);
    std::size_t i = 0;
    for (const wick::bytes& record : l.epoch(epoch)) CHECK(record.text() == text(i++));
    CHECK(i == 40);
  }
  all[20] ^= 1;
  write_file(file, all + tf_record("more"));
  l.epoch(3);
  CHECK(contains(message_of([&] { l.next(); }), "was changed since it was indexed"));
}

TEST_CASE("an index that is kept saves reading the files") {
  const temp_dir dir;
  std::uint64_t bytes = 0;
  for (int f = 0; f < 2; ++f) {
    std::string all;
    for (int i = 0; i < 50; ++i)
      all += tf_record(std::string(static_cast<std::size_t>(i * i), static_cast<char>('a' + f)));
    const auto path = dir.write("t" + std::to_string(f) + ".tfrecord", all);
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::seconds(100));
    bytes += all.size();
  }
  const std::string pattern = (dir / "t*.tfrecord").string();
  const wick::framed_options kept{.index = (dir / "train.index").string()};
  const auto plain = wick::tfrecords(pattern), first = wick::tfrecords(pattern, kept),
             second = wick::tfrecords(pattern, kept);
  CHECK(plain.bytes_scanned() == bytes);
  CHECK(first.bytes_scanned() == bytes);
  CHECK(second.bytes_scanned() == 0);
  CHECK(first.note().empty());
  CHECK(second.fingerprint() == plain.fingerprint());
  CHECK(second.size() == 100);
  wick::loader l(wick::from(second) | wick::read(), {.workers = 2});
  for (std::size_t i = 0; i < 100; ++i) {
    CHECK(second.key(i) == plain.key(i));
    CHECK(l.next()->text() == std::string(i % 50 * (i % 50), i < 50 ? 'a' : 'b'));
  }
  // Of the same files by another framing it is none.
  const auto byte = [](std::span<const std::byte>) {
    return wick::ext::record_frame{.length = 1, .size = 1};
  };
  const auto bytes_of = [&](std::size_t header) {
    return wick::records(wick::files(pattern), header, byte, kept).bytes_scanned();
  };
  CHECK(bytes_of(12) == bytes);
  CHECK(bytes_of(12) == 0);
  CHECK(bytes_of(1) == bytes);
  CHECK(wick::tfrecords(pattern, kept).bytes_scanned() == bytes);
  CHECK(contains(wick::tfrecords(pattern, {.index = (dir / "none/t.index").string()}).note(), "t.index",
                 "Without it the files are read through at each start"));
}

TEST_CASE("damaged files, cut off ones and others are refused by name and place") {
  const temp_dir dir;
  const std::string file = dir.path().string() + "/a.tfrecord";
  const auto message = [&](const std::string& content) {
    write_file(file, content);
    return message_of([&] { return wick::tfrecords(file); });
  };
  std::string damaged = tf_record("one") + tf_record("two");
  damaged[19] ^= 1;
  CHECK(contains(message(damaged), "a.tfrecord", "record 1, at byte 19", "checksum of the record's length"));
  CHECK(contains(message(tf_record("one").substr(0, 17)), "record 0", "cut off"));
  CHECK(contains(message(tf_record("one") + "abc"), "record 1, at byte 19", "cut off"));
  std::string endless = tf_record("one");
  for (const std::uint64_t length : {~std::uint64_t{0}, ~std::uint64_t{0} - 15, std::uint64_t{1} << 62}) {
    std::memcpy(endless.data(), &length, sizeof length);
    const std::uint32_t c = crc(std::string_view(endless).substr(0, 8)),
                        masked = (c >> 15 | c << 17) + 0xA282EAD8u;
    std::memcpy(endless.data() + 8, &masked, sizeof masked);
    CHECK(
        contains(message(endless), "record 0", length >> 63 == 0 ? "cut off" : "a length that no file has"));
  }
  CHECK(contains(message("\x1F\x8B\x08" + std::string(40, 'x')), "compressed with gzip"));
  CHECK(contains(message("a text that is no such file"), "no TFRecord file"));
}

TEST_CASE("an example's features by name") {
  const std::string floats = little_endian(0x3FC00000, 4) + little_endian(0xC0000000, 4);
  const tf_example e = parsed(
      example(feature("image", 1, field(1, "bytes")) + feature("words", 1, field(1, "a") + field(1, "")) +
              feature("label", 3, field(1, "\x07")) +
              feature("many", 3, field(1, "\x01\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01")) +
              feature("plain", 3, "\x08\x05\x08\x06") + feature("x", 2, field(1, floats)) +
              feature("y", 2, "\x0D" + little_endian(0x3F800000, 4)) + feature("none", 1, "")));
  CHECK(e.text("image") == "bytes");
  CHECK(e.data("image").text() == "bytes");
  CHECK(e.texts("words") == std::vector<std::string_view>{"a", ""});
  CHECK(e.integer("label") == 7);
  CHECK(e.integers("many") == std::vector<std::int64_t>{1, -1});
  CHECK(e.integers("plain") == std::vector<std::int64_t>{5, 6});
  CHECK(e.numbers("x") == std::vector<float>{1.5f, -2});
  CHECK(e.number("y") == 1);
  CHECK(e.texts("none").empty());
  CHECK(e.has("none"));
  CHECK(!e.has("other"));
  CHECK(contains(message_of([&] { return e.text("other"); }), "no feature is called \"other\"",
                 "\"image\", \"words\""));
  CHECK(contains(message_of([&] { return e.text("label"); }), "has integers", "integer()"));
  CHECK(contains(message_of([&] { return e.text("words"); }), "has 2 values", "texts()"));
  CHECK(contains(message_of([&] { return e.text("none"); }), "has 0 values"));
}

TEST_CASE("an example takes memory for the features that it names, and not for any number of them") {
  std::string nameless;
  for (int i = 0; i < 1'000'000; ++i) nameless += field(1, "");
  const tf_example none = parsed(example(nameless + feature("x", 3, field(1, "\5"))));
  CHECK(none.integer("x") == 5);
  std::string many;
  for (int i = 0; i < 70'000; ++i) many += feature(std::to_string(i), 3, field(1, "\5"));
  CHECK(contains(message_of([&] { return parsed(example(many)); }), "more than 65536 features"));
}

TEST_CASE("an index that the pattern of its own files matches is refused by name") {
  const temp_dir dir;
  const auto path = dir.write("a.tfrecord", tf_record("one"));
  fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::seconds(100));
  const std::string pattern = (dir / "*").string();
  const wick::framed_options kept{.index = (dir / "train.index").string()};
  CHECK(wick::tfrecords(pattern, kept).size() == 1);
  REQUIRE(fs::exists(kept.index));
  CHECK(contains(message_of([&] { return wick::tfrecords(pattern, kept); }), "train.index",
                 "is the index itself", "another folder"));
  const auto spelled_otherwise = [&](const std::string& index) {
    return message_of([&] { return wick::tfrecords(pattern, {.index = index}); });
  };
  CHECK(contains(spelled_otherwise((dir / "").string() + "/train.index"), "is the index itself"));
  CHECK(contains(spelled_otherwise(fs::relative(kept.index, fs::current_path()).string()),
                 "is the index itself"));
}

TEST_CASE("bytes that are no example are refused, wherever they are cut or changed") {
  const std::string whole =
      example(feature("image", 1, field(1, "bytes")) + feature("label", 3, field(1, "\x07")));
  for (std::size_t n = 1; n < whole.size(); ++n) {
    CHECK(contains(message_of([&] { return parsed(whole.substr(0, n)); }), "aren't a tf.train.Example"));
    std::string changed = whole;
    changed[n] = static_cast<char>(changed[n] ^ 0x55);
    try {
      const tf_example e = parsed(changed);
      if (e.has("label")) static_cast<void>(e.integers("label"));
    } catch (const wick::error&) {  // refused
    }
  }
}

TEST_CASE("what the tfrecord package writes is read back equal, through pictures and a batch") {
  const temp_dir dir;
  const std::string at = dir.path().string();
  write_file(at + "/picture.png", encode_png(photo(8, 6)));
  if (!run_python("tfrecord", dir, R"(
w = tfrecord.TFRecordWriter('a.tfrecord')
png = open('picture.png', 'rb').read()
for i in range(100):
    w.write({'image': (png, 'byte'), 'label': (i * i, 'int'), 'x': ([i / 2, -i], 'float')})
w.close()
)"))
    return;
  wick::loader l(wick::tfrecords(at + "/*.tfrecord") | wick::shuffle() | wick::read() |
                     wick::decode_tf_example() |
                     [](const tf_example& e) {
                       CHECK(e.numbers("x").at(1) == -2 * e.numbers("x").at(0));
                       return wick::sample<wick::bytes, std::int64_t>{e.data("image"), e.integer("label")};
                     } |
                     wick::decode() | wick::array_batch(10),
                 {.seed = 1});
  std::int64_t sum = 0;
  int batches = 0;
  for (auto& batch : l.epoch(0)) {
    CHECK(batch.data.extents() == wick::shape{10, 3, 6, 8});
    for (int i = 0; i < 10; ++i) sum += batch.target.as<std::int64_t>()[i];
    ++batches;
  }
  CHECK(batches == 10);
  CHECK(sum == 328'350);
}

TEST_CASE("a file that is no TFRecord file is named") {
  const temp_dir dir;
  const auto said = [&](const std::string& content) {
    const auto path = dir.write("a.tfrecord", content).string();
    return message_of([&] { return wick::tfrecords(wick::files({path})); });
  };
  CHECK(contains(said("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n"),
                 "a.tfrecord: tfrecords: is a Git LFS pointer"));
  CHECK(contains(said("<html><body>no</body></html>"), "is an HTML page"));
  CHECK(contains(said("BZh91AY&SY123456789"), "compressed with bzip2"));
  if (run_python("zlib", dir, "open('z', 'wb').write(zlib.compress(b'abc' * 100))"))
    CHECK(contains(message_of([&] { return wick::tfrecords(wick::files({(dir / "z").string()})); }),
                   "compressed with zlib"));
}

TEST_CASE("of a feature that an example has twice the last one counts, as protobuf has it") {
  const auto entry = [](const std::string& text) {
    const auto field = [](char tag, const std::string& of) {
      return std::string(1, tag) + static_cast<char>(of.size()) + of;
    };
    return field('\x0a', field('\x0a', "name") + field('\x12', field('\x0a', field('\x0a', text))));
  };
  const std::string features = entry("first") + entry("last!"),
                    whole = std::string("\x0a") + static_cast<char>(features.size()) + features;
  const wick::tf_example one(wick::bytes(whole.data(), whole.size()));
  CHECK(one.text("name") == "last!");
}

}  // namespace wick_test::tfrecords_tests
