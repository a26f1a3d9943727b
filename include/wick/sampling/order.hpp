// Order stages: which sample is at which position. They compute positions before anything is read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/ext/fingerprint.hpp>
#include <wick/ext/stage.hpp>
#include <wick/pipeline/detail/stage_list.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/sampling/detail/permutation.hpp>

namespace wick::inline v0_1 {

namespace detail {
/// The source's index for position p of prepared order stages; the stage nearest to the source comes last.
template <std::size_t... I, class... Prepared>
std::uint64_t index_behind(const numbered_stages<std::index_sequence<I...>, Prepared...>& order,
                           std::uint64_t p) noexcept {
  ((p = get_stage<sizeof...(I) - 1 - I>(order)(p)), ...);
  return p;
}

/// The size of an order that never ends: the number of positions that the random streams can distinguish.
inline constexpr std::uint64_t endless = std::uint64_t{1} << 48;

struct shuffle_stage {
  static constexpr stage_traits traits{.name = "shuffle", .kind = stage_kind::order};
  std::uint64_t size(std::uint64_t n) const noexcept { return n; }
  permutation prepare(std::uint64_t n, std::uint64_t seed, std::uint64_t epoch,
                      std::uint32_t stage) const noexcept;
};

}  // namespace detail

/// A new order each epoch: a permutation of all positions. It is computed, not stored, so a shuffle of a
/// billion samples takes no memory. The same seed and epoch give the same order everywhere.
inline detail::shuffle_stage shuffle() noexcept { return {}; }

namespace detail {

struct shuffle_once_stage {
  static constexpr stage_traits traits{
      .name = "shuffle_once", .kind = stage_kind::order, .has_fingerprint = true, .fixed_samples = true};
  std::uint64_t seed;
  std::uint64_t size(std::uint64_t n) const noexcept { return n; }
  permutation prepare(std::uint64_t n, std::uint64_t, std::uint64_t, std::uint32_t) const noexcept;
  std::uint64_t fingerprint() const noexcept { return seed; }
};

}  // namespace detail

/// One order for all epochs, with its own seed, for a split that stays the same:
/// `train = src | shuffle_once(7) | skip(1000) | shuffle()`, `val = src | shuffle_once(7) |
/// take(1000)`.
inline detail::shuffle_once_stage shuffle_once(std::uint64_t seed) noexcept { return {seed}; }

namespace detail {

/// Maps each position to itself.
struct identity_order {
  std::uint64_t operator()(std::uint64_t p) const noexcept { return p; }
};

struct shard_stage {
  static constexpr stage_traits traits{
      .name = "shard", .kind = stage_kind::order, .has_check = true, .fixed_samples = true};
  std::uint64_t rank = 0, world = 1;
  std::uint64_t size(std::uint64_t n) const noexcept { return n; }
  identity_order prepare(std::uint64_t, std::uint64_t, std::uint64_t, std::uint32_t) const noexcept;

  template <class, class... Before>
  static consteval bool check() {
    constexpr bool first = !(std::is_same_v<Before, shard_stage> || ...);
    static_assert(first,
                  "wick: this pipeline is sharded already; a second shard() was found; write one of the two");
    return first;
  }
};

}  // namespace detail

/// This process's share: rank r of w takes its slice of every global batch, so changing w changes no batch.
/// batch() takes the size of the global batch. \throws wick::error when `rank` isn't below `world`
detail::shard_stage shard(std::uint64_t rank, std::uint64_t world);

/// As above, with the rank and world size from ranks(): those of torchrun, Lightning, srun, or mpirun, or one
/// rank without a launcher. \throws wick::error when a launcher's variables contradict each other
detail::shard_stage shard();

namespace detail {

struct take_stage {
  static constexpr stage_traits traits{
      .name = "take", .kind = stage_kind::order, .has_fingerprint = true, .fixed_samples = true};
  std::uint64_t count;
  std::uint64_t size(std::uint64_t n) const noexcept { return n < count ? n : count; }
  identity_order prepare(std::uint64_t, std::uint64_t, std::uint64_t, std::uint32_t) const noexcept;
  std::uint64_t fingerprint() const noexcept { return count; }
};

}  // namespace detail

/// The first `count` positions. After shuffle(), they are a random subset, a new one each epoch; before
/// shuffle(), they are always the same.
inline detail::take_stage take(std::uint64_t count) noexcept { return {count}; }

namespace detail {

struct skip_stage {
  static constexpr stage_traits traits{
      .name = "skip", .kind = stage_kind::order, .has_fingerprint = true, .fixed_samples = true};
  std::uint64_t count;
  struct shifted {
    std::uint64_t by;
    std::uint64_t operator()(std::uint64_t p) const noexcept { return p + by; }
  };
  std::uint64_t size(std::uint64_t n) const noexcept { return n < count ? 0 : n - count; }
  shifted prepare(std::uint64_t, std::uint64_t, std::uint64_t, std::uint32_t) const noexcept;
  std::uint64_t fingerprint() const noexcept { return count; }
};

}  // namespace detail

/// All but the first `count` positions. Together with take(), it makes a split: `src | take(900)`, `src |
/// skip(900)`.
inline detail::skip_stage skip(std::uint64_t count) noexcept { return {count}; }

namespace detail {

class subset_stage {
 public:
  static constexpr stage_traits traits{
      .name = "subset", .kind = stage_kind::order, .has_fingerprint = true, .fixed_samples = true};
  explicit subset_stage(std::vector<std::uint64_t> indices);
  struct listed {
    std::shared_ptr<const std::vector<std::uint64_t>> indices;
    std::uint64_t operator()(std::uint64_t p) const noexcept { return (*indices)[p]; }
  };
  /// \throws wick::error when an index isn't below n
  std::uint64_t size(std::uint64_t n) const;
  listed prepare(std::uint64_t, std::uint64_t, std::uint64_t, std::uint32_t) const noexcept;
  std::uint64_t fingerprint() const noexcept;

 private:
  std::shared_ptr<const std::vector<std::uint64_t>> indices_;
  std::uint64_t highest_ = 0;
};

}  // namespace detail

/// Only these positions, in this order; a position may come several times. Takes 8 bytes an index.
detail::subset_stage subset(std::vector<std::uint64_t> indices);

namespace detail {

struct repeat_stage {
  static constexpr stage_traits traits{
      .name = "repeat", .kind = stage_kind::order, .has_fingerprint = true, .fixed_samples = true};
  std::uint64_t times;  // 0: without end
  struct wrapped {
    std::uint64_t n;
    std::uint64_t operator()(std::uint64_t p) const noexcept { return p < n ? p : p % n; }
  };
  std::uint64_t size(std::uint64_t n) const noexcept;
  wrapped prepare(std::uint64_t n, std::uint64_t, std::uint64_t, std::uint32_t) const noexcept { return {n}; }
  std::uint64_t fingerprint() const noexcept { return times; }
};

}  // namespace detail

/// Each epoch goes over the positions `times` times. Each repetition of a sample has its own position and its
/// own random numbers. Before shuffle(), the repetitions are mixed; after it, each repetition has the same
/// order. \throws wick::error when `times` is 0
detail::repeat_stage repeat(std::uint64_t times);
/// An endless epoch (2^48 positions).
inline detail::repeat_stage repeat() noexcept { return {0}; }

}  // namespace wick
