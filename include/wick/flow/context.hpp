/// \file
/// What a stage may know of the sample in its hands: its place in the epoch, its random stream, whether to give up.
#pragma once

#include <cstddef>
#include <cstdint>

#include <wick/flow/random.hpp>
#include <wick/run/stop_token.hpp>

namespace wick {

class executor;
class byte_budget;

/// Where a sample stands. Everything a stage draws or decides comes from these and from the data alone, so that
/// the same position gives the same bytes on any number of workers and ranks.
struct place {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  std::uint64_t position = 0;  ///< in the epoch, counted over all ranks
  std::uint64_t index = 0;     ///< in the source
};

/// Handed by reference to every stage that asks for it. Lives as long as the sample is on its way; a coroutine stage
/// may keep the reference across its suspensions.
class context {
 public:
  explicit context(place where, executor* on = nullptr, byte_budget* memory = nullptr,
                   stop_token stop = {}) noexcept
      : where_(where), executor_(on), memory_(memory), stop_(stop) {}

  std::uint64_t seed() const noexcept { return where_.seed; }
  std::uint64_t epoch() const noexcept { return where_.epoch; }
  std::uint64_t position() const noexcept { return where_.position; }
  std::uint64_t index() const noexcept { return where_.index; }

  /// The random stream of this sample in this stage. Two stages of a kind have streams of their own.
  random_stream& random() noexcept {
    if (random_stage_ != stage_) {
      random_ = random_stream(where_.seed, where_.epoch, where_.position, stage_);
      random_stage_ = stage_;
    }
    return random_;
  }

  /// Set when the loader is being destroyed or the epoch was left: long work may look at it and give up.
  const stop_token& stop() const noexcept { return stop_; }
  /// Where this pipeline runs; null in a context that a test made by hand.
  executor* on() const noexcept { return executor_; }
  /// What bounds the encoded bytes in flight; null in a context that a test made by hand.
  byte_budget* memory() const noexcept { return memory_; }

  /// For the loader: the number of the stage that is about to run.
  void enter(std::uint32_t stage) noexcept { stage_ = stage; }
  std::uint32_t stage() const noexcept { return stage_; }
  /// For the loader: on to the next sample.
  void move_to(place where) noexcept {
    where_ = where;
    random_stage_ = ~0u;
  }

 private:
  place where_;
  std::uint32_t stage_ = 0;
  std::uint32_t random_stage_ = ~0u;
  random_stream random_{0, 0, 0, 0};
  executor* executor_;
  byte_budget* memory_;
  stop_token stop_;
};

}  // namespace wick
