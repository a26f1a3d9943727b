// What a receipt says of a batch: which samples, in whose place, what went into them, what they drew.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#if __has_include(<nlohmann/json.hpp>)
#include <nlohmann/json.hpp>
#define WICK_TEST_JSON
#endif

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include <wick/core.hpp>

using wick::on_error;
using wick_test::cell;
using wick_test::contains;
using wick_test::message_of;
using wick_test::numbers;

namespace {

cell draws(cell c, wick::context& context) {
  for (std::uint8_t& byte : c.data) byte = static_cast<std::uint8_t>(context.random()());
  return c;
}
cell fails(cell c) {
  if (c.target % 7 == 3) throw wick::error("it broke");
  return c;
}
auto failing(std::uint64_t rank = 0, std::uint64_t world = 1) {
  return numbers{60} | wick::shuffle() | wick::shard(rank, world) | wick::map("draws", draws) |
         wick::map("fails", fails) | wick::array_batch(12);
}
/// Keys of any bytes.
struct oddly_named : numbers {
  std::string key(std::uint64_t i) const {
    return std::string("a\"b\\\n\x01\0\xFF\xC3\xA4/", 11) + std::to_string(i);
  }
};

#ifdef WICK_TEST_JSON
void check_same(const nlohmann::json& j, const std::vector<wick::receipt::draw>& draws) {
  REQUIRE(j.size() == draws.size());
  for (std::size_t i = 0; i < draws.size(); ++i) {
    CHECK(j[i].at("stage") == draws[i].stage);
    CHECK(j[i].at("number") == draws[i].number);
    CHECK(j[i].at("count") == draws[i].count);
    CHECK(j[i].at("values").get<std::vector<std::uint32_t>>() == draws[i].values);
  }
}
template <class Part>
void check_part(const nlohmann::json& j, const Part& p) {
  CHECK(j.at("index") == p.index);
  check_same(j.at("draws"), p.draws);
  REQUIRE(j.at("others").size() == p.others.size());
  for (std::size_t i = 0; i < p.others.size(); ++i) {
    CHECK(j.at("others")[i].at("stage") == p.others[i].stage);
    CHECK(j.at("others")[i].at("number") == p.others[i].number);
    check_part(j.at("others")[i], p.others[i]);
  }
}
/// The JSON parses, and says what the struct does.
void check_json(const wick::receipt& r) {
  const nlohmann::json j = nlohmann::json::parse(r.to_json());
  CHECK(j.at("seed") == r.seed);
  CHECK(j.at("epoch") == r.epoch);
  CHECK(j.at("batch") == r.batch);
  REQUIRE(j.at("samples").size() == r.samples.size());
  for (std::size_t i = 0; i < r.samples.size(); ++i) {
    const nlohmann::json& s = j.at("samples")[i];
    CHECK(s.at("slot") == r.samples[i].slot);
    CHECK(s.at("position") == r.samples[i].position);
    CHECK(s.at("rank") == r.samples[i].rank);
    CHECK(s.contains("in_place_of") == r.samples[i].substitute());
    if (r.samples[i].substitute()) CHECK(s.at("in_place_of").at("index") == r.samples[i].planned);
    check_part(s, r.samples[i]);
  }
  check_same(j.at("draws"), r.draws);
  REQUIRE(j.at("failures").size() == r.failures.size());
  for (std::size_t i = 0; i < r.failures.size(); ++i)
    CHECK(j.at("failures")[i].at("position") == r.failures[i].position);
}
#else
void check_json(const wick::receipt&) {}
#endif

}  // namespace

