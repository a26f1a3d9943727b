// Batches of samples of similar length.
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
  /// The most tokens in a batch, padding included: the length of its longest sample times its number of
  /// samples. batch()'s size is then the most samples in a batch. Default: only batch()'s size counts.
  std::optional<std::uint64_t> tokens = {};
  /// With `tokens`, a batch of at least this many samples has a multiple of it, except the last of all: the
  /// number of ranks, for example.
  std::uint64_t multiple = 1;
  /// The length of each sample of the source. Empty: the source gives the lengths by `length(i)`.
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
  /// The epoch plan determines the order, since it also depends on batch()'s size.
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

/// Batches of samples of similar length, so that there is little padding. Write it as the last order stage
/// except shard(), and batch(n, {.ragged = pad_with(0)}) after it. The lengths in a bucket differ by at most
/// an eighth, and each bucket is filled up to whole batches. After shuffle(), each epoch draws new batches
/// from each bucket and shuffles all batches; without it, they come from the longest to the shortest. Every
/// epoch has the same number of batches. Takes 20 bytes a sample.
///
/// The lengths are those of the source's samples, from its member `length(i)` or from `.lengths`. bucket()
/// can't follow stages that change the samples of an epoch (weighted(), shuffle() before take(), mix()); use
/// pack() for these. \throws wick::error, here or in the loader, when there are no lengths, or when a sample
/// is longer than the budget
detail::bucket_stage bucket(bucket_options options = {});

}  // namespace wick
