// pin(): writes batches into page-locked memory, from which a device copies without the host's help.
#pragma once

#include <memory>
#include <string_view>

#include <wick/batch/detail/slab.hpp>
#include <wick/ext/stage.hpp>
#include <wick/pipeline/context.hpp>

namespace wick::inline v0_1 {

namespace detail {

/// Blocks from Torch's own page-locked allocator, which gets them back as soon as they are dropped: it knows
/// which streams copy from a block, and reuses the block only when they are done. Without an accelerator,
/// ordinary memory, which isn't recycled.
std::shared_ptr<slab_memory> make_pinned_memory();

class pin_stage {
 public:
  static constexpr stage_traits traits{
      .name = "pin", .kind = stage_kind::batch, .has_check = true, .has_slab_memory = true};

  template <class, class... Before>
  static consteval bool check() {
    constexpr bool blocks = !(traits_of<Before>.keeps_objects || ...);
    static_assert(blocks,
                  "wick: pin() says in what memory batch(n) makes its batches, and group(n) makes none, its "
                  "samples stay "
                  "where they are; write batch(n) in its place, or leave pin() out");
    return blocks;
  }

  /// The loader allocates its batches from this memory: nothing is copied to be pinned.
  std::shared_ptr<wick::ext::slab_memory> slab_memory() {
    if (memory_ == nullptr) memory_ = make_pinned_memory();
    return memory_;
  }
  template <class Batch>
  Batch operator()(Batch batch, context&) const {
    return batch;
  }

 private:
  std::shared_ptr<wick::ext::slab_memory> memory_;
};

}  // namespace detail

/// Puts the batches into page-locked memory, so that transfer(), or the loop itself with
/// `batch.data.to(torch::kCUDA, /*non_blocking=*/true)`, can copy them while the device computes. You may
/// drop the batch at once: as with any pinned tensor of Torch, its memory isn't overwritten before the device
/// has read it. Without an accelerator, batches stay in ordinary memory.
inline detail::pin_stage pin() { return {}; }

}  // namespace wick
