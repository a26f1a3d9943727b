// batch<T>(n): the columns of a batch as the fields of a struct.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "../support/doctest.hpp"
#include <wick/batch/batch.hpp>
#include <wick/failures/on_error.hpp>
#include <wick/loader/loader.hpp>
#include <wick/pipeline/pipeline.hpp>
#include <wick/sampling/order.hpp>

namespace wick_test::named_fields_tests {

namespace {

using wick::array;

struct step {
  std::array<float, 2> observation;
  int action;
  bool done;
};
struct steps {
  array observation, action, done;
};

step step_of(int i) { return {{static_cast<float>(i), static_cast<float>(-i)}, 10 * i, i % 2 == 1}; }
std::vector<step> some(int n) {
  std::vector<step> out;
  for (int i = 0; i < n; ++i) out.push_back(step_of(i));
  return out;
}

template <class T>
std::vector<T> values_of(const array& a) {
  return std::vector<T>(a.as<T>(), a.as<T>() + a.extents().count());
}

}  // namespace

TEST_CASE("a batch of structs is a struct of columns, under the names that the user gives them") {
  wick::loader loader(some(10) | wick::array_batch<steps>(4));
  static_assert(std::is_same_v<decltype(loader)::value_type, steps>);
  int i = 0;
  for (const steps& batch : loader.epoch(0)) {
    const std::int64_t n = batch.action.extents()[0];
    CHECK(batch.observation.extents() == wick::shape{n, 2});
    for (std::int64_t s = 0; s < n; ++s, ++i) {
      CHECK(batch.observation.as<float>()[2 * s + 1] == static_cast<float>(-i));
      CHECK(batch.action.as<int>()[s] == 10 * i);
      CHECK(batch.done.as<bool>()[s] == (i % 2 == 1));
    }
  }
  CHECK(i == 10);
}

TEST_CASE("fields are matched in order through structs, tuples and samples in one another") {
  struct inner {
    int a;
    std::string b;
  };
  using item = wick::sample<inner, std::tuple<float, step>>;
  std::vector<item> items;
  for (int i = 0; i < 3; ++i) {
    items.push_back({{i, "text " + std::to_string(i)}, {static_cast<float>(i) / 2, step_of(i)}});
  }
  struct flat {
    array a;
    std::vector<std::string> b;
    array c, observation, action, done;
  };
  struct nested {
    struct {
      array a;
      std::vector<std::string> b;
      array c;
    } first;
    steps rest;
  };
  wick::loader to_flat(items | wick::array_batch<flat>(3));
  wick::loader to_nested(items | wick::array_batch<nested>(3));
  const flat f = to_flat.next().value();
  const nested n = to_nested.next().value();
  CHECK(values_of<int>(f.a) == std::vector<int>{0, 1, 2});
  CHECK(f.b == std::vector<std::string>{"text 0", "text 1", "text 2"});
  CHECK(values_of<float>(f.c) == std::vector<float>{0, 0.5f, 1});
  CHECK(values_of<int>(f.action) == std::vector<int>{0, 10, 20});
  CHECK(values_of<int>(n.first.a) == std::vector<int>{0, 1, 2});
  CHECK(n.first.b == f.b);
  CHECK(values_of<float>(n.first.c) == values_of<float>(f.c));
  CHECK(values_of<float>(n.rest.observation) == std::vector<float>{0, 0, 1, -1, 2, -2});
  CHECK(n.rest.done.as<bool>()[1]);
}

TEST_CASE("a single column can have a name, and a sample<> others than data and target") {
  struct numbers {
    array values;
  };
  wick::loader one(std::vector<int>{5, 6} | wick::array_batch<numbers>(2));
  CHECK(values_of<int>(one.next()->values) == std::vector<int>{5, 6});
  struct labeled {
    array input, label;
  };
  wick::loader two(std::vector<wick::sample<int, float>>{{5, 0.5f}} | wick::array_batch<labeled>(2));
  CHECK(values_of<float>(two.next()->label) == std::vector<float>{0.5f});
}

TEST_CASE("T stands before a batch_type that the sample's struct names") {
  struct theirs {
    array first, second;
  };
  struct named {
    using batch_type = theirs;
    int a, b;
  };
  struct mine {
    array x, y;
  };
  wick::loader loader(std::vector<named>{{1, 2}} | wick::array_batch<mine>(1));
  CHECK(values_of<int>(loader.next()->y) == std::vector<int>{2});
}

TEST_CASE("named batches are what the unnamed are: gaps, options, stages after them, ranks without samples") {
  const auto source = [] {
    return wick::from(some(11)) | [](step s) {
      if (s.action == 30) throw wick::error("not this one");
      return s;
    };
  };
  wick::loader gaps(
      source() | wick::array_batch<steps>(4, {.drop_last = true}) | [](steps batch) { return batch.action; },
      {.on_error = wick::on_error::skip});
  std::vector<std::vector<int>> found;
  for (const array& actions : gaps.epoch(0)) found.push_back(values_of<int>(actions));
  CHECK(found == std::vector<std::vector<int>>{{0, 10, 20}, {40, 50, 60, 70}});

  for (const std::uint64_t rank : {0, 1}) {  // of the last batch one has nothing
    wick::loader named(some(5) | wick::shard(rank, 2) | wick::array_batch<steps>(4));
    wick::loader unnamed(some(5) | wick::shard(rank, 2) | wick::array_batch(4));
    for (const steps& batch : named.epoch(0)) {
      CHECK(batch.action.extents() == std::get<1>(unnamed.next().value()).extents());
    }
    CHECK_FALSE(unnamed.next().has_value());
  }
}

TEST_CASE("names change nothing of the samples: a state of the one is a state of the other") {
  wick::loader unnamed(some(10) | wick::shuffle() | wick::array_batch(4), {.seed = 2});
  wick::loader named(some(10) | wick::shuffle() | wick::array_batch<steps>(4), {.seed = 2});
  CHECK(values_of<int>(std::get<1>(unnamed.next().value())) == values_of<int>(named.next()->action));
  const auto state = unnamed.state();
  const auto second = values_of<int>(std::get<1>(unnamed.next().value()));
  named.load_state(state);
  CHECK(values_of<int>(named.next()->action) == second);
}

}  // namespace wick_test::named_fields_tests
