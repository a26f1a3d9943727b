/// \file
/// transfer(): batches go to the device on a stream of their own, while the model computes on its.
#pragma once

#include <algorithm>
#include <cstddef>
#include <exception>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>
#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/UndefinedTensorImpl.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <c10/util/intrusive_ptr.h>

#include <wick/batch/batch.hpp>
#include <wick/batch/fields.hpp>
#include <wick/sample/context.hpp>
#include <wick/sample/stage.hpp>
#include <wick/torch/tensor.hpp>

namespace wick {

namespace detail {

/// Whether a batch is, or has as a field, what is no tensor but might be one.
template <class Batch>
inline constexpr bool has_array = false;
template <>
inline constexpr bool has_array<array> = true;
template <composite Batch>
inline constexpr bool has_array<Batch> = []<class... F>(std::type_identity<std::tuple<F...>>) {
  return (has_array<F> || ...);
}(std::type_identity<typename field_types<Batch>::type>());

/// Copies each tensor of a batch with `non_blocking` on a side stream and records an event; when the training
/// loop takes the batch, its current stream waits for that event. No host thread ever waits for the device,
/// except the destructor, for copies that are still under way. All through c10's device-generic interface:
/// CUDA, ROCm, XPU or a device of the user's own are the same to it.
class transfer_stage {
 public:
  using stage_kind = on_batch;
  using stage_hooks = hooks<hook::note, hook::check, hook::around, hook::deliver>;
  static constexpr std::string_view name = "transfer";

  template <class Batch, class...>
  static consteval bool check() {
    constexpr bool tensors = !detail::has_array<Batch>;
    static_assert(
        tensors,
        "wick: transfer() moves tensors, and array_batch(n) makes arrays, which would stay on the CPU; write "
        "batch(n) in its place");
    return tensors;
  }

  explicit transfer_stage(c10::Device to) : to_(to), there_(!to.is_cpu()) {
    if (!there_) {
      note_ = "transfer: to the CPU there is nothing to do";
      return;
    }
    if (c10::impl::device_guard_impl_registry[static_cast<std::size_t>(to.type())].load() == nullptr ||
        c10::impl::VirtualGuardImpl(to.type()).deviceCount() <= std::max<int>(to.index(), 0)) {
      note_ = "transfer: Torch has no " + to.str() + " here; batches stay on the CPU";
      there_ = false;
      return;
    }
    const c10::impl::VirtualGuardImpl guard(to.type());
    if (!to_.has_index()) to_ = guard.getDevice();
    try {
      shared_ = std::make_unique<shared>(guard.getStreamFromGlobalPool(to_));
    } catch (const c10::Error&) {  // some devices have one stream only
      note_ = "transfer: " + to_.str() + " has no streams to choose from; a worker waits for each copy";
    }
  }
  transfer_stage(transfer_stage&&) noexcept = default;
  transfer_stage(const transfer_stage& other) : transfer_stage(other.to_) {}
  ~transfer_stage() {
    if (shared_ == nullptr) return;
    std::lock_guard lock(shared_->mutex);
    for (const copy& c : shared_->copies) {
      try {
        while (!c.done->query()) std::this_thread::yield();
      } catch (const std::exception&) {  // the device is broken, and reads no more
      }
    }
  }

  /// Where batches arrive: the CPU when there is no such device.
  c10::Device device() const noexcept { return there_ ? to_ : c10::Device(c10::kCPU); }
  std::string note() const { return note_; }

