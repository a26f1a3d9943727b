#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include <torch/torch.h>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include <wick/wick.hpp>

namespace wick_test::torch_data_tests {

namespace {

using wick_test::contains;
using wick_test::message_of;

/// Copies of one another, and how many use one at a time.
struct counts {
  std::atomic<int> copies{0};
  std::atomic<bool> shared{false};
};

/// Rows of three numbers, with their number as the target. Not for two threads at a time.
class rows : public torch::data::datasets::Dataset<rows> {
 public:
  explicit rows(std::shared_ptr<counts> c) : counts_(std::move(c)) {}
  rows(const rows& other) : Dataset(other), counts_(other.counts_) { ++counts_->copies; }
  rows(rows&&) = default;
  torch::data::Example<> get(std::size_t index) override {
    if (in_use_.exchange(true)) counts_->shared = true;
    if (index == 77) {
      in_use_ = false;
      throw std::runtime_error("number 77 is bad");
    }
    const auto i = static_cast<std::int64_t>(index);
    torch::data::Example<> out{torch::full({3}, static_cast<float>(i)), torch::tensor(i)};
    in_use_ = false;
    return out;
  }
  c10::optional<std::size_t> size() const override { return 200; }

 private:
  struct flag : std::atomic<bool> {
    flag() : std::atomic<bool>(false) {}
    flag(const flag&) : flag() {}
    using std::atomic<bool>::operator=;
  };
  std::shared_ptr<counts> counts_;
  flag in_use_;
};

/// Only data, and no target.
class plain : public torch::data::datasets::Dataset<plain, torch::data::TensorExample> {
 public:
  torch::data::TensorExample get(std::size_t index) override {
    return torch::full({2}, static_cast<std::int64_t>(index));
  }
  c10::optional<std::size_t> size() const override { return 5; }
};

class endless : public torch::data::datasets::Dataset<endless> {
 public:
  torch::data::Example<> get(std::size_t) override { return {}; }
  c10::optional<std::size_t> size() const override { return c10::nullopt; }
};

/// As in the examples of LibTorch: it takes any data loader.
template <class DataLoader>
std::vector<std::int64_t> targets_of(DataLoader& from) {
  std::vector<std::int64_t> out;
  for (auto& batch : from) {
    const torch::Tensor t = batch.target.to(torch::kCPU);
    CHECK(batch.data.size(0) == t.size(0));
    for (std::int64_t i = 0; i < t.size(0); ++i) out.push_back(t[i].template item<std::int64_t>());
  }
  return out;
}

}  // namespace

TEST_CASE("batches of a torch::data data set are those of its own loader, in the same loop") {
  const auto normalized = [](std::shared_ptr<counts> c) {
    return rows(std::move(c)).map(torch::data::transforms::Normalize<>(1.0, 2.0));
  };
  const auto of_torch = std::make_shared<counts>(), of_wick = std::make_shared<counts>();
  auto theirs = torch::data::make_data_loader<torch::data::samplers::SequentialSampler>(
      normalized(of_torch).map(torch::data::transforms::Stack<>()), 64);
  wick::loader ours(wick::torch_data(normalized(of_wick)) | wick::read() | wick::batch(64),
                    {.workers = 2, .on_error = wick::on_error::skip});
  CHECK_THROWS_WITH(targets_of(*theirs), "number 77 is bad");
  std::vector<std::int64_t> all(200);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int64_t>(i);
  all.erase(all.begin() + 77);
  CHECK(targets_of(ours) == all);
  CHECK(targets_of(ours) == all);  // the next epoch
  const auto first = ours.next();
  REQUIRE(!first);
  for (auto& batch : ours.epoch(2)) {
    REQUIRE(batch.data.sizes() == at::IntArrayRef{batch.target.size(0), 1, 1, 3});  // Normalize adds two
    CHECK(batch.data.dtype() == torch::kFloat);
    CHECK(torch::equal(batch.data.flatten(1).select(1, 2), (batch.target.to(torch::kFloat) - 1) / 2));
  }
}

TEST_CASE("each call has a copy of the data set, and there are no more copies than calls at a time") {
  const auto c = std::make_shared<counts>();
  wick::loader l(wick::torch_data(rows(c)) | wick::shuffle() | wick::read() | wick::batch(16),
                 {.workers = 4, .on_error = wick::on_error::skip});
  for (int epoch = 0; epoch < 20; ++epoch) {
    for (auto& batch : l.epoch(epoch)) static_cast<void>(batch);
  }
  CHECK(!c->shared);
  CHECK(c->copies >= 1);
  CHECK(c->copies <= 5);  // four workers, and the thread that takes the batches
}

TEST_CASE("what a data set throws is the failure of the sample") {
  wick::loader l(wick::torch_data(rows(std::make_shared<counts>())) | wick::read() | wick::batch(100));
  CHECK(
      contains(message_of([&] { return l.next()->data.size(0); }), "sample 77", "read", "number 77 is bad"));
  CHECK(l.next()->data.size(0) == 100);
}

TEST_CASE("data sets without targets, and without a size") {
  wick::loader l(wick::torch_data(plain()) | wick::read() | wick::batch(5));
  const at::Tensor got = l.next().value();
  CHECK(torch::equal(got, torch::arange(5).unsqueeze(1).expand({5, 2})));
  CHECK(contains(message_of([] { return wick::torch_data(endless()).size(); }), "doesn't know its size"));
}

}  // namespace wick_test::torch_data_tests
