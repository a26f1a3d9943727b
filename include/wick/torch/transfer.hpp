// transfer(): copies batches to the device on a separate stream, while the model computes on its own.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <wick/base/detail/duration.hpp>
#include <wick/batch/batch.hpp>
#include <wick/batch/detail/fields.hpp>
#include <wick/ext/stage.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/torch/detail/tensor.hpp>

namespace wick::inline v0_1 {

namespace detail {

/// Whether a batch is, or has as a field, an array, which isn't a tensor but could be one.
template <class Batch>
inline constexpr bool has_array = false;
template <>
inline constexpr bool has_array<array> = true;
template <composite Batch>
inline constexpr bool has_array<Batch> = []<class... F>(std::type_identity<std::tuple<F...>>) {
  return (has_array<F> || ...);
}(std::type_identity<typename field_types<Batch>::type>());

/// Copies each tensor of a batch with `non_blocking` on a side stream and records an event. When the training
/// loop takes the batch, its current stream waits for that event. No worker waits for the device. The loop's
/// thread waits when it is four batches ahead of the device, and the destructor waits at most a minute for
/// copies still in progress. Everything uses c10's device-generic interface, so that CUDA, ROCm, XPU, and a
/// device of the user's own work the same.
class transfer_stage {
 public:
  static constexpr stage_traits traits{.name = "transfer",
                                       .kind = stage_kind::batch,
                                       .has_note = true,
                                       .has_check = true,
                                       .has_around = true,
                                       .has_deliver = true,
                                       .has_feeds_device = true};

  template <class Batch, class...>
  static consteval bool check() {
    constexpr bool tensors = !detail::has_array<Batch>;
    static_assert(
        tensors,
        "wick: transfer() moves tensors, and array_batch(n) makes arrays, which would stay on the CPU; write "
        "batch(n) in its place");
    return tensors;
  }

  /// How long the destructor waits for copies.
  static inline std::chrono::nanoseconds longest_wait = std::chrono::seconds(60);

  explicit transfer_stage(c10::Device to);
  transfer_stage(transfer_stage&&) noexcept;
  transfer_stage(const transfer_stage& other);
  ~transfer_stage();

  /// The destination of the batches; the CPU when there is no such device.
  c10::Device device() const noexcept { return there_ ? to_ : c10::Device(c10::kCPU); }
  std::string note() const { return note_; }
  bool feeds_device() const noexcept { return there_; }

  template <class Batch>
  Batch operator()(Batch batch, context&) const {
    return batch;
  }
  /// On a worker: starts the copies, lets `rest` (the stages after this one) put its kernels on the same
  /// stream, and records when all of that is done.
  template <class Batch, class Rest>
  auto around(Batch batch, Rest&& rest) const {
    if (shared_ == nullptr) {
      if (there_) copy_at_once(tensors_of(batch));
      return rest(std::move(batch));
    }
    const started copies = start(tensors_of(batch));
    try {
      auto result = rest(std::move(batch));
      finish(*copies, tensors_of(result));
      return result;
    } catch (...) {
      abandon(*copies);
      throw;
    }
  }

  /// On the consumer's thread, when it takes the batch: its stream waits for the copies; the thread doesn't.
  template <class Batch>
  void deliver(Batch& batch) const {
    if (shared_ != nullptr) wait_for(tensors_of(batch));
  }

 private:
  struct copy;
  struct shared;
  struct in_flight;  // a copy, and the side stream as the calling thread's current one
  struct deleter {
    void operator()(shared* s) const noexcept;
    void operator()(in_flight* f) const noexcept;
  };
  using started = std::unique_ptr<in_flight, deleter>;

  template <class Batch>
  static std::vector<at::Tensor*> tensors_of(Batch& batch) {
    std::vector<at::Tensor*> out;
    detail::for_each_tensor(batch, [&](at::Tensor& t) {
      if (t.defined()) out.push_back(&t);
    });
    return out;
  }

  void copy_at_once(const std::vector<at::Tensor*>& batch) const;
  started start(const std::vector<at::Tensor*>& batch) const;
  void finish(in_flight& copies, const std::vector<at::Tensor*>& result) const;
  void abandon(in_flight& copies) const;
  void wait_for(const std::vector<at::Tensor*>& batch) const;
  void stay_near(c10::Stream current) const;
  void remember(in_flight& copies) const;
  void abandon_all() noexcept;
  void take_finished(std::vector<at::Tensor>& out) const;

  c10::Device to_;
  bool there_;
  std::string note_;
  std::unique_ptr<shared, deleter> shared_;  // null: nothing to copy, or no separate stream
};

}  // namespace detail

/// Moves batches to a device ahead of the training loop: `transfer(torch::kCUDA)`. Write pin() before it.
/// The copies run on a high-priority stream. A loop that is four batches ahead of the device waits, so that
/// the device has at most the batches that are ahead (see loader_options::prefetch) and five of the loop's.
/// If Torch has no device of that kind, batches stay on the CPU, and the report says so. \throws wick::error
/// when there are such devices, but none with that index
inline detail::transfer_stage transfer(c10::Device to) { return detail::transfer_stage(to); }

}  // namespace wick
