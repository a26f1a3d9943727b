// The parts of a context that the engine uses: the sample's place, what it has reserved, and which stage it
// is in.
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

/// A sample's place. Everything that a stage draws or decides comes only from this and from the data, so that
/// the same position gives the same bytes on any number of workers and ranks.
struct place {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  std::uint64_t position = 0;  ///< in the epoch, counted over all ranks
  std::uint64_t index = 0;     ///< in the source
  std::uint64_t drawn = 0;     ///< not 0: it goes into another sample; distinguishes the samples that do
};

/// How to name the source's samples, and, in messages, the stages.
struct sample_names {
  const void* source = nullptr;
  std::string (*key)(const void* source, std::uint64_t index) = nullptr;
  std::string (*stage)(const void* source, std::uint32_t number) = nullptr;
};

/// The base of wick::context, which documents what stages may use.
class sample_context {
 public:
  /// \param pass  which time through the data; samples of an earlier one come first if memory is short
  /// \param names  must outlive this
  explicit sample_context(place where, executor* on = nullptr, byte_budget* memory = nullptr,
                          stop_token stop = {}, std::uint64_t pass = 0,
                          const sample_names* names = nullptr) noexcept
      : where_(where), pass_(pass), executor_(on), memory_(memory), names_(names), stop_(stop) {}
  /// For another sample, which goes into `into`. Its reservations belong to `into`, which lives longer.
  sample_context(sample_context& into, place where) noexcept
      : where_(where),
        pass_(into.pass_),
        executor_(into.executor_),
        memory_(into.memory_),
        names_(into.names_),
        account_(into.account_),
        stop_(into.stop_) {}
  sample_context(const sample_context&) = delete;
  sample_context& operator=(const sample_context&) = delete;

  /// The bytes that were reserved since the last call, for the report.
  std::size_t take_reserved() noexcept { return account_->newly_taken(account_ == &reserved_); }
  /// From now on, records what this sample waits for, and in which stage; it has been running since `since`
  /// (ticks). \throws std::bad_alloc
  void watch(std::uint64_t since) {
    doing_.begin(since);
    stage_shown_ = &doing_.get()->stage;
  }
  /// From now on, enter_watched() writes the stage to `to`.
  void show_stage(std::atomic<std::uint32_t>* to) noexcept { stage_shown_ = to; }
  activity* doing() const noexcept { return doing_.get(); }
  /// The sample has ended.
  void give_back() noexcept { reserved_.give_back(); }

  /// The number of the stage that is about to run.
  void enter(std::uint32_t stage) noexcept { stage_ = stage; }
  /// The same, visible to other threads; for places where that costs little.
  void enter_watched(std::uint32_t stage) noexcept {
    enter(stage);
    if (stage_shown_ != nullptr) stage_shown_->store(stage, std::memory_order_relaxed);
  }
  /// The source is asked; an exception from it counts as this stage's.
  void enter_source(std::uint32_t first) noexcept {
    enter_watched(in_source);
    enter(first);
  }
  /// The number of the running stage, counted from 0 over the whole pipeline.
  std::uint32_t stage() const noexcept { return stage_; }
  /// How messages refer to a stage of the pipeline: "crop, the 3rd stage,".
  std::string stage_text(std::uint32_t number) const;
  /// The last stage that asked for random numbers; ~0u if none has.
  std::uint32_t last_drawing() const noexcept { return random_stage_; }
  /// From now on, random numbers depend on the sample alone; for a sample that a cache keeps.
  void freeze(bool on) noexcept { frozen_ = on; }
  bool frozen() const noexcept { return frozen_; }
  /// For a cache on disk: a number for what the sample is made of.
  void set_origin(std::uint64_t origin) noexcept { origin_ = origin; }
  std::uint64_t origin() const noexcept { return origin_; }
  /// Whether a trace follows this sample.
  bool followed() const noexcept { return followed_; }
  void follow(bool on) noexcept { followed_ = on; }
  /// The sample's place.
  const place& where() const noexcept { return where_; }
  /// Moves on to the next sample.
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
  std::uint64_t pass_;  // not the epoch, which may be run twice
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
  own_activity doing_;
  std::atomic<std::uint32_t>* stage_shown_ = nullptr;
  stop_token stop_;
};

}  // namespace detail

}  // namespace wick
