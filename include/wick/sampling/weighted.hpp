// weighted(weights): draws each sample with its own probability, with or without replacement.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <wick/ext/stage.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/random.hpp>
#include <wick/sampling/order.hpp>

namespace wick::inline v0_1 {

/// Options of weighted().
struct weighted_options {
  /// The number of draws in an epoch. Default: the number of weights.
  std::optional<std::uint64_t> samples = {};
  /// Whether a sample may be drawn again in the same epoch.
  bool replacement = true;
};

namespace detail {

/// Draws an index with a probability proportional to its weight, from two random numbers for any number of
/// weights. Walker: "New fast method for generating discrete random numbers with arbitrary frequency
/// distributions", 1974; the table is filled by Vose's method ("A linear algorithm …", 1991). Takes 16 bytes
/// a weight.
class alias_table {
 public:
  /// Weights are finite, not negative, and not all 0.
  explicit alias_table(const std::vector<double>& weights);
  std::uint64_t operator()(random_stream& random) const noexcept {
    const std::uint64_t i = random.below(columns_.size());
    return random.uniform() < columns_[i].keep ? i : columns_[i].alias;
  }

 private:
  struct column {
    double keep;
    std::uint64_t alias;
  };
  static std::uint64_t heaviest(const std::vector<double>& w);
  std::vector<column> columns_;
};

class weighted_stage {
 public:
  static constexpr stage_traits traits{
      .name = "weighted", .kind = stage_kind::order, .has_fingerprint = true};

  weighted_stage(std::vector<double> weights, weighted_options options);

  /// \throws wick::error when there isn't one weight for each sample
  std::uint64_t size(std::uint64_t n) const;

  class drawn;
  drawn prepare(std::uint64_t, std::uint64_t seed, std::uint64_t epoch, std::uint32_t stage) const;
  std::uint64_t fingerprint() const noexcept;

 private:
  using list = std::shared_ptr<const std::vector<std::uint64_t>>;
  struct key {
    std::uint64_t seed = 0, epoch = 0;
    std::uint32_t stage = 0;
    bool operator==(const key&) const = default;
  };
  struct table {
    weighted_options options;
    std::uint64_t drawable = 0;
    std::vector<double> weights;
    std::vector<alias_table> alias;  // one, with replacement
    std::mutex mutex;
    std::vector<std::pair<key, list>> lists;  // without replacement: of the latest epochs
  };
  static constexpr std::size_t kept_lists = 4;

  /// An exponentially distributed time. It comes only from comparisons of whole numbers, so it is the same on
  /// every machine; the last digit of std::log isn't. Von Neumann: "Various techniques used in connection
  /// with random digits", 1951.
  static double exponential(random_stream& random) noexcept;
  /// time / weight, with a wide enough exponent for any two weights.
  struct arrival {
    int exponent;
    double mantissa;
    std::uint64_t index;
    arrival(double time, double weight, std::uint64_t i) noexcept;
    bool operator<(const arrival& other) const noexcept;
  };

  /// Each index waits an exponential time with its weight as the rate; the first to finish is drawn first.
  /// Efraimidis, Spirakis: "Weighted random sampling with a reservoir", 2006.
  list draw_all(key k) const;

  std::shared_ptr<table> table_;
};

}  // namespace detail

/// The order of one epoch: a draw for each position, or a lookup in the epoch's list.
class detail::weighted_stage::drawn {
 public:
  drawn() noexcept = default;
  std::uint64_t operator()(std::uint64_t p) const noexcept {
    if (list_ != nullptr) return (*list_)[p];
    random_stream random(key_.seed, key_.epoch, p, key_.stage);
    return table_->alias.front()(random);
  }

 private:
  friend class detail::weighted_stage;
  drawn(std::shared_ptr<const table> t, list l, key k) noexcept
      : table_(std::move(t)), list_(std::move(l)), key_(k) {}
  std::shared_ptr<const table> table_;
  list list_;
  key key_;
};

/// Draws samples, each with a probability proportional to its weight. Give one weight for each sample before
/// this stage. With replacement, each position is its own draw, computed on demand. Without replacement, the
/// epoch's order is a list of 8 bytes a draw, sorted when the epoch begins (about 0.3 s for a million).
/// \throws wick::error for a weight that is negative or not finite, or for more draws than there are samples
/// to draw
detail::weighted_stage weighted(std::vector<double> weights, weighted_options options = {});

}  // namespace wick
