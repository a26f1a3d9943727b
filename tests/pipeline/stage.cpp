#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "support/doctest.hpp"
#include <wick/batch/batch.hpp>
#include <wick/cache/cache_in_memory.hpp>
#include <wick/ext/stage.hpp>
#include <wick/loader/loader.hpp>
#include <wick/pipeline/filter.hpp>
#include <wick/pipeline/pipeline.hpp>
#include <wick/sampling/order.hpp>
#include <wick/sampling/subset.hpp>

namespace wick_test::stage_tests {

namespace {

struct own {
  static constexpr wick::ext::stage_traits traits{.name = "own", .kind = wick::ext::stage_kind::data};
  int operator()(int x) const { return x; }
};
/// Traits of another type are a member like any other.
struct own_traits {
  const char* name = "other";
};
struct with_other_traits {
  [[maybe_unused]] static constexpr own_traits traits{};
  int operator()(int x) const { return x + 1; }
};

/// A callable whose members have the names of everything that a stage can announce, as functions that do
/// something else.
struct crowded {
  using callable_type = std::string;
  using materialized_type = std::string;
  using read_type = std::string;
  using stage_kind = std::string;
  using stage_hooks = std::string;
  static constexpr int name = 7;
  static constexpr bool keeps_samples = true, keeps_elsewhere = true, caches = true, packs = true;
  static constexpr bool gathers = true, gathers_others = true, drops_samples = true, takes_edits = true;
  static constexpr bool mixes = true, keeps_objects = true, fixed_samples = true, has_callable = true;
  static constexpr int in_slot = 3;
  static constexpr double traits = 0.5;
  mutable std::uint64_t calls = 0;

  std::uint64_t fingerprint() const { return ++calls; }  // differs at each call
  std::string label() const { throw 1; }
  std::string note() const { throw 1; }
  void attach(wick::executor&) { throw 1; }
  void refresh() { throw 1; }
  template <class>
  void refresh(const auto&) {
    throw 1;
  }
  template <class, class...>
  static consteval bool check() {
    return false;
  }
  bool feeds_device() const { throw 1; }
  bool frozen() const { throw 1; }
  void deliver(auto&) const { throw 1; }
  auto around(auto, auto) const { throw 1; }
  void slab_memory() { throw 1; }
  std::string& callable() { throw 1; }
  std::uint64_t length(std::uint64_t) const { throw 1; }
  std::string key(std::uint64_t) const { throw 1; }
  std::uint64_t prepare(std::uint64_t, std::uint64_t, std::uint64_t, std::uint32_t) const { throw 1; }
  void decide() const { throw 1; }
  void draw() const { throw 1; }
  void apply() const { throw 1; }
  void find() const { throw 1; }
  void ask() const { throw 1; }
  void open() const { throw 1; }
  void begin() const { throw 1; }
  void end() const { throw 1; }
  // A vocabulary has these two, and isn't a source because of them.
  std::uint64_t size() const { throw 1; }
  int at(std::uint64_t) const { throw 1; }