TEST_CASE("a receipt names the samples of a batch and the numbers that each drew") {
  wick::loader l(numbers{50} | wick::shuffle() | wick::map("draws", draws) | wick::array_batch(8),
                 {.seed = 3});
  const auto batches = wick_test::targets_of(l, 2);
  const wick::receipt r = l.receipt(2, 4);
  CHECK(r.seed == 3);
  CHECK(r.epoch == 2);
  CHECK(r.batch == 4);
  REQUIRE(r.samples.size() == 8);
  const auto batch = l.replay(2, 4);
  for (std::size_t i = 0; i < 8; ++i) {
    const wick::receipt::sample& s = r.samples[i];
    CHECK(s.slot == i);
    CHECK(s.position == 32 + i);
    CHECK(static_cast<std::int64_t>(s.index) == batches[4][i]);
    CHECK(s.key == "number " + std::to_string(s.index));
    CHECK(s.planned_key == s.key);
    CHECK_FALSE(s.substitute());
    CHECK(s.rank == 0);
    REQUIRE(s.draws.size() == 1);
    CHECK(s.draws[0].stage == "draws");
    CHECK(s.draws[0].number == 1);
    CHECK(s.draws[0].count == 8);
    REQUIRE(s.draws[0].values.size() == 8);
    const std::uint8_t* const data = batch.data.template as<std::uint8_t>() + 8 * i;
    for (std::size_t b = 0; b < 8; ++b) CHECK(data[b] == static_cast<std::uint8_t>(s.draws[0].values[b]));
  }
  CHECK(r.draws.empty());
  CHECK(r.failures.empty());
  check_json(r);
}

TEST_CASE("a receipt says which sample came in whose place, and what failed") {
  wick::loader l(failing(), {.seed = 3, .on_error = on_error(on_error::replace)});
  int substitutes = 0;
  std::size_t failures = 0;
  for (std::uint64_t b = 0; b < l.batches(); ++b) {
    const auto batch = l.replay(0, b);
    const wick::receipt r = l.receipt(0, b);
    check_json(r);
    REQUIRE(r.samples.size() == 12);
    failures += r.failures.size();
    for (const wick::receipt::sample& s : r.samples) {
      CHECK(batch.target.template as<std::int64_t>()[s.slot] == static_cast<std::int64_t>(s.index));
      CHECK(s.substitute() == (s.planned % 7 == 3));
      CHECK(s.index % 7 != 3);
      CHECK(s.planned_key == "number " + std::to_string(s.planned));
      REQUIRE(s.draws.size() == 1);  // of the sample that came, not of those that failed
      substitutes += s.substitute();
      const bool told =
          std::any_of(r.failures.begin(), r.failures.end(), [&](const wick::failure_log_entry& f) {
            return f.position == s.position && f.substitute == s.key;
          });
      CHECK(told == s.substitute());
    }
  }
  CHECK(substitutes == 9);
  for (const auto& b : l.epoch(0)) static_cast<void>(b);
  CHECK(l.failure_log().entries().size() == failures);
}

TEST_CASE("a sample left out is not among a receipt's samples, and slots are rows of the batch") {
  wick::loader l(failing(), {.seed = 3, .on_error = on_error(on_error::skip)});
  std::size_t samples = 0, failures = 0;
  for (std::uint64_t b = 0; b < l.batches(); ++b) {
    const auto batch = l.replay(0, b);
    const wick::receipt r = l.receipt(0, b);
    check_json(r);
    REQUIRE(static_cast<std::int64_t>(r.samples.size()) == batch.target.extents()[0]);
    for (std::size_t i = 0; i < r.samples.size(); ++i) {
      CHECK(r.samples[i].slot == i);
      CHECK(batch.target.template as<std::int64_t>()[i] == static_cast<std::int64_t>(r.samples[i].index));
    }
    samples += r.samples.size();
    failures += r.failures.size();
  }
  CHECK(samples == 51);
  CHECK(failures == 9);
}

TEST_CASE("a batch that fails has a receipt, too") {
  wick::loader l(failing(), {.seed = 3});
  const wick::receipt r = l.receipt(0, 0);
  check_json(r);
  REQUIRE(!r.failures.empty());
  CHECK(r.samples.size() + r.failures.size() == 12);
  const std::string thrown = message_of([&] { l.replay(0, 0); });
  CHECK(contains(thrown, r.failures[0].key));
  CHECK(contains(thrown, "it broke"));
}

