// Implements batch/detail/memory_column.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <string>

#include <wick/base/detail/fetch_to_write.hpp>
#include <wick/batch/detail/memory_column.hpp>
#include <wick/ext/source.hpp>

namespace wick::inline v0_1::detail {

namespace {

// The most bytes in a column of labels. All of its lines are prefetched together, by the worker that writes
// them and by the consumer: one at a time, each would stall.
constexpr std::size_t few_bytes = 4096;

}  // namespace

void column_memory::begin(std::size_t n, const column_description& about,
                          const std::shared_ptr<slab_pool>& pool, std::size_t number) {
  number_ = number;
  if (pool_ != pool) pool_ = pool;  // assigning the same pool would cost two atomics
  capacity_ = n;
  about_ = about;
  base_.store(nullptr, std::memory_order_relaxed);
  misfits_.clear();
}

std::optional<misfit> column_memory::first_misfit(std::size_t n,
                                                  const std::vector<std::size_t>& failed) const {
  if (misfits_.empty()) return std::nullopt;
  std::vector<std::pair<std::size_t, what>> all = misfits_;
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  const auto known = [&](std::size_t i) {
    for (const auto& m : all) {
      if (m.first == i) return m.second;
    }
    return what{about_.each, about_.type};
  };
  std::size_t lowest = 0;
  while (std::binary_search(failed.begin(), failed.end(), lowest)) ++lowest;
  const what wanted = known(lowest);
  for (std::size_t i = lowest + 1; i < n; ++i) {
    if (std::binary_search(failed.begin(), failed.end(), i)) continue;
    const what found = known(i);
    if (found.each == wanted.each && found.type == wanted.type) continue;
    return misfit{i, "shape " + to_string(found.each) + " of " + std::string(to_string(found.type)) +
                         " in a batch whose first sample has " + to_string(wanted.each) + " of " +
                         std::string(to_string(wanted.type)) +
                         "; bring all to one shape before batch() (resize, crop, pad), or use group()"};
  }
  return std::nullopt;
}

void column_memory::forget(std::size_t i) {
  std::lock_guard lock(mutex_);
  std::erase_if(misfits_, [i](const auto& m) { return m.first == i; });
}

bool column_memory::stale(const std::vector<std::size_t>& failed) const {
  return std::any_of(misfits_.begin(), misfits_.end(), [&](const auto& m) {
    return !std::binary_search(failed.begin(), failed.end(), m.first);
  });
}

void column_memory::close(const std::vector<std::size_t>& gaps, std::size_t n) noexcept {
  std::byte* const base = base_.load(std::memory_order_relaxed);
  for (std::size_t g = 0; g < gaps.size(); ++g) {
    const std::size_t from = gaps[g] + 1, to = g + 1 < gaps.size() ? gaps[g + 1] : n;
    if (from < to)
      std::memmove(base + (from - g - 1) * stride_, base + from * stride_, (to - from) * stride_);
  }
}

void column_memory::describe(fingerprint_hash& to) const noexcept {
  to.add(static_cast<std::uint64_t>(about_.type));
  for (const std::int64_t e : about_.each) to.add(static_cast<std::uint64_t>(e));
}

slab column_memory::take(std::size_t n) {
  about_.count = static_cast<std::int64_t>(n);
  if (n == 0) memory_ = pool_->acquire(1, number_);
  const std::size_t bytes = n * stride_;  // labels are read at once, images from their beginning on
  prefetch_bytes(memory_.data(), bytes, bytes <= few_bytes ? few_bytes : 64);
  return std::move(memory_);
}

/// The first sample to arrive sets the shape of a slot.
std::byte* column_memory::acquire(const shape& each, dtype type) {
  std::lock_guard lock(mutex_);
  if (std::byte* const base = base_.load(std::memory_order_relaxed)) return base;
  about_.each = each;
  about_.type = type;
  return acquire_locked();
}

std::byte* column_memory::acquire() {
  std::lock_guard lock(mutex_);
  if (std::byte* const base = base_.load(std::memory_order_relaxed)) return base;
  return acquire_locked();
}

std::byte* column_memory::acquire_locked() {
  stride_ = static_cast<std::size_t>(about_.each.count()) * size_of(about_.type);
  memory_ = pool_->acquire(capacity_ * stride_, number_);
  if (capacity_ * stride_ <= few_bytes) fetch_to_write(memory_.data(), capacity_ * stride_);
  base_.store(memory_.data(), std::memory_order_release);
  return memory_.data();
}

void column_memory::note_misfit(std::size_t i, const shape& each, dtype type) {
  std::lock_guard lock(mutex_);
  misfits_.push_back({i, what{each, type}});
}

}  // namespace wick::detail