  int operator()(int x) const { return 3 * x; }
};
int apply_stage(const crowded&, int, wick::context&) { throw 1; }

/// The same as the data members that such names may be as well.
struct crowded_with_data {
  int fingerprint = 1, label = 2, note = 3, attach = 4, check = 5, slab_memory = 6, around = 7, deliver = 8;
  int refresh = 9, name = 10, traits = 11, size = 12, at = 13, feeds_device = 14, frozen = 15, packs = 16;
  int callable = 17, keeps_samples = 18, in_slot = 19, gathers = 20;
  int operator()(int x) const { return 3 * x; }
};

/// Parameters that count: its traits say so.
struct scaled {
  static constexpr wick::ext::stage_traits traits{.has_fingerprint = true};
  std::uint64_t factor;
  std::uint64_t fingerprint() const { return factor; }
  int operator()(int x) const { return static_cast<int>(factor) * x; }
};

struct numbers {
  std::uint64_t n;
  std::uint64_t size() const { return n; }
  int at(std::uint64_t i) const { return static_cast<int>(i); }
};

template <class Pipeline>
std::vector<int> delivered(Pipeline pipeline) {
  wick::loader l(std::move(pipeline), {.seed = 5, .workers = 2});
  std::vector<int> out;
  for (auto& batch : l.epoch(0)) out.insert(out.end(), batch.begin(), batch.end());
  return out;
}

}  // namespace

// A type with traits of wick's type is a stage, whether by value, by reference, or const; nothing else is.
static_assert(wick::ext::stage<own>);
static_assert(wick::ext::stage<own&>);
static_assert(wick::ext::stage<const own&&>);
static_assert(!wick::ext::stage<with_other_traits>);
static_assert(!wick::ext::stage<crowded>);
static_assert(!wick::ext::stage<crowded_with_data>);
static_assert(!wick::ext::stage<int>);
static_assert(!wick::ext::stage<int (*)(int)>);

static_assert(wick::detail::stage_of<own, wick::ext::stage_kind::data>);
static_assert(wick::detail::stage_of<const own&, wick::ext::stage_kind::data>);
static_assert(!wick::detail::stage_of<own, wick::ext::stage_kind::sample>);
static_assert(!wick::detail::stage_of<crowded, wick::ext::stage_kind::sample_or_data>);

// The kinds of wick's own stages.
static_assert(wick::detail::stage_of<wick::detail::shuffle_stage, wick::ext::stage_kind::order>);
static_assert(wick::detail::stage_of<wick::detail::shard_stage, wick::ext::stage_kind::order>);
static_assert(wick::detail::stage_of<wick::detail::batch_stage<wick::detail::array_output>,
                                     wick::ext::stage_kind::batching>);
static_assert(wick::detail::stage_of<wick::detail::group_stage, wick::ext::stage_kind::batching>);
static_assert(
    wick::detail::stage_of<wick::detail::map_stage<int (*)(int)>, wick::ext::stage_kind::sample_or_data>);

TEST_CASE("a stage is called by its label where it has one, else by the name in its traits") {
  CHECK(wick::detail::stage_name(own{}) == "own");
  CHECK(wick::detail::stage_name(wick::map([](int x) { return x; })) == "map");
  CHECK(wick::detail::stage_name(wick::map("tokenize", [](int x) { return x; })) == "tokenize");
}

TEST_CASE("a callable with members of any name behaves like a lambda") {
  const auto expected =
      delivered(numbers{40} | wick::shuffle() | [](int x) { return 3 * x; } | wick::group(6));
  CHECK(delivered(numbers{40} | wick::shuffle() | crowded{} | wick::group(6)) == expected);
  CHECK(delivered(numbers{40} | wick::shuffle() | crowded_with_data{} | wick::group(6)) == expected);
  CHECK(delivered(numbers{40} | wick::shuffle() | wick::map("triple", crowded{}) | wick::group(6)) ==
        expected);
  CHECK(delivered(numbers{40} | wick::shuffle() | crowded{} | wick::cache_in_memory() | wick::group(6)) ==
        expected);
  CHECK(delivered(numbers{40} | wick::shuffle() | with_other_traits{} | wick::group(6)).size() == 40);
  CHECK(delivered(numbers{40} | wick::subset([keep = crowded{}](int x) { return keep(x) % 2 == 0; }) |
                  wick::shuffle() | crowded{} | wick::filter(crowded{}) | wick::group(6))
            .size() == 19);  // of the 20 even ones, 0 is filtered
}

TEST_CASE("a state ignores members of callables that no traits announce, and compares announced parameters") {
  const auto of = [](auto f) {
    return wick::loader(numbers{40} | wick::shuffle() | std::move(f) | wick::group(6), {.seed = 5});
  };
  auto first = of(crowded{}), second = of(crowded{.calls = 99});
  REQUIRE(first.next());
  second.load_state(first.state());
  CHECK(*second.next() == *first.next());

  auto twice = of(scaled{2}), also_twice = of(scaled{2}), thrice = of(scaled{3});
  REQUIRE(twice.next());
  also_twice.load_state(twice.state());
  CHECK_THROWS_AS(thrice.load_state(twice.state()), wick::error);
  // The same inside of the stages that call it.
  auto named = of(wick::map("scale", scaled{2})), another = of(wick::map("scale", scaled{3}));
  REQUIRE(named.next());
  CHECK_THROWS_AS(another.load_state(named.state()), wick::error);
}

}  // namespace wick_test::stage_tests
