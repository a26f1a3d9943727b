/// \file
/// What the engine needs of a context: where the sample stands, what it has reserved, and which stage it is
/// in.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include <wick/async/detail/activity.hpp>
#include <wick/async/stop_token.hpp>
#include <wick/pipeline/detail/budget.hpp>
#include <wick/pipeline/random.hpp>

namespace wick::inline v0_1 {

class executor;

namespace detail {

/// Where a sample stands. Everything a stage draws or decides comes from these and from the data alone, so
/// that the same position gives the same bytes on any number of workers and ranks.
struct place {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  std::uint64_t position = 0;  ///< in the epoch, counted over all ranks
  std::uint64_t index = 0;     ///< in the source
  std::uint64_t drawn = 0;     ///< not 0: it goes into another sample; tells apart those that do
};

/// What the loader's source calls its samples, and messages its stages.
struct sample_names {
  const void* source = nullptr;
  std::string (*key)(const void* source, std::uint64_t index) = nullptr;
  std::string (*stage)(const void* source, std::uint32_t number) = nullptr;
};

/// For what stages may use of it see wick::context, which is made of it.
class sample_context {
 public:
  /// \param pass  which time through the data; samples of an earlier one come first where memory is short
  /// \param names  lives longer
  explicit sample_context(place where, executor* on = nullptr, byte_budget* memory = nullptr,
                          stop_token stop = {}, std::uint64_t pass = 0,
                          const sample_names* names = nullptr) noexcept
      : where_(where), pass_(pass), executor_(on), memory_(memory), names_(names), stop_(stop) {}
  /// Of another sample, which goes into this one. What it reserves is this one's, which lives
  /// longer.
  sample_context(sample_context& into, place where) noexcept
      : where_(where),
        pass_(into.pass_),
        executor_(into.executor_),
        memory_(into.memory_),
        names_(into.names_),
        account_(into.account_),
        asked_(into.asked_),
        stop_(into.stop_) {}
  sample_context(const sample_context&) = delete;
  sample_context& operator=(const sample_context&) = delete;

  /// Bytes that were reserved since it asked last, for the report.
  std::size_t take_reserved() noexcept {
    return asked_->load(std::memory_order_relaxed) == 0 ? 0 : asked_->exchange(0, std::memory_order_relaxed);
  }
  /// From now on it is written down what this sample waits for, and in which stage; it has
  /// run since then (ticks). \throws std::bad_alloc
  void watch(std::uint64_t since) {
    doing_.begin(since);
    stage_shown_ = &doing_.get()->stage;
  }
  /// From now on enter_watched() writes the stage there.
  void show_stage(std::atomic<std::uint32_t>* to) noexcept { stage_shown_ = to; }
  activity* doing() const noexcept { return doing_.get(); }
  /// The sample has ended.
  void give_back() noexcept { reserved_.give_back(); }

  /// The number of the stage that is about to run.
  void enter(std::uint32_t stage) noexcept { stage_ = stage; }
  /// The same where it costs little that other threads may see it.
  void enter_watched(std::uint32_t stage) noexcept {
    enter(stage);
    if (stage_shown_ != nullptr) stage_shown_->store(stage, std::memory_order_relaxed);
  }
  /// The source is asked; what it throws is this stage's.
  void enter_source(std::uint32_t first) noexcept {
    enter_watched(in_source);
    enter(first);
  }
  /// The number of the stage that runs, counted from 0 over the whole pipeline.
  std::uint32_t stage() const noexcept { return stage_; }
  /// What messages call a stage of the pipeline: "crop, the 3rd stage,".
  std::string stage_text(std::uint32_t number) const;
  /// The last stage that asked for random numbers; ~0u while none has.
  std::uint32_t last_drawing() const noexcept { return random_stage_; }
  /// From now on random numbers hang on the sample alone, for one that a cache keeps.
  void freeze(bool on) noexcept { frozen_ = on; }
  bool frozen() const noexcept { return frozen_; }
  /// For a cache on disk: what the sample is made of, as a number.
  void set_origin(std::uint64_t origin) noexcept { origin_ = origin; }
  std::uint64_t origin() const noexcept { return origin_; }
  /// Whether a trace follows this sample.
  bool followed() const noexcept { return followed_; }
  void follow(bool on) noexcept { followed_ = on; }
  /// Where it stands.
  const place& where() const noexcept { return where_; }
  /// On to the next sample.
  void move_to(place where) noexcept {
    reserved_.give_back();
    where_ = where;
    random_stage_ = ~0u;
    origin_ = 0;
    frozen_ = false;
    followed_ = false;
  }

 protected:
  ~sample_context() = default;

  place where_;
  std::uint64_t origin_ = 0;
  std::uint64_t pass_;  // not the epoch, which may be gone through twice
  std::uint32_t stage_ = 0;
  std::uint32_t random_stage_ = ~0u;
  bool frozen_ = false;
  bool followed_ = false;
  random_stream random_{0, 0, 0, 0};
  executor* executor_;
  byte_budget* memory_;
  const sample_names* names_;
  byte_account reserved_;
  byte_account* account_ = &reserved_;
  std::atomic<std::size_t> own_asked_{0};  // several coroutines of a sample may ask
  std::atomic<std::size_t>* asked_ = &own_asked_;
  own_activity doing_;
  std::atomic<std::uint32_t>* stage_shown_ = nullptr;
  stop_token stop_;
};

}  // namespace detail

}  // namespace wick
