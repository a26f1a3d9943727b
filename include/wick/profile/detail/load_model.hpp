/// \file
/// A loader as a model of queues, run in virtual time: how many samples a second does it give?
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace wick::inline v0_1::detail {

/// How long something takes, one occasion like another: quantiles in equal steps, as multiples of the mean.
/// Empty: always the mean.
struct spread {
  std::vector<float> multiples;
  bool constant() const noexcept { return multiples.empty(); }
};

/// All times in seconds, for one sample unless it says otherwise. Discrete events: workers take samples in
/// order, a sample goes from stage to stage, waits in some of them without a worker, and the training loop
/// takes batches in order. Threads that want a processor share what processors there are.
struct load_model {
  struct stage {
    double work = 0;     ///< on a processor
    double held = 0;     ///< with a worker, but without a processor: a lock, a call that blocks
    double io = 0;       ///< in a call of an I/O thread, after which a worker continues
    double io_work = 0;  ///< of that on a processor
    double wait = 0;     ///< waited without worker and I/O thread
    double lock = 0;     ///< the same for a lock
    double bytes = 0;    ///< of the memory budget, until the sample ends; asked for before io
    spread times;        ///< of work and held, and of what is waited for where there is any
    spread sizes;        ///< of bytes
    bool suspends() const noexcept { return io > 0 || wait > 0 || lock > 0 || bytes > 0; }
  };

  std::size_t workers = 1, io_threads = 1, processors = 1;
  std::size_t in_flight = 0;              ///< samples under way at a time; 0: as many as workers
  std::size_t prefetch = 4;               ///< batches ahead
  std::size_t batch = 1;                  ///< samples
  double memory = 0;                      ///< bytes; 0: without bound
  double other_processors = 0;            ///< taken by the rest of the program, on average
  std::vector<stage> stages;              ///< up to and including batch()
  double batch_work = 0, batch_held = 0;  ///< stages after it, a batch
  double step_work = 0;                   ///< the training step, a batch: on a processor
  double step_held = 0;                   ///< the rest of it
  spread steps;
  bool loop_helps = false;    ///< the waiting loop runs samples itself
  std::size_t at_a_time = 1;  ///< samples that a worker claims together

  struct outcome {
    double samples_per_second = 0;
    double waiting = 0;  ///< share of the loop's time, 0 … 1
    double working = 0;  ///< share of the workers' time
  };
  /// Another `seed` draws the same times in another order.
  outcome run(std::uint64_t seed = 1) const;
};

/// What a loader has measured: the model that it follows, and how fast it really was.
struct measured_load {
  load_model model;
  std::vector<std::string> names;   ///< of model.stages; "" for what is none of the user's
  std::string batch_stage;          ///< the longest of those after batch()
  double samples_per_second = 0;    ///< 0: nothing was taken
  double error = 0;                 ///< of the times of stages, relative
  bool chooses_in_flight = true;    ///< from workers and I/O threads, as loader_options::in_flight says
  bool chooses_io_threads = false;  ///< by their goodput, as loader_options::io_threads says
};
/// Of a report, which is made of it: what report::predict() reckons with.
struct report_load {
  measured_load load;
};

}  // namespace wick::detail
