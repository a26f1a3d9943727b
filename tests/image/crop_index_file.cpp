// decode({.crop_index_file = ...}): places in JPEGs, kept from run to run.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/jpeg_writer.hpp"
#include "../support/message_of.hpp"
#include "../support/picture.hpp"
#include "../support/temp_dir.hpp"
#include <wick/batch/batch.hpp>
#include <wick/codec/detail/crop_index.hpp>
#include <wick/image/decode.hpp>
#include <wick/loader/loader.hpp>
#include <wick/transforms/crop.hpp>

namespace wick_test::crop_index_file_tests {

#ifdef WICK_TEST_LIBJPEG_TURBO

using wick::detail::crop_index, wick::detail::jpeg_place;

namespace {

/// A source of these files.
struct encoded_pictures {
  std::uint64_t size() const { return files.size(); }
  wick::sample<wick::bytes> at(std::uint64_t i) const { return {as_bytes(files[i]), 0}; }
  std::vector<std::string> files;
};

encoded_pictures some_pictures(std::uint64_t count = 12) {
  encoded_pictures out;
  for (std::uint64_t i = 0; i < count; ++i)
    out.files.push_back(encode_jpeg(photo(150 + static_cast<int>(i) * 9, 120, 3, i)));
  return out;
}

struct run {
  std::vector<std::uint64_t> fingerprints;
  std::string report;
};

/// Two epochs of a loader of two workers, which is gone then.
run run_of(const encoded_pictures& source, const wick::decode_options& options) {
  wick::executor workers({.workers = 2});
  wick::loader loader(source | wick::decode(options) | wick::random_resized_crop(32) | wick::array_batch(4),
                      {.seed = 1, .executor = &workers, .content_fingerprint = true});
  run out;
  for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
    for (auto& batch : loader.epoch(epoch)) (void)batch;
    out.fingerprints.push_back(loader.fingerprint(epoch).value);
  }
  out.report = loader.report().to_string();
  return out;
}

/// Decodes a part of the picture.
void cut(const wick::detail::decode_stage& stage, const std::string& file) {
  std::vector<std::byte> slot(32 * 32 * 3);
  wick::context context = context_at(0);
  wick::lazy_image picture = stage(as_bytes(file), context);
  picture.crop({60, 60, 32, 32});
  picture.write_to({slot.data(), false});
}

std::size_t pictures_in(const std::string& file) {
  crop_index index(std::size_t{1} << 30);
  REQUIRE(index.load(std::as_bytes(std::span(file))));
  CHECK_FALSE(index.changed());
  return index.pictures();
}

}  // namespace

TEST_CASE("the file is written at the end of a run, and used by the next") {
  const temp_dir dir;
  const std::string path = (dir.path() / "train.index").string();
  const encoded_pictures source = some_pictures();
  const auto expected = run_of(source, {.crop_index_bytes = 0}).fingerprints;
  const run first = run_of(source, {.crop_index_file = path});
  CHECK(first.fingerprints == expected);
  CHECK_FALSE(contains(first.report, "crop index"));
  const std::size_t pictures = pictures_in(read_file(path));
  CHECK(pictures > 6);
  const run second = run_of(source, {.crop_index_file = path});
  CHECK(second.fingerprints == expected);
  CHECK_FALSE(contains(second.report, "crop index"));
  CHECK(pictures_in(read_file(path)) >= pictures);
}

TEST_CASE("a run that finds nothing new leaves the file alone") {
  const temp_dir dir;
  const std::string path = (dir.path() / "train.index").string();
  const encoded_pictures source = some_pictures(4);
  const auto crop_all = [&] {
    const wick::detail::decode_stage stage = wick::decode({.crop_index_file = path});
    for (const std::string& file : source.files) cut(stage, file);
  };
  crop_all();
  const std::string written = read_file(path);
  const auto time = fs::last_write_time(path);
  crop_all();
  CHECK(read_file(path) == written);
  CHECK(fs::last_write_time(path) == time);
}

TEST_CASE("a file that is damaged anywhere is not used, the report says so, and it is written again") {
  const temp_dir dir;
  const std::string path = (dir.path() / "train.index").string();
  const encoded_pictures source = some_pictures(4);
  const run first = run_of(source, {.crop_index_file = path});
  const std::string good = read_file(path);
  std::vector<std::string> damaged{
      "", "x", good + "x", good.substr(0, good.size() - 1), good.substr(0, 20), std::string(1000, '\0')};
  for (std::size_t at = 0; at < good.size(); at += 37) {
    damaged.push_back(good);
    damaged.back()[at] = static_cast<char>(good[at] ^ 0x10);
  }
  for (const std::string& file : damaged) {
    crop_index index(std::size_t{1} << 30);
    CHECK_FALSE(index.load(std::as_bytes(std::span(file))));
    CHECK(index.pictures() == 0);
  }
  for (std::size_t i = 0; i < damaged.size(); i += 10) {
    write_file(path, damaged[i]);
    const run next = run_of(source, {.crop_index_file = path});
    CHECK(next.fingerprints == first.fingerprints);
    CHECK(contains(next.report, "train.index: damaged", "written again"));
    CHECK(pictures_in(read_file(path)) > 0);
  }
}

