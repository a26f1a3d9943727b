#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <ATen/ops/arange.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "numbers.hpp"
#include <wick/core.hpp>
#include <wick/torch/nested.hpp>
#include <wick/torch/tensor_batch.hpp>

namespace wick_test::nested_tests {

using wick_test::contains;
using wick_test::message_of;

TEST_CASE("a nested tensor has each sample's own values, as many as there are") {
  const auto rows = [](std::int64_t number) {
    const auto data = static_cast<std::uint64_t>(number);
    std::vector<float> out(data % 5);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(10 * data + i);
    return out;
  };
  wick::loader loader(wick::from(wick_test::plain_numbers{23}) | rows |
                      wick::batch(8, {.ragged = wick::pad_with(-1)}));
  std::uint64_t sample = 0;
  for (const auto& batch : loader.epoch(0)) {
    const auto& field = batch;
    const at::Tensor nested = wick::nested(field);
    CHECK(nested.is_nested());
    const std::vector<at::Tensor> parts = nested.unbind();
    REQUIRE(static_cast<std::int64_t>(parts.size()) == field.lengths.size(0));
    for (const at::Tensor& part : parts) {
      REQUIRE(part.numel() == static_cast<std::int64_t>(sample % 5));
      for (std::int64_t i = 0; i < part.numel(); ++i)
        CHECK(part.data_ptr<float>()[i] == static_cast<float>(10 * sample + static_cast<std::uint64_t>(i)));
      ++sample;
    }
  }
  CHECK(sample == 23);
}

TEST_CASE("rows of vectors keep them, and lengths of another batch are refused") {
  const at::Tensor values = at::arange(2 * 3 * 4).reshape({2, 3, 4}).to(at::kFloat);
  const std::vector<at::Tensor> parts = wick::nested({values, at::tensor({1, 3}, at::kInt)}).unbind();
  CHECK(parts[0].equal(values[0].narrow(0, 0, 1)));
  CHECK(parts[1].equal(values[1]));
  const auto refused = [&](const at::Tensor& v, const at::Tensor& lengths) {
    return message_of([&] { return wick::nested({v, lengths}), 0; });
  };
  CHECK(contains(refused(values, at::tensor({1, 4}, at::kLong)), "sample 1", "4 of 3 places"));
  CHECK(contains(refused(values, at::tensor({-1, 2}, at::kLong)), "sample 0", "-1 of 3"));
  CHECK(contains(refused(values, at::zeros({3}, at::kLong)), "[2, 3, 4]", "[3]"));
  CHECK(contains(refused(at::zeros({0, 3}), at::zeros({0}, at::kLong)), "at least 1"));
}

}  // namespace wick_test::nested_tests
