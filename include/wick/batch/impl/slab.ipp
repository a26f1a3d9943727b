// Implements batch/detail/slab.hpp. Included in exactly one file of a program.
#pragma once

#include <wick/base/detail/brief_lock.hpp>
#include <wick/batch/detail/slab.hpp>

namespace wick::inline v0_1::detail {

slab_pool::slab_pool(std::shared_ptr<slab_memory> memory, std::size_t keep, std::size_t ahead,
                     std::size_t most)
    : memory_(std::move(memory)),
      recycles_(memory_->recycles()),
      keep_(keep),
      ahead_(ahead),
      most_(std::max(ahead, most)) {
  free_.reserve(keep_ + 1);
}

std::uint64_t slab_pool::allocations() const noexcept {
  const auto lock = detail::lock_briefly(mutex_);
  return allocations_;
}

std::size_t slab_pool::bytes() const noexcept {
  const auto lock = detail::lock_briefly(mutex_);
  return bytes_;
}

std::size_t slab_pool::kept_at_most() const noexcept {
  const auto lock = detail::lock_briefly(mutex_);
  return window_bytes_ + cheap;
}

/// Takes a free block out of the list. It is freed after the mutex is released, since that may take
/// milliseconds.
void slab_pool::remove(std::size_t i, slab::block*& gone) noexcept {
  slab::block* const b = free_[i];
  free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(i));
  free_bytes_ -= b->capacity;
  bytes_ -= b->capacity;
  b->next = std::exchange(gone, b);
}

void slab_pool::free_all(slab::block* gone) noexcept {
  while (gone != nullptr) {
    const std::unique_ptr<slab::block> b(std::exchange(gone, gone->next));
    b->memory.free(b->memory.context);
  }
}

void slab_pool::measure_window() noexcept {
  window_bytes_ = 0;
  for (const demand& d : users_) {
    const std::size_t largest = std::max(d.now.largest, d.before.largest);
    window_bytes_ += largest * cheap_blocks(largest, ahead_, most_);
  }
}

/// Removes blocks of sizes that no user has requested in this period or the previous one.
void slab_pool::next_period(slab::block*& gone) noexcept {
  for (std::size_t i = free_.size(); i-- > 0;) {
    const bool used = std::any_of(users_.begin(), users_.end(), [&](const demand& d) {
      return d.now.uses(free_[i]->capacity) || d.before.uses(free_[i]->capacity);
    });
    if (!used) remove(i, gone);
  }
  for (demand& d : users_) d.before = std::exchange(d.now, range());
  asked_ = 0;
  measure_window();
}

/// Notes a request; true if it is this user's first.
bool slab_pool::note(std::size_t bytes, std::size_t user, slab::block*& gone) {
  if (user >= users_.size()) users_.resize(user + 1);
  if (++asked_ == period) next_period(gone);
  demand& mine = users_[user];
  if (mine.now.has(bytes)) return false;
  const bool first = mine.largest_ever == 0;
  mine.now.smallest = std::min(mine.now.smallest, bytes);
  mine.now.largest = std::max(mine.now.largest, bytes);
  if (bytes > mine.largest_ever) {
    bytes_asked_.fetch_add(bytes - std::exchange(mine.largest_ever, bytes), std::memory_order_relaxed);
  }
  measure_window();
  return first;
}

/// Nothing fits. The smallest block that is too small by at most half makes way: the new one serves nearly
/// everything that it did, and the number of blocks stays the same.
void slab_pool::give_up_smaller(std::size_t bytes, slab::block*& gone) noexcept {
  std::size_t least = free_.size();
  for (std::size_t i = 0; i < free_.size(); ++i) {
    const std::size_t capacity = free_[i]->capacity;
    if (capacity < bytes && bytes / 2 <= capacity &&
        (least == free_.size() || capacity < free_[least]->capacity)) {
      least = i;
    }
  }
  if (least != free_.size()) remove(least, gone);
}

void slab_pool::close() noexcept {
  slab::block* gone = nullptr;
  {
    const auto lock = detail::lock_briefly(mutex_);
    closed_ = true;
    while (!free_.empty()) remove(free_.size() - 1, gone);
  }
  free_all(gone);
}

