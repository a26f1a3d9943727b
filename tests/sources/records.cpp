// Records of one size in files: where they lie, what becomes of them, and files that change.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/temp_dir.hpp"
#include <wick/batch/batch.hpp>
#include <wick/ext/source.hpp>
#include <wick/io/read.hpp>
#include <wick/loader/loader.hpp>
#include <wick/sampling/order.hpp>
#include <wick/sources/decode_raw.hpp>
#include <wick/sources/file_windows.hpp>
#include <wick/sources/files.hpp>
#include <wick/sources/records.hpp>
#include <wick/transforms/flip.hpp>
#include <wick/transforms/to_image.hpp>

namespace wick_test::records_tests {

static_assert(wick::ext::source<wick::detail::fixed_records>);

namespace {

struct position {
  std::array<std::int8_t, 8> board;
  float value;
  std::int32_t number;
};

/// Files of so many positions each, numbered through, after a header.
void write_positions(const temp_dir& dir, const std::vector<int>& counts, std::size_t header,
                     std::size_t padding = 0) {
  int number = 0;
  for (std::size_t f = 0; f < counts.size(); ++f) {
    std::string text(header, 'h');
    for (int i = 0; i < counts[f]; ++i, ++number) {
      position p{{}, 0.5F * static_cast<float>(number), number};
      p.board.fill(static_cast<std::int8_t>(number));
      char bytes[sizeof p];
      std::memcpy(bytes, &p, sizeof p);
      text.append(bytes, sizeof p).append(padding, 'p');
    }
    dir.write("games-" + std::to_string(f) + ".bin", text);
  }
}
std::string pattern(const temp_dir& dir) { return dir.path().string() + "/games-*.bin"; }

/// What torchvision writes of CIFAR-10: a label, then three planes.
struct cifar {
  std::uint8_t label;
  std::array<std::array<std::array<std::uint8_t, 32>, 32>, 3> planes;
};
static_assert(sizeof(cifar) == 3073);

}  // namespace

TEST_CASE("records that are read into memory give the batches of those that are read one by one") {
  for (const std::size_t padding : {0, 5}) {
    const temp_dir dir;
    write_positions(dir, {5, 0, 7, 1}, 16, padding);
    wick::records_options options{.header = 16};
    if (padding != 0) options.stride = sizeof(position) + padding;
    const wick::files files(pattern(dir));
    const auto kept = wick::in_memory<position>(files, options);
    CHECK(kept.size() == 13);
    wick::loader one_by_one(wick::records<position>(files, options) | wick::shuffle() | wick::read() |
                                wick::decode_raw<position>() | wick::array_batch(4),
                            {.seed = 5, .workers = 2});
    wick::loader in_memory(kept | wick::shuffle() | wick::array_batch(4), {.seed = 5, .workers = 2});
    for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
      one_by_one.epoch(epoch);
      in_memory.epoch(epoch);
      while (auto batch = one_by_one.next()) {
        const auto same = in_memory.next();
        REQUIRE(same);
        const std::size_t rows = static_cast<std::size_t>(std::get<2>(*batch).extents()[0]);
        CHECK(std::memcmp(std::get<0>(*batch).data(), std::get<0>(*same).data(), rows * 8) == 0);
        CHECK(std::memcmp(std::get<1>(*batch).data(), std::get<1>(*same).data(), rows * 4) == 0);
        CHECK(std::memcmp(std::get<2>(*batch).data(), std::get<2>(*same).data(), rows * 4) == 0);
      }
      CHECK_FALSE(in_memory.next());
    }
  }
}

