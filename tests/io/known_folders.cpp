#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "support/doctest.hpp"
#include <wick/io/detail/known_folders.hpp>

namespace wick_test::known_folders_tests {

using wick::detail::growing_map;
using wick::detail::known_folders;

TEST_CASE("a map of folders keeps the last note of each, however many there are") {
  static constinit growing_map kept_for_good;  // it never gives memory back
  growing_map* const map = &kept_for_good;
  const auto key = [](std::uint64_t i) { return (i * 0x9E3779B97F4A7C15u) | 1; };
  constexpr std::uint64_t many = 100'000;
  CHECK(map->find(key(1)) == 0);
  for (std::uint64_t i = 0; i < many; ++i) map->note(key(i), i + 1);
  std::uint64_t kept = 0;
  for (std::uint64_t i = 0; i < many; ++i) {
    const std::uint64_t value = map->find(key(i));
    REQUIRE((value == 0 || value == i + 1));
    kept += value != 0;
  }
  CHECK(kept == many);
  map->note(key(5), 0);
  CHECK(map->find(key(5)) == 0);
  map->note(key(5), 7);
  CHECK(map->find(key(5)) == 7);
}

TEST_CASE("threads that note the same folders at once agree, and who reads finds what one of them noted") {
  static constinit growing_map kept_for_good;  // it never gives memory back
  growing_map* const map = &kept_for_good;
  constexpr std::uint64_t many = 2000;
  const auto key = [](std::uint64_t i) { return (i * 0x9E3779B97F4A7C15u) | 1; };
  std::atomic<int> wrong{0};
  std::vector<std::thread> team;
  for (int t = 0; t < 4; ++t) {
    team.emplace_back([&] {
      for (std::uint64_t i = 0; i < many; ++i) {
        const std::uint64_t before = map->find(key(i));
        wrong += before != 0 && before != i + 1;
        map->note(key(i), i + 1);
        wrong += map->find(key(i)) != i + 1;
      }
    });
  }
  for (std::thread& t : team) t.join();
  CHECK(wrong == 0);
}

TEST_CASE("a place is local, remote or unknown, and a folder is the part before the last slash") {
  static constinit known_folders places;
  const std::uint64_t a = known_folders::folder_of("/data/a/1.jpg"),
                      b = known_folders::folder_of("/data/b/1.jpg");
  CHECK(a == known_folders::folder_of("/data/a/2.jpg"));
  CHECK(a != b);
  CHECK(known_folders::folder_of("1.jpg") != known_folders::folder_of("/1.jpg"));
  CHECK(places.find(a).what == known_folders::unknown);
  places.note_local(a, 0);
  places.note_remote(b);
  CHECK(places.find(a).what == known_folders::local);
  CHECK(places.find(a).device == 0);
  CHECK(places.find(b).what == known_folders::remote);
  places.forget(a);
  CHECK(places.find(a).what == known_folders::unknown);
  CHECK(places.tells_what_is_cached(5));
  places.note_silent(5);
  CHECK(!places.tells_what_is_cached(5));
  CHECK(places.tells_what_is_cached(6));
}

}  // namespace wick_test::known_folders_tests
