// Implements loader/detail/loader_core.hpp: taking batches, epoch after epoch. Included in exactly one file
// of a program.
#pragma once

#include <algorithm>
#include <chrono>
#include <utility>

#include <wick/async/stop_token.hpp>
#include <wick/failures/detail/failed_sample.hpp>
#include <wick/failures/on_error.hpp>
#include <wick/loader/detail/loader_core.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/random.hpp>
#include <wick/profile/detail/trace_file.hpp>
#include <wick/version.hpp>

namespace wick::inline v0_1::detail {

template <>
void compiled_for_these_headers::here() noexcept {}

loader_core::loader_core(loader_shell& shell, owned<executor> own, owned<erased_pipeline> what,
                         const loader_options& options)
    : shell_(shell),
      own_(std::move(own)),
      settings_(std::move(what), options, own_ ? *own_ : *options.executor),
      scheduler_(settings_, options),
      exchanges_(!options.prefetch_next_epoch),
      records_{{options.on_error.options(), options.failure_log_file, settings_.bad},
               {},
               {},
               delivery_log(options.delivery_log_file, options.content_fingerprint)},
      watch_(on(),
             {&scheduler_,
              [](void* of, std::uint64_t n, hang_scene& out) { static_cast<scheduler*>(of)->look(n, out); }},
             options.hang_after, options.on_hang) {
  if (records_.account.any_bad()) data();  // the data that their indexes refer to, for refresh()
  if (records_.deliveries && !settings_.facts().batched) {
    throw error(
        "delivery_log_file: the pipeline gives samples, and the log is of batches; add batch() or "
        "array_batch() to the pipeline, or leave delivery_log_file empty");
  }
}

void loader_core::require_epoch(const char* call, std::uint64_t e) {
  if (e <= last_epoch) return;
  throw error("loader: " + std::string(call) + "(" + std::to_string(static_cast<std::int64_t>(e)) +
              "): epochs are counted from 0 to " + std::to_string(last_epoch));
}

// ---- taking ----

void loader_core::epoch(std::uint64_t e) {
  require_epoch("epoch", e);
  const single_user::hold mine(shell_.user_, "epoch()");
  begin(e, true);
}

void loader_core::begin(std::uint64_t e, bool outruns) {
  on().require_workers();
  require_refreshed();
  scheduler_.size().require_same();
  next_plan by = plans_.plan_for(e);
  if (exchanges_ && progress_.left == 0) look_at_data();
  if (records_.deliveries) data();
  records_.report.begin(subject());
  records_.prints.begin(e);
  // Nothing throws from here until the loader is in the epoch.
  if (by) plans_.go_by(std::move(by));
  if (!progress_.resumes(e)) records_.account.begin(e);
  progress_.begin(e, plan());
  if (outruns) shell_.pass_.fetch_add(1, std::memory_order_relaxed);  // ends ranges of the last epoch
  const std::uint64_t number = progress_.number(plan());
  records_.drops.begin(number == 0 && !progress_.group.resumes());
  if (!on().owns_this_thread() || !scheduler_.leaves_for(e, number))
    seek_batches();
  else
    scheduler_.leave();  // next() or next_async() waits until the batches under way end
}

/// If it throws, the next call does the rest.
void loader_core::seek_batches() {
  progress_.sought = false;
  if (progress_.left != 0) scheduler_.seek(*progress_.epoch, progress_.number(plan()));
  progress_.sought = true;
}

bool loader_core::begun() {
  on().require_workers();
  if (!progress_.epoch || progress_.loaded) begin(current_epoch(), false);
  return progress_.left != 0 || progress_.group.under_way();
}

bool loader_core::at_end() {
  records_.report.end(subject());
  records_.drops.require_some(current_epoch(), settings_.facts().shard.world);
  return false;
}

bool loader_core::next(const wait_check* check) {
  if (!begun()) return at_end();
  if (!progress_.sought) seek_batches();
  for (;;) {
    if (next_in_group()) return true;
    if (progress_.left == 0) return at_end();
    if (deliver(*wait(check))) return true;
  }
}

task<bool> loader_core::next_async(loader_core* self) {
  if (!self->begun()) co_return self->at_end();
  if (!self->progress_.sought) {
    task<void> leaving = self->scheduler_.left_async();
    co_await leaving;
    self->seek_batches();
  }
  for (;;) {
    if (self->next_in_group()) co_return true;
    if (self->progress_.left == 0) co_return self->at_end();
    const std::uint64_t begun_at = self->records_.report.begin_wait();
    batch_job* job = nullptr;
    {
      const hang_watch::waiting waits(self->watch_, begun_at, self->scheduler_.taken());
      job = co_await self->scheduler_.next_async();
    }
    self->records_.report.waited(begun_at);
    if (self->deliver(*job)) co_return true;
  }
}

batch_job* loader_core::wait(const wait_check* check) {
  const std::uint64_t begun_at = records_.report.begin_wait();
  batch_job* job = scheduler_.try_take();
  if (job == nullptr) {
    const std::uint64_t sequence = scheduler_.taken();
    if (scheduler_.short_samples()) {
      if (executor::helper slot(on()); slot) {
        watch_.begin(begun_at, sequence);
        while ((job = scheduler_.try_take()) == nullptr && scheduler_.short_samples() && scheduler_.help()) {
        }
        watch_.end();
        records_.report.helped(begun_at);
      }
      watch_.leave();
    }
    if (job == nullptr) {
      const hang_watch::waiting waits(watch_, begun_at, sequence);
      if (check == nullptr) {
        job = scheduler_.take();
      } else {
        do {
          job = scheduler_.take_for(std::chrono::milliseconds(100));
        } while (job == nullptr && check->keep(check->of));
      }
    }
  }
  records_.report.waited(begun_at);
  if (job == nullptr) throw cancelled();
  return job;
}

// ---- handing over ----

namespace {

/// A batch's place in the ring; it is freed at the end, whatever is thrown.
class taken_job {
 public:
  taken_job(scheduler& of, batch_job& j) noexcept : of_(of), job_(&j) {}
  taken_job(const taken_job&) = delete;
  taken_job& operator=(const taken_job&) = delete;
  ~taken_job() { release(); }
  /// What is needed from it afterwards has been copied.
  void release() noexcept {
    if (job_ != nullptr) of_.release(*std::exchange(job_, nullptr));
  }

