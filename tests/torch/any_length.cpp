// Samples of any length as tensors: padded, and packed into rows.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "../support/doctest.hpp"
#include "numbers.hpp"
#include <wick/loader/loader.hpp>
#include <wick/torch/tensor_batch.hpp>

namespace wick_test::any_length_tests {

using numbers = wick_test::plain_numbers;

TEST_CASE("fields of any length become padded tensors, which go to a device as others do") {
  wick::loader l(wick::from(numbers{10}) | [](std::int64_t i) {
    return wick::sample<std::vector<std::int64_t>>{std::vector<std::int64_t>(static_cast<std::size_t>(i), i),
                                                   i};
  } | wick::batch(4, {.ragged = wick::pad_with(-1, {.multiple = 2})}));
  std::int64_t number = 0;
  for (auto& [data, target] : l.epoch(0)) {
    const std::int64_t n = target.size(0), width = (number + n) / 2 * 2;
    CHECK((data.values.size(0) == n && data.values.size(1) == width));
    CHECK(data.lengths.equal(target));
    CHECK((data.values.scalar_type() == at::kLong));
    for (std::int64_t row = 0; row < n; ++row, ++number) {
      CHECK(data.values[row].narrow(0, 0, number).eq(number).all().item<bool>());
      CHECK(data.values[row].narrow(0, number, width - number).eq(-1).all().item<bool>());
    }
    std::size_t tensors = 0;
    wick::detail::for_each_tensor(data, [&](at::Tensor&) { ++tensors; });
    CHECK(tensors == 2);
  }
  CHECK(number == 10);
}

TEST_CASE("packed rows are tensors: what attention of variable length needs") {
  std::vector<wick::sample<std::vector<std::int64_t>>> texts;
  std::vector<std::uint32_t> lengths;
  for (std::int64_t i = 1; i <= 12; ++i) {
    texts.push_back({std::vector<std::int64_t>(static_cast<std::size_t>(i), i), i});
    lengths.push_back(static_cast<std::uint32_t>(i));
  }
  wick::loader l(wick::from(texts) | wick::shuffle() | wick::pack(2, 13, {.lengths = lengths}));
  CHECK(l.batches() == 3);  // 78 values fill six rows
  std::int64_t documents = 0;
  for (auto& b : l.epoch(0)) {
    CHECK((b.values.data.size(0) == 2 && b.values.data.size(1) == 13));
    CHECK((b.cu_seqlens.scalar_type() == at::kInt && b.segments.scalar_type() == at::kInt));
    CHECK(b.segments.ne(0).all().item<bool>());
    const at::Tensor flat = b.values.data.view({-1});
    const std::int64_t n = b.values.target.size(0);
    CHECK(b.cu_seqlens.size(0) == n + 1);
    for (std::int64_t d = 0; d < n; ++d) {
      const std::int64_t from = b.cu_seqlens[d].item<int>(), to = b.cu_seqlens[d + 1].item<int>();
      const auto own = b.values.target[d].item<std::int64_t>();
      CHECK(to - from == own);
      CHECK(flat.narrow(0, from, own).eq(own).all().item<bool>());
      const auto* const positions = static_cast<const std::int32_t*>(b.positions.data_ptr()) + from;
      for (std::int64_t i = 0; i < own; ++i) CHECK(positions[i] == i);
    }
    documents += n;
    std::size_t tensors = 0;
    wick::detail::for_each_tensor(b, [&](at::Tensor&) { ++tensors; });
    CHECK(tensors == 5);
  }
  CHECK(documents == 12);
}

}  // namespace wick_test::any_length_tests
