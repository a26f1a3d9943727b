/// \file
/// Where a loader stands: how its state is written and gone on from.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <wick/loader/detail/report_book.hpp>
#include <wick/resume/mixture.hpp>
#include <wick/resume/state.hpp>
#include <wick/sample/error.hpp>
#include <wick/system/detail/owned.hpp>

namespace wick::detail {

template <class Loader>
struct loader_place {
  /// The batch handed over next.
  static mixture_journal::place next(const Loader& l) noexcept {
    if (l.resume_) return {l.resume_->epoch, l.resume_->batch};
    if (!l.epoch_) return {};
    if (l.left_ == 0) return {*l.epoch_ + 1, 0};
    return {*l.epoch_, l.batches() - l.left_};
  }

  /// What is left of the epoch: batches, or samples where there are no batches; and samples of this rank.
  static std::uint64_t items_left(const Loader& l) noexcept {
    if constexpr (Loader::feed_type::batched)
      return l.left_;
    else
      return samples_left(l);
  }
  static std::uint64_t samples_left(const Loader& l) noexcept {
    const auto& plan = l.feed_->plan();
    const std::uint64_t all = plan.batches();
    const std::uint64_t left = plan.passed(all) - plan.passed(all - std::min(l.left_, all));
    if constexpr (Loader::feed_type::batched)
      return left;
    else
      return l.delivery_.left_with(left);
  }
  /// Whether the next sample is of a group that was taken.
  static bool at_hand(const Loader& l) noexcept {
    if constexpr (Loader::feed_type::batched)
      return false;
    else
      return l.delivery_.under_way();
  }

  // For measure().
  static auto& feed(Loader& l) noexcept { return *l.feed_; }
  static auto& user(Loader& l) noexcept { return l.user_; }
  /// The report does not count what goes on meanwhile as taking batches.
  class pause {
   public:
    explicit pause(Loader& l) : of_(l), under_way_(l.epoch_ && !l.resume_ && l.left_ != 0) {
      if (under_way_) of_.books_.report.end(report_book::of(*of_.feed_));
    }
    pause(const pause&) = delete;
    pause& operator=(const pause&) = delete;
    ~pause() {
      if (!under_way_) return;
      try {
        of_.books_.report.begin(report_book::of(*of_.feed_));
      } catch (...) {  // no memory: the report lacks the rest of the epoch
      }
    }

   private:
    Loader& of_;
    bool under_way_;
  };

  static std::vector<std::byte> state(const Loader& l) {
    loader_state s;
    s.of = l.identity();
    s.rounds = l.round_.count;
    s.filtered = l.books_.drops.of_training;
    l.books_.account.write(s);
    if (l.edits_.any()) l.edits_.journal()->write(s);
    if (l.resume_) {
      s.moved = l.resume_->moved;
      s.epoch = l.resume_->epoch;
      s.batch = l.resume_->batch;
      s.sample = l.resume_->sample;
    } else if (l.epoch_) {
      s.epoch = *l.epoch_;
      s.batch = l.batches() - l.left_;
      l.delivery_.write(s);
      if (l.ends(s)) s.begin_next_epoch();
    }
    return s.to_bytes();
  }

  static void load(Loader& l, std::span<const std::byte> bytes) {
    loader_state s = loader_state::from_bytes(bytes);
    l.require_goes_on(s, "load_state: the state is of ");
    l.edits_.require_same(s);
    const std::uint64_t under_way = l.current_epoch();
    Loader::edits::plan_for(l, s.epoch);
    try {
      take_over(l, std::move(s));
    } catch (...) {
      Loader::edits::plan_for(l, under_way);
      throw;
    }
  }

  /// All is planned anew over the data as they are now.
  static void refresh(Loader& l) {
    l.feed_->on().require_workers();
    if (!l.feed_->idle()) l.feed_->on().require_outside("refresh()", "take the epoch to its end before it");
    if (l.epoch_) l.books_.prints.seal(l.data(), l.batch_of_prints());
    l.refreshed_ = false;
    l.left_ = 0;
    l.sought_ = true;
    l.delivery_.begin(0, 0);
    l.books_.drops.begin(false);
    l.data_.reset();
    l.feed_->refresh();
    if (l.resume_) l.require_goes_on(*l.resume_, "refresh: the state that was loaded is of ");
    l.round_.refreshed();
    l.refreshed_ = true;
  }

 private:
  /// \throws wick::error when the state stands where this loader's epoch has no batch
  static void take_over(Loader& l, loader_state s) {
    const std::uint64_t batches = l.batches();
    if (s.batch > batches || (s.sample != 0 && (Loader::feed_type::batched || s.batch == batches))) {
      throw error("load_state: the state stands at batch " + std::to_string(s.batch) + " of an epoch of " +
                  std::to_string(batches) + "; it was not written by wick");
    }
    if (l.ends(s)) s.begin_next_epoch();  // written by an older wick, or an edit has ended it there
    if (s.moved != 0 && !l.feed_->runs().policy.options().compact) {
      throw error("load_state: " + std::to_string(s.moved) +
                  " samples of the rest of its epoch were delivered already, in the place of others; set "
                  "error_options::compact as it was when the state was written, or begin the next epoch");
    }
    l.resume_ = make_owned<const loader_state>(std::move(s));
    l.round_.go_on(l.resume_->rounds, l.resume_->epoch);
    l.books_.drops.of_training = l.books_.drops.reported = l.resume_->filtered;
    l.books_.account.read(*l.resume_);
  }
};

}  // namespace wick::detail
