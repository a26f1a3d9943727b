// A shuffle for data that is only fast to read in runs: blocks in random order, samples mixed within a
// window.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <wick/ext/fingerprint.hpp>
#include <wick/ext/stage.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/sampling/detail/permutation.hpp>
#include <wick/sampling/order.hpp>

namespace wick::inline v0_1 {

namespace detail {

/// Two levels of permutation: of the blocks, and of the positions in each window of blocks. Both are
/// computed, not stored. A call computes the permutation of its window (about 100 ns); map() computes it once
/// for neighbors.
class block_order {
 public:
  block_order() noexcept = default;
  block_order(std::uint64_t n, std::uint64_t block, std::uint64_t window, std::uint64_t seed,
              std::uint64_t epoch, std::uint32_t stage) noexcept;

  /// The index at position p; p < n.
  std::uint64_t operator()(std::uint64_t p) const noexcept { return index_of(window_of(p), p); }

  /// The same for `count` positions, in place: neighbors share their window's permutation.
  void map(std::uint64_t* positions, std::size_t count) const noexcept {
    window w;
    for (std::uint64_t* p = positions; p != positions + count; ++p) {
      if (!w.holds(*p)) w = window_of(*p);
      *p = index_of(w, *p);
    }
  }

 private:
  struct place {
    std::uint64_t block, offset;  // in the order of this epoch
  };
  place place_of(std::uint64_t p) const noexcept {
    const std::uint64_t before = short_at_ * block_;
    if (rest_ == 0 || p < before) return {p / block_, p % block_};
    if (p < before + rest_) return {short_at_, p - before};
    const std::uint64_t behind = p - before - rest_;
    return {short_at_ + 1 + behind / block_, behind % block_};
  }
  /// Positions that are mixed with each other.
  struct window {
    std::uint64_t from = 0, to = 0;
    permutation order;
    bool holds(std::uint64_t p) const noexcept { return p >= from && p < to; }
  };
  window window_of(std::uint64_t p) const noexcept {
    const std::uint64_t first_block = place_of(p).block / window_ * window_;
    const std::uint64_t from = start_of(first_block), to = start_of(first_block + window_);
    const std::uint64_t seed = fingerprint_hash().add(seed_).add(first_block).value();
    return {from, to, permutation(to - from, seed, epoch_, stage_)};
  }
  std::uint64_t index_of(const window& w, std::uint64_t p) const noexcept {
    const place at = place_of(w.from + w.order(p - w.from));
    if (rest_ != 0 && at.block == short_at_) return full_ * block_ + at.offset;
    return blocks_(at.block - (rest_ != 0 && at.block > short_at_ ? 1 : 0)) * block_ + at.offset;
  }
  /// The first position of a block; n for a block past the last.
  std::uint64_t start_of(std::uint64_t b) const noexcept {
    if (b >= full_ + (rest_ != 0 ? 1 : 0)) return n_;
    return rest_ != 0 && b > short_at_ ? (b - 1) * block_ + rest_ : b * block_;
  }

  std::uint64_t n_ = 0, block_ = 1, window_ = 1, seed_ = 0, epoch_ = 0;
  std::uint32_t stage_ = 0;
  std::uint64_t full_ = 0, rest_ = 0, short_at_ = 0;
  permutation blocks_;
};

struct block_shuffle_stage {
  static constexpr stage_traits traits{
      .name = "block_shuffle", .kind = stage_kind::order, .has_fingerprint = true};
  std::uint64_t block, window;
  std::uint64_t size(std::uint64_t n) const noexcept { return n; }
  block_order prepare(std::uint64_t n, std::uint64_t seed, std::uint64_t epoch,
                      std::uint32_t stage) const noexcept;
  std::uint64_t fingerprint() const noexcept { return fingerprint_hash().add(block).add(window).value(); }
};

/// The same for the source's own blocks, of any lengths including 0. Keeps 16 bytes a block; finding a block
/// takes a binary search.
class unequal_block_order {
 public:
  /// \param begins  the first position of each block in the source, and the end of the last
  unequal_block_order(std::shared_ptr<const std::vector<std::uint64_t>> begins, std::size_t window,
                      std::uint64_t seed, std::uint64_t epoch, std::uint32_t stage);

  std::uint64_t operator()(std::uint64_t p) const noexcept { return index_of(window_of(p), p); }
  void map(std::uint64_t* positions, std::size_t count) const noexcept;

 private:
  struct window {
    std::uint64_t from = 0, to = 0;  // positions
    std::size_t first = 0, end = 0;  // blocks, in the order of this epoch
    permutation order;
  };
  window window_of(std::uint64_t p) const noexcept;
  std::uint64_t index_of(const window& w, std::uint64_t p) const noexcept;

  std::shared_ptr<const std::vector<std::uint64_t>> begins_;
  std::vector<std::uint64_t> places_;  // where each block begins in the order of this epoch, and the end
  std::size_t window_;
  std::uint64_t seed_, epoch_;
  std::uint32_t stage_;
  permutation blocks_;
};

class unequal_block_shuffle_stage {
 public:
  static constexpr stage_traits traits{
      .name = "block_shuffle", .kind = stage_kind::order, .has_fingerprint = true};
  unequal_block_shuffle_stage(const std::vector<std::uint64_t>& blocks, std::uint64_t window);
  std::uint64_t size(std::uint64_t n) const;
  unequal_block_order prepare(std::uint64_t n, std::uint64_t seed, std::uint64_t epoch,
                              std::uint32_t stage) const;
  std::uint64_t fingerprint() const noexcept;

 private:
  std::shared_ptr<const std::vector<std::uint64_t>> begins_;
  std::size_t window_;  // at most all blocks
};

}  // namespace detail

/// A new order each epoch, for data that is only fast to read in runs (tar archives over a network). Blocks
/// of `block` neighboring samples come in random order, and the samples of each `window` blocks are shuffled
/// among themselves, so only `window` blocks are read at a time. The same seed and epoch give the same order
/// everywhere. \throws wick::error when `block` or `window` is 0
detail::block_shuffle_stage block_shuffle(std::uint64_t block, std::uint64_t window);

/// The same for a source that is read in whole blocks of these lengths, such as the row groups of Parquet
/// files: `rows | block_shuffle(rows.groups(), 8) | read()`. \throws wick::error when `window` is 0, and in a
/// pipeline when the lengths don't add up to the number of samples
detail::unequal_block_shuffle_stage block_shuffle(const std::vector<std::uint64_t>& blocks,
                                                  std::uint64_t window);

}  // namespace wick
