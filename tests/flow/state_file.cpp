#include <atomic>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/temp_dir.hpp"
#include <wick/flow/state_file.hpp>

using wick_test::contains;
using wick_test::message_of;

namespace {

std::size_t files_in(const std::filesystem::path& folder) {
  std::size_t n = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++n;
  return n;
}

}  // namespace

TEST_CASE("what is written is read, over an older one too, and nothing else is left in the folder") {
  const wick_test::temp_dir folder;
  const auto path = folder.path() / "state";
  for (const std::size_t size : {0, 1, 188, 4096}) {
    const std::vector<std::byte> bytes(size, std::byte{7});
    wick::write_state(path, bytes);
    CHECK(wick::read_state(path) == bytes);
  }
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("who reads while it is written finds a whole state, the old or the new one") {
  const wick_test::temp_dir folder;
  const auto path = folder.path() / "state";
  wick::write_state(path, std::vector<std::byte>(3000, std::byte{0}));
  std::atomic<bool> done{false};
  std::atomic<int> torn{0}, reads{0};
  std::thread reader([&] {
    do {
      const auto got = wick::read_state(path);
      if (got.size() != 3000) ++torn;
      for (const std::byte b : got) torn += b != got.front();
      ++reads;
    } while (!done);
  });
  for (int i = 1; i < 100; ++i)
    wick::write_state(path, std::vector<std::byte>(3000, static_cast<std::byte>(i)));
  done = true;
  reader.join();
  CHECK(torn == 0);
  CHECK(reads > 0);
}

TEST_CASE("a file that can't be read or written is named, and the old one stays") {
  const wick_test::temp_dir folder;
  const auto path = folder.path() / "state";
  CHECK(
      contains(message_of([&] { return wick::read_state(path); }), "state: can't be opened", "No such file"));
  CHECK(contains(message_of([&] {
                   wick::write_state(folder.path() / "none" / "state", {});
                   return 0;
                 }),
                 "none/state", "No such file"));
  std::filesystem::create_directory(path);
  std::ofstream(path / "x") << "not empty";
  CHECK(contains(message_of([&] {
                   wick::write_state(path, {});
                   return 0;
                 }),
                 "can't take its name"));
  CHECK(files_in(folder.path()) == 1);
  const auto large = folder.path() / "large";
  std::ofstream(large) << std::string(10'000, 'x');
  CHECK(contains(message_of([&] { return wick::read_state(large); }), "is it the right file?"));
}
