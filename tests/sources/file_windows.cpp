#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/temp_dir.hpp"
#include <wick/batch/batch.hpp>
#include <wick/failures/on_error.hpp>
#include <wick/io/read.hpp>
#include <wick/loader/loader.hpp>
#include <wick/sampling/order.hpp>
#include <wick/sources/decode_raw.hpp>
#include <wick/sources/file_windows.hpp>

namespace wick_test::file_windows_tests {

static_assert(wick::ext::source<wick::detail::file_windows>);

namespace {

using wick_test::contains;
using wick_test::message_of;

/// Row r of file f is 1000 f + 10 r, 1000 f + 10 r + 1, 1000 f + 10 r + 2.
void write(const std::string& path, int file, int rows, std::size_t header = 0) {
  std::ofstream out(path, std::ios::binary);
  out << std::string(header, '#');
  for (int r = 0; r < rows; ++r) {
    for (int c = 0; c < 3; ++c) {
      const float value = static_cast<float>(1000 * file + 10 * r + c);
      out.write(reinterpret_cast<const char*>(&value), sizeof(value));
    }
  }
}

template <class Loader>
std::vector<std::vector<float>> epoch_of(Loader& loader) {
  std::vector<std::vector<float>> out;
  for (auto& batch : loader.epoch(0)) {
    out.emplace_back(batch.template as<float>(), batch.template as<float>() + batch.extents().count());
  }
  return out;
}

}  // namespace

TEST_CASE("windows over files are where their rows lie, and never reach into the next file") {
  const wick_test::temp_dir folder;
  const std::string at = folder.path().string();
  write(at + "/0.f32", 0, 6, 8);
  write(at + "/1.f32", 1, 0, 8);
  write(at + "/2.f32", 2, 3, 8);
  write(at + "/3.f32", 3, 9, 8);
  const auto source = wick::windows(wick::files(at + "/*.f32"), {.row_bytes = 12, .header_bytes = 8}, 4, 2);
  REQUIRE(source.size() == 2 + 3);
  CHECK(source.at(1).offset == 8 + 2 * 12);
  CHECK(source.at(1).length == 4 * 12);
  CHECK(source.at(1).path == at + "/0.f32");
  CHECK(source.key(3) == at + "/3.f32, rows 2 to 5");
  wick::loader loader(source | wick::read() | wick::decode_raw<float>({4, 3}) | wick::array_batch(1));
  const auto windows = epoch_of(loader);
  REQUIRE(windows.size() == 5);
  const float first[] = {0, 20, 3000, 3020, 3040};
  for (std::size_t w = 0; w < 5; ++w) {
    REQUIRE(windows[w].size() == 12);
    for (std::size_t i = 0; i < 12; ++i) {
      CHECK(windows[w][i] == first[w] + static_cast<float>(10 * (i / 3) + i % 3));
    }
  }
}

TEST_CASE("windows over files give the same batches at any number of workers and ranks") {
  const wick_test::temp_dir folder;
  const std::string at = folder.path().string();
  for (int f = 0; f < 3; ++f) write(at + "/" + std::to_string(f), f, 20 + 7 * f);
  const auto source = wick::windows(wick::files(at + "/*"), {.row_bytes = 12}, 5);
  const auto of = [&](std::size_t workers, std::uint64_t world) {
    std::vector<std::vector<float>> all;
    for (std::uint64_t rank = 0; rank < world; ++rank) {
      wick::loader loader(source | wick::shuffle() | wick::shard(rank, world) | wick::read() |
                              wick::decode_raw<float>({5, 3}) | wick::array_batch(8),
                          {.seed = 6, .workers = workers});
      const auto mine = epoch_of(loader);
      all.resize(mine.size());
      for (std::size_t b = 0; b < mine.size(); ++b)
        all[b].insert(all[b].end(), mine[b].begin(), mine[b].end());
    }
    return all;
  };
  const auto expected = of(1, 1);
  CHECK(expected.size() == (16 + 23 + 30 + 7) / 8);
  for (const std::size_t workers : {1, 4}) {
    for (const std::uint64_t world : {1, 2, 4}) CHECK(of(workers, world) == expected);
  }
}

TEST_CASE("a file that is changed later is an error of its windows, with their names") {
  const wick_test::temp_dir folder;
  const std::string at = folder.path().string();
  write(at + "/0", 0, 6);
  write(at + "/1", 1, 6);
  wick::loader loader(wick::windows(wick::files(at + "/*"), {.row_bytes = 12}, 6) | wick::read() |
                          wick::decode_raw<float>({6, 3}) | wick::array_batch(2),
                      {.on_error = wick::on_error::skip});
  std::filesystem::resize_file(at + "/1", 60);
  CHECK(epoch_of(loader).at(0).size() == 18);
  REQUIRE(loader.failure_log().entries().size() == 1);
  CHECK(loader.failure_log().entries()[0].key == at + "/1, rows 0 to 5");
}

TEST_CASE("the fingerprint tells other files, rows and windows apart, not where the folder is") {
  const wick_test::temp_dir folder, other;
  const auto of = [](const wick_test::temp_dir& at, std::uint64_t row, std::int64_t length,
                     std::int64_t stride) {
    return wick::windows(wick::files(at.path().string() + "/*"), {.row_bytes = row}, length, stride)
        .fingerprint();
  };
  for (const auto* f : {&folder, &other}) {
    write(f->path().string() + "/0", 0, 6);
    write(f->path().string() + "/1", 0, 6);
  }
  const std::uint64_t same = of(folder, 12, 2, 1);
  CHECK(of(other, 12, 2, 1) == same);
  CHECK(of(folder, 6, 2, 1) != same);
  CHECK(of(folder, 12, 3, 1) != same);
  CHECK(of(folder, 12, 2, 2) != same);
  write(other.path().string() + "/1", 0, 7);
  CHECK(of(other, 12, 2, 1) != same);
}

TEST_CASE("files that are no rows are refused, by name") {
  const wick_test::temp_dir folder;
  const std::string path = folder.path().string() + "/series";
  write(path, 0, 5, 4);
  const wick::files one{path};
  CHECK(message_of([&] { return wick::windows(one, {.row_bytes = 12}, 2); }) ==
        path +
            ": windows: has 64 bytes, which aren't whole rows of 12 after 0; check .row_bytes and "
            ".header_bytes");
  CHECK(contains(message_of([&] { return wick::windows(one, {.row_bytes = 12, .header_bytes = 65}, 2); }),
                 "aren't whole rows of 12 after 65"));
  CHECK(message_of([&] { return wick::windows(one, {}, 2); }) ==
        "windows: a row of the files has 0 bytes; say how many by .row_bytes");
  CHECK(message_of([&] { return wick::windows(one, {.row_bytes = 12, .header_bytes = 4}, 6); }) ==
        "windows: the series has 5 rows, and a window takes 6; ask for shorter ones");
  CHECK(contains(message_of([&] { return wick::windows(one, {.row_bytes = 12, .header_bytes = 4}, 0); }),
                 "a length of 0 rows"));
  CHECK(contains(
      message_of([&] { return wick::windows(wick::files{path + ".missing"}, {.row_bytes = 12}, 2); }),
      path + ".missing: windows: "));
}

}  // namespace wick_test::file_windows_tests
