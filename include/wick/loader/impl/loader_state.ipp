// Implements loader/detail/loader_core.hpp: a loader's progress, and how that changes between batches.
// Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <utility>

#include <wick/failures/detail/quarantine.hpp>
#include <wick/loader/detail/loader_core.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

std::uint64_t loader_core::data() const {
  if (!data_) data_ = settings_.pipeline->source_fingerprint();
  return *data_;
}

pipeline_identity loader_core::identity() const {
  if (!stages_) stages_ = settings_.pipeline->identity();
  const pipeline_facts& is = settings_.facts();
  return {data(),   scheduler_.size().planned(),   settings_.seed, plan().batch_size(), is.batched,
          *stages_, is.batched ? 0 : is.shard.rank};
}

std::vector<std::byte> loader_core::state() const {
  loader_state s;
  s.of = identity();
  s.filtered = records_.drops.of_training;
  records_.account.write(s);
  s.weights = plans_.weights();
  progress_.write(s, plan(), settings_.facts().batched);
  if (s.batch == plan().batches()) s.begin_next_epoch();
  return s.to_bytes();
}

void loader_core::load_state(std::span<const std::byte> bytes) {
  const single_user::hold mine(shell_.user_, "load_state()");
  loader_state s = loader_state::from_bytes(bytes);
  require_resumable(s, "load_state: the state is of ");
  epoch_plans::change weights(plans_, s.weights);
  next_plan by = plans_.plan_for(s.epoch);
  const erased_plan& then = by ? *by.plan : plan();
  require_stands(s, then);
  if (s.batch == then.batches()) s.begin_next_epoch();  // written when the epoch had more samples
  auto loaded = make_owned<const loader_state>(std::move(s));
  if (exchanges_ && progress_.left == 0) look_at_data();
  records_.account.read(*loaded);
  // Nothing throws from here on.
  weights.keep();
  records_.drops.of_training = records_.drops.reported = loaded->filtered;
  if (by) plans_.go_by(std::move(by));
  progress_.load(std::move(loaded));
}

void loader_core::seek(std::uint64_t epoch, std::uint64_t batch) {
  const single_user::hold mine(shell_.user_, "seek()");
  require_epoch("seek", epoch);
  require_refreshed();
  next_plan by = plans_.plan_for(epoch);
  const erased_plan& then = by ? *by.plan : plan();
  const bool batched = settings_.facts().batched;
  const std::uint64_t there = batched ? then.batches() : then.positions();
  if (batch >= there) {
    throw error("loader: seek(" + std::to_string(epoch) + ", " + std::to_string(batch) + "): the epoch has " +
                std::to_string(there) + (batched ? " batches" : " samples") + ", counted from 0");
  }
  loader_state to;
  to.epoch = epoch;
  to.batch = batch;
  to.rounds = progress_.rounds;
  if (!batched) {  // groups of positions, each shared by the ranks
    const std::uint64_t group = then.batch_size(), in_group = batch % group;
    const std::uint64_t size = std::min(group, there - (batch - in_group));
    const shard_stage& share = settings_.facts().shard;
    const std::uint64_t first = size * share.rank / share.world, end = size * (share.rank + 1) / share.world;
    to.batch = batch / group + (in_group >= end ? 1 : 0);
    to.sample = in_group >= end ? 0 : in_group - std::min(in_group, first);
  }
  auto target = make_owned<const loader_state>(std::move(to));
  if (exchanges_ && progress_.left == 0) look_at_data();
  // Nothing throws from here on.
  records_.account.begin(epoch);
  if (by) plans_.go_by(std::move(by));
  progress_.load(std::move(target));
}

/// \throws wick::error when this loader's epoch has no batch at the state's place
void loader_core::require_stands(const loader_state& s, const erased_plan& by) const {
  if (s.batch > by.batches() || (s.sample != 0 && (settings_.facts().batched || s.batch == by.batches()))) {
    throw error("load_state: the state is at batch " + std::to_string(s.batch) + " of an epoch of " +
                std::to_string(by.batches()) + " batches; it was not written by wick");
  }
}

/// \throws wick::error when the state can't be resumed from here
void loader_core::require_resumable(const loader_state& s, const char* what) const {
  pipeline_identity now = identity();
  if (exchanges_ && progress_.left == 0) now.data = settings_.pipeline->source_fingerprint();
  if (const std::string differs = difference(s, now); !differs.empty()) throw error(what + differs);
}

/// Called at the beginning of an epoch, before which the samples may have been exchanged.
void loader_core::look_at_data() {
  const std::uint64_t now = settings_.pipeline->source_fingerprint();
  if (data_ && *data_ != now) {
    records_.prints.seal(*data_, batch_of_prints());
    forget_bad();
  }
  data_ = now;
}

/// Called when the failed samples' indexes belong to other samples now.
void loader_core::forget_bad() {
  if (!records_.account.any_bad()) return;
  records_.account.forget_bad();
  settings_.bad = quarantine();
}

void loader_core::write_quarantine(const std::string& path) const {
  if (exchanges_ && settings_.pipeline->source_fingerprint() != data()) {
    throw error(
        "write_quarantine: the samples were exchanged since the last epoch began, and the ones that "
        "failed are gone; call it before they are exchanged");
  }
  const std::vector<quarantine::entry> bad = records_.account.bad();
  detail::write_quarantine(path, settings_.listed(), bad, settings_.stage_names);
}

void loader_core::require_refreshed() const {
  if (!refreshed_) throw error("loader: the last refresh() has failed; call it again");
}

/// Plans over the current data.
void loader_core::refresh() {
  const single_user::hold mine(shell_.user_, "refresh()");
  on().require_workers();
  if (!scheduler_.idle()) on().require_outside("refresh()", "take the epoch to its end before it");
  if (progress_.epoch) records_.prints.seal(data(), batch_of_prints());
  const std::uint64_t before = records_.account.any_bad() ? data() : 0;
  watch_.rest();  // it asks the source for keys
  refreshed_ = false;
  progress_.end_epoch();
  records_.drops.begin(false);
  scheduler_.refresh();
  data_.reset();
  stages_.reset();
  if (records_.account.any_bad() && before != data()) forget_bad();
  plans_.refreshed();
  if (next_plan by = plans_.plan_for(current_epoch())) plans_.go_by(std::move(by));
  if (progress_.loaded) require_resumable(*progress_.loaded, "refresh: the state that was loaded is of ");
  ++progress_.rounds;
  refreshed_ = true;
}

// ---- weights of a mix() ----

void loader_core::set_mix_weights(const std::vector<source_weight>& weights) {
  const single_user::hold mine(shell_.user_, "set_mix_weights()");
  on().require_workers();
  const std::uint64_t taken = progress_.number(plan());
  plans_.set_weights(weights, progress_.first_whole_epoch(), current_epoch());
  progress_.replan(taken, plan());
}

std::vector<source_weight> loader_core::mixture() const { return plans_.mixture(progress_.epoch_of_next()); }

}  // namespace wick::detail
