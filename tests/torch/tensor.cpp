#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <ATen/core/ivalue.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/complex.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/imag.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/zeros.h>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/temp_dir.hpp"
#include "numbers.hpp"
#include <wick/cache/cache_on_disk.hpp>
#include <wick/loader/loader.hpp>
#include <wick/torch/detail/tensor.hpp>
#include <wick/torch/tensor_batch.hpp>

namespace wick_test::tensor_tests {

static_assert(wick::detail::batchable<at::Tensor>);

namespace {

using wick_test::contains;
using wick_test::message_of;
using numbers = wick_test::plain_numbers;

constexpr wick::dtype all_types[] = {wick::dtype::uint8,   wick::dtype::int8,    wick::dtype::int16,
                                     wick::dtype::int32,   wick::dtype::int64,   wick::dtype::float16,
                                     wick::dtype::float32, wick::dtype::float64, wick::dtype::boolean,
                                     wick::dtype::bfloat16};

/// Whether the bytes that `t` writes into its slot are those of its elements, one after another.
bool writes_its_elements(const at::Tensor& t) {
  using access = wick::detail::field_access<at::Tensor>;
  const std::size_t bytes =
      static_cast<std::size_t>(access::extents(t).count()) * wick::detail::size_of(access::type(t));
  std::vector<std::byte> slot(bytes + 16, std::byte{0x5A});
  access::write_to(t, {slot.data() + 8, false});
  const at::Tensor packed = at::empty(t.sizes(), t.options()).copy_(t);
  const auto edge = [&](std::size_t from) {
    for (std::size_t i = from; i < from + 8; ++i) {
      if (slot[i] != std::byte{0x5A}) return false;
    }
    return true;
  };
  return std::memcmp(slot.data() + 8, packed.data_ptr(), bytes) == 0 && edge(0) && edge(bytes + 8);
}

}  // namespace

TEST_CASE("every dtype is a type of Torch's, of the same size, and back") {
  for (const wick::dtype t : all_types) {
    CHECK((wick::detail::dtype_of(wick::detail::scalar_type_of(t)) == t));
    CHECK(c10::elementSize(wick::detail::scalar_type_of(t)) == wick::detail::size_of(t));
  }
  CHECK((wick::detail::scalar_type_of(wick::detail::dtype_of<float>()) == at::kFloat));
  CHECK((wick::detail::scalar_type_of(wick::detail::dtype_of<bool>()) == at::kBool));
  CHECK((wick::detail::scalar_type_of(wick::detail::dtype_of<std::uint8_t>()) == at::kByte));
}

TEST_CASE("types that have no place in a batch are refused by name") {
  for (const at::ScalarType t :
       {at::kComplexFloat, at::kComplexDouble, at::kComplexHalf, at::kQInt8, at::kQUInt8, at::kQInt32}) {
    CHECK(contains(message_of([&] { return wick::detail::dtype_of(t); }),
                   std::string("a tensor of ") + c10::toString(t), "can't be batched", "convert it"));
  }
}

TEST_CASE("a tensor's shape is wick's shape, up to seven dimensions") {
  CHECK(wick::detail::shape_of(at::zeros({})) == wick::shape{});
  CHECK(wick::detail::shape_of(at::zeros({2, 0, 3})) == wick::shape{2, 0, 3});
  CHECK(wick::detail::shape_of(at::zeros({1, 2, 1, 2, 1, 2})) == wick::shape{1, 2, 1, 2, 1, 2});
  CHECK(contains(message_of([] {
                   return wick::detail::shape_of(at::zeros({1, 1, 1, 1, 1, 1, 1, 1}));
                 }),
                 "at most 6 dimensions"));
}

TEST_CASE("a tensor writes its elements in order, however it lies in memory") {
  for (const wick::dtype type : all_types) {
    const at::Tensor t =
        at::arange(0, 120, at::kLong).to(wick::detail::scalar_type_of(type)).reshape({2, 3, 4, 5});
    CHECK(writes_its_elements(t));
    CHECK(writes_its_elements(t.transpose(1, 3)));
    CHECK(writes_its_elements(t.permute({3, 2, 1, 0})));
    CHECK(writes_its_elements(t.slice(3, 1, 5, 2)));
    CHECK(writes_its_elements(t.select(2, 3)));
    CHECK(writes_its_elements(t.select(0, 1).unsqueeze(0).expand({4, 3, 4, 5})));
    CHECK(writes_its_elements(t.contiguous(at::MemoryFormat::ChannelsLast)));
    CHECK(writes_its_elements(t.slice(0, 1, 1)));
    CHECK(writes_its_elements(t.select(0, 0).select(0, 0).select(0, 0).select(0, 0)));
  }
}

TEST_CASE("the imaginary part of a conjugate is written with its sign") {
  const at::Tensor z = at::complex(at::full({1}, 1.0f), at::full({1}, 2.0f));
  float imaginary = 0;
  wick::detail::field_access<at::Tensor>::write_to(at::imag(z.conj()),
                                                   {reinterpret_cast<std::byte*>(&imaginary), false});
  CHECK(imaginary == -2.0f);
}

TEST_CASE(
    "tensors that a stage returns become one with a dimension more, of their type, at any worker count") {
  for (const wick::dtype type : all_types) {
    for (const std::size_t workers : {1, 3}) {
      const auto make = [type](std::int64_t i) {
        return at::arange(i, i + 6, at::kLong).to(wick::detail::scalar_type_of(type)).reshape({2, 3});
      };
      wick::loader loader(wick::from(numbers{23}) | make | wick::batch(5), {.workers = workers});
      std::int64_t first = 0;
      for (auto& batch : loader.epoch(0)) {
        std::vector<at::Tensor> rows;
        for (std::int64_t i = first; i < std::min<std::int64_t>(first + 5, 23); ++i) rows.push_back(make(i));
        CHECK((batch.scalar_type() == wick::detail::scalar_type_of(type)));
        CHECK(batch.equal(at::stack(rows)));
        CHECK(batch.is_contiguous());
        first += 5;
      }
      CHECK(first == 25);
    }
  }
}

TEST_CASE("tensors lie in batches as fields beside others, strided or not") {
  wick::loader loader(wick::from(numbers{8}) | [](std::int64_t i) {
    const at::Tensor t = at::arange(i, i + 12, at::kFloat).reshape({3, 4});
    return std::tuple(t.transpose(0, 1), wick::sample<at::Tensor, float>{t.select(0, 1), 0.5f},
                      at::full({}, i, at::kLong));
  } | wick::batch(4));
  std::int64_t i = 0;
  for (auto& [strided, inner, scalar] : loader.epoch(0)) {
    CHECK((strided.sizes() == at::IntArrayRef({4, 4, 3})));
    CHECK((inner.data.sizes() == at::IntArrayRef({4, 4})));
    CHECK((inner.target.sizes() == at::IntArrayRef({4})));
    CHECK((scalar.sizes() == at::IntArrayRef({4})));
    for (std::int64_t k = 0; k < 4; ++k, ++i) {
      const at::Tensor t = at::arange(i, i + 12, at::kFloat).reshape({3, 4});
      CHECK(strided.select(0, k).equal(t.transpose(0, 1)));
      CHECK(inner.data.select(0, k).equal(t.select(0, 1)));
      CHECK(scalar.select(0, k).item<std::int64_t>() == i);
    }
  }
  CHECK(i == 8);
}

TEST_CASE("tensors without elements make a batch without elements") {
  wick::loader loader(wick::from(numbers{6}) | [](std::int64_t) {
    return at::zeros({0, 3});
  } | wick::batch(4));
  const at::Tensor batch = loader.next().value();
  CHECK((batch.sizes() == at::IntArrayRef({4, 0, 3})));
  CHECK((loader.next()->sizes() == at::IntArrayRef({2, 0, 3})));
}

TEST_CASE(
    "a tensor that can't be batched is an error with the sample's key, and the next batch comes all the "
    "same") {
  const auto check = [](auto make, auto... parts) {
    wick::loader loader(wick::from(numbers{9}) |
                        [make](std::int64_t i) { return i == 4 ? make() : at::zeros({2}); } | wick::batch(3));
    CHECK(loader.next().has_value());
    std::string key, stage;
    std::uint64_t position = 0;
    std::string text;
    try {
      (void)loader.next();
    } catch (const wick::sample_error& e) {
      key = e.key(), stage = e.stage(), position = e.position(), text = e.what();
    }
    CHECK(key == "row-4");
    CHECK(stage == "batch");
    CHECK(position == 4);
    CHECK(contains(text, "row-4: batch: ", parts...));
    CHECK(loader.next().has_value());
    CHECK_FALSE(loader.next().has_value());
    CHECK(loader.failure_log().total() == 1);
  };
  check([] { return at::zeros({2}, at::kComplexFloat); }, "a tensor of ComplexFloat can't be batched");
  check([] { return at::Tensor(); });
  check([] { return at::zeros({3}); }, "shape [3] of float32", "first sample has [2] of float32");
  check([] { return at::zeros({2}, at::kDouble); }, "shape [2] of float64",
        "first sample has [2] of float32");
  check([] { return at::zeros({2, 2, 1, 1, 1, 1, 1}); });
}

TEST_CASE("every tensor of a batch is found, whatever holds it") {
  struct plain {
    at::Tensor a;
    std::vector<std::string> names;
    std::pair<at::Tensor, int> b;
  };
  class example {
   public:
    example(at::Tensor d, at::Tensor t) : data(std::move(d)), target(std::move(t)) {}
    at::Tensor data, target;
  };
  const auto found = [](auto batch) {
    std::string out;
    wick::detail::for_each_tensor(batch, [&](at::Tensor& t) { out += std::to_string(t.item<int>()); });
    return out;
  };
  const auto n = [](int i) { return at::full({}, i, at::kInt); };
  CHECK(found(n(1)) == "1");
  CHECK(found(wick::sample<at::Tensor, at::Tensor>{n(1), n(2)}) == "12");
  CHECK(found(std::tuple(n(1), 7, std::tuple(n(2), n(3)))) == "123");
  CHECK(found(plain{n(1), {"x", "y"}, {n(2), 9}}) == "12");
  CHECK(found(std::vector<at::Tensor>{n(1), n(2), n(3)}) == "123");
  CHECK(found(std::array<at::Tensor, 10>{n(0), n(1), n(2), n(3), n(4), n(5), n(6), n(7), n(8), n(9)}) ==
        "0123456789");
  CHECK(found(std::map<std::string, at::Tensor>{{"a", n(1)}, {"b", n(2)}}) == "12");
  CHECK(found(std::vector<wick::sample<at::Tensor, at::Tensor>>{{n(1), n(2)}, {n(3), n(4)}}) == "1234");
  CHECK(found(std::optional<at::Tensor>(n(5))) == "5");
  CHECK(found(std::optional<at::Tensor>()) == "");
  CHECK(found(example(n(1), n(2))) == "12");
  CHECK(found(std::vector<bool>{true, false}) == "");
  CHECK(found(std::string("none")) == "");
  CHECK(found(7) == "");
}

TEST_CASE("a cache on disk keeps tensors of every type, however they lie in memory") {
  for (const wick::dtype type : all_types) {
    const at::Tensor t =
        at::arange(0, 24, at::kLong).to(wick::detail::scalar_type_of(type)).reshape({2, 3, 4});
    for (const at::Tensor& one : {t, t.transpose(0, 2), t.slice(2, 1, 3), t.select(0, 1), t.slice(0, 1, 1)}) {
      wick::ext::cache_writer out;
      wick::detail::save(one, out);
      wick::ext::cache_reader in(out.written());
      at::Tensor again;
      wick::detail::load(again, in);
      CHECK(in.left() == 0);
      CHECK((again.scalar_type() == one.scalar_type()));
      CHECK(at::equal(again.to(at::kDouble), one.to(at::kDouble)));
      for (std::size_t n = 0; n < out.written().size(); n += 5) {
        wick::ext::cache_reader less(out.written().first(n));
        CHECK_THROWS_AS(wick::detail::load(again, less), wick::ext::cache_reader::unavailable);
      }
    }
  }
  CHECK(contains(message_of([] {
                   wick::ext::cache_writer out;
                   wick::detail::save(at::Tensor(), out);
                   return 0;
                 }),
                 "not defined"));
}

TEST_CASE("features that a callable computes as tensors are made once, and come from the folder then") {
  const wick_test::temp_dir dir;
  int runs = 0;
  const auto make = [&] {
    return wick::from(numbers{20}) |
           wick::map(
               "features",
               [&runs](std::int64_t i) {
                 ++runs;
                 return wick::sample<at::Tensor, std::int64_t>{at::full({4}, static_cast<double>(i)), i};
               }) |
           wick::cache_on_disk(dir.path().string()) | wick::batch(5);
  };
  for (int run = 0; run < 2; ++run) {
    wick::loader loader(make(), {.workers = 1, .prefetch_next_epoch = false});
    std::int64_t samples = 0;
    for (auto& batch : loader.epoch(0)) {
      CHECK(at::equal(batch.data.select(1, 3), batch.target.to(at::kFloat)));
      samples += batch.target.size(0);
    }
    CHECK(samples == 20);
  }
  CHECK(runs == 20);
}

}  // namespace wick_test::tensor_tests