slab_pool::~slab_pool() {
  // Without the mutex: in a forked child, it may be held by a thread that doesn't exist there.
  for (slab::block* b : free_) {
    b->next = nullptr;
    free_all(b);
  }
}

void slab::reset() noexcept {
  if (block* b = std::exchange(block_, nullptr)) b->pool->put(b);
}
memory_block slab::detach() noexcept {
  block* const b = std::exchange(block_, nullptr);
  if (b == nullptr) return {nullptr, nullptr, [](void*) {}};
  if (!b->pool->recycles_) {
    return {b->memory.data, b, [](void* context) { slab dropped(static_cast<block*>(context)); }};
  }
  const owned<block> mine(b);
  mine->pool->hand_over(b);
  return mine->memory;
}

slab::block* slab_pool::find(std::size_t bytes) noexcept {
  const int here = this_processor();
  std::size_t best = free_.size();
  bool fits = false;
  for (std::size_t i = free_.size(); i-- > 0;) {
    const std::size_t capacity = free_[i]->capacity;
    if (capacity == bytes) {
      if (!fits) best = i;
      fits = true;
      if (free_[i]->processor != here) continue;
      best = i;
      break;
    }
    if (!fits && capacity > bytes && capacity / 2 <= bytes &&
        (best == free_.size() || capacity < free_[best]->capacity)) {
      best = i;
    }
  }
  if (best == free_.size()) return nullptr;
  slab::block* const b = free_[best];
  b->processor = here;
  free_.erase(free_.begin() + static_cast<std::ptrdiff_t>(best));
  free_bytes_ -= b->capacity;
  return b;
}

/// With the mutex held, for a block that the pool lends.
void slab_pool::note_lent() {
  if (out_ == 0) self_ = shared_from_this();
  ++out_;
}
/// With the mutex held, for a block that is no longer lent. Drop the result last, after releasing the mutex:
/// the pool may go with it.
std::shared_ptr<slab_pool> slab_pool::note_returned() noexcept {
  return --out_ == 0 ? std::move(self_) : nullptr;
}

slab::block* slab_pool::make(std::size_t bytes) {
  auto made = make_owned<slab::block>(slab::block{{}, bytes, this});
  made->memory = memory_->allocate(bytes);
  const auto lock = detail::lock_briefly(mutex_);
  note_lent();
  ++allocations_;
  bytes_ += bytes;
  return made.release();
}

slab slab_pool::acquire(std::size_t bytes, std::size_t user) {
  if (bytes == 0) bytes = 1;
  std::size_t wanted = 1;
  slab::block* found = nullptr;
  slab::block* gone = nullptr;
  {
    const auto lock = detail::lock_briefly(mutex_);
    const bool first = note(bytes, user, gone);
    if (!recycles_) {
      if (first) wanted = cheap_blocks(bytes, ahead_, most_);
      if (wanted == 1) found = find(bytes);
      if (found != nullptr)
        note_lent();
      else
        give_up_smaller(bytes, gone);
    }
  }
  free_all(gone);
  if (found != nullptr) return slab(found);
  found = make(bytes);
  found->processor = this_processor();
  slab result(found);
  try {
    for (; wanted > 1; --wanted) slab(make(bytes)).reset();  // returned at once
  } catch (const std::bad_alloc&) {                          // blocks allocated ahead may be missing
  }
  return result;
}

void slab_pool::put(slab::block* b) noexcept {
  std::shared_ptr<slab_pool> last;
  slab::block* gone = nullptr;
  {
    const auto lock = detail::lock_briefly(mutex_);
    last = note_returned();
    free_.push_back(b);  // there is room for one more than are kept
    free_bytes_ += b->capacity;
    if (recycles_ || closed_) remove(free_.size() - 1, gone);
    while (free_.size() > keep_ || free_bytes_ > window_bytes_ + cheap) remove(0, gone);  // the oldest
  }
  free_all(gone);
}

/// If the memory recycles blocks: a detached block is the memory's again, and no longer counted here.
void slab_pool::hand_over(const slab::block* b) noexcept {
  std::shared_ptr<slab_pool> last;
  const auto lock = detail::lock_briefly(mutex_);
  last = note_returned();
  bytes_ -= b->capacity;
}

}  // namespace wick::detail