TEST_CASE("a batch that fails beside samples that are left out has none of them in its receipt") {
  // The later a sample stands, the earlier it fails.
  const auto late = [](std::int64_t v, wick::context& c) -> wick::task<std::int64_t> {
    auto pause = wick::sleep_for(std::chrono::milliseconds(3 * (12 - c.position())), c);
    co_await pause;
    if (v % 2 == 1) throw wick::error("left out");
    co_return v;
  };
  const auto fatal = [](std::int64_t v) {
    if (v == 6) throw wick::error("it broke");
    return v;
  };
  std::vector<std::int64_t> values(12);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i);
  wick::loader l(
      wick::from(values) | wick::map("late", late) | wick::map("fatal", fatal) | wick::array_batch(12),
      {.workers = 2, .io_threads = 16, .on_error = on_error(on_error::skip).at("fatal", on_error::fail)});
  const wick::receipt r = l.receipt(0, 0);
  CHECK(r.samples.size() == 5);
  CHECK(r.failures.size() == 7);
}

TEST_CASE("a receipt of all ranks says whose each sample is") {
  wick::loader l(failing(1, 3), {.seed = 3, .on_error = on_error(on_error::replace)});
  const wick::receipt mine = l.receipt(0, 2), all = l.receipt(0, 2, {.all_ranks = true});
  REQUIRE(mine.samples.size() == 4);
  REQUIRE(all.samples.size() == 12);
  for (std::size_t i = 0; i < 12; ++i) CHECK(all.samples[i].rank == i / 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(mine.samples[i].rank == 1);
    CHECK(mine.samples[i].key == all.samples[4 + i].key);
    CHECK(mine.samples[i].slot == i);
  }
  CHECK(l.receipt(0, 2, {.rank = 2}).samples[0].key == all.samples[8].key);
  wick::loader unbatched(numbers{100} | wick::shard(0, 2) | wick::map("draws", draws), {.workers = 1});
  CHECK(unbatched.receipt(0, 15).samples.at(0).rank == 0);
  CHECK(unbatched.receipt(0, 16).samples.at(0).rank == 1);
  CHECK(unbatched.receipt(0, 97).samples.at(0).rank == 0);  // of the last four
  CHECK(unbatched.receipt(0, 98).samples.at(0).rank == 1);
}

TEST_CASE("a receipt has what went into a sample, and what went into that") {
  const auto add = [](cell own, std::vector<cell>& others, wick::context& c) {
    for (const cell& o : others) own.target += 1000 * o.target;
    own.data[0] = static_cast<std::uint8_t>(c.random()());
    return own;
  };
  wick::loader l(numbers{40} | wick::shuffle() | wick::map("draws", draws) | wick::map("fails", fails) |
                     wick::with_others(1, {.p = 0.7}) | wick::join("first", add) | wick::with_others(2) |
                     wick::join("second", add) | wick::array_batch(10),
                 {.seed = 3, .workers = 2, .on_error = on_error(on_error::replace)});
  int second = 0;
  for (std::uint64_t b = 0; b < l.batches(); ++b) {
    const auto batch = l.replay(1, b);
    const wick::receipt r = l.receipt(1, b);
    check_json(r);
    for (const wick::receipt::sample& s : r.samples) {
      std::int64_t expected = static_cast<std::int64_t>(s.index);
      for (const wick::receipt::other& o : s.others) {
        CHECK(o.stage == "with_others");
        CHECK(o.index % 7 != 3);
        CHECK(o.key == "number " + std::to_string(o.index));
        std::int64_t sum = static_cast<std::int64_t>(o.index);
        for (const wick::receipt::other& of_other : o.others)
          sum += 1000 * static_cast<std::int64_t>(of_other.index);
        second += static_cast<int>(o.others.size());
        const bool of_first = o.number == 3;
        CHECK((of_first || o.number == 5));
        REQUIRE(o.draws.size() == (of_first ? 1 : 2));
        CHECK(o.draws[0].stage == "draws");
        if (!of_first) CHECK(o.draws[1].stage == "first");
        CHECK(o.draws[0].values != s.draws[0].values);
        // Those of the first stage are added by it, those of the second behind that.
        expected += 1000 * sum;
      }
      CHECK(batch.target.template as<std::int64_t>()[s.slot] == expected);
      REQUIRE(s.draws.size() == 3);
      CHECK(s.draws[2].stage == "second");
      CHECK(batch.data.template as<std::uint8_t>()[8 * s.slot] ==
            static_cast<std::uint8_t>(s.draws[2].values[0]));
    }
  }
  CHECK(second > 20);
}

