// Implements torch/transfer.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <iterator>
#include <mutex>
#include <thread>

#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/UndefinedTensorImpl.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/intrusive_ptr.h>

#include <wick/pipeline/error.hpp>
#include <wick/torch/transfer.hpp>

namespace wick::inline v0_1::detail {

struct transfer_stage::copy {
  /// The delivered tensors. Weak pointers keep their addresses from being reused.
  std::vector<c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>> batch;
  std::vector<at::Tensor> from;  // kept until the device has read them
  std::unique_ptr<c10::Event> done;
  bool read = false, delivered = false;

  bool is(const std::vector<at::Tensor*>& tensors) const {
    return std::equal(batch.begin(), batch.end(), tensors.begin(), tensors.end(),
                      [](const auto& a, const at::Tensor* b) {
                        return a._unsafe_get_target() == b->unsafeGetTensorImpl();
                      });
  }
  /// The consumer took the batch, or it was dropped: an epoch ended early, or a stage failed.
  bool gone() const {
    return delivered || batch.empty() ||
           std::any_of(batch.begin(), batch.end(), [](const auto& t) { return t.expired(); });
  }
};

struct transfer_stage::shared {
  /// How many batches the loop may be ahead of the device.
  static constexpr std::size_t most_ahead = 4;

  explicit shared(c10::Stream s) : stream(s) {}
  c10::Stream stream;
  std::mutex mutex;
  std::vector<copy> copies;
  /// Used by the consumer only: events that its stream recorded when it took the last batches.
  std::array<std::unique_ptr<c10::Event>, most_ahead> taken;
  std::size_t takes = 0;
};

struct transfer_stage::in_flight {
  explicit in_flight(c10::Stream side) : guard(side) {}
  c10::StreamGuard guard;
  copy made;
};

void transfer_stage::deleter::operator()(shared* s) const noexcept { delete s; }
void transfer_stage::deleter::operator()(in_flight* f) const noexcept { delete f; }

transfer_stage::transfer_stage(c10::Device to) : to_(to), there_(!to.is_cpu()) {
  if (!there_) return;
  const bool known =
      c10::impl::device_guard_impl_registry[static_cast<std::size_t>(to.type())].load() != nullptr;
  const int devices = known ? c10::impl::VirtualGuardImpl(to.type()).deviceCount() : 0;
  if (devices != 0 && to.index() >= devices) {
    throw error("transfer: there is no " + to.str() + ": this process sees " + std::to_string(devices) +
                ", numbered from 0; give each rank the device of its LOCAL_RANK");
  }
  if (devices == 0) {
    note_ = "transfer: Torch has no " + to.str() + " here; batches stay on the CPU";
    there_ = false;
    return;
  }
  const c10::impl::VirtualGuardImpl guard(to.type());
  if (!to_.has_index()) to_ = guard.getDevice();
  try {
    shared_.reset(new shared(guard.getStreamFromGlobalPool(to_, /*isHighPriority=*/true)));
  } catch (const c10::Error&) {  // some devices have only one stream
    note_ = "transfer: " + to_.str() + " has no streams to choose from; a worker waits for each copy";
  }
}

transfer_stage::transfer_stage(transfer_stage&&) noexcept = default;
transfer_stage::transfer_stage(const transfer_stage& other) : transfer_stage(other.to_) {}

transfer_stage::~transfer_stage() {
  if (shared_ == nullptr) return;
  const std::lock_guard lock(shared_->mutex);  // stays alive when the copies are abandoned
  const auto until = std::chrono::steady_clock::now() + longest_wait;
  for (const copy& c : shared_->copies) {
    try {
      while (!c.done->query()) {
        if (std::chrono::steady_clock::now() >= until) {
          abandon_all();
          return;
        }
        std::this_thread::sleep_for(std::chrono::microseconds(20));
      }
    } catch (const std::exception&) {  // the device is broken and reads no more
    }
  }
}

/// The device may still read the memory, so it is never freed.
void transfer_stage::abandon_all() noexcept {
  std::fprintf(
      stderr,
      "wick: transfer: %s has not done the copies of %zu batches within %lld s; their memory is left "
      "to it. Look for a kernel that never ends.\n",
      to_.str().c_str(), shared_->copies.size(),
      static_cast<long long>(std::chrono::duration_cast<std::chrono::seconds>(longest_wait).count()));
  static_cast<void>(shared_.release());
}

void transfer_stage::copy_at_once(const std::vector<at::Tensor*>& batch) const {
  for (at::Tensor* t : batch) *t = t->to(to_);
}

transfer_stage::started transfer_stage::start(const std::vector<at::Tensor*>& batch) const {
  started out(new in_flight(shared_->stream));
  try {
    for (at::Tensor* t : batch) {
      out->made.from.push_back(*t);  // before anything reads the source
      *t = t->to(to_, /*non_blocking=*/true, /*copy=*/false);
    }
  } catch (...) {
    abandon(*out);
    throw;
  }
  return out;
}

void transfer_stage::finish(in_flight& copies, const std::vector<at::Tensor*>& result) const {
  for (const at::Tensor* t : result) copies.made.batch.emplace_back(t->getIntrusivePtr());
  remember(copies);
}

/// Ends copies of a batch that isn't delivered; the device may still be reading its memory.
void transfer_stage::abandon(in_flight& copies) const {
  copies.made.batch.clear();
  if (!copies.made.from.empty()) remember(copies);
}

/// Memory that is dropped before the device has used it is free only after the device gets there: a loop that
/// only launches work would fill the device with batches.
void transfer_stage::stay_near(c10::Stream current) const {
  std::unique_ptr<c10::Event>& event = shared_->taken[shared_->takes++ % shared::most_ahead];
  if (event == nullptr) event = std::make_unique<c10::Event>(to_.type());
  while (!event->query()) std::this_thread::sleep_for(std::chrono::microseconds(20));
  event->record(current);
}

void transfer_stage::wait_for(const std::vector<at::Tensor*>& batch) const {
  const c10::impl::VirtualGuardImpl guard(to_.type());
  const c10::Stream current = guard.getStream(to_);
  stay_near(current);
  for (const at::Tensor* t : batch) {
    // The memory was allocated on the side stream: it must not be reused before this stream is done with it.
    if (t->device() == to_ && t->has_storage()) guard.recordDataPtrOnStream(t->storage().data_ptr(), current);
  }
  std::vector<at::Tensor> finished;  // dropped outside the lock: their memory returns to the pool
  std::lock_guard lock(shared_->mutex);
  for (copy& c : shared_->copies) {
    if (!c.is(batch)) continue;
    c.done->block(current);
    c.delivered = !batch.empty();  // hidden tensors may belong to another batch
  }
  take_finished(finished);
}

void transfer_stage::remember(in_flight& copies) const {
  copies.made.done = std::make_unique<c10::Event>(to_.type());
  copies.made.done->record(shared_->stream);
  std::vector<at::Tensor> finished;
  std::lock_guard lock(shared_->mutex);
  shared_->copies.push_back(std::move(copies.made));
  take_finished(finished);
}

/// Moves out tensors that the device has read, and forgets copies whose batch was taken or dropped.
void transfer_stage::take_finished(std::vector<at::Tensor>& out) const {
  for (copy& c : shared_->copies) {
    if (c.read || !c.done->query()) continue;
    c.read = true;
    std::move(c.from.begin(), c.from.end(), std::back_inserter(out));
    c.from.clear();
  }
  std::erase_if(shared_->copies, [](const copy& c) { return c.read && c.gone(); });
}

}  // namespace wick::detail
