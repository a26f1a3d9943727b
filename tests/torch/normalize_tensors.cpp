#include <algorithm>
#include <cmath>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/conv2d.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/picture.hpp"
#include "numbers.hpp"
#include <wick/image/lazy_image.hpp>
#include <wick/loader/loader.hpp>
#include <wick/pixels/image.hpp>
#include <wick/torch/normalize_tensors.hpp>
#include <wick/torch/tensor_batch.hpp>
#include <wick/torch/tensor_dataset.hpp>

namespace wick_test::normalize_tensors_tests {

namespace {

using wick_test::contains;
using wick_test::message_of;
using numbers = wick_test::plain_numbers;

struct values {
  std::vector<double> mean, deviation;
};
const values of_three = {{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}};
const values of_one = {{0.1307}, {0.3081}};

wick::detail::normalize_stage stage_of(const values& v) {
  if (v.mean.size() == 1) return wick::normalize(v.mean[0], v.deviation[0]);
  return wick::normalize({v.mean[0], v.mean[1], v.mean[2]}, {v.deviation[0], v.deviation[1], v.deviation[2]});
}

auto pictures(std::uint64_t n, int channels) {
  return wick::from(numbers{n}) | [channels](std::int64_t i) {
    return wick::sample<wick::lazy_image, std::int64_t>{
        wick::lazy_image(wick_test::photo(11, 6, channels, static_cast<std::uint64_t>(i) + 1)), i};
  };
}

/// The greatest difference between `out` and (in / 255 - mean) / deviation, with channels in dimension `dim`.
double worst(const at::Tensor& in, const at::Tensor& out, const values& by, std::int64_t dim,
             double scale = 1 / 255.0) {
  const at::Tensor a = in.to(at::kDouble).contiguous().transpose(dim, -1).contiguous();
  const at::Tensor b = out.to(at::kDouble).contiguous().transpose(dim, -1).contiguous();
  const auto channels = static_cast<std::size_t>(a.size(-1));
  const auto* const x = static_cast<const double*>(a.data_ptr());
  const auto* const y = static_cast<const double*>(b.data_ptr());
  double most = 0;
  for (std::int64_t i = 0; i < a.numel(); ++i) {
    const std::size_t c = by.mean.size() == 1 ? 0 : static_cast<std::size_t>(i) % channels;
    most = std::max(most, std::abs(y[i] - (x[i] * scale - by.mean[c]) / by.deviation[c]));
  }
  return most;
}

at::Tensor normalized(const at::Tensor& t, const values& by) {
  wick::context c = wick_test::context_at(0);
  return apply_stage(stage_of(by), t, c);
}

constexpr wick::layout layouts[] = {wick::layout::channels_last, wick::layout::nchw, wick::layout::nhwc};

}  // namespace

TEST_CASE("after batch() it is (x / 255 - mean) / std per channel, whatever the layout") {
  for (const wick::layout layout : layouts) {
    for (const int channels : {1, 3}) {
      for (const values& by : {of_three, of_one}) {
        if (channels == 1 && by.mean.size() == 3) continue;
        wick::loader plain(pictures(10, channels) | wick::batch(4, {.layout = layout}));
        wick::loader loader(pictures(10, channels) | wick::batch(4, {.layout = layout}) | stage_of(by),
                            {.workers = 2});
        int batches = 0;
        for (auto& batch : loader.epoch(0)) {
          const auto before = plain.next().value();
          CHECK((batch.data.scalar_type() == at::kFloat));
          CHECK((batch.data.sizes() == before.data.sizes()));
          CHECK((batch.data.strides() == before.data.strides()));
          CHECK(batch.target.equal(before.target));
          CHECK(worst(before.data, batch.data, by, layout == wick::layout::nhwc ? 3 : 1) < 1e-5);
          ++batches;
        }
        CHECK(batches == 3);
      }
    }
  }
}

TEST_CASE("before and after batch() the same stage gives the same numbers") {
  for (const wick::layout layout : layouts) {
    for (const values& by : {of_three, of_one}) {
      wick::loader before(pictures(10, 3) | stage_of(by) | wick::batch(4, {.layout = layout}));
      wick::loader behind(pictures(10, 3) | wick::batch(4, {.layout = layout}) | stage_of(by));
      while (auto a = before.next()) {
        const auto b = behind.next().value();
        CHECK((a->data.scalar_type() == at::kFloat));
        CHECK((a->data.sizes() == b.data.sizes()));
        CHECK((a->data.strides() == b.data.strides()));
        CHECK(a->data.sub(b.data).abs().max().item<float>() < 1e-5f);
      }
    }
  }
}

TEST_CASE("one mean serves tensors of any shape") {
  for (const at::Tensor& t :
       {at::arange(0, 12, at::kLong).to(at::kByte),
        at::arange(0, 12, at::kLong).to(at::kByte).reshape({3, 4}),
        at::arange(0, 120, at::kLong).to(at::kByte).reshape({2, 3, 4, 5}), at::full({}, 7, at::kByte)}) {
    const at::Tensor out = normalized(t, of_one);
    CHECK((out.sizes() == t.sizes()));
    CHECK(worst(t.reshape({-1, 1}), out.reshape({-1, 1}), of_one, 1) < 1e-5);
  }
}

TEST_CASE("rows of features have their channels in the last dimension, or the second") {
  const at::Tensor rows = at::arange(0, 15, at::kLong).to(at::kByte).reshape({5, 3});
  CHECK(worst(rows, normalized(rows, of_three), of_three, 1) < 1e-5);
  const at::Tensor series = at::arange(0, 60, at::kLong).to(at::kByte).reshape({4, 5, 3});
  CHECK(worst(series, normalized(series, of_three), of_three, 2) < 1e-5);
}

TEST_CASE("a batch whose samples were all skipped goes through, and the next has its channels") {
  const auto fail = [](wick::sample<wick::lazy_image, std::int64_t> s) {
    if (s.target < 4) throw wick::error("a bad one");
    return s;
  };
  wick::loader l(pictures(8, 3) | wick::map("fail", fail) | wick::batch(4) | stage_of(of_three),
                 {.workers = 1, .on_error = wick::on_error::skip});
  std::vector<std::int64_t> rows;
  for (auto& batch : l.epoch(0)) rows.push_back(batch.data.size(0));
  CHECK(rows == std::vector<std::int64_t>{0, 4});
}

TEST_CASE("floats are in [0, 1] already") {
  for (const at::ScalarType type : {at::kFloat, at::kDouble, at::kHalf}) {
    const at::Tensor t = at::arange(0, 24, at::kLong).to(type).div(24).reshape({2, 3, 2, 2});
    const at::Tensor out = normalized(t, of_three);
    CHECK((out.scalar_type() == at::kFloat));
    CHECK(worst(t, out, of_three, 1, 1.0) < 1e-5);
  }
}

TEST_CASE("after batch() it gives tensors of the type that is asked for") {
  for (const at::ScalarType type : {at::kFloat, at::kHalf, at::kBFloat16, at::kDouble}) {
    wick::loader floats(pictures(8, 3) | wick::batch(4) | stage_of(of_three));
    wick::loader loader(pictures(8, 3) | wick::batch(4) |
                        wick::normalize({0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}, type));
    while (auto batch = loader.next()) {
      CHECK((batch->data.scalar_type() == type));
      CHECK(batch->data.equal(floats.next().value().data.to(type)));
    }
  }
}

TEST_CASE("what it was given stays as it was") {
  const at::Tensor t = at::full({2, 3, 2, 2}, 9, at::kFloat);
  CHECK_FALSE(normalized(t, of_three).is_alias_of(t));
  CHECK(t.equal(at::full({2, 3, 2, 2}, 9, at::kFloat)));
  wick::loader loader(wick::tensor_dataset(t, at::zeros({2}, at::kLong)) | wick::batch(2) |
                      stage_of(of_three));
  CHECK(worst(t, loader.next()->data, of_three, 1, 1.0) < 1e-5);
  CHECK(t.equal(at::full({2, 3, 2, 2}, 9, at::kFloat)));
}

TEST_CASE("a batch with another number of channels is an error that says both") {
  for (const wick::layout layout : layouts) {
    wick::loader loader(pictures(4, 1) | wick::batch(4, {.layout = layout}) | stage_of(of_three));
    const std::string shape = layout == wick::layout::nhwc ? "[4, 6, 11, 1]" : "[4, 1, 6, 11]";
    CHECK(contains(message_of([&] { return loader.next(); }),
                   "batch 0: normalize: 3 means for a batch of " + shape +
                       "; give one for each channel, or one for all"));
  }
  CHECK(contains(message_of([] { return normalized(at::zeros({3}, at::kByte), of_three); }),
                 "3 means for a batch of [3]"));
}

TEST_CASE("a batch of other integers, or with two axes of as many channels, is refused") {
  for (const at::ScalarType type : {at::kInt, at::kLong, at::kShort, at::kBool}) {
    CHECK(contains(message_of([&] {
                     return normalized(at::zeros({2, 3, 4, 4}, type), of_three);
                   }),
                   "not known what stands for 1"));
  }
  for (const std::initializer_list<std::int64_t> shape :
       {std::initializer_list<std::int64_t>{2, 3, 5, 3}, {2, 3, 3}}) {
    CHECK(contains(message_of([&] { return normalized(at::zeros(shape, at::kByte), of_three); }),
                   "the second axis or the last"));
  }
}

TEST_CASE("a model of floats refuses pictures as they are, in words that the guide names, and takes these") {
  const at::Tensor weight = at::full({2, 3, 3, 3}, 0.1), bias = at::zeros({2});
  wick::loader plain(pictures(4, 3) | wick::batch(4));
  const at::Tensor bytes = plain.next().value().data;
  const auto words = [](auto&& call) -> std::string {
    try {
      static_cast<void>(call());
    } catch (const std::exception& e) {
      return e.what();
    }
    return {};
  };
  CHECK(contains(words([&] { return at::conv2d(bytes, weight); }), "Byte"));
  CHECK(contains(words([&] { return at::conv2d(bytes, weight, bias); }), "unsigned char"));
  wick::loader before(pictures(4, 3) | stage_of(of_three) | wick::batch(4));
  wick::loader behind(pictures(4, 3) | wick::batch(4) | stage_of(of_three));
  for (const at::Tensor& floats : {before.next().value().data, behind.next().value().data}) {
    CHECK((at::conv2d(floats, weight, bias).sizes() == at::IntArrayRef({4, 2, 4, 9})));
  }
}

}  // namespace wick_test::normalize_tensors_tests
