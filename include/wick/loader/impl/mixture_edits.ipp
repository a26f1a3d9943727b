/// \file
/// The bodies of what loader/detail/mixture_edits.hpp declares. Included in exactly one file of a program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <wick/async/executor.hpp>
#include <wick/ext/fingerprint.hpp>
#include <wick/failures/on_error.hpp>
#include <wick/loader/detail/mixture_edits.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

void mixture_edits::require_possible() const {
  if (possible()) return;
  throw error(
      "set_mix_weights(), replay_edits(), mixture() are for a mix() with batch() or pack(), and nothing but "
      "shard() "
      "between: shuffle the mix's sources instead, mix(weighted_source{a | shuffle(), 1}, …)");
}

std::vector<source_weight> mixture_edits::at(place where) const {
  if (journal_) return journal_->at(where);
  const erased_mix& mix = *settings_.pipeline->mix();
  return mixture_journal(mix.names(), mix.weights(), 0, 0).at(where);
}

mixture_journal& mixture_edits::open(const pipeline_identity& of) {
  if (!journal_) {
    fingerprint_hash h;
    h.add(of.data).add(of.samples).add(of.batch);
    for (const stage_identity& s : of.stages) h.add(s.name).add(s.parameters);
    const erased_mix& mix = *settings_.pipeline->mix();
    for (const std::string& name : mix.names()) h.add(name);
    journal_ = make_owned<mixture_journal>(mix.names(), mix.weights(), h.value(), of.seed);
  }
  return *journal_;
}

next_plan mixture_edits::plan_for(std::uint64_t epoch) const {
  if (!(any() || settings_.facts().plans_each_epoch) || planned_ == epoch) return {};
  require_place();
  return plan(epoch);
}

void mixture_edits::go_by(next_plan next) noexcept {
  planned_ = next.epoch;
  scheduler_.replan(std::move(next.plan), std::move(next.stop));
}

void mixture_edits::add(mixture_edit e, place next, std::uint64_t epoch) {
  erased_mix& mix = *settings_.pipeline->mix();
  require_reached(e);
  require_place();
  scheduler_.stop_preparing();
  mix.edit(e.epoch, e.batch * scheduler_.plan().batch_size(), e.weights);
  next_plan by;
  try {
    by = plan(epoch);
    // The weights hold in all later epochs: where one of these would be empty, they hold nowhere.
    plan(e.epoch);
    plan(e.epoch + 1);
    journal_->add(std::move(e));
  } catch (...) {
    mix.take_back_edit();
    throw;
  }
  go_by(std::move(by));
}

void mixture_edits::add_all(const std::vector<mixture_edit>& edits) {
  planned_.reset();
  for (const mixture_edit& e : edits)
    settings_.pipeline->mix()->edit(e.epoch, e.batch * scheduler_.plan().batch_size(), e.weights);
  if (next_plan by = plan_for(0)) go_by(std::move(by));
}

next_plan mixture_edits::plan(std::uint64_t epoch) const {
  return {settings_.pipeline->plan(settings_.facts().shard, settings_.seed, epoch), make_owned<stop_source>(),
          epoch};
}

void mixture_edits::require_place() const {
  if (!scheduler_.idle())
    settings_.on.require_outside("a plan of another epoch", "take the epoch to its end before it");
}

void mixture_edits::require_reached(const mixture_edit& e) const {
  if (e.batch != 0 && settings_.facts().plans_each_epoch) {
    throw error(
        "set_mix_weights: pack() plans the rows of an epoch when it begins, so weights change "
        "between epochs, and this edit is for batch " +
        std::to_string(e.batch) + " of epoch " + std::to_string(e.epoch) +
        "; write {.at_epoch = " + std::to_string(e.epoch + 1) + "}");
  }
  const std::uint64_t batch_size = scheduler_.plan().batch_size();
  const std::uint64_t size = settings_.pipeline->mix()->size_in(e.epoch),
                      batches = (size + batch_size - 1) / batch_size;
  if (e.batch == 0 || e.batch < batches) return;
  throw error("set_mix_weights: epoch " + std::to_string(e.epoch) + " has " + std::to_string(batches) +
              " batches, and the edit is for batch " + std::to_string(e.batch) +
              " (from 0); edit the beginning of the next epoch");
}

}  // namespace wick::detail
