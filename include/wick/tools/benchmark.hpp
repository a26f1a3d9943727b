// The speed of a pipeline alone, without a training step.
#pragma once

#include <cstdint>
#include <utility>

#include <wick/base/detail/duration.hpp>
#include <wick/loader/loader.hpp>
#include <wick/loader/loader_options.hpp>
#include <wick/pipeline/pipeline.hpp>
#include <wick/profile/report.hpp>

namespace wick::inline v0_1 {

/// Runs a pipeline without a training step: `std::cout << wick::benchmark(pipeline, {.workers = 8});`. It
/// makes a loader with these options, takes batches for `time`, and returns the loader's report of the time
/// after the first batch: samples a second, the time of each stage, and what would make it faster.
///
/// Epochs follow each other, so a small data set is read several times, and then comes from the system's
/// cache. Deferred work that a later stage carries out is charged to the stage that asked for it, as in each
/// report.
/// \throws the exceptions of the loader's constructor and next(): a failed sample ends it, unless
/// loader_options::on_error says otherwise
template <class Source, class... S>
report benchmark(pipeline<Source, S...> what, loader_options options = {},
                 std::chrono::nanoseconds time = std::chrono::seconds(5)) {
  using clock = std::chrono::steady_clock;
  loader train(std::move(what), std::move(options));
  bool begun = false;
  clock::time_point end = clock::now() + time;
  for (std::uint64_t epoch = 0; clock::now() < end; ++epoch) {
    auto batches = train.epoch(epoch);
    while (batches.next()) {
      if (!begun) {
        begun = true;
        static_cast<void>(train.report());
        end = clock::now() + time;
      } else if (clock::now() >= end) {
        break;
      }
    }
  }
  return train.report();
}

}  // namespace wick