 private:
  scheduler& of_;
  batch_job* job_;
};

}  // namespace

/// False if there is nothing to hand over yet.
bool loader_core::deliver(batch_job& j) {
  --progress_.left;
  records_.report.took_batch();
  if (records_.report.looks()) look(j);
  if (settings_.facts().batched) {
    deliver_batch(j);
    return true;
  }
  deliver_group(j);
  return next_in_group();
}

bool loader_core::next_in_group() {
  const std::optional<std::size_t> found =
      progress_.group.next(plan(), records_, [this](std::size_t slot) { return shell_.has(slot); });
  if (found) shell_.slot_ = *found;
  return found.has_value();
}

/// \throws the error that one of its samples failed with, if on_error has no other action; too_many_errors
void loader_core::deliver_batch(batch_job& j) {
  taken_job taken(scheduler_, j);
  scheduler_.make(j);
  report_in_order(j, settings_, plan(), reported_);
  const epoch_fingerprint print{j.print.load(std::memory_order_relaxed), j.rows(), 1};
  const std::uint64_t epoch = j.epoch, number = j.number, count = j.count;
  const left_out_counts out = left_out_of(j, reported_);
  std::optional<delivered_batch> line;
  if (records_.deliveries) line = delivery_of(j, scheduler_, reported_);
  const bool there = shell_.take(j);
  taken.release();
  try {
    try {
      records_.account.add(epoch, 0, count, plan().passed(number + 1), plan().passed(plan().batches()),
                           reported_);
    } catch (...) {
      if (line) log_delivery(*line, false);
      throw;
    }
    if (line) log_delivery(*line, there);
    if (records_.account.any_bad()) data();
    const auto thrown = std::find_if(reported_.begin(), reported_.end(), [](const reported_failure& f) {
      return f.entry.action == error_action::fail;
    });
    records_.drops.add(out, there ? print.samples : 1);
    if (!there) throw to_exception(*thrown);
    records_.report.took(print.samples);
    records_.prints.add(print);
    shell_.slot_ = 0;
    shell_.deliver();
  } catch (...) {
    shell_.drop_taken();
    throw;
  }
}

/// Called before the consumer has the batch, if there is one.
void loader_core::log_delivery(delivered_batch b, bool there) noexcept {
  b.batches = batches();
  if (!there) b.samples = b.replaced = b.order_hash = b.samples_hash = 0;
  const shard_stage& share = settings_.facts().shard;
  delivery_start whose;
  whose.rank = share.rank;
  whose.world = share.world;
  whose.seed = settings_.seed;
  whose.batch_size = plan().batch_size();
  whose.source = scheduler_.size().planned();
  whose.data = *data_;
  records_.deliveries.add(whose, b);
}

void loader_core::deliver_group(batch_job& j) {
  taken_job taken(scheduler_, j);
  report_in_order(j, settings_, plan(), reported_);
  progress_.group.take(plan(), j, reported_, records_);
  shell_.take(j);
}

std::uint64_t loader_core::samples_left() const noexcept {
  const std::uint64_t all = plan().batches();
  const std::uint64_t left = plan().passed(all) - plan().passed(all - std::min(progress_.left, all));
  return settings_.facts().batched ? left : progress_.group.left_with(left);
}

// ---- the report ----

report_recorder::subject loader_core::subject() noexcept {
  const pipeline_facts& is = settings_.facts();
  report_recorder::subject out{on(), scheduler_.clocks(), settings_.budget, settings_.names};
  out.first = is.first;
  out.batching = is.batching;
  out.order_row = is.order_row;
  out.phase_row = is.phase_row;
  out.phase_stages = is.phase_stages;
  out.batch = plan().batch_size();
  out.figures = scheduler_.figures();
  return out;
}

report loader_core::report() {
  wick::report r = records_.report.close(subject(), settings_.stage_names, failure_log());
  r.filtered =
      records_.drops.of_training - std::exchange(records_.drops.reported, records_.drops.of_training);
  for (std::string& note : settings_.pipeline->notes()) r.notes.push_back(std::move(note));
  if (settings_.facts().feeds_device && r.step_delay > 0.03) {
    r.notes.push_back(
        "the training loop waits " + format_percent(r.step_delay) +
        " of its step for a processor that other threads have, so its operations come to the device "
        "late: leave nice out, give fewer workers, or stop other programs");
  }
  for (std::string trouble : {records_.account.trouble(), records_.deliveries.trouble()}) {
    if (!trouble.empty()) r.notes.push_back(std::move(trouble));
  }
  return r;
}

void loader_core::trace(const std::string& path, const trace_options& how) {
  const single_user::hold mine(shell_.user_, "trace()");
  records_.report.trace(subject(), settings_.stage_names, plan().positions(), path, how);
}

void loader_core::stop_trace() {
  const single_user::hold mine(shell_.user_, "stop_trace()");
  records_.report.stop_trace();
}

/// Called for a batch that was taken and is still in its place.
void loader_core::look(const batch_job& j) noexcept {
  records_.report.look(scheduler_.depths(), {.sequence = j.sequence,
                                             .epoch = j.epoch,
                                             .number = j.number,
                                             .samples = j.count,
                                             .opened = j.opened,
                                             .published = j.published});
}

}  // namespace wick::detail
