// A loader as a queueing model, run in virtual time, to predict its samples per second.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace wick::inline v0_1::detail {

/// The distribution of a time: quantiles in equal steps, as multiples of the mean. Times are independent of
/// each other. Empty: always the mean.
struct spread {
  std::vector<float> multiples;
  bool constant() const noexcept { return multiples.empty(); }
};

/// All times are in seconds, for one sample unless noted otherwise. Discrete events: workers take samples in
/// order, a sample goes from stage to stage, waits in some of them without a worker, and the training loop
/// takes batches in order. Threads share the processors.
struct load_model {
  struct stage {
    double work = 0;     ///< on a processor
    double held = 0;     ///< with a worker, but without a processor: a lock, a blocking call
    double io = 0;       ///< in a call on an I/O thread, after which a worker continues
    double io_work = 0;  ///< the part of io on a processor
    double wait = 0;     ///< waiting without a worker or an I/O thread
    double lock = 0;     ///< the same for a lock
    double bytes = 0;    ///< of the memory budget, until the sample ends; reserved before io
    spread times;        ///< of work and held, and of the waits if there are any
    spread sizes;        ///< of bytes
    bool suspends() const noexcept { return io > 0 || wait > 0 || lock > 0 || bytes > 0; }
  };

  std::size_t workers = 1, io_threads = 1, processors = 1;
  std::size_t in_flight = 0;              ///< at most; 0: as many as workers
  std::size_t prefetch = 4;               ///< batches ahead
  std::size_t batch = 1;                  ///< samples
  double memory = 0;                      ///< bytes; 0: unlimited
  double other_processors = 0;            ///< used by the rest of the program, on average
  std::vector<stage> stages;              ///< up to and including batch()
  double batch_work = 0, batch_held = 0;  ///< the stages after batch(), for a batch
  double step_work = 0;                   ///< the training step, for a batch: on a processor
  double step_held = 0;                   ///< the rest of the step
  spread steps;
  bool loop_helps = false;    ///< the waiting loop runs samples itself
  std::size_t at_a_time = 1;  ///< samples that a worker claims at once

  struct outcome {
    double samples_per_second = 0;
    double waiting = 0;  ///< share of the training loop's time, 0 … 1
    double working = 0;  ///< share of the workers' time
  };
  /// Another `seed` draws the same times in another order.
  outcome run(std::uint64_t seed = 1) const;
};

/// A loader's measurements: its model, and its real throughput.
struct measured_load {
  load_model model;
  std::vector<std::string> names;   ///< of model.stages; "" for those that aren't the user's
  std::string batch_stage;          ///< the longest stage after batch()
  double samples_per_second = 0;    ///< 0: no samples were taken
  double error = 0;                 ///< relative error of the stages' times
  bool chooses_in_flight = true;    ///< from workers and I/O threads, as loader_options::in_flight says
  bool chooses_io_threads = false;  ///< by their goodput, as loader_options::io_threads says
};
/// The base of a report: the input of report::predict().
struct report_load {
  measured_load load;
};

}  // namespace wick::detail
