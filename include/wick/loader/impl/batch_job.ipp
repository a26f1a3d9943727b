// Implements loader/detail/batch_job.hpp. Included in exactly one file of a program.
#pragma once

#include <utility>

#include <wick/loader/detail/batch_job.hpp>

namespace wick::inline v0_1::detail {

std::shared_ptr<const epoch_order> shared_order(const epoch_order* o) {
  return std::shared_ptr<const epoch_order>(o);
}

void batch_job::note(failure f) noexcept {
  std::lock_guard lock(mutex);
  const bool skipped = f.action == error_action::skip;
  try {
    if (failures.size() == failures.capacity()) failures.reserve(2 * failures.size() + 4);
    if (f.slot != failure::whole_batch && last_failures.size() < count)
      last_failures.resize(static_cast<std::size_t>(count), failure::none);
    if (skipped) gaps.push_back(static_cast<std::size_t>(f.slot));
  } catch (...) {
    state = batch_state::lost;
    f.action = error_action::fail;
    if (!unlisted || f.slot < unlisted->slot) unlisted = std::move(f);
    return;
  }
  if (f.action == error_action::fail) state = batch_state::lost;
  if (f.of_other()) others_failed.store(true, std::memory_order_relaxed);
  failures.push_back(std::move(f));
  link(static_cast<std::uint32_t>(failures.size() - 1));
}

void batch_job::lose(failure f) noexcept {
  f.action = error_action::fail;
  note(std::move(f));
}

void batch_job::fail_whole(std::uint32_t stage, std::exception_ptr cause) noexcept {
  failure f;
  f.slot = failure::whole_batch;
  f.stage = stage;
  f.cause = std::move(cause);
  f.position = first;
  note(std::move(f));
}

bool batch_job::is_no_other(std::uint64_t position, std::uint64_t index) noexcept {
  if (!others_failed.load(std::memory_order_relaxed)) return false;
  std::lock_guard lock(mutex);
  return std::any_of(failures.begin(), failures.end(), [&](const failure& f) {
    return f.of_other() && f.other == index && f.position == position && f.action == error_action::replace;
  });
}

void batch_job::forget() noexcept {
  failures.clear();
  gaps.clear();
  last_failures.clear();
  unlisted.reset();
  others_failed.store(false, std::memory_order_relaxed);
  state = batch_state::making;
  cancelled.store(false, std::memory_order_relaxed);
  print.store(0, std::memory_order_relaxed);
}

void batch_job::link(std::uint32_t i) noexcept {
  failure& f = failures[i];
  if (f.slot < last_failures.size())
    f.before = std::exchange(last_failures[static_cast<std::size_t>(f.slot)], i);
}

}  // namespace wick::detail
