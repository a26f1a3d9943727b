#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/imag.h>
#include <ATen/ops/index_select.h>
#include <ATen/ops/view_as_complex.h>
#include <ATen/ops/zeros.h>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "fake_device.hpp"
#include <wick/loader/loader.hpp>
#include <wick/torch/tensor_batch.hpp>
#include <wick/torch/tensor_dataset.hpp>

namespace wick_test::tensor_dataset_tests {

static_assert(wick::ext::source<wick::detail::tensor_source<std::int64_t>>);
static_assert(wick::ext::source<wick::detail::tensor_source<wick::memory_view>>);

namespace {

using wick_test::contains;
using wick_test::message_of;

/// Row i is 6 numbers from 6 i on, as [2, 3].
at::Tensor data_of(std::int64_t n, at::ScalarType type = at::kFloat) {
  return at::arange(0, 6 * n, at::kLong).to(type).reshape({n, 2, 3});
}
at::Tensor labels_of(std::int64_t n, at::ScalarType type = at::kLong) {
  return at::arange(0, n, at::kLong).to(type);
}

/// Both columns of an epoch, put together.
template <class Loader>
wick::sample<at::Tensor, at::Tensor> epoch_of(Loader& loader, std::uint64_t epoch = 0) {
  std::vector<at::Tensor> data, target;
  for (auto& batch : loader.epoch(epoch)) {
    data.push_back(batch.data);
    target.push_back(batch.target);
  }
  return {at::cat(data), at::cat(target)};
}

}  // namespace

TEST_CASE("row i of the tensors is sample i, as with TensorDataset") {
  const at::Tensor data = data_of(23), labels = labels_of(23);
  const auto source = wick::tensor_dataset(data, labels);
  CHECK(source.size() == 23);
  for (std::uint64_t i = 0; i < 23; ++i) {
    source.prefetch(i, 512);
    const auto s = source.at(i);
    CHECK(s.target == static_cast<std::int64_t>(i));
    CHECK(s.data.extents() == wick::shape{2, 3});
    CHECK(s.data.as<float>()[5] == static_cast<float>(6 * i + 5));
  }
  for (const std::size_t workers : {1, 3}) {
    wick::loader loader(wick::tensor_dataset(data, labels) | wick::batch(5), {.workers = workers});
    const auto all = epoch_of(loader);
    CHECK(all.data.equal(data));
    CHECK(all.target.equal(labels));
    CHECK((all.target.scalar_type() == at::kLong));
  }
}

TEST_CASE("shuffled, each row comes once with its own label") {
  const at::Tensor data = data_of(100), labels = labels_of(100);
  wick::loader loader(wick::tensor_dataset(data, labels) | wick::shuffle() | wick::batch(7),
                      {.seed = 3, .workers = 2});
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    const auto all = epoch_of(loader, epoch);
    CHECK_FALSE(all.target.equal(labels));
    CHECK(all.data.equal(at::index_select(data, 0, all.target)));
    std::vector<std::int64_t> order(static_cast<const std::int64_t*>(all.target.data_ptr()),
                                    static_cast<const std::int64_t*>(all.target.data_ptr()) + 100);
    std::sort(order.begin(), order.end());
    for (std::int64_t i = 0; i < 100; ++i) CHECK(order[static_cast<std::size_t>(i)] == i);
  }
}

TEST_CASE("data may be of any type that batches have, labels of any integer type") {
  for (const at::ScalarType type : {at::kByte, at::kChar, at::kShort, at::kInt, at::kLong, at::kHalf,
                                    at::kFloat, at::kDouble, at::kBool}) {
    wick::loader loader(wick::tensor_dataset(data_of(9, type), labels_of(9)) | wick::batch(4));
    const auto all = epoch_of(loader);
    CHECK((all.data.scalar_type() == type));
    CHECK(all.data.equal(data_of(9, type)));
  }
  for (const at::ScalarType type : {at::kByte, at::kChar, at::kShort, at::kInt, at::kLong, at::kBool}) {
    wick::loader loader(wick::tensor_dataset(data_of(9), labels_of(9, type)) | wick::batch(4));
    const auto all = epoch_of(loader);
    CHECK((all.target.scalar_type() == at::kLong));
    CHECK(all.target.equal(labels_of(9, type).to(at::kLong)));
  }
}

