// The account of a folder of JPEGs of which one in a hundred is damaged, in ten ways, under every policy.
#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "support/doctest.hpp"
#include "support/picture.hpp"
#include "support/temp_dir.hpp"
#include <wick/core.hpp>

namespace wick_test::damaged_tests {

using wick::error_action;
using wick::on_error;

namespace {

constexpr std::size_t pictures = 20'000, ways = 10;

/// One picture damaged in each of ten ways; for some a link has to be made instead of a file.
struct damage {
  const char* stage;
  std::string (*of)(const std::string& jpeg);
};

/// A table of codes that claims to have 255 of each length.
std::string with_broken_codes(std::string jpeg) {
  const std::size_t table = jpeg.find("\xFF\xC4");
  for (std::size_t i = 0; i < 16; ++i) jpeg.at(table + 5 + i) = '\xFF';
  return jpeg;
}

const std::array<damage, ways> all_damage = {{
    {"read", [](const std::string&) { return std::string("a link to nothing"); }},
    {"read", [](const std::string&) { return std::string("a link to a folder"); }},
    {"decode", [](const std::string&) { return std::string(); }},
    {"decode", [](const std::string& j) { return j.substr(0, j.size() / 2); }},
    {"decode", [](const std::string& j) { return j.substr(0, 25); }},
    {"decode", [](const std::string& j) { return "GIF89a" + j.substr(6); }},
    {"decode", [](const std::string& j) { return std::string(j.size(), '\0'); }},
    {"decode", [](const std::string& j) { return with_jpeg_size(j, 65535, 65535); }},
    {"decode", [](const std::string&) { return std::string("<!DOCTYPE html><title>404 Not Found</title>"); }},
    {"decode", [](const std::string& j) { return with_broken_codes(j); }},
}};

/// Position i of the folder; damaged when i % 100 is 37, in the way i / 100 % 10.
struct jpegs {
  temp_dir folder;
  std::vector<fs::path> paths;
  std::set<std::string> damaged;

  jpegs() {
    std::vector<std::string> good;
    for (std::uint64_t k = 0; k < 16; ++k) good.push_back(encode_jpeg(photo(16, 16, 3, k + 1)));
    for (std::size_t i = 0; i < pictures; ++i) {
      const fs::path path = folder.path() / std::to_string(i % 10) / (std::to_string(i) + ".jpg");
      paths.push_back(path);
      const std::string& jpeg = good[i % good.size()];
      if (i % 100 != 37) {
        write_file(path, jpeg);
        continue;
      }
      damaged.insert(path.string());
      const std::size_t way = i / 100 % ways;
      if (way == 0)
        fs::create_symlink("nowhere", path);
      else if (way == 1)
        fs::create_symlink(folder.path(), path);
      else
        write_file(path, all_damage[way].of(jpeg));
    }
  }
};

}  // namespace

TEST_CASE(
    "of 20,000 JPEGs with 200 damaged in ten ways the failure log has exactly those, under every policy, and "
    "none is lost") {
  const jpegs data;
  REQUIRE(data.damaged.size() == pictures / 100);
  const temp_dir lists;
  const auto make = [&](std::uint64_t rank = 0, std::uint64_t world = 1) {
    return wick::files(data.paths) | wick::shuffle() | wick::shard(rank, world) | wick::read() |
           wick::decode() | wick::array_batch(64);
  };
  struct outcome {
    std::set<std::string> keys;
    std::size_t delivered = 0, thrown = 0;
    wick::epoch_fingerprint print;
  };
  const auto run = [&](auto p, wick::loader_options o) {
    o.seed = 5;
    o.workers = 2;
    o.content_fingerprint = true;
    wick::loader l(std::move(p), o);
    outcome out;
    l.epoch(0);
    for (;;) {
      try {
        const auto b = l.next();
        if (!b) break;
        out.delivered += static_cast<std::size_t>(b->extents()[0]);
      } catch (const wick::sample_error&) {
        ++out.thrown;
      }
    }
    out.print = l.fingerprint(0);
    for (const auto& e : l.failure_log().entries()) {
      out.keys.insert(e.key);
      const std::size_t i = std::stoul(fs::path(e.key).stem().string());
      CHECK(e.stage == all_damage[i / 100 % ways].stage);
      CHECK(e.kind == (o.quarantine.empty() ? wick::error_kind::data : wick::error_kind::quarantined));
      CHECK(!e.text.empty());
    }
    if (o.quarantine.empty()) l.write_quarantine(lists / "bad.jsonl");
    return out;
  };
  const outcome failing = run(make(), {});
  CHECK(failing.keys == data.damaged);
  CHECK(failing.thrown > 100);

  const outcome skipping = run(make(), {.on_error = on_error(on_error::skip)});
  CHECK(skipping.keys == data.damaged);
  CHECK(skipping.delivered == pictures - data.damaged.size());

  const outcome retrying = run(make(), {.on_error = on_error(on_error::retry(2).then(on_error::skip))});
  CHECK(retrying.keys == data.damaged);
  CHECK(retrying.print == skipping.print);

  const outcome replacing = run(make(), {.on_error = on_error(on_error::replace)});
  CHECK(replacing.keys == data.damaged);
  CHECK(replacing.delivered == pictures);

  const outcome known =
      run(make(), {.on_error = on_error(on_error::replace), .quarantine = {lists / "bad.jsonl"}});
  CHECK(known.keys == data.damaged);
  CHECK(known.print == replacing.print);

  outcome ranks;
  for (std::uint64_t r = 0; r < 3; ++r) {
    const outcome part = run(make(r, 3), {.on_error = on_error(on_error::replace)});
    ranks.keys.insert(part.keys.begin(), part.keys.end());
    ranks.print += part.print;
  }
  CHECK(ranks.keys == data.damaged);
  CHECK(ranks.print == replacing.print);
}

}  // namespace wick_test::damaged_tests
