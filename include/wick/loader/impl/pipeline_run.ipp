// Implements loader/detail/pipeline_run.hpp and loader/detail/erased_pipeline.hpp. Included in exactly one
// file of a program.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include <wick/async/detail/sample_tokens.hpp>
#include <wick/base/detail/clock.hpp>
#include <wick/failures/detail/error_account.hpp>
#include <wick/loader/detail/pipeline_run.hpp>
#include <wick/pipeline/detail/dropped.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

void erased_plan::divide_evenly(bool drop_last, bool pad_last) noexcept {
  batches_ = drop_last ? positions_ / batch_size_ : (positions_ + batch_size_ - 1) / batch_size_;
  if (pad_last) positions_ = batches_ * batch_size_;
  slots_ = static_cast<std::size_t>((std::min(batch_size_, positions_) + shard_.world - 1) / shard_.world);
}

position_range erased_plan::even_slice(std::uint64_t batch) const noexcept {
  const std::uint64_t begin = batch * batch_size_;
  const position_range mine = share_of(std::min(batch_size_, positions_ - begin), shard_);
  return {begin + mine.first, mine.count};
}

std::uint64_t erased_plan::even_share(std::uint64_t batches) const noexcept {
  const std::uint64_t positions = std::min(batches * batch_size_, positions_);
  return positions / batch_size_ * share_of(batch_size_, shard_).count +
         share_of(positions % batch_size_, shard_).count;
}

void erased_plan::check(std::uint64_t samples, bool batched) const {
  if (positions_ == 0 && samples != 0) {
    throw error("loader: the source has " + std::to_string(samples) +
                " samples, and the order stages leave none of them (take(0), skip() of as many, an empty "
                "subset())");
  }
  if (positions_ == 0) throw error("loader: the source is empty; an epoch would have no sample");
  if (batches_ == 0) {
    throw error("loader: " + std::to_string(positions_) + " samples make no full batch of " +
                std::to_string(batch_size_) + "; make it smaller, or leave drop_last out");
  }
  if (batched && batch_size_ < shard_.world) {
    throw error("loader: a global batch of " + std::to_string(batch_size_) + " samples can't be shared by " +
                std::to_string(shard_.world) + " ranks; batch() takes the size for all ranks together");
  }
}

void erased_pipeline::use(const source_ref& source, const stage_ref* stages, executor& on,
                          std::shared_ptr<slab_memory> memory) {
  source_ = source;
  stages_ = stages;
  memory_ = std::move(memory);
  for (const stage_ref& s : std::span(stages, facts_.stages)) {
    if (s.call->attach != nullptr) s.call->attach(s.stage, on);
    if (s.call->shards) facts_.shard = *static_cast<const shard_stage*>(s.stage);
  }
  for (const stage_ref& s : std::span(stages, facts_.stages))
    if (s.call->feeds_device != nullptr && s.call->feeds_device(s.stage)) facts_.feeds_device = true;
}

std::vector<std::string> erased_pipeline::stage_names() const {
  std::vector<std::string> out;
  for (const stage_ref& s : std::span(stages_, facts_.stages)) out.emplace_back(s.call->name(s.stage));
  return out;
}

std::string erased_pipeline::stage_written(std::size_t stage) const {
  if (stage >= facts_.stages || stages_[stage].call->written == nullptr) return {};
  return stages_[stage].call->written(stages_[stage].stage);
}

std::vector<stage_identity> erased_pipeline::identity() const {
  std::vector<stage_identity> out;
  for (const stage_ref& s : std::span(stages_, facts_.stages)) {
    const std::uint64_t parameters = s.call->fingerprint != nullptr ? s.call->fingerprint(s.stage) : 0;
    out.push_back({std::string(s.call->name(s.stage)), parameters, s.call->has_refresh});
  }
  return out;
}

std::vector<std::string> erased_pipeline::notes() const {
  std::vector<std::string> out;
  for (const stage_ref& s : std::span(stages_, facts_.stages))
    if (s.call->note != nullptr) out.push_back(s.call->note(s.stage));
  out.push_back(source_.call->note(source_.source));
  std::erase(out, "");
  return out;
}

std::shared_ptr<slab_memory> erased_pipeline::batch_memory() const {
  for (const stage_ref& s : std::span(stages_, facts_.stages)) {
    if (s.call->memory == nullptr) continue;
    if (auto wanted = s.call->memory(s.stage)) return wanted;
  }
  return memory_ != nullptr ? memory_ : std::make_shared<host_slab_memory>();
}

namespace {

sample_names names_of(const erased_pipeline& of) noexcept {
  return {&of, [](const void* p, std::uint64_t i) { return static_cast<const erased_pipeline*>(p)->key(i); },
          [](const void* p, std::uint32_t i) {
            const auto& pipeline = *static_cast<const erased_pipeline*>(p);
            return pipeline.stage_names()[i] + pipeline.stage_written(i);
          }};
}

}  // namespace

listed_source run_settings::listed() const {
  return {pipeline.get(), pipeline->samples(), pipeline->source_fingerprint(), names.key};
}

