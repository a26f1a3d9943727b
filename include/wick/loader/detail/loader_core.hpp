// The parts of a loader that don't depend on the type of its batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <wick/async/executor.hpp>
#include <wick/async/task.hpp>
#include <wick/base/detail/owned.hpp>
#include <wick/batch/epoch_fingerprint.hpp>
#include <wick/failures/failure_log.hpp>
#include <wick/loader/detail/delivery_records.hpp>
#include <wick/loader/detail/epoch_plans.hpp>
#include <wick/loader/detail/erased_pipeline.hpp>
#include <wick/loader/detail/loader_shell.hpp>
#include <wick/loader/detail/pipeline_run.hpp>
#include <wick/loader/detail/progress_state.hpp>
#include <wick/loader/detail/scheduler.hpp>
#include <wick/loader/loader_options.hpp>
#include <wick/profile/detail/hang_watch.hpp>
#include <wick/profile/report.hpp>
#include <wick/profile/trace.hpp>
#include <wick/resume/detail/delivery_log.hpp>
#include <wick/resume/detail/state.hpp>
#include <wick/sampling/mix.hpp>

namespace wick::inline v0_1::detail {

/// wick::loader_base calls these functions and documents them. The content of a batch belongs to the typed
/// loader (loader_of), which the core reaches through the shell's virtual functions.
class loader_core {
 public:
  loader_core(loader_shell& shell, owned<executor> own, owned<erased_pipeline> what,
              const loader_options& options);
  loader_core(const loader_core&) = delete;
  loader_core& operator=(const loader_core&) = delete;

  // ---- functions of the same name in wick::loader_base ----

  void epoch(std::uint64_t e);
  void refresh();
  void set_mix_weights(const std::vector<source_weight>& weights);
  std::vector<source_weight> mixture() const;
  std::vector<std::byte> state() const;
  void load_state(std::span<const std::byte> bytes);
  std::uint64_t current_epoch() const noexcept { return progress_.current_epoch(); }
  std::uint64_t next_epoch() const noexcept { return progress_.next_epoch(); }
  bool next(const wait_check* check);
  static task<bool> next_async(loader_core* self);
  void seek(std::uint64_t epoch, std::uint64_t batch);
  std::uint64_t batches() const noexcept { return plan().batches(); }
  std::uint64_t samples() const noexcept {
    const pipeline_facts& is = settings_.facts();
    return is.drop_last && !is.grouped ? plan().batches() * plan().batch_size() : plan().positions();
  }
  executor& on() noexcept { return settings_.on; }
  std::uint64_t filtered() const noexcept { return records_.drops.of_training; }
  const wick::failure_log& failure_log() const noexcept { return records_.account.failure_log(); }
  epoch_fingerprint fingerprint(std::uint64_t epoch) const {
    return records_.prints.of(epoch, data(), batch_of_prints());
  }
  void write_quarantine(const std::string& path) const;
  std::uint64_t slab_allocations() const noexcept { return scheduler_.pool().allocations(); }
  std::size_t peak_bytes_in_flight() const noexcept { return settings_.budget.peak(); }
  wick::report report();
  void trace(const std::string& path, const trace_options& how);
  void stop_trace();

  // ---- functions of the same name in loader_shell ----

  bool next_in_group();
  bool is_ready() const noexcept { return progress_.group.under_way(); }
  std::uint64_t items_left() const noexcept {
    return settings_.facts().batched ? progress_.left : samples_left();
  }
  std::uint64_t samples_taken() const noexcept { return records_.prints.samples(); }

 private:
  const erased_plan& plan() const noexcept { return scheduler_.plan(); }
  void begin(std::uint64_t e, bool outruns);
  std::uint64_t samples_left() const noexcept;
  void seek_batches();
  /// \throws wick::error for a number that no epoch has
  static void require_epoch(const char* call, std::uint64_t e);
  bool begun();
  bool at_end();
  void require_refreshed() const;
  void look_at_data();
  void forget_bad();
  batch_job* wait(const wait_check* check);
  bool deliver(batch_job& j);
  void look(const batch_job& j) noexcept;
  void deliver_batch(batch_job& j);
  void log_delivery(delivered_batch b, bool there) noexcept;
  void deliver_group(batch_job& j);
  report_recorder::subject subject() noexcept;
  std::uint64_t batch_of_prints() const noexcept {
    return settings_.facts().batched ? plan().batch_size() : 0;
  }
  void require_resumable(const loader_state& s, const char* what) const;
  std::uint64_t data() const;
  pipeline_identity identity() const;
  void require_stands(const loader_state& s, const erased_plan& by) const;

  loader_shell& shell_;
  owned<executor> own_;
  run_settings settings_;
  scheduler scheduler_;
  progress_state progress_;
  bool refreshed_ = true;  // the last refresh() succeeded
  epoch_plans plans_{settings_, scheduler_};
  const bool exchanges_;  // samples may be exchanged between two epochs, without refresh()
  // The source and stages hash lists for these, which may take long, so they are asked once, and after
  // changes.
  mutable std::optional<std::uint64_t> data_;
  mutable std::optional<std::vector<stage_identity>> stages_;

  std::vector<reported_failure> reported_;
  delivery_records records_;
  hang_watch watch_;  // looks at all of these
};

}  // namespace wick::detail
