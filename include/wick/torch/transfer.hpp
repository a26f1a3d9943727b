/// \file
/// transfer(): batches go to the device on a stream of their own, while the model computes on its.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <wick/flow/context.hpp>
#include <wick/flow/stage.hpp>
#include <wick/torch/tensor.hpp>

namespace wick {

/// Copies each tensor of a batch with `non_blocking` on a side stream and records an event; when the training loop
/// takes the batch, its current stream waits for that event. No host thread ever waits for the device, except the
/// destructor, for copies that are still under way.
/// All through c10's device-generic interface: CUDA, ROCm, XPU or a device of the user's own are the same to it.
class transfer_stage {
 public:
  using stage_kind = on_batch;
  static constexpr std::string_view name = "transfer";

  explicit transfer_stage(c10::Device to) : to_(to) {
    if (to.is_cpu()) {
      note_ = "transfer: to the CPU there is nothing to do";
    } else if (c10::impl::device_guard_impl_registry[static_cast<std::size_t>(to.type())].load() == nullptr ||
               c10::impl::VirtualGuardImpl(to.type()).deviceCount() <= std::max<int>(to.index(), 0)) {
      note_ = "transfer: Torch has no " + to.str() + " here; batches stay on the CPU";
    } else {
      const c10::impl::VirtualGuardImpl guard(to.type());
      if (!to_.has_index()) to_ = guard.getDevice();
      shared_ = std::make_unique<shared>(guard.getStreamFromGlobalPool(to_));
    }
  }
  transfer_stage(transfer_stage&&) noexcept = default;
  transfer_stage(const transfer_stage& other) : transfer_stage(other.to_) {}
  ~transfer_stage() {
    if (shared_ == nullptr) return;
    std::lock_guard lock(shared_->mutex);
    for (const copy& c : shared_->copies) {
      while (!c.done->query()) std::this_thread::yield();
    }
  }

  c10::Device device() const noexcept { return shared_ != nullptr ? to_ : c10::Device(c10::kCPU); }
  std::string note() const { return note_; }

  template <class Batch>
  Batch operator()(Batch batch, context&) const {
    return batch;
  }
  /// On a worker: starts the copies, lets `rest` (the stages behind this one) put its kernels on the same stream, and
  /// records when all that will be done.
  template <class Batch, class Rest>
  auto around(Batch batch, Rest&& rest) const {
    if (shared_ == nullptr) return rest(std::move(batch));
    copy started;
    const c10::StreamGuard guard(shared_->stream);
    detail::for_each_tensor(batch, [&](at::Tensor& t) {
      at::Tensor there = t.to(to_, /*non_blocking=*/true, /*copy=*/false);
      started.from.push_back(std::exchange(t, std::move(there)));
    });
    auto result = rest(std::move(batch));
    detail::for_each_tensor(result, [&](at::Tensor& t) {
      if (started.key == nullptr) started.key = t.unsafeGetTensorImpl();
    });
    started.done = std::make_shared<c10::Event>(to_.type());
    started.done->record(shared_->stream);
    std::vector<copy> finished;  // dropped outside the lock: their memory goes back to the pool
    std::lock_guard lock(shared_->mutex);
    take_finished(finished);
    shared_->copies.push_back(std::move(started));
    return result;
  }

  /// On the consumer's thread, when it takes the batch: its stream waits, it does not.
  template <class Batch>
  void deliver(Batch& batch) const {
    if (shared_ == nullptr) return;
    const c10::impl::VirtualGuardImpl guard(to_.type());
    const c10::Stream current = guard.getStream(to_);
    c10::TensorImpl* key = nullptr;
    detail::for_each_tensor(batch, [&](at::Tensor& t) {
      if (key == nullptr) key = t.unsafeGetTensorImpl();
      // The memory was allocated on the side stream: it must not be used again before this one is done with it.
      if (t.has_storage()) guard.recordDataPtrOnStream(t.storage().data_ptr(), current);
    });
    std::vector<copy> finished;
    std::lock_guard lock(shared_->mutex);
    const auto found = std::find_if(shared_->copies.begin(), shared_->copies.end(),
                                    [&](const copy& c) { return c.key == key; });
    if (found != shared_->copies.end()) {
      found->done->block(current);
      found->key = nullptr;
    }
    take_finished(finished);
  }

 private:
  struct copy {
    c10::TensorImpl* key = nullptr;  // of the batch, until it is delivered
    std::vector<at::Tensor> from;    // must stay until the device has read it
    std::shared_ptr<c10::Event> done;
  };
  struct shared {
    explicit shared(c10::Stream s) : stream(s) {}
    c10::Stream stream;
    std::mutex mutex;
    std::vector<copy> copies;
  };

  void take_finished(std::vector<copy>& out) const {
    std::vector<copy>& all = shared_->copies;
    for (std::size_t i = 0; i < all.size();) {
      if (!all[i].from.empty() && all[i].done->query()) {
        out.push_back({nullptr, std::exchange(all[i].from, {}), nullptr});
      }
      if (all[i].from.empty() && all[i].key == nullptr) {
        all[i] = std::move(all.back());
        all.pop_back();
      } else {
        ++i;
      }
    }
  }

  c10::Device to_;
  std::string note_;
  std::unique_ptr<shared> shared_;
};
static_assert(stage_of<transfer_stage, on_batch>);

/// Moves batches to a device ahead of the training loop; `transfer(torch::kCUDA)`. Write pin() before it. Where Torch
/// has no such device they stay on the CPU, and the report says so.
inline transfer_stage transfer(c10::Device to) { return transfer_stage(to); }

}  // namespace wick