TEST_CASE("nothing is copied before batch(): what changes in the tensors meanwhile is in the batches") {
  const at::Tensor data = data_of(8);
  CHECK(static_cast<const void*>(wick::tensor_dataset(data, labels_of(8)).at(3).data.data()) ==
        data.select(0, 3).data_ptr());
  at::Tensor base = data_of(16), labels = labels_of(16);
  const at::Tensor views[] = {base,
                              base.transpose(1, 2),
                              base.slice(0, 1, 16, 3),
                              base.slice(2, 0, 3, 2),
                              base.select(1, 1),
                              base.select(1, 1).unfold(0, 4, 1),
                              base.select(1, 1).unfold(0, 4, 1).transpose(1, 2),
                              base.unsqueeze(1).expand({16, 5, 2, 3})};
  for (const at::Tensor& view : views) {
    const at::Tensor target = labels.slice(0, 0, 16, 2).slice(0, 0, std::min<std::int64_t>(view.size(0), 8));
    const auto rows = wick::tensor_dataset(view.slice(0, 0, target.size(0)), target);
    const auto pairs = wick::tensor_dataset<wick::memory_view>(view, view);
    base.add_(1000);
    labels.add_(3);
    wick::loader loader(rows | wick::batch(3));
    const auto all = epoch_of(loader);
    CHECK(all.data.equal(view.slice(0, 0, target.size(0))));
    CHECK(all.target.equal(target));
    wick::loader both(pairs | wick::batch(3));
    const auto two = epoch_of(both);
    CHECK(two.data.equal(view));
    CHECK(two.target.equal(view));
  }
}

TEST_CASE("rows of any strided view are those of the view made contiguous") {
  std::mt19937 random(7);
  const auto draw = [&](std::int64_t from, std::int64_t to) {
    return std::uniform_int_distribution<std::int64_t>(from, to)(random);
  };
  constexpr at::ScalarType types[] = {at::kByte, at::kHalf, at::kFloat, at::kDouble};
  int strided = 0;
  for (int round = 0; round < 300; ++round) {
    at::Tensor view = at::arange(0, 7 * 6 * 5 * 4, at::kLong).to(types[draw(0, 3)]).reshape({7, 6, 5, 4});
    for (std::int64_t n = draw(1, 5); n > 0; --n) {
      const std::int64_t d = draw(0, view.dim() - 1), size = view.size(d);
      switch (draw(0, 6)) {
        case 0:
          view = view.transpose(d, draw(0, view.dim() - 1));
          break;
        case 1:
          view = view.slice(d, draw(0, size - 1), size);
          break;
        case 2:
          view = view.slice(d, 0, size, draw(1, 3));
          break;
        case 3:
          if (view.dim() > 2) view = view.select(d, draw(0, size - 1));
          break;
        case 4:
          if (view.dim() < 6) view = view.unfold(d, draw(1, size), draw(1, 2));
          break;
        case 5:
          if (view.dim() < 6) {
            view = view.unsqueeze(d);
            std::vector<std::int64_t> sizes = view.sizes().vec();
            sizes[static_cast<std::size_t>(d)] = draw(1, 3);
            view = view.expand(sizes);
          }
          break;
        default:
          view = view.diagonal(0, 0, view.dim() - 1);
          break;
      }
      if (view.dim() < 2) break;
    }
    CAPTURE(round);
    strided += !view.is_contiguous();
    wick::loader loader(
        wick::tensor_dataset<wick::memory_view>(view, at::arange(0, view.size(0), at::kLong)) |
        wick::batch(4));
    CHECK(epoch_of(loader).data.equal(view));
    const auto of = [](const at::Tensor& t) {
      return wick::tensor_dataset<wick::memory_view>(t, t).fingerprint();
    };
    CHECK(of(view) == of(view.contiguous()));
  }
  CHECK(strided > 100);
}