TEST_CASE("places in a file that are wrong with a right checksum are found, dropped and replaced") {
  const temp_dir dir;
  const std::string path = (dir.path() / "train.index").string();
  const encoded_pictures source = some_pictures();
  const run first = run_of(source, {.crop_index_file = path});
  const std::string good = read_file(path);
  // By the layout: key, count and total in front of the places, after 24 bytes.
  std::string wrong = good;
  for (std::size_t at = 24; at + 8 < wrong.size();) {
    std::uint32_t count = 0;
    std::memcpy(&count, wrong.data() + at + 8, sizeof count);
    at += 16;
    for (std::uint32_t i = 0; i < count; ++i, at += sizeof(jpeg_place)) {
      if (i % 3 == 1) wrong[at + 4] = static_cast<char>(wrong[at + 4] ^ 1);  // a DC coefficient
    }
  }
  const std::uint64_t sum = crop_index::key_of(std::as_bytes(std::span(wrong)).first(wrong.size() - 8));
  std::memcpy(wrong.data() + wrong.size() - 8, &sum, sizeof sum);
  REQUIRE(pictures_in(wrong) == pictures_in(good));
  write_file(path, wrong);
  const run second = run_of(source, {.crop_index_file = path});
  CHECK(second.fingerprints == first.fingerprints);
  CHECK(contains(second.report, "the crop index was wrong at"));
  const run third = run_of(source, {.crop_index_file = path});
  CHECK(third.fingerprints == first.fingerprints);
}

TEST_CASE("runs that have seen other pictures add to the file") {
  const temp_dir dir;
  const std::string path = (dir.path() / "train.index").string();
  encoded_pictures all = some_pictures(), some{{all.files.begin(), all.files.begin() + 6}},
                   others{{all.files.begin() + 6, all.files.end()}};
  const wick::decode_options options{.crop_index_file = path};
  {
    // As two ranks: both begin without the file.
    const wick::detail::decode_stage a = wick::decode(options), b = wick::decode(options);
    for (const std::string& file : some.files) cut(a, file);
    for (const std::string& file : others.files) cut(b, file);
  }
  CHECK(pictures_in(read_file(path)) == all.files.size());
}

TEST_CASE("ranks that end at the same time all add to the file") {
  constexpr std::size_t ranks = 8, each = 4;
  const encoded_pictures all = some_pictures(ranks * each);
  for (int round = 0; round < 5; ++round) {
    const temp_dir dir;
    const std::string path = (dir.path() / "train.index").string();
    std::vector<std::optional<wick::detail::decode_stage>> stages(ranks);  // each with an index of its own
    for (std::size_t r = 0; r < ranks; ++r) {
      stages[r].emplace(wick::decode({.crop_index_file = path}));
      for (std::size_t i = 0; i < each; ++i) cut(*stages[r], all.files[r * each + i]);
    }
    std::vector<std::thread> ends;
    for (auto& stage : stages) ends.emplace_back([&stage] { stage.reset(); });
    for (std::thread& t : ends) t.join();
    CHECK(pictures_in(read_file(path)) == ranks * each);
    CHECK(std::distance(std::filesystem::directory_iterator(dir.path()), {}) == 1);  // and no lock
  }
}

TEST_CASE("a file that can't be read or written is no error") {
  const temp_dir dir;
  const encoded_pictures source = some_pictures(4);
  const auto expected = run_of(source, {.crop_index_bytes = 0}).fingerprints;
  const run in_no_folder =
      run_of(source, {.crop_index_file = (dir.path() / "none" / "train.index").string()});
  CHECK(in_no_folder.fingerprints == expected);
  const run a_folder = run_of(source, {.crop_index_file = dir.path().string()});
  CHECK(a_folder.fingerprints == expected);
  CHECK(contains(a_folder.report, "not a file"));
  CHECK(contains(message_of([&] { return wick::decode({.crop_index_bytes = 0, .crop_index_file = "x"}), 0; }),
                 ".crop_index_file", "leave one of them out"));
}

#endif

}  // namespace wick_test::crop_index_file_tests