run_settings::run_settings(owned<erased_pipeline> what, const loader_options& options, executor& where)
    : pipeline(std::move(what)),
      on(where),
      seed(options.seed),
      in_flight(options.in_flight.value_or(tokens::limit_for(on.workers(), on.reads_at_a_time()))),
      budget(options.memory, std::chrono::seconds(1), &where),
      policy(options.on_error),
      only_fails(policy.only_fails()),
      stage_names(pipeline->stage_names()),
      names(names_of(*pipeline)),
      // Without a list, the source isn't asked for its fingerprint, which may take long.
      bad(options.quarantine.empty() ? quarantine()
                                     : read_quarantines(options.quarantine, listed(), stage_names)) {
  check();
}

std::string run_settings::printable_key(std::uint64_t index) const {
  try {
    return printable(pipeline->key(index));
  } catch (const std::exception&) {
    return "sample " + std::to_string(index);
  }
}

std::string run_settings::stage_of(const failure& f) const {
  try {
    std::rethrow_exception(f.cause);
  } catch (const late_error& e) {
    return e.stage();
  } catch (const out_of_memory& e) {
    return e.stage();
  } catch (const quarantined_sample&) {
    return bad.stage_of(f.to_blame());
  } catch (...) {
    return stage_name(f.stage);
  }
}

void run_settings::check() const {
  const pipeline_facts& is = facts();
  const auto begin = stage_names.begin() + static_cast<std::ptrdiff_t>(is.first);
  const auto end =
      stage_names.begin() + static_cast<std::ptrdiff_t>(std::min(is.batching + 1, stage_names.size()));
  for (const std::string_view wanted : policy.stages()) {
    if (std::find(begin, end, wanted) != end) continue;
    std::string known;
    for (auto n = begin; n != end; ++n) known += (known.empty() ? "" : ", ") + *n;
    throw error("on_error: no stage of samples is called " + printable(wanted) + "; there are: " + known);
  }
  if (!bad.empty() && !policy.ever(error_action::skip) && !policy.ever(error_action::replace)) {
    throw error("quarantine: " + std::to_string(bad.size()) +
                (bad.size() == 1 ? " sample is" : " samples are") +
                " quarantined, but on_error neither skips nor replaces samples; set loader_options::on_error "
                "to on_error(on_error::skip) or on_error(on_error::replace)");
  }
}

pipeline_run::pipeline_run(run_settings& of, const erased_plan& by)
    : settings(of),
      pipeline(*of.pipeline),
      facts(of.facts()),
      on(of.on),
      plan(&by),
      clocks(of.on, facts.rows, facts.batching, facts.stages, facts.samples_suspend) {}

context pipeline_run::context_of_batch(const batch_job& j) noexcept {
  static constexpr sample_names batches{
      nullptr, [](const void*, std::uint64_t number) { return "batch " + std::to_string(number); }};
  return context({settings.seed, j.epoch, j.first, j.number}, &on, &settings.budget, stop->token(), j.pass,
                 &batches);
}

void pipeline_run::count(stage_clock* of, std::size_t first, std::uint64_t samples,
                         std::uint64_t timed) const noexcept {
  const auto one = [&](stage_clock& c) {
    c.ran(samples);
    if (timed != 0) c.worked(timed, 0);
  };
  for (std::size_t s = first; s <= facts.batching && s < facts.stages; ++s) one(of[s]);
  for (std::size_t s = facts.phase_row; s < facts.rows; ++s) one(of[s]);
}

void pipeline_run::count_batch(std::size_t stage, std::uint64_t begun, const context& c, span_kind kind) {
  if (on.this_slot() == executor::none) return;  // the consumer, with an empty batch
  const std::uint64_t now = now_ticks();
  clocks.worked(static_cast<std::uint32_t>(stage), now - begun, c.index());
  if (trace_lane& lane = clocks.lane(); lane.on()) {
    lane.write({begun, now, c.index(), 0, c.epoch(), static_cast<std::uint16_t>(stage), kind});
  }
}

failure pipeline_run::failed(std::uint64_t slot, const context& c, std::exception_ptr cause) const {
  failure f;
  f.slot = slot;
  f.position = c.position();
  f.index = c.index();
  f.take_cause(std::move(cause), c.stage());
  if (settings.is_bad(f.to_blame())) f.tries = 0;
  return f;
}

void pipeline_run::add_failed(batch_job& j, std::vector<failure>& to, std::uint64_t slot,
                              const context& c) const noexcept {
  failure f = failed(slot, c, std::current_exception());
  try {
    to.push_back(f);
  } catch (...) {
    j.lose(std::move(f));  // and with it the batch: this sample counts as ended
  }
}

failure pipeline_run::failure_at(const batch_job& j, std::uint64_t slot) const {
  failure out;
  out.slot = slot;
  out.position = j.first + slot;
  const failure* last = j.last_failure(slot);
  while (last != nullptr && last->of_other()) last = j.failure_before(*last);
  if (last == nullptr)
    out.index = plan->index(j, out.position);
  else
    out.index = last->action == error_action::replace ? last->substitute : last->index;
  return out;
}

}  // namespace wick::detail
