// torch_data(): a torch::data data set as a source.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <c10/util/ArrayRef.h>

#include <wick/pipeline/context.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/sample.hpp>

namespace wick::inline v0_1 {

struct read_options;

namespace detail {

/// Lets any number of threads use a data set that is made for one thread: each borrows a copy of its own. A
/// copy is made when all are in use, and kept.
template <class Dataset>
class dataset_copies {
 public:
  explicit dataset_copies(Dataset first) : first_(std::move(first)) {}

  template <class F>
  auto with_one(F f) {
    struct borrowed {
      dataset_copies& from;
      std::unique_ptr<Dataset> one;
      ~borrowed() { from.give_back(std::move(one)); }
    } const mine{*this, take()};
    return f(*mine.one);
  }
  const Dataset& first() const noexcept { return first_; }

 private:
  std::unique_ptr<Dataset> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        std::unique_ptr<Dataset> out = std::move(free_.back());
        free_.pop_back();
        return out;
      }
      free_.reserve(++made_);  // so that giving it back needs no memory
    }
    return std::make_unique<Dataset>(first_);
  }
  void give_back(std::unique_ptr<Dataset> one) noexcept {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(one));
  }

  const Dataset first_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Dataset>> free_;
  std::size_t made_ = 0;
};

/// Converts a torch::data::Example to a wick::sample, or to its data if it has no target. Returns any other
/// example unchanged.
template <class Example>
auto sample_of(Example e) {
  if constexpr (requires {
                  e.data;
                  e.target;
                })
    return sample<decltype(e.data), decltype(e.target)>{std::move(e.data), std::move(e.target)};
  else if constexpr (requires { e.data; })
    return std::move(e.data);
  else
    return e;
}

/// The awaitable of a read() that never has to wait.
template <class T>
struct ready_value {
  T value;
  bool await_ready() const noexcept { return true; }
  void await_suspend(std::coroutine_handle<>) const noexcept {}
  T await_resume() { return std::move(value); }
};

/// Sample i of the data set; read() gets it.
template <class Dataset>
class torch_data_item {
 public:
  using read_type = decltype(detail::sample_of(std::declval<typename Dataset::BatchType>().front()));

  torch_data_item(dataset_copies<Dataset>* from, std::size_t index) noexcept : from_(from), index_(index) {}
  /// \throws what the data set throws
  ready_value<read_type> read(context&, const read_options&) const {
    return {from_->with_one([&](Dataset& one) {
      auto got = one.get_batch(c10::ArrayRef<std::size_t>(index_));
      if (got.size() != 1)
        throw error("torch_data: the data set gave " + std::to_string(got.size()) +
                    " examples where one was asked for");
      return detail::sample_of(std::move(got.front()));
    })};
  }

 private:
  dataset_copies<Dataset>* from_;  // owned by the source
  std::size_t index_;
};

template <class Dataset>
class torch_data_source {
 public:
  explicit torch_data_source(Dataset of) : copies_(std::make_shared<dataset_copies<Dataset>>(std::move(of))) {
    const auto n = copies_->first().size();
    if (!n)
      throw error(
          "torch_data: the data set doesn't know its size; wick needs it for the order: give its size() a "
          "value");
    count_ = *n;
  }
  std::uint64_t size() const noexcept { return count_; }
  torch_data_item<Dataset> at(std::uint64_t i) const noexcept {
    return {copies_.get(), static_cast<std::size_t>(i)};
  }

 private:
  std::shared_ptr<dataset_copies<Dataset>> copies_;
  std::uint64_t count_ = 0;
};

/// A data set that gives its examples one by one, by their indexes.
template <class Dataset>
concept indexed_dataset =
    std::is_convertible_v<c10::ArrayRef<std::size_t>, typename Dataset::BatchRequestType> &&
    requires(typename Dataset::BatchType batch) {
      batch.front();
      batch.size();
    };

/// Replaces the source when torch_data() has refused the data set: one message is enough.
struct no_dataset {
  struct item {
    using read_type = float;
    ready_value<float> read(context&, const read_options&) const { return {0}; }
  };
  std::uint64_t size() const noexcept { return 1; }
  item at(std::uint64_t) const noexcept { return {}; }
};

}  // namespace detail

/// A torch::data data set, or one with `.map(transform)`, as a source: `torch_data(datasets::MNIST(path))
/// | shuffle() | read() | batch(64)`. read() calls its get_batch() for one example, and returns a
/// wick::sample of data and target, or the data of an example without a target. Each call has its own copy
/// of the data set, like each worker in torch::data. The copies live as long as the loader, and there are no
/// more of them than concurrent calls. Leave Stack out: batch(n) collates the samples. A data set that reads
/// files blocks its worker; files(), read(), and decode() don't. \throws wick::error when the data set
/// doesn't know its size
template <class Dataset>
auto torch_data(Dataset of) {
  constexpr bool indexed = detail::indexed_dataset<Dataset>;
  static_assert(
      indexed,
      "wick: torch_data() takes data sets whose batch is a vector of examples, by indexes; leave "
      "the collation (Stack) out, as batch(n) does it; streams and chunks have no order to compute");
  if constexpr (indexed)
    return detail::torch_data_source<Dataset>(std::move(of));
  else
    return detail::no_dataset();
}

}  // namespace wick