TEST_CASE("a view may be larger than any memory") {
  const at::Tensor one = at::arange(0, 3, at::kFloat);
  constexpr std::int64_t many = std::int64_t{1} << 40;
  const at::Tensor data = one.unsqueeze(0).unsqueeze(0).expand({many, 1000, 3});
  wick::loader loader(wick::tensor_dataset(data, at::zeros({1}, at::kLong).expand({many})) | wick::shuffle() |
                      wick::batch(2));
  CHECK(loader.next()->data.equal(data.slice(0, 0, 2)));
}

TEST_CASE("what at::imag() gives of a conjugate has its signs") {
  const at::Tensor z = at::view_as_complex(data_of(8).reshape({8, 3, 2}));
  const at::Tensor imaginary = at::imag(z.conj());
  REQUIRE(imaginary.is_neg());
  wick::loader loader(wick::tensor_dataset(imaginary, labels_of(8)) | wick::batch(3));
  const auto all = epoch_of(loader);
  CHECK(all.data.equal(imaginary));
  CHECK(static_cast<const float*>(all.data.data_ptr())[1] == -3.0f);
}

TEST_CASE("a row that is not packed can't be taken for one that is") {
  const auto source = wick::tensor_dataset(data_of(8).transpose(1, 2), labels_of(8));
  CHECK(source.at(1).data.extents() == wick::shape{3, 2});
  CHECK(contains(message_of([&] { return source.at(1).data.as<float>(); }),
                 "row [3, 2] don't lie side by side; make the array contiguous"));
}

TEST_CASE("sparse tensors are refused, with what to write instead") {
  const at::Tensor sparse = data_of(4).to_sparse();
  CHECK(contains(message_of([&] { return wick::tensor_dataset(sparse, labels_of(4)); }),
                 "tensor_dataset: the first is sparse", ".to_dense()"));
}

TEST_CASE("the source keeps the tensors, also as a copy") {
  std::optional<wick::detail::tensor_source<std::int64_t>> first(
      wick::tensor_dataset(data_of(4), labels_of(4)));
  const wick::detail::tensor_source<std::int64_t> copy = *first;
  const wick::detail::tensor_source<std::int64_t> moved = std::move(*first);
  first.reset();
  CHECK(copy.at(3).data.as<float>()[0] == 18.0f);
  CHECK(moved.at(3).target == 3);
}

TEST_CASE("a row may be one number") {
  wick::loader loader(wick::tensor_dataset(at::arange(0, 5, at::kDouble), labels_of(5)) | wick::batch(5));
  const auto batch = loader.next().value();
  CHECK((batch.data.sizes() == at::IntArrayRef({5})));
  CHECK(batch.data.equal(at::arange(0, 5, at::kDouble)));
}

TEST_CASE("labels are numbers, and targets of any type and shape are rows") {
  static_assert(std::is_same_v<decltype(wick::tensor_dataset(at::Tensor(), at::Tensor()).at(0)),
                               wick::sample<wick::memory_view, std::int64_t>>);
  static_assert(
      std::is_same_v<decltype(wick::tensor_dataset<wick::memory_view>(at::Tensor(), at::Tensor()).at(0)),
                     wick::sample<wick::memory_view, wick::memory_view>>);
  const at::Tensor data = data_of(11, at::kByte);
  for (const at::Tensor& target : {labels_of(11, at::kFloat), data_of(11, at::kDouble),
                                   labels_of(11, at::kBool), data_of(11).transpose(1, 2)}) {
    wick::loader loader(wick::tensor_dataset<wick::memory_view>(data, target) | wick::batch(4),
                        {.workers = 2});
    const auto all = epoch_of(loader);
    CHECK(all.data.equal(data));
    CHECK(all.target.equal(target));
    CHECK((all.target.scalar_type() == target.scalar_type()));
  }
}