TEST_CASE("a receipt has the draws of stages behind batch(), and of a sample the first 256") {
  using batch = wick::sample<wick::array, wick::array>;
  wick::loader l(numbers{40} |
                     wick::map("many",
                               [](cell c, wick::context& context) {
                                 for (int i = 0; i < 1000; ++i) context.random()();
                                 return c;
                               }) |
                     wick::array_batch(10) |
                     wick::map("whole",
                               [](batch b, wick::context& c) {
                                 c.random().uniform();
                                 return b;
                               }),
                 {.seed = 3});
  const wick::receipt r = l.receipt(1, 2);
  check_json(r);
  REQUIRE(r.draws.size() == 1);
  CHECK(r.draws[0].stage == "whole");
  CHECK(r.draws[0].number == 2);
  CHECK(r.draws[0].count == 2);
  wick::random_stream same(3, 1, 20, 2);
  CHECK(r.draws[0].values == std::vector<std::uint32_t>{same(), same()});
  for (const auto& s : r.samples) {
    REQUIRE(s.draws.size() == 1);
    CHECK(s.draws[0].count == 1000);
    REQUIRE(s.draws[0].values.size() == 256);
    wick::random_stream stream(3, 1, s.position, 0);
    for (const std::uint32_t value : s.draws[0].values) REQUIRE(value == stream());
  }
}

TEST_CASE("a receipt has the numbers that hang on the sample alone, for one that a cache keeps") {
  const auto same = [](cell c) { return c; };
  wick::loader l(numbers{30} | wick::shuffle() | wick::map("draws", draws) |
                     wick::cache_in_memory({.bytes = 1, .freeze_random = true}) | wick::map("same", same) |
                     wick::array_batch(6),
                 {.seed = 6});
  const wick::receipt r = l.receipt(1, 2);
  const auto batch = l.replay(1, 2);
  REQUIRE(r.samples.size() == 6);
  for (std::size_t i = 0; i < 6; ++i) {
    REQUIRE(r.samples[i].draws.size() == 1);
    REQUIRE(r.samples[i].draws[0].values.size() == 8);
    const std::uint8_t* const data = batch.data.template as<std::uint8_t>() + 8 * i;
    for (std::size_t b = 0; b < 8; ++b)
      CHECK(data[b] == static_cast<std::uint8_t>(r.samples[i].draws[0].values[b]));
  }
}

TEST_CASE("a receipt is valid JSON whatever keys are") {
  wick::loader l(oddly_named{} | wick::map("f\"\xFE", draws) | wick::array_batch(3), {.seed = 3});
  const wick::receipt r = l.receipt(0, 1);
  CHECK(r.samples[1].key == oddly_named{}.key(4));
#ifdef WICK_TEST_JSON
  const nlohmann::json j = nlohmann::json::parse(r.to_json());
  CHECK(j.at("samples")[1].at("key") == std::string("a\"b\\\n\x01\0\\xff\xC3\xA4/4", 15));
  CHECK(j.at("samples")[1].at("draws")[0].at("stage") == "f\"\\xfe");
#endif
}
