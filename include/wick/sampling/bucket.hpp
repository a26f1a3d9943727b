/// \file
/// Batches of samples of like length.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include <wick/ext/stage.hpp>
#include <wick/sampling/order.hpp>

namespace wick::inline v0_1 {

/// Options of bucket().
struct bucket_options {
  /// A batch takes at most so many, padding included: its longest sample times its samples. batch()'s size is
  /// then the most samples it has. Default: batch()'s size alone counts.
  std::optional<std::uint64_t> tokens = {};
  /// With `tokens`, samples a batch are a multiple of this where they are more: as many as ranks, say.
  std::uint64_t multiple = 1;
  /// The length of each sample of the source. Empty: the source says them, by `length(i)`.
  std::vector<std::uint32_t> lengths = {};
};

namespace detail {

class bucket_stage {
 public:
  static constexpr stage_traits traits{
      .name = "bucket", .kind = stage_kind::order, .has_fingerprint = true, .fixed_samples = true};
  /// \throws wick::error when the multiple is 0
  explicit bucket_stage(bucket_options options);
  std::uint64_t size(std::uint64_t n) const noexcept { return n; }
  /// Which sample stands where is the epoch plan's to say: it hangs on batch()'s size, too.
  identity_order prepare(std::uint64_t, std::uint64_t, std::uint64_t, std::uint32_t) const noexcept {
    return {};
  }
  std::uint64_t fingerprint() const noexcept { return fingerprint_; }
  std::uint64_t tokens() const noexcept { return tokens_; }
  std::uint64_t multiple() const noexcept { return multiple_; }
  const std::vector<std::uint32_t>& lengths() const noexcept { return *lengths_; }

 private:
  std::uint64_t tokens_, multiple_;
  std::shared_ptr<const std::vector<std::uint32_t>> lengths_;
  std::uint64_t fingerprint_;
};

}  // namespace detail

/// Batches of samples of like length, so that little is padded: as the last order stage but shard(), with
/// batch(n, {.ragged = pad_with(0)}) behind it. Lengths in a bucket differ by an eighth at most; it is filled
/// up to whole batches. Behind shuffle() each epoch draws new batches from each bucket and shuffles all
/// batches; without it they come from the longest to the shortest. An epoch has the same number of batches
/// each time. 20 bytes a sample.
///
/// Lengths are those of the source's samples: a member `length(i)` says them, or `.lengths`. What changes the
/// samples of an epoch (weighted(), shuffle() before take(), mix()) can't be bucketed; pack() takes these.
/// \throws wick::error, here or in the loader, when there are no lengths, or a sample is longer than the
///   budget
detail::bucket_stage bucket(bucket_options options = {});

}  // namespace wick