TEST_CASE("labels that are no integers are refused, with the call to use instead") {
  const auto refused = [](const at::Tensor& labels, const std::string& found) {
    CHECK(contains(message_of([&] { return wick::tensor_dataset(data_of(4), labels); }),
                   "tensor_dataset: labels are integers of shape [N], found " + found,
                   "write tensor_dataset<wick::memory_view>("));
  };
  refused(labels_of(4, at::kFloat), "Float of [4]");
  refused(labels_of(4, at::kComplexFloat), "ComplexFloat of [4]");
  refused(at::zeros({4, 1}, at::kLong), "Long of [4, 1]");
  refused(at::zeros({}, at::kLong), "Long of []");
}

TEST_CASE("tensors that do not fit together are refused with both lengths") {
  CHECK(contains(message_of([] { return wick::tensor_dataset(data_of(4), labels_of(5)); }),
                 "tensor_dataset: 4 rows of data and 5 labels; there must be one for each"));
  CHECK(contains(message_of([] { return wick::tensor_dataset<wick::memory_view>(data_of(4), data_of(3)); }),
                 "tensor_dataset: 4 rows of data and 3 of targets; there must be one for each"));
}

TEST_CASE("tensors without rows to take are refused") {
  CHECK(contains(message_of([] { return wick::tensor_dataset(at::Tensor(), labels_of(4)); }),
                 "the first has no first dimension"));
  CHECK(contains(message_of([] { return wick::tensor_dataset(data_of(4), at::Tensor()); }),
                 "the second has no first dimension"));
  CHECK(
      contains(message_of([] { return wick::tensor_dataset<wick::memory_view>(at::zeros({}), data_of(4)); }),
               "the first has no first dimension"));
  CHECK(contains(message_of([] {
                   return wick::tensor_dataset(at::zeros({4, 0}), labels_of(4));
                 }),
                 "[0] has no elements"));
  CHECK(contains(
      message_of([] { return wick::tensor_dataset(at::zeros({4}, at::kComplexFloat), labels_of(4)); }),
      "a tensor of ComplexFloat can't be batched"));
  CHECK(contains(message_of([] {
                   return wick::loader(wick::tensor_dataset(data_of(4).slice(0, 0, 0), labels_of(0)) |
                                       wick::batch(2))
                       .batches();
                 }),
                 "the source is empty"));
}

TEST_CASE("tensors on a device are refused: the source reads from the CPU") {
  const at::Tensor there = data_of(4).to(wick_test::fake::device(0));
  CHECK(contains(message_of([&] { return wick::tensor_dataset(there, labels_of(4)); }),
                 "the first is on privateuseone:0", "transfer()"));
  CHECK(contains(message_of([&] { return wick::tensor_dataset<wick::memory_view>(data_of(4), there); }),
                 "the second is on privateuseone:0"));
}

TEST_CASE("the fingerprint changes with values, labels, shape and type") {
  const auto of = [](const at::Tensor& d, const at::Tensor& t) {
    return wick::tensor_dataset(d, t).fingerprint();
  };
  const std::uint64_t same = of(data_of(6), labels_of(6));
  CHECK(of(data_of(6), labels_of(6)) == same);
  CHECK(of(data_of(6).transpose(1, 2).contiguous().transpose(1, 2), labels_of(6)) == same);
  CHECK(of(data_of(6).add_(1), labels_of(6)) != same);
  CHECK(of(data_of(6), labels_of(6).add_(1)) != same);
  CHECK(of(data_of(6).reshape({6, 3, 2}), labels_of(6)) != same);
  CHECK(of(data_of(6, at::kInt), labels_of(6)) != same);
  CHECK(of(data_of(5), labels_of(5)) != same);
  const auto pairs = [](const at::Tensor& d, const at::Tensor& t) {
    return wick::tensor_dataset<wick::memory_view>(d, t).fingerprint();
  };
  CHECK(pairs(data_of(6), data_of(6)) == pairs(data_of(6), data_of(6)));
  CHECK(pairs(data_of(6), data_of(6)) != pairs(data_of(6), data_of(6).add_(1)));
}

}  // namespace wick_test::tensor_dataset_tests
