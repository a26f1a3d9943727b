// One source of each kind, and the callables that turn its item into the item that a stage takes. They are
// compiled and never run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#ifdef WICK_PAIRS_TORCH
#include <torch/torch.h>

#include <wick/wick.hpp>
#else
#include <wick/core.hpp>
#endif
#ifdef WICK_PAIRS_PARQUET
#include <wick/tables/parquet.hpp>
#endif
#ifdef WICK_PAIRS_LMDB
#include <wick/sources/lmdb.hpp>
#endif
#ifdef WICK_PAIRS_CURL
#include <wick/stores/remote.hpp>
#endif

namespace pairs {

using namespace wick;  // NOLINT(google-build-using-namespace): the table shows expressions as users write
                       // them

/// Of a user. pairs.py adds function templates that take anything, named as those that wick calls: wick must
/// not find them by argument-dependent lookup.
namespace user {

// ---- items ----

struct parts {
  lazy_image image;
  wick::mask mask;
  wick::boxes boxes;
};
struct move {
  std::array<float, 8> board;
  std::int32_t result;
};
struct own_source {
  std::uint64_t size() const { return 10; }
  sample<std::array<float, 4>> at(std::uint64_t i) const { return {{}, static_cast<std::int64_t>(i)}; }
};
struct row {
  std::array<float, 4> values;
  std::int64_t label;
};

// ---- what turns any item into what a stage takes ----

struct as_image {
  template <class Item>
  sample<image> operator()(const Item&) const {
    return {image(8, 8, 3), 1};
  }
};
struct as_parts {
  template <class Item>
  parts operator()(const Item&) const {
    return {};
  }
};
struct as_numbers {
  template <class Item>
  sample<std::array<float, 4>> operator()(const Item&) const {
    return {};
  }
};
struct as_ragged {
  template <class Item>
  sample<std::vector<std::int64_t>> operator()(const Item&) const {
    return {};
  }
};
struct as_bytes {
  template <class Item>
  sample<bytes> operator()(const Item&) const {
    return {};
  }
};
struct from_text {
  std::vector<std::int64_t> operator()(std::string_view text) const {
    return std::vector<std::int64_t>(text.begin(), text.end());
  }
};

// ---- stages of a user's own ----

struct own_batch_stage {
  template <class Batch>
  Batch operator()(Batch batch) const {
    return batch;
  }
};
struct own_coroutine {
  template <class Item>
  task<Item> operator()(Item item) const {
    co_return std::move(item);
  }
};
struct keep_all {
  template <class Item>
  bool operator()(const Item&) const {
    return true;
  }
};
struct first_of {
  template <class Item, class Others>
  Item operator()(Item own, Others&) const {
    return own;
  }
};
struct with_state {
  template <class Item>
  Item operator()(int&, Item item) const {
    return item;
  }
};
struct frame {
  ext::record_frame operator()(std::span<const std::byte>) const {
    return {.offset = 4, .length = 4, .size = 8};
  }
};

#ifdef WICK_PAIRS_TORCH
class example_set : public torch::data::datasets::Dataset<example_set> {
 public:
  torch::data::Example<> get(std::size_t) override { return {torch::zeros({4}), torch::zeros({})}; }
  c10::optional<std::size_t> size() const override { return 10; }
};
#endif

}  // namespace user

using namespace user;  // NOLINT(google-build-using-namespace): as above

// ---- the check ----

/// Compiles all that a loader of this pipeline needs. Each pair has a number, so that the compiler speaks of
/// each.
template <int Number, class Pipeline>
void check(Pipeline pipeline) {
  static_assert(Number >= 0 && !std::is_same_v<Pipeline, wick::detail::misfit_pipeline>, "pairs: refused");
  loader train(std::move(pipeline), {.workers = 2});
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
  loader(std::move(train)).next();
}

}  // namespace pairs
