// Implements sampling/weights.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cmath>
#include <mutex>
#include <string>
#include <utility>

#include <wick/ext/fingerprint.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/sampling/weights.hpp>

namespace wick::inline v0_1::detail {

/// The blocks' times tell a sum_tree which changes it doesn't have yet.
struct weights_store {
  std::mutex mutex;
  std::vector<double> values;
  std::vector<std::uint64_t> changed;  // when a weight in each block of sum_tree::block was last set
  std::uint64_t now = 1;               // rises at each sum_tree::follow()

  static void require(std::uint64_t i, double w) {
    if (w >= 0 && std::isfinite(w)) return;
    throw error("weights: weight " + std::to_string(i) + " would be " + std::to_string(w) +
                "; weights are finite and not negative");
  }
  void require_there(std::uint64_t i) const {
    if (i < values.size()) return;
    throw error("weights: weight " + std::to_string(i) + " of " + std::to_string(values.size()) +
                "; they count from 0");
  }
  void resize(std::uint64_t n, double w) {
    const std::uint64_t before = values.size(), first = std::min<std::uint64_t>(before, n);
    changed.reserve(blocks(n));
    values.resize(n, w);
    changed.resize(blocks(n));
    for (std::uint64_t b = first / sum_tree::block; b < changed.size(); ++b) changed[b] = now;
  }
  static std::uint64_t blocks(std::uint64_t n) noexcept {
    return (n + sum_tree::block - 1) / sum_tree::block;
  }
};

double sum_tree::total_of(std::size_t level, std::uint64_t of_block) const noexcept {
  const std::vector<double>& sums = levels_[level];
  return sums[std::min((of_block + 1) * block, std::uint64_t{sums.size()}) - 1];
}

void sum_tree::follow(const weights& of) {
  weights_store& from = *of.store_;
  const std::lock_guard lock(from.mutex);
  const std::uint64_t n = from.values.size(), before = size();
  const std::uint64_t since = std::exchange(seen_, 0);  // if this ends early, the next call redoes all
  if (n == 0) {
    levels_.clear();
    seen_ = from.now++;
    return;
  }
  std::vector<std::uint64_t> stale, above;  // blocks
  for (std::uint64_t b = 0; b < from.changed.size(); ++b) {
    if (from.changed[b] > since) stale.push_back(b);
  }
  const std::uint64_t end = weights_store::blocks(n) - 1;
  if (n != before && (stale.empty() || stale.back() != end)) stale.push_back(end);
  std::uint64_t length = n;
  for (std::size_t level = 0;; ++level, length = weights_store::blocks(length)) {
    if (level == levels_.size()) levels_.emplace_back();
    std::vector<double>& sums = levels_[level];
    sums.resize(length);
    above.clear();
    for (const std::uint64_t b : stale) {
      double sum = 0;
      for (std::uint64_t i = b * block; i < std::min((b + 1) * block, length); ++i) {
        sum += level == 0 ? from.values[i] : total_of(level - 1, i);
        sums[i] = sum;
      }
      if (above.empty() || above.back() != b / block) above.push_back(b / block);
    }
    if (length <= block) {
      levels_.resize(level + 1);
      break;
    }
    stale.swap(above);
  }
  seen_ = from.now++;
}

std::uint64_t sum_tree::operator()(random_stream& random) const noexcept {
  double left = random.uniform() * sum();
  std::uint64_t at = 0;
  for (std::size_t level = levels_.size(); level-- > 0;) {
    const std::vector<double>& sums = levels_[level];
    const double* const first = sums.data() + at * block;
    const double* const end = first + std::min(block, std::uint64_t{sums.size()} - at * block);
    // Sums are rounded, so `left` may be a little more than the total: then the last one with a weight is
    // drawn.
    const double* const found =
        left < end[-1] ? std::upper_bound(first, end, left) : std::lower_bound(first, end, end[-1]);
    if (found != first) left -= found[-1];
    at = at * block + static_cast<std::uint64_t>(found - first);
  }
  return at;
}

std::uint64_t sum_tree::fingerprint() const noexcept {
  if (levels_.empty()) return 0;
  return fingerprint_hash().add(levels_.front().data(), levels_.front().size() * sizeof(double)).value();
}

changing_weights_stage::changing_weights_stage(weights by, weighted_options options)
    : by_(std::move(by)), options_(options) {
  if (options_.samples == 0u)
    throw error("weighted: .samples is 0; leave it out for as many as there are weights");
  if (!options_.replacement) {
    throw error(
        "weighted: weights that change are drawn by with replacement; leave .replacement out, or give a "
        "vector of weights that stay");
  }
}

std::uint64_t changing_weights_stage::size(std::uint64_t n) const {
  if (n != tree_.size()) {
    throw error("weighted: " + std::to_string(tree_.size()) + " weights for " + std::to_string(n) +
                " samples when they were taken; give one to each sample before weighted(), which is for the "
                "loader and its refresh(), not for mix()");
  }
  if (n == 0) return 0;
  if (!(tree_.sum() > 0)) throw error("weighted: no weight is above 0, so no sample could be drawn");
  if (!std::isfinite(tree_.sum())) throw error("weighted: the sum of the weights is not finite; scale them");
  return options_.samples.value_or(n);
}

std::uint64_t changing_weights_stage::fingerprint() const noexcept {
  return fingerprint_hash().add(options_.samples.value_or(0)).add(tree_.fingerprint()).value();
}

}  // namespace wick::detail

namespace wick::inline v0_1 {

weights::weights(std::vector<double> values) : store_(std::make_shared<detail::weights_store>()) {
  for (std::size_t i = 0; i < values.size(); ++i) detail::weights_store::require(i, values[i]);
  store_->values = std::move(values);
  store_->resize(store_->values.size(), 0);
  std::fill(store_->changed.begin(), store_->changed.end(), store_->now);
}

std::uint64_t weights::size() const {
  const std::lock_guard lock(store_->mutex);
  return store_->values.size();
}

double weights::at(std::uint64_t i) const {
  const std::lock_guard lock(store_->mutex);
  store_->require_there(i);
  return store_->values[i];
}

void weights::set(std::uint64_t i, double weight) {
  detail::weights_store::require(i, weight);
  const std::lock_guard lock(store_->mutex);
  store_->require_there(i);
  store_->values[i] = weight;
  store_->changed[i / detail::sum_tree::block] = store_->now;
}

void weights::push_back(double weight) {
  const std::lock_guard lock(store_->mutex);
  const std::uint64_t n = store_->values.size();
  detail::weights_store::require(n, weight);
  if (n % detail::sum_tree::block == 0) store_->changed.push_back(store_->now);
  try {
    store_->values.push_back(weight);
  } catch (...) {
    store_->changed.resize(detail::weights_store::blocks(n));
    throw;
  }
  store_->changed.back() = store_->now;
}

void weights::resize(std::uint64_t size, double weight) {
  const std::lock_guard lock(store_->mutex);
  detail::weights_store::require(store_->values.size(), weight);
  store_->resize(size, weight);
}

detail::changing_weights_stage weighted(weights by, weighted_options options) {
  return {std::move(by), options};
}

}  // namespace wick
