// weights: sampling weights that a program changes during training; weighted(weights) takes them at each
// refresh().
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <wick/ext/stage.hpp>
#include <wick/pipeline/random.hpp>
#include <wick/sampling/weighted.hpp>

namespace wick::inline v0_1 {

namespace detail {
struct weights_store;
class sum_tree;
}  // namespace detail

/// One weight for each sample, which any thread can change at any time. A loader draws by the weights that
/// weighted(weights) took when the loader was made, or at its last refresh(). Copies share their weights.
class weights {
 public:
  /// \throws wick::error for a weight that is negative or not finite
  explicit weights(std::vector<double> values = {});

  std::uint64_t size() const;
  /// \throws wick::error when there is no such weight
  double at(std::uint64_t i) const;
  /// \throws wick::error when there is no such weight, or the new one is negative or not finite
  void set(std::uint64_t i, double weight);
  /// Adds a weight at the end. \throws wick::error as set() does
  void push_back(double weight);
  /// Drops weights at the end, or adds new ones of value `weight` there. \throws wick::error as set() does
  void resize(std::uint64_t size, double weight);

 private:
  friend class detail::sum_tree;
  std::shared_ptr<detail::weights_store> store_;
};

namespace detail {

/// Draws an index with a probability proportional to its weight by walking down a tree: running sums of 64
/// weights, of 64 such blocks, and so on. An update takes time proportional to the changes. The draws depend
/// only on the weights, not on the order of their changes. Takes 8 bytes a weight.
class sum_tree {
 public:
  /// Takes the changes since the last call. All calls must be with the same weights.
  void follow(const weights& of);
  std::uint64_t size() const noexcept { return levels_.empty() ? 0 : levels_.front().size(); }
  double sum() const noexcept { return levels_.empty() ? 0 : levels_.back().back(); }
  /// sum() must be above 0.
  std::uint64_t operator()(random_stream& random) const noexcept;
  /// A hash of all weights.
  std::uint64_t fingerprint() const noexcept;

  static constexpr std::uint64_t block = 64;

 private:
  double total_of(std::size_t level, std::uint64_t of_block) const noexcept;

  std::vector<std::vector<double>> levels_;  // the first level is of weights, the last has one block
  std::uint64_t seen_ = 0;
};

class changing_weights_stage {
 public:
  static constexpr stage_traits traits{
      .name = "weighted", .kind = stage_kind::order, .has_fingerprint = true, .has_refresh = true};

  changing_weights_stage(weights by, weighted_options options);

  void refresh() { tree_.follow(by_); }
  /// \throws wick::error when there isn't one weight for each sample, or when no sample could be drawn
  std::uint64_t size(std::uint64_t n) const;

  struct drawn {
    const sum_tree* tree = nullptr;
    std::uint64_t seed = 0, epoch = 0;
    std::uint32_t stage = 0;
    std::uint64_t operator()(std::uint64_t p) const noexcept {
      random_stream random(seed, epoch, p, stage);
      return (*tree)(random);
    }
  };
  drawn prepare(std::uint64_t, std::uint64_t seed, std::uint64_t epoch, std::uint32_t stage) const noexcept {
    return {&tree_, seed, epoch, stage};
  }
  std::uint64_t fingerprint() const noexcept;

 private:
  weights by_;
  weighted_options options_;
  sum_tree tree_;
};

}  // namespace detail

/// The same with weights that change. The loader takes them when it is made and at each refresh(), for all
/// draws until the next one. The time of a refresh() is proportional to the changes: about 0.1 ms for a
/// thousand among a million. \throws wick::error for draws without replacement
detail::changing_weights_stage weighted(weights by, weighted_options options = {});

}  // namespace wick