TEST_CASE("more than is read at once, and other contents, are read into memory whole") {
  const temp_dir dir;
  std::string text(std::size_t{20} * 750'000, ' ');
  for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>(i * 31 + i / 4096);
  dir.write("all.bin", text);
  using row = std::array<char, 20>;
  const wick::files files(dir.path().string() + "/all.bin");
  const auto all = wick::in_memory<row>(files);
  REQUIRE(all.size() == 750'000);
  CHECK(std::memcmp(&all.at(0), text.data(), text.size()) == 0);
  const std::uint64_t before = all.fingerprint();
  text[7'000'000] = static_cast<char>(text[7'000'000] + 1);
  dir.write("all.bin", text);
  CHECK(wick::in_memory<row>(files).fingerprint() != before);
}

TEST_CASE("a file that shrinks while it is read into memory is an error that names it") {
  const temp_dir dir;
  write_positions(dir, {5}, 0);
  const wick::files files(pattern(dir));
  const wick::detail::fixed_records source = wick::records<position>(files);
  std::filesystem::resize_file(dir.path() / "games-0.bin", 2 * sizeof(position));
  std::vector<position> to(5);
  CHECK(contains(message_of([&] { source.read_into(reinterpret_cast<std::byte*>(to.data())); }),
                 "games-0.bin: records: ", "was changed since it was indexed"));
  CHECK(contains(message_of([&] { return wick::in_memory<position>(wick::files("/none/x.bin")).size(); }),
                 "/none/x.bin"));
}

TEST_CASE("records follow each other through the files, and a batch has an array a field") {
  const temp_dir dir;
  write_positions(dir, {5, 0, 7, 1}, 16);
  const auto source = wick::records<position>(wick::files(pattern(dir)), {.header = 16});
  CHECK(source.size() == 13);
  CHECK(contains(source.key(5), "games-2.bin, record 0"));
  CHECK(contains(source.key(12), "games-3.bin, record 0"));
  wick::loader l(source | wick::read() | wick::decode_raw<position>() | wick::array_batch(13),
                 {.workers = 2});
  const auto batch = l.next();
  REQUIRE(batch);
  const auto& [boards, values, numbers] = *batch;
  CHECK(boards.extents() == wick::shape{13, 8});
  for (std::int32_t i = 0; i < 13; ++i) {
    CHECK(numbers.as<std::int32_t>()[i] == i);
    CHECK(values.as<float>()[i] == 0.5F * static_cast<float>(i));
    CHECK(boards.as<std::int8_t>()[8 * i + 7] == i);
  }
}

TEST_CASE("between records and before the first there may be other bytes") {
  const temp_dir dir;
  write_positions(dir, {3, 4}, 5, 11);
  const auto source =
      wick::records<position>(wick::files(pattern(dir)), {.header = 5, .stride = sizeof(position) + 11});
  REQUIRE(source.size() == 7);
  wick::loader l(source | wick::shuffle() | wick::read() | wick::decode_raw<position>() |
                 wick::array_batch(7));
  const auto batch = l.next();
  std::vector<std::int32_t> all(std::get<2>(*batch).as<std::int32_t>(),
                                std::get<2>(*batch).as<std::int32_t>() + 7);
  std::sort(all.begin(), all.end());
  CHECK(all == std::vector<std::int32_t>{0, 1, 2, 3, 4, 5, 6});
  // The last may do without what pads it.
  const std::string last = dir.path().string() + "/games-1.bin";
  std::filesystem::resize_file(last, std::filesystem::file_size(last) - 11);
  CHECK(wick::records<position>(wick::files(pattern(dir)), {.header = 5, .stride = sizeof(position) + 11})
            .size() == 7);
}

TEST_CASE("CIFAR's files are records whose planes become pictures") {
  const temp_dir dir;
  std::string text;
  for (int i = 0; i < 10; ++i) {
    text += static_cast<char>(i);
    for (int k = 0; k < 3072; ++k) text += static_cast<char>((i + k) % 251);
  }
  dir.write("data_batch_1.bin", text);
  const auto part = [](const cifar& c) { return wick::sample{c.planes, std::int64_t{c.label}}; };
  wick::loader l(wick::records<cifar>(wick::files(dir.path().string() + "/data_batch_*.bin")) | wick::read() |
                     wick::decode_raw<cifar>() | wick::map("parts", part) | wick::to_image() |
                     wick::horizontal_flip() | wick::array_batch(10),
                 {.workers = 2});
  const auto batch = l.next();
  REQUIRE(batch);
  CHECK(batch->data.extents() == wick::shape{10, 3, 32, 32});
  for (int i = 0; i < 10; ++i) {
    CHECK(batch->target.as<std::int64_t>()[i] == i);
    for (int k = 0; k < 3072; ++k) {
      const int mirrored = k / 32 * 32 + 31 - k % 32;
      REQUIRE(batch->data.as<std::uint8_t>()[i * 3072 + k] == (i + mirrored) % 251);
    }
  }
}

TEST_CASE("what is no file of whole records is refused with its size") {
  const temp_dir dir;
  write_positions(dir, {3}, 16);
  const wick::files all(pattern(dir));
  const auto said = [&](const wick::records_options& options) {
    return message_of([&] { return wick::records<position>(all, options); });
  };
  CHECK(said({}).empty());  // 4 records
  CHECK(contains(said({.header = 15}), "games-0.bin: records: has 64 bytes", "rows of 16 after 15"));
  CHECK(contains(said({.header = 100}), "has 64 bytes", "after 100"));
  CHECK(contains(said({.stride = 7}), "stride of 7 bytes", "records have 16"));
  CHECK(contains(said({.stride = 0}), "stride of 0 bytes"));
  CHECK(contains(said({.header = 64}), "no record"));
  CHECK(contains(message_of([&] { return wick::records(all, 0); }), "0 bytes"));
  CHECK(contains(message_of([] { return wick::records<position>(wick::files({"/nowhere.bin"})); }),
                 "/nowhere.bin"));
  wick::loader wrong(wick::records(all, 8) | wick::read() | wick::decode_raw<position>() |
                     wick::array_batch(1));
  CHECK(contains(message_of([&] { return wrong.next(); }), "record 0: decode_raw: 8 bytes were read", "16"));
}

TEST_CASE("a file that shrinks or is written to while it is trained on is an error of its records") {
  const temp_dir dir;
  write_positions(dir, {1000}, 0);
  const std::string path = dir.path().string() + "/games-0.bin";
  wick::loader l(wick::records<position>(wick::files(pattern(dir))) | wick::read() |
                     wick::decode_raw<position>() | wick::array_batch(1),
                 {.workers = 2, .prefetch = 1});
  REQUIRE(l.next());
  std::filesystem::resize_file(path, 160);
  std::string text;
  for (int i = 0; i < 999 && text.empty(); ++i) text = message_of([&] { return l.next(); });
  CHECK(contains(text, "games-0.bin, record", "read"));
}

TEST_CASE("a file that is compressed or in another format is no records, though its size fits") {
  const temp_dir dir;
  const std::string packed = "BZh91AY&SY" + std::string(22, 'x');
  const wick::files file({dir.write("a.bin", packed).string()});
  const auto said = [&](const wick::records_options& options) {
    return message_of([&] { return wick::records(file, 16, options); });
  };
  CHECK(contains(said({}), "a.bin: records: is compressed with bzip2", "bunzip2", ".raw = true"));
  CHECK(contains(said({.header = 16}), "is compressed with bzip2"));
  CHECK(said({.raw = true}).empty());
  CHECK(contains(message_of([&] { return wick::in_memory<position>(file); }), "is compressed with bzip2"));
  CHECK(contains(message_of([&] { return wick::windows(file, {.row_bytes = 16}, 1); }),
                 "a.bin: windows: is compressed with bzip2"));
  CHECK(message_of([&] { return wick::windows(file, {.row_bytes = 16, .raw = true}, 1); }).empty());
  const wick::files bmp({dir.write("b.bmp", std::string("GIF89a") + std::string(26, 'x')).string()});
  CHECK(contains(message_of([&] { return wick::records(bmp, 16); }), "b.bmp: records: is a GIF"));
  CHECK(message_of([&] { return wick::records(bmp, 16, {.header = 16}); }).empty());
}

TEST_CASE("samples of files that are compressed are no numbers, though their size fits") {
  const temp_dir dir;
  const wick::files file({dir.write("a.bin", "BZh91AY&SY" + std::string(6, 'x')).string()});
  wick::loader raw(file | wick::read() | wick::decode_raw<float>({4}) | wick::array_batch(1));
  CHECK(contains(message_of([&] { return raw.next(); }), "a.bin: decode_raw: is compressed with bzip2"));
  wick::loader record(file | wick::read() | wick::decode_raw<position>() | wick::array_batch(1));
  CHECK(contains(message_of([&] { return record.next(); }), "a.bin: decode_raw: is compressed with bzip2"));
  wick::loader other(file | wick::read() | wick::decode_raw<float>({5}) | wick::array_batch(1));
  CHECK(contains(message_of([&] { return other.next(); }), "16 bytes", "is compressed with bzip2"));
}

}  // namespace wick_test::records_tests
