#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/temp_dir.hpp"
#include <wick/batch/batch.hpp>
#include <wick/loader/loader.hpp>
#include <wick/pipeline/pipeline.hpp>
#include <wick/sampling/class_weights.hpp>
#include <wick/sampling/concat.hpp>
#include <wick/sampling/weighted.hpp>
#include <wick/sources/class_folder.hpp>
#include <wick/sources/image_folder.hpp>

namespace wick_test::class_weights_tests {

using wick::class_weights;
using wick_test::contains;
using wick_test::message_of;
using wick_test::temp_dir;
using labels = std::vector<std::int64_t>;

namespace {

enum class animal : std::uint8_t { cat, dog };

struct described {
  std::string name;
  int label;
};

/// Classes with 1, 2, and 5 files.
void write_classes(const temp_dir& dir) {
  for (const char* name :
       {"a/1.png", "b/1.png", "b/2.png", "c/1.png", "c/2.png", "c/3.png", "c/4.png", "c/5.png"})
    dir.write(name);
}

}  // namespace

TEST_CASE("a sample's weight is n / (k n_c): the weights of each class have the same sum") {
  CHECK(class_weights(labels{0, 0, 0, 1}) == std::vector<double>{4. / 6, 4. / 6, 4. / 6, 2});
  CHECK(class_weights(labels{2, 1, 0}) == std::vector<double>{1, 1, 1});
  CHECK(class_weights(labels{0, 0}) == std::vector<double>{1, 1});
  std::map<std::int64_t, double> sums;
  labels many;
  for (std::int64_t i = 0; i < 1000; ++i) many.push_back(i % 7 == 0 ? 0 : i % 3 == 0 ? 1 : 2);
  const std::vector<double> weights = class_weights(many);
  REQUIRE(weights.size() == many.size());
  for (std::size_t i = 0; i < many.size(); ++i) sums[many[i]] += weights[i];
  for (const auto& [label, sum] : sums) CHECK(sum == doctest::Approx(1000. / 3));
}

TEST_CASE("labels are targets of samples, whole numbers, enumerators, or what a function says of an item") {
  const std::vector<double> expected{0.75, 0.75, 1.5};
  CHECK(class_weights(std::vector<wick::sample<float>>{{1, 0}, {2, 0}, {3, 1}}) == expected);
  CHECK(class_weights(std::vector<int>{1, 1, 0}) == expected);
  CHECK(class_weights(std::vector<animal>{animal::dog, animal::dog, animal::cat}) == expected);
  const std::vector<described> items{{"x", 7}, {"y", 7}, {"z", 9}};
  CHECK(class_weights(items, [](const described& d) { return d.label == 7 ? 0 : 1; }) == expected);
  CHECK(class_weights(items, [](const auto& d) { return d.name == "z"; }) == expected);
}

TEST_CASE("a folder's classes come equally often, and no file is read for the weights") {
  const temp_dir dir;
  write_classes(dir);
  const wick::image_folder photos(dir.path().string());
  CHECK(class_weights(photos) ==
        std::vector<double>{8. / 3, 4. / 3, 4. / 3, 8. / 15, 8. / 15, 8. / 15, 8. / 15, 8. / 15});
  CHECK(class_weights(wick::concat(photos, photos)).size() == 16);
  wick::loader l(photos | wick::weighted(class_weights(photos), {.samples = 30'000}) |
                     wick::map([](auto s) { return s.target; }) | wick::group(100),
                 {.workers = 1});
  std::map<std::int64_t, int> counts;
  for (auto& group : l.epoch(0)) {
    for (const std::int64_t label : group) ++counts[label];
  }
  REQUIRE(counts.size() == 3);
  for (const auto& [label, count] : counts) CHECK(count == doctest::Approx(10'000).epsilon(0.03));
}

TEST_CASE("a class without samples, a negative label, and a source without samples are errors") {
  const auto message = [](const auto& source) { return message_of([&] { return class_weights(source); }); };
  CHECK(contains(message(labels{0, 2}), "class_weights: class 1 of 3 has no samples", "without a gap"));
  CHECK(contains(message(labels{1, 1}), "class 0 of 2 has no samples"));
  CHECK(contains(message(labels{0, std::numeric_limits<std::int64_t>::max()}),
                 "class 1 of 9223372036854775808"));
  CHECK(contains(message(labels{0, -1}),
                 "sample 1: class_weights: has the label -1, and classes count from 0"));
  CHECK(contains(message(labels{}), "class_weights: the source has no samples"));
  const temp_dir dir;
  write_classes(dir);
  wick_test::fs::create_directory(dir / "bare");
  wick_test::fs::create_directory(dir / "d");
  CHECK(contains(message(wick::image_folder(dir.path().string(), {.allow_empty = true})),
                 "class 2 (bare) of 5 has no samples"));
  wick_test::fs::remove(dir / "bare");
  CHECK(contains(message(wick::class_folder(dir.path().string(), {.allow_empty = true})),
                 "class 3 (d) of 4 has no samples"));
}

}  // namespace wick_test::class_weights_tests
