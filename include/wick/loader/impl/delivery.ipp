// Implements loader/detail/delivery_records.hpp and loader/detail/sample_group.hpp. Included in exactly one
// file of a program.
#pragma once

#include <atomic>
#include <string>
#include <utility>

#include <wick/failures/detail/failed_sample.hpp>
#include <wick/failures/failure_log.hpp>
#include <wick/failures/on_error.hpp>
#include <wick/loader/detail/sample_group.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

namespace {

reported_failure tell_one(const failure& f, const batch_job& j, const run_settings& of) {
  const bool whole = f.slot == failure::whole_batch;
  reported_failure out{f.slot, f.to_blame(), f.stage, f.planned(), f.tries == 0, {}, f.cause};
  failure_log::entry& e = out.entry;
  e.key = whole ? "batch " + std::to_string(j.number) : of.printable_key(f.to_blame());
  e.stage = of.stage_name(f.stage);
  if (out.known) {
    if (std::string known = of.bad.stage_of(f.to_blame()); !known.empty()) e.stage = std::move(known);
  }
  e.epoch = j.epoch;
  e.position = f.position;
  e.action = f.action;
  e.tries = f.tries;
  describe_cause(f.cause, e);
  if (!out.known && e.stage == of.stage_name(f.stage)) e.written = of.pipeline->stage_written(f.stage);
  if (whole || of.policy.rule_for(e.stage).action != error_action::fail)
    e.text = without_leave_it_out(std::move(e.text));
  if (whole) e.kind = error_kind::batch;
  if (f.substitute != failure::no_index) e.substitute = of.printable_key(f.substitute);
  if (f.of_other()) {
    e.into = of.printable_key(f.index);
    e.text += "; it was drawn to go into " + e.into;
  }
  if (f.action == error_action::fail && f.drawn != 0) {
    e.text += f.drawn == 1
                  ? "; the substitute drawn for this position failed, too"
                  : "; all " + std::to_string(f.drawn) + " substitutes drawn for this position failed";
  }
  out.stage = static_cast<std::size_t>(std::find(of.stage_names.begin(), of.stage_names.end(), e.stage) -
                                       of.stage_names.begin());
  return out;
}

}  // namespace

void report_in_order(const batch_job& j, const run_settings& of, const erased_plan& plan,
                     std::vector<reported_failure>& to) {
  to.clear();
  if (j.failures.empty() && !j.unlisted) return;
  for (const failure& f : j.failures) {
    if (!f.dropped) to.push_back(tell_one(f, j, of));
  }
  if (j.unlisted && of.facts().batched) {
    to.push_back(tell_one(*j.unlisted, j, of));
  } else if (j.unlisted) {  // all samples that are missing without a failure
    for (std::uint64_t slot = 0; slot < j.count; ++slot) {
      failure f = *j.unlisted;
      f.slot = slot;
      f.position = j.first + slot;
      f.index = plan.index(j, f.position);
      const bool said = std::any_of(j.failures.begin(), j.failures.end(), [&](const failure& other) {
        return other.slot == slot &&
               (other.action == error_action::fail || other.action == error_action::skip);
      });
      if (!said && !j.has(static_cast<std::size_t>(slot))) to.push_back(tell_one(f, j, of));
    }
  }
  sort_by_slot(to);
}

left_out_counts left_out_of(const batch_job& j, const std::vector<reported_failure>& failures) {
  const auto is_skipped = [](const reported_failure& f) { return f.entry.action == error_action::skip; };
  const auto filtered = std::count_if(j.failures.begin(), j.failures.end(), is_left_out);
  const auto failed = std::count_if(failures.begin(), failures.end(), is_skipped);
  return {.filtered = static_cast<std::uint64_t>(filtered), .failed = static_cast<std::uint64_t>(failed)};
}

delivered_batch delivery_of(const batch_job& j, const scheduler& of,
                            const std::vector<reported_failure>& failures) {
  delivered_batch out;
  out.epoch = j.epoch;
  out.batch = j.number;
  out.count = j.count;
  out.samples = j.rows();
  out.order_hash = j.print.load(std::memory_order_relaxed);
  std::vector<std::size_t> gaps = j.gaps;
  std::sort(gaps.begin(), gaps.end());
  auto gap = gaps.begin();
  for (std::uint64_t slot = 0; slot < j.count; ++slot) {
    if (gap != gaps.end() && *gap == slot)
      ++gap;
    else
      out.samples_hash += hash_of_sample(of.index_at(j, slot));
  }
  std::optional<std::uint64_t> last;  // failures are in order of slots
  for (const reported_failure& f : failures) {
    const bool replaced = f.entry.action == error_action::replace && f.entry.into.empty();
    if (replaced && std::exchange(last, f.slot) != f.slot) ++out.replaced;
  }
  return out;
}

void sample_group::take(const erased_plan& plan, const batch_job& j, std::vector<reported_failure>& reported,
                        delivery_records& records) {
  reported_.swap(reported);
  next_ = static_cast<std::size_t>(std::exchange(skip_, 0));
  next_reported_ = 0;
  number_ = j.number;
  epoch_ = j.epoch;
  first_ = j.first;
  size_ = 0;
  look_up(plan, j);
  dropped_.clear();
  for (const failure& f : j.failures) {
    if (is_left_out(f)) dropped_.push_back(f.slot);
  }
  size_ = static_cast<std::size_t>(j.count);
  if (reported_.empty()) records.account.add(epoch_, 0, j.count, 0, 0, reported_);
  next_ = std::min(next_, size_);
  while (next_reported_ < reported_.size() && reported_[next_reported_].slot < next_) ++next_reported_;
}

/// Finds the source's sample at each position of a group, for the fingerprint.
void sample_group::look_up(const erased_plan& plan, const batch_job& j) {
  indexes_.resize(static_cast<std::size_t>(j.count));
  plan.indexes(j, j.first, j.count, indexes_.data());
  for (const failure& f : j.failures) {
    if (f.slot == failure::whole_batch) continue;
    std::uint64_t& index = indexes_[static_cast<std::size_t>(f.slot)];
    if (f.action == error_action::skip) index = left_out;
    if (f.action == error_action::replace && !f.of_other()) index = f.substitute;
  }
}

/// Counts a sample of a group in which some failed. \throws the error that it failed with
void sample_group::tell(const erased_plan& plan, std::size_t slot, delivery_records& records) {
  const std::uint64_t before = plan.passed(number_), all = plan.passed(plan.batches());
  if (next_reported_ < reported_.size() && reported_.front().slot == failure::whole_batch) {
    next_ = size_;
    records.account.add(epoch_, 0, 0, before, all, reported_);
    throw to_exception(reported_[next_reported_++]);
  }
  std::vector<reported_failure> here;
  for (; next_reported_ < reported_.size() && reported_[next_reported_].slot == slot; ++next_reported_) {
    here.push_back(std::move(reported_[next_reported_]));
  }
  records.account.add(epoch_, slot, 1, before + slot + 1, all, here);
  for (const reported_failure& f : here) {
    if (f.entry.action == error_action::fail) throw to_exception(f);
  }
}

}  // namespace wick::detail
