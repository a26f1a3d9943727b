/// \file
/// What a pipeline gives alone, without a training step, and with each of its stages cached or left out.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/async/executor.hpp>
#include <wick/base/detail/duration.hpp>
#include <wick/base/detail/owned.hpp>
#include <wick/batch/detail/cloning.hpp>
#include <wick/failures/failure_log.hpp>
#include <wick/loader/detail/erased_pipeline.hpp>
#include <wick/loader/detail/own_executor.hpp>
#include <wick/loader/detail/pipeline_run.hpp>
#include <wick/loader/detail/typed_pipeline.hpp>
#include <wick/loader/loader_options.hpp>
#include <wick/pipeline/detail/apply.hpp>
#include <wick/pipeline/detail/feeds_device.hpp>
#include <wick/pipeline/pipeline.hpp>
#include <wick/tools/detail/isolated_counts.hpp>
#include <wick/tools/detail/isolated_loop.hpp>
#include <wick/tools/detail/isolated_runs.hpp>

namespace wick::inline v0_1 {

namespace detail {

/// A stage in a benchmark_result. Samples a second each.
struct benchmark_stage {
  std::string name;               ///< as errors show it; "source" for the source and the order
  double up_to = 0;               ///< of the pipeline that ends with it: what it makes is dropped
  std::optional<double> cached;   ///< of the pipeline behind it, from some items of it that were made once
  std::optional<double> without;  ///< of the whole pipeline, but it
};

}  // namespace detail

/// What benchmark() gives. Print it.
struct benchmark_result {
  double seconds = 0;          ///< that were asked for
  std::size_t workers = 0;     ///< of the executor
  std::size_t io_threads = 0;  ///< of the executor
  std::size_t in_flight = 0;   ///< samples under way at a time, where stages suspend; else 0
  double samples = 0;          ///< a second, of this rank, by the whole pipeline without a training step
  double batches = 0;          ///< the same of batches; 0 without batch()
  double bytes = 0;            ///< the same of the bytes of batches; of different ones, of the largest
  std::optional<double> first_batch;            ///< seconds until the first one was made
  std::vector<detail::benchmark_stage> stages;  ///< the source, those of samples, and batch()
  std::uint64_t failures = 0;                   ///< samples and batches that failed, in all runs
  std::vector<failure_log_entry> failed;        ///< the first ten that differ
  std::vector<std::string> notes;               ///< stages that nothing can be batched without

  /// A table of at most 80 columns.
  std::string to_string() const;
};

template <class Stream>
  requires requires(Stream& s, const std::string& text) { s << text; }
Stream& operator<<(Stream& to, const benchmark_result& m) {
  to << m.to_string();
  return to;
}

namespace detail {

/// The runs of a benchmark, and the time that each gets.
template <class Pipeline>
class benchmarking {
  using all_type = isolated_runs<Pipeline>;
  using types = typename all_type::types;
  static constexpr std::size_t first = types::order_end, last = types::batching, none = all_type::none;

  /// Whether the part behind a stage of samples can be measured, and the whole without it.
  template <std::size_t I>
  static constexpr bool cached =
      (types::batched || I + 1 < last) && cloning<typename types::template item<I + 1>>::possible;
  template <std::size_t I>
  static constexpr bool left_out =
      std::same_as<typename types::template item<I>, typename types::template item<I + 1>>;
  static constexpr bool batches_alone = types::batched && last + 1 < types::size;
  static constexpr std::size_t parts = []<std::size_t... I>(std::index_sequence<I...>) {
    return 4 + (std::size_t{0} + ... + (1 + cached<first + I> + left_out<first + I>)) + batches_alone;
  }(std::make_index_sequence<last - first>{});  // the whole pipeline gets three

 public:
  benchmarking(typed_pipeline<Pipeline>& of, run_settings& by, double seconds)
      : settings_(by), runs_(of, by), seconds_(seconds) {}

