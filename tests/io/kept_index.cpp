#include <cstddef>
#include <cstdint>
#include <ctime>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/temp_dir.hpp"
#include <wick/ext/file_stamp.hpp>
#include <wick/ext/fingerprint.hpp>
#include <wick/io/detail/file_extents.hpp>
#include <wick/io/detail/kept_index.hpp>
#include <wick/pipeline/error.hpp>

namespace wick_test::kept_index_tests {

namespace {

using wick::detail::file_extents;
using wick::detail::kept_index;
using wick::ext::file_stamp;
using wick_test::temp_dir;

file_extents some_extents() {
  file_extents out;
  for (std::uint64_t i = 0; i < 70; ++i) out.add({i * 11, i % 10});
  return out;
}

}  // namespace

TEST_CASE("an index has the written extents, for files of the same name, size and time") {
  const temp_dir dir;
  const auto path = (dir / "kept").string();
  const file_extents extents = some_extents();
  const file_stamp stamp{.size = 1000, .seconds = -5, .nanoseconds = 7};
  kept_index::write(path, 42, {{"b/c.txt", &stamp, &extents}, {"a.txt", &stamp, &extents}});
  CHECK(kept_index(path, 41).size() == 0);
  const kept_index kept(path, 42);
  CHECK(kept.size() == 2);
  file_extents out;
  REQUIRE(kept.find("b/c.txt", stamp, out));
  CHECK(out.size() == 70);
  CHECK(out.at(69).offset == 69 * 11);
  CHECK(kept.find("a.txt", stamp, out));
  CHECK_FALSE(kept.find("c.txt", stamp, out));
  CHECK_FALSE(kept.find("a.txt", {.size = 999, .seconds = -5, .nanoseconds = 7}, out));
  CHECK_FALSE(kept.find("a.txt", {.size = 1000, .seconds = -4, .nanoseconds = 7}, out));
  CHECK_FALSE(kept.find("a.txt", {.size = 1000, .seconds = -5, .nanoseconds = 8}, out));
  CHECK(kept_index((dir / "none").string(), 42).size() == 0);
}

TEST_CASE("a file in the place of an index that can't be opened, or is none, is left as it is") {
  const temp_dir dir;
  const auto path = (dir / "kept").string();
  // A link to itself: root may open anything else.
  std::filesystem::create_symlink("kept", path);
  CHECK(wick_test::contains(wick_test::message_of([&] { kept_index(path, 42); }), "can't be opened",
                            "left as it is"));
  std::filesystem::remove(path);
  // Its magic is looked at before the rest: of a terabyte of something else 8 bytes are read.
  wick_test::write_file(path, "no index");
  std::filesystem::resize_file(path, std::uintmax_t{1} << 40);
  CHECK(wick_test::contains(wick_test::message_of([&] { kept_index(path, 42); }), "is not an index"));
}

TEST_CASE("whatever is written into an index, what it says lies within the file") {
  // A program that knows the checksum can write anything: it must be no more than wrong.
  const temp_dir dir;
  const auto path = (dir / "kept").string();
  const file_extents extents = some_extents();
  const file_stamp stamp{.size = 1000};
  kept_index::write(path, 42, {{"a.txt", &stamp, &extents}, {"b.txt", &stamp, &extents}});
  const std::string good = wick_test::read_file(path);
  std::mt19937_64 random(11);
  int taken = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string changed = good.substr(0, good.size() - 8);
    if (random() % 4 == 0) changed.resize(8 + random() % (changed.size() - 8));
    for (std::uint64_t n = random() % 4; n > 0 && changed.size() > 8; --n)
      changed[8 + random() % (changed.size() - 8)] = static_cast<char>(random());
    const std::uint64_t sum = wick::ext::fingerprint_hash().add(changed).value();
    for (int b = 0; b < 8; ++b) changed += static_cast<char>(sum >> (8 * b) & 0xFF);
    std::filesystem::remove(path);  // some file systems bring a file to the disk that is written over
    wick_test::write_file(path, changed);
    const kept_index kept(path, 42);
    for (const char* name : {"a.txt", "b.txt"}) {
      file_extents out;
      if (!kept.find(name, stamp, out)) continue;
      ++taken;
      for (std::uint64_t j = 0; j < out.size(); ++j) CHECK(out.at(j).offset + out.at(j).length <= 1000);
    }
  }
  CHECK(taken > 1000);
}

}  // namespace wick_test::kept_index_tests
