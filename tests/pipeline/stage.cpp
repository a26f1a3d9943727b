#include <string_view>

#include "support/doctest.hpp"
#include <wick/batch/batch.hpp>
#include <wick/pipeline/pipeline.hpp>
#include <wick/pipeline/stage.hpp>
#include <wick/sampling/order.hpp>

namespace {

struct own {
  using stage_kind = wick::on_data;
  static constexpr std::string_view name = "own";
  int operator()(int x) const { return x; }
};
struct nameless {
  using stage_kind = wick::on_data;
};
struct kindless {
  [[maybe_unused]] static constexpr std::string_view name = "kindless";
};

}  // namespace

// A type with a kind and a name is a stage, whether by value, by reference or const; nothing else is.
static_assert(wick::stage<own>);
static_assert(wick::stage<own&>);
static_assert(wick::stage<const own&&>);
static_assert(!wick::stage<nameless>);
static_assert(!wick::stage<kindless>);
static_assert(!wick::stage<int>);

static_assert(wick::detail::stage_of<own, wick::on_data>);
static_assert(wick::detail::stage_of<const own&, wick::on_data>);
static_assert(!wick::detail::stage_of<own, wick::on_sample>);
static_assert(!wick::detail::stage_of<kindless, wick::on_data>);

// Where wick's own stages work.
static_assert(wick::detail::stage_of<wick::detail::shuffle_stage, wick::on_order>);
static_assert(wick::detail::stage_of<wick::detail::shard_stage, wick::on_order>);
static_assert(
    wick::detail::stage_of<wick::detail::batch_stage<wick::detail::array_output>, wick::detail::on_batching>);
static_assert(wick::detail::stage_of<wick::detail::group_stage, wick::detail::on_batching>);
static_assert(wick::detail::stage_of<wick::detail::map_stage<int (*)(int)>, wick::detail::on_sample_or_data>);

TEST_CASE("a stage is called by its label where it has one, else by its type's name") {
  CHECK(wick::detail::stage_name(own{}) == "own");
  CHECK(wick::detail::stage_name(wick::map([](int x) { return x; })) == "map");
  CHECK(wick::detail::stage_name(wick::map("tokenize", [](int x) { return x; })) == "tokenize");
}