  benchmark_result all() {
    benchmark_result m;
    m.seconds = seconds_;
    m.workers = settings_.on.workers();
    m.io_threads = settings_.on.io().threads();
    if (types::samples_suspend) m.in_flight = settings_.in_flight;
    const std::vector<std::string>& names = settings_.stage_names;
    const isolated_result whole = run<first, last, none, isolated_end::all>(3);
    m.samples = whole.samples;
    if constexpr (types::batched) {
      const erased_plan& plan = runs_.plan();
      const auto passed = static_cast<double>(plan.passed(plan.batches()));
      if (passed > 0) m.batches = m.samples * static_cast<double>(plan.batches()) / passed;
      m.bytes = m.batches * static_cast<double>(runs_.batch_bytes());
    }
    if (whole.first_batch >= 0) m.first_batch = whole.first_batch;
    m.stages.push_back({"source", run<first, first, none, isolated_end::dropped>().samples, {}, {}});
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (add_stage<first + I>(m, names[first + I]), ...);
    }(std::make_index_sequence<last - first>{});
    if constexpr (types::batched) {
      double up_to = m.samples;
      if constexpr (batches_alone) up_to = run<first, last, none, isolated_end::in_slots>().samples;
      m.stages.push_back({names[last], up_to, {}, {}});
    }
    m.failures = failures_.count();
    m.failed = std::move(failures_.entries());
    return m;
  }

 private:
  template <std::size_t First, std::size_t Last, std::size_t Without, isolated_end End>
  isolated_result run(int shares = 1) {
    return runs_.template run<First, Last, Without, End, void, void>(share() * shares, nullptr, nullptr,
                                                                     failures_);
  }
  double share() const noexcept { return seconds_ / parts; }

  template <std::size_t I>
  void add_stage(benchmark_result& m, const std::string& name) {
    benchmark_stage s{name, 0, {}, {}};
    if constexpr (cached<I>) {
      using cache = isolated_cache<typename types::template item<I + 1>>;
      cache items;
      s.up_to = runs_
                    .template run<first, I + 1, none, isolated_end::dropped, void, cache>(share(), nullptr,
                                                                                          &items, failures_)
                    .samples;
      if (!items.empty())
        s.cached = runs_
                       .template run<I + 1, last, none, isolated_end::all, cache, void>(share(), &items,
                                                                                        nullptr, failures_)
                       .samples;
    } else {
      s.up_to = run<first, I + 1, none, isolated_end::dropped>().samples;
    }
    if constexpr (left_out<I>) {
      isolated_failures missing;
      const double rate =
          runs_
              .template run<first, last, I, isolated_end::all, void, void>(share(), nullptr, nullptr, missing)
              .samples;
      if (const failure_log_entry* const why = missing.of_batches())
        m.notes.push_back("without " + name + ": " + why->text);
      else
        s.without = rate;
    }
    m.stages.push_back(std::move(s));
  }

  run_settings& settings_;
  all_type runs_;
  const double seconds_;
  isolated_failures failures_;
};

}  // namespace detail

/// What a pipeline gives alone, without a training step: `std::cout << wick::benchmark(pipeline,
/// {.workers = 8});`, with the options that its loader gets; in 5 s, or in `time`. For some time samples go
/// through the whole of it on the workers alone. Then, stage by stage, they go through three variants: the
/// pipeline up to the stage; the rest behind it, from 32 items that were made once ("if it were cached";
/// copying them is in the figure; a type that can't be copied may have a `T clone() const`); and the whole
/// without it, where it keeps the type of its items. With as many samples in flight as a loader has, and in
/// its order.
///
/// Work that a stage only plans counts where it is done: pictures are decoded and resized in batch(). Data
/// that was read once may be in the system's cache afterwards. So each run continues where the one before
/// ended, but it passes through a small data set several times. With one stage that takes most of the time,
/// `up_to` falls there, and `cached` rises behind it.
///
/// A cache is left out, and its folder stays as it is: the figures are those of an epoch that finds nothing
/// in it. Samples that fail are left out, counted and listed in the result. Takes compile time where it is
/// called. \throws std::logic_error on a thread of the executor; wick::error as a loader's constructor does
template <class Source, class... S>
benchmark_result benchmark(pipeline<Source, S...> what, const loader_options& options = {},
                           std::chrono::nanoseconds time = std::chrono::seconds(5)) {
  const detail::owned<executor> own = detail::own_executor(options, detail::feeds_device(what.stages));
  executor& on = own ? *own : *options.executor;
  on.require_workers();
  on.require_outside("benchmark()", "call it on the thread that takes the batches");
  auto* const typed = new detail::typed_pipeline<pipeline<Source, S...>>(std::move(what), on);
  detail::run_settings settings(detail::owned<detail::erased_pipeline>(typed), options, on);
  detail::benchmarking<pipeline<Source, S...>> runs(*typed, settings,
                                                    std::chrono::duration<double>(time).count());
  return runs.all();
}

}  // namespace wick
