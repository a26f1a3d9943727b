#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/imag.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/view_as_complex.h>
#include <ATen/ops/zeros.h>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "fake_device.hpp"
#include <wick/loader/loader.hpp>
#include <wick/sampling/order.hpp>
#include <wick/torch/tensor_batch.hpp>
#include <wick/torch/tensor_windows.hpp>

namespace wick_test::tensor_windows_tests {

namespace {

using wick_test::contains;
using wick_test::message_of;

at::Tensor series_of(std::int64_t rows, std::int64_t width, at::ScalarType type = at::kFloat) {
  return at::arange(0, rows * width, at::kLong).to(type).reshape({rows, width});
}

/// As Torch says it: [N, length, …].
at::Tensor unfolded(const at::Tensor& series, std::int64_t length, std::int64_t stride) {
  return series.unfold(0, length, stride).movedim(-1, 1);
}

template <class Source>
at::Tensor all_of(const Source& source, std::size_t workers = 1) {
  wick::loader loader(source | wick::batch(3), {.workers = workers});
  std::vector<at::Tensor> batches;
  for (auto& batch : loader.epoch(0)) batches.push_back(batch);
  return at::cat(batches);
}

}  // namespace

TEST_CASE("windows over a tensor are those of unfold, of any type that batches have") {
  for (const at::ScalarType type : {at::kByte, at::kChar, at::kShort, at::kInt, at::kLong, at::kHalf,
                                    at::kFloat, at::kDouble, at::kBool}) {
    const at::Tensor series = series_of(23, 2, type);
    for (const std::int64_t stride : {1, 4}) {
      const at::Tensor found = all_of(wick::windows(series, 5, stride), 2);
      CHECK((found.scalar_type() == type));
      CHECK(found.equal(unfolded(series, 5, stride)));
    }
  }
  const at::Tensor tokens = at::arange(0, 30, at::kLong);
  CHECK(all_of(wick::windows(tokens, 7, 7)).equal(tokens.slice(0, 0, 28).reshape({4, 7})));
}

TEST_CASE("nothing is copied before batch(): what changes in the series meanwhile is in the windows") {
  const at::Tensor series = series_of(10, 3);
  const auto source = wick::windows(series, 4);
  CHECK(static_cast<const void*>(source.at(2).data()) == series.select(0, 2).data_ptr());
  series.add_(1000);
  CHECK(all_of(source).equal(unfolded(series, 4, 1)));
}

TEST_CASE("windows of any strided view are those of the view made contiguous") {
  std::mt19937 random(11);
  const auto draw = [&](std::int64_t from, std::int64_t to) {
    return std::uniform_int_distribution<std::int64_t>(from, to)(random);
  };
  constexpr at::ScalarType types[] = {at::kByte, at::kHalf, at::kFloat, at::kDouble};
  int strided = 0;
  for (int round = 0; round < 150; ++round) {
    at::Tensor view = at::arange(0, 9 * 7 * 6, at::kLong).to(types[draw(0, 3)]).reshape({9, 7, 6});
    for (std::int64_t n = draw(1, 3); n > 0; --n) {
      const std::int64_t d = draw(0, view.dim() - 1);
      switch (draw(0, 3)) {
        case 0:
          view = view.transpose(d, draw(0, view.dim() - 1));
          break;
        case 1:
          view = view.slice(d, 0, view.size(d), draw(1, 2));
          break;
        case 2:
          if (view.dim() > 1) view = view.select(d, draw(0, view.size(d) - 1));
          break;
        default:
          if (view.dim() < 4) {
            view = view.unsqueeze(d);
            std::vector<std::int64_t> sizes = view.sizes().vec();
            sizes[static_cast<std::size_t>(d)] = 2;
            view = view.expand(sizes);
          }
      }
    }
    CAPTURE(round);
    strided += !view.is_contiguous();
    const std::int64_t length = draw(1, view.size(0)), stride = draw(1, 3);
    const auto source = wick::windows(view, length, stride);
    CHECK(all_of(source).equal(unfolded(view, length, stride)));
    CHECK(source.fingerprint() == wick::windows(view.contiguous(), length, stride).fingerprint());
  }
  CHECK(strided > 70);
}

TEST_CASE("to forecast: the rows after each window are its target, of the same series or of another") {
  const at::Tensor series = series_of(40, 3);
  wick::loader loader(wick::windows(series, 8, 2).target(4) | wick::shuffle() | wick::batch(5));
  std::size_t windows = 0;
  for (auto& batch : loader.epoch(0)) {
    for (std::int64_t i = 0; i < batch.data.size(0); ++i, ++windows) {
      const std::int64_t first =
          batch.data.select(0, i).select(0, 0).select(0, 0).template item<std::int64_t>() / 3;
      CHECK(first % 2 == 0);
      CHECK(batch.data.select(0, i).equal(series.slice(0, first, first + 8)));
      CHECK(batch.target.select(0, i).equal(series.slice(0, first + 8, first + 12)));
    }
  }
  CHECK(windows == 15);

  const at::Tensor column = series.select(1, 2);
  const auto one = wick::windows(series, 8).target(column, 4);
  CHECK(one.size() == 29);
  CHECK(one.at(28).target.extents() == wick::shape{4});
  wick::loader columns(one | wick::batch(29));
  CHECK(columns.next()->target.equal(column.slice(0, 8, 40).unfold(0, 4, 1)));
}

TEST_CASE("several series: none reaches into the next, a short or an empty one has no window") {
  const std::vector<at::Tensor> series = {
      series_of(7, 2),          series_of(0, 2),
      series_of(3, 2).add(100), series_of(5, 4).add(200).slice(1, 0, 4, 2),
      series_of(2, 2).add(300), series_of(4, 2).add(400)};
  const at::Tensor expected = at::cat({unfolded(series[0], 3, 2), unfolded(series[2], 3, 2),
                                       unfolded(series[3], 3, 2), unfolded(series[5], 3, 2)});
  const auto source = wick::windows(series, 3, 2);
  CHECK(all_of(source, 2).equal(expected));
  CHECK(source.key(4) == "series 3, rows 0 to 2");
  const auto pairs = source.target(series, 1);
  CHECK(pairs.size() == 2 + 0 + 1 + 1);
  CHECK(all_of(wick::windows({series[0], series[5]}, 3, 2)).size(0) == 4);
}

TEST_CASE("the tensors may be freed by the user: the source and its loader keep them") {
  std::optional<at::Tensor> series = series_of(1000, 8);
  std::optional<at::Tensor> classes = at::arange(0, 1000, at::kLong);
  const at::Tensor expected = series->slice(0, 997, 1000).clone();
  wick::loader loader(wick::windows(*series, 3).target(*classes, 1, {.offset = 2}) | wick::batch(100),
                      {.workers = 2});
  series.reset();
  classes.reset();
  at::Tensor data, target;
  for (auto& batch : loader.epoch(0)) {
    data = batch.data;
    target = batch.target;
  }
  CHECK(data.select(0, 97).equal(expected));
  CHECK(target.select(0, 97).select(0, 0).item<std::int64_t>() == 999);
}

TEST_CASE("overlapping windows take no more memory than the series: a view may be larger than any") {
  const at::Tensor series = at::arange(0, 4, at::kFloat).expand({std::int64_t{1} << 40, 4});
  wick::loader loader(wick::windows(series, 100) | wick::shuffle() | wick::batch(2));
  CHECK(loader.samples() == (std::uint64_t{1} << 40) - 99);
  CHECK(loader.next()->equal(series.slice(0, 0, 100).unsqueeze(0).expand({2, 100, 4})));
  CHECK(loader.slab_allocations() <= 16);
}

TEST_CASE("what at::imag() gives of a conjugate has its signs in windows, too") {
  const at::Tensor z = at::view_as_complex(at::arange(0, 16, at::kFloat).reshape({8, 2}));
  const at::Tensor imaginary = at::imag(z.conj());
  REQUIRE(imaginary.is_neg());
  CHECK(all_of(wick::windows(imaginary, 2)).equal(imaginary.unfold(0, 2, 1)));
}

TEST_CASE("series that can't be read where they lie are refused, and named") {
  CHECK(contains(message_of([] { return wick::windows(at::Tensor(), 4); }),
                 "windows: the series has no first dimension"));
  CHECK(contains(message_of([] { return wick::windows(at::zeros({}), 4); }),
                 "windows: the series has no first dimension"));
  const at::Tensor there = series_of(4, 2).to(wick_test::fake::device(0));
  CHECK(contains(message_of([&] { return wick::windows(there, 4); }),
                 "windows: the series is on privateuseone:0", "transfer()"));
  CHECK(contains(message_of([&] {
                   return wick::windows({series_of(4, 2), there}, 4);
                 }),
                 "windows: series 1 is on privateuseone:0"));
  CHECK(contains(message_of([] { return wick::windows(series_of(4, 2).to_sparse(), 4); }),
                 "windows: the series is sparse", ".to_dense()"));
  CHECK(contains(message_of([] {
                   return wick::windows(at::zeros({4, 2}, at::kComplexFloat), 4);
                 }),
                 "a tensor of ComplexFloat can't be batched"));
  CHECK(contains(message_of([] { return wick::windows(series_of(4, 2), 5); }),
                 "the series has 4 rows, and a window takes 5"));
  CHECK(contains(message_of([] { return wick::windows(std::vector<at::Tensor>(), 5); }),
                 "windows: there is no series"));
  CHECK(contains(message_of([] { return wick::windows(at::zeros({4, 0}), 2); }), "has no elements"));
}

}  // namespace wick_test::tensor_windows_tests
