// Implements sampling/weighted.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>

#include <wick/ext/fingerprint.hpp>
#include <wick/sampling/weighted.hpp>

namespace wick::inline v0_1::detail {

alias_table::alias_table(const std::vector<double>& weights) : columns_(weights.size()) {
  const double most = *std::max_element(weights.begin(), weights.end());
  double sum = 0;
  for (const double w : weights) sum += w / most;  // so that no sum of finite weights overflows
  const auto count = static_cast<double>(weights.size());
  std::vector<std::uint64_t> small, large;
  for (std::uint64_t i = 0; i < weights.size(); ++i) {
    columns_[i] = {weights[i] / most / sum * count, i};
    (columns_[i].keep < 1 ? small : large).push_back(i);
  }
  while (!small.empty() && !large.empty()) {
    column& under = columns_[small.back()];
    const std::uint64_t over = large.back();
    small.pop_back();
    under.alias = over;
    columns_[over].keep = columns_[over].keep + under.keep - 1;
    if (columns_[over].keep < 1) {
      large.pop_back();
      small.push_back(over);
    }
  }
  // Only rounding leaves columns over. A weight of 0 is never the last: there is another column above 1 for
  // it.
  for (const std::uint64_t i : small)
    columns_[i] = {weights[i] > 0 ? 1.0 : 0.0, weights[i] > 0 ? i : heaviest(weights)};
  for (const std::uint64_t i : large) columns_[i].keep = 1;
}

std::uint64_t alias_table::heaviest(const std::vector<double>& w) {
  return static_cast<std::uint64_t>(std::max_element(w.begin(), w.end()) - w.begin());
}

weighted_stage::weighted_stage(std::vector<double> weights, weighted_options options)
    : table_(std::make_shared<table>()) {
  table_->options = options;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (!(weights[i] >= 0) || !std::isfinite(weights[i])) {
      throw error("weighted: weight " + std::to_string(i) + " is " + std::to_string(weights[i]) +
                  "; weights are finite and not negative");
    }
    table_->drawable += weights[i] > 0;
  }
  if (table_->drawable == 0) throw error("weighted: no weight is above 0, so no sample could be drawn");
  if (!options.samples) table_->options.samples = weights.size();
  if (*table_->options.samples == 0)
    throw error("weighted: .samples is 0; leave it out for as many as there are weights");
  if (!options.replacement && *table_->options.samples > table_->drawable) {
    throw error("weighted: " + std::to_string(*table_->options.samples) +
                " samples can't be drawn without replacement from " + std::to_string(table_->drawable) +
                " with a weight above 0; say how many with {.samples = …}");
  }
  if (options.replacement) table_->alias.emplace_back(weights);
  table_->weights = std::move(weights);
}

std::uint64_t weighted_stage::size(std::uint64_t n) const {
  if (n != table_->weights.size()) {
    throw error("weighted: " + std::to_string(table_->weights.size()) + " weights for " + std::to_string(n) +
                " samples; give one to each sample before weighted()");
  }
  return *table_->options.samples;
}

std::uint64_t weighted_stage::fingerprint() const noexcept {
  const auto& [samples, replacement] = table_->options;
  return fingerprint_hash()
      .add(*samples)
      .add(replacement)
      .add(table_->weights.data(), table_->weights.size() * sizeof(double))
      .value();
}

double weighted_stage::exponential(random_stream& random) noexcept {
  const auto draw = [&]() -> std::uint64_t {
    const std::uint64_t high = random();
    return (high << 32) | random();
  };
  for (double whole = 0;; ++whole) {
    const std::uint64_t part = draw();
    bool odd = true;  // the length of the run of falling numbers that begins with `part`
    for (std::uint64_t last = part, next; (next = draw()) < last; last = next) odd = !odd;
    if (odd) return whole + static_cast<double>(part >> 11) * 0x1p-53;
  }
}

weighted_stage::arrival::arrival(double time, double weight, std::uint64_t i) noexcept : index(i) {
  int of_time = 0, of_weight = 0, of_both = 0;
  const double t = std::frexp(time, &of_time), w = std::frexp(weight, &of_weight);
  mantissa = std::frexp(t / w, &of_both);
  exponent = time > 0 ? of_time - of_weight + of_both : std::numeric_limits<int>::min();
}

bool weighted_stage::arrival::operator<(const arrival& other) const noexcept {
  return std::tie(exponent, mantissa, index) < std::tie(other.exponent, other.mantissa, other.index);
}

weighted_stage::list weighted_stage::draw_all(key k) const {
  std::lock_guard lock(table_->mutex);
  for (const auto& [of, made] : table_->lists) {
    if (of == k) return made;
  }
  std::vector<arrival> times;
  times.reserve(table_->drawable);
  for (std::uint64_t i = 0; i < table_->weights.size(); ++i) {
    if (table_->weights[i] == 0) continue;
    random_stream random(k.seed, k.epoch, i, k.stage);
    times.emplace_back(exponential(random), table_->weights[i], i);
  }
  const auto end = times.begin() + static_cast<std::ptrdiff_t>(*table_->options.samples);
  std::partial_sort(times.begin(), end, times.end());
  auto made = std::make_shared<std::vector<std::uint64_t>>();
  made->reserve(*table_->options.samples);
  for (auto t = times.begin(); t != end; ++t) made->push_back(t->index);
  if (table_->lists.size() == kept_lists) table_->lists.erase(table_->lists.begin());
  table_->lists.emplace_back(k, made);
  return made;
}

detail::weighted_stage::drawn detail::weighted_stage::prepare(std::uint64_t, std::uint64_t seed,
                                                              std::uint64_t epoch,
                                                              std::uint32_t stage) const {
  const key k{seed, epoch, stage};
  return drawn(table_, table_->options.replacement ? nullptr : draw_all(k), k);
}

}  // namespace wick::detail

namespace wick::inline v0_1 {

detail::weighted_stage weighted(std::vector<double> weights, weighted_options options) {
  return {std::move(weights), options};
}

}  // namespace wick