  template <class Batch>
  Batch operator()(Batch batch, context&) const {
    return batch;
  }
  /// On a worker: starts the copies, lets `rest` (the stages behind this one) put its kernels on the same
  /// stream, and records when all that will be done.
  template <class Batch, class Rest>
  auto around(Batch batch, Rest&& rest) const {
    if (shared_ == nullptr) {
      if (there_) {
        detail::for_each_tensor(batch, [&](at::Tensor& t) {
          if (t.defined()) t = t.to(to_);
        });
      }
      return rest(std::move(batch));
    }
    const c10::StreamGuard guard(shared_->stream);
    copy begun;
    try {
      detail::for_each_tensor(batch, [&](at::Tensor& t) {
        if (!t.defined()) return;
        begun.from.push_back(t);  // before anything reads it
        t = begun.from.back().to(to_, /*non_blocking=*/true, /*copy=*/false);
      });
      auto result = rest(std::move(batch));
      detail::for_each_tensor(result, [&](at::Tensor& t) {
        if (t.defined()) begun.batch.emplace_back(t.getIntrusivePtr());
      });
      remember(begun);
      return result;
    } catch (...) {
      // Nobody gets this batch, but the device may be reading its memory.
      begun.batch.clear();
      if (!begun.from.empty()) remember(begun);
      throw;
    }
  }

  /// On the consumer's thread, when it takes the batch: its stream waits, it does not.
  template <class Batch>
  void deliver(Batch& batch) const {
    if (shared_ == nullptr) return;
    const c10::impl::VirtualGuardImpl guard(to_.type());
    const c10::Stream current = guard.getStream(to_);
    std::vector<c10::TensorImpl*> tensors;
    detail::for_each_tensor(batch, [&](at::Tensor& t) {
      if (!t.defined()) return;
      tensors.push_back(t.unsafeGetTensorImpl());
      // The memory was allocated on the side stream: it must not be used again before this one is done with
      // it.
      if (t.device() == to_ && t.has_storage()) guard.recordDataPtrOnStream(t.storage().data_ptr(), current);
    });
    std::vector<at::Tensor> finished;  // dropped outside the lock: their memory goes back to the pool
    std::lock_guard lock(shared_->mutex);
    for (copy& c : shared_->copies) {
      if (!c.is(tensors)) continue;
      c.done->block(current);
      c.delivered = !tensors.empty();  // where the tensors are hidden, it may not be this batch's
    }
    take_finished(finished);
  }

 private:
  struct copy {
    /// The tensors that leave the pipeline; weak, so that their addresses can't be those of others meanwhile.
    std::vector<c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>> batch;
    std::vector<at::Tensor> from;  // must stay until the device has read it
    std::unique_ptr<c10::Event> done;
    bool read = false, delivered = false;

    bool is(const std::vector<c10::TensorImpl*>& tensors) const {
      return std::equal(batch.begin(), batch.end(), tensors.begin(), tensors.end(),
                        [](const auto& a, const c10::TensorImpl* b) { return a._unsafe_get_target() == b; });
    }
    /// Taken by the consumer, or dropped: an epoch was left early, or a stage failed.
    bool gone() const {
      return delivered || batch.empty() ||
             std::any_of(batch.begin(), batch.end(), [](const auto& t) { return t.expired(); });
    }
  };
  struct shared {
    explicit shared(c10::Stream s) : stream(s) {}
    c10::Stream stream;
    std::mutex mutex;
    std::vector<copy> copies;
  };

  void remember(copy& begun) const {
    begun.done = std::make_unique<c10::Event>(to_.type());
    begun.done->record(shared_->stream);
    std::vector<at::Tensor> finished;
    std::lock_guard lock(shared_->mutex);
    shared_->copies.push_back(std::move(begun));
    take_finished(finished);
  }

  /// Moves out what the device has read, and forgets what nobody will ask for again.
  void take_finished(std::vector<at::Tensor>& out) const {
    for (copy& c : shared_->copies) {
      if (c.read || !c.done->query()) continue;
      c.read = true;
      std::move(c.from.begin(), c.from.end(), std::back_inserter(out));
      c.from.clear();
    }
    std::erase_if(shared_->copies, [](const copy& c) { return c.read && c.gone(); });
  }

  c10::Device to_;
  bool there_;
  std::string note_;
  std::unique_ptr<shared> shared_;
};

}  // namespace detail

/// Moves batches to a device ahead of the training loop; `transfer(torch::kCUDA)`. Write pin() before it.
/// Where Torch has no such device they stay on the CPU, and the report says so.
inline detail::transfer_stage transfer(c10::Device to) { return detail::transfer_stage(to); }

}  // namespace wick
