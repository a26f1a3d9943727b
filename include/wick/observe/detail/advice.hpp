/// \file
/// What to change, in a sentence, from what was measured of a loader. Arithmetic and words; measuring is
/// elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

namespace wick::detail {

/// Measured while batches were being taken. Shares are 0 … 1.
struct load_figures {
  std::uint64_t iterations = 0;  // batches that the loop came for
  double wait = 0;               // share of the loop's time in which it had no batch
  double helped = 0;             // share of the loop's time in which it then ran samples itself
  std::size_t workers = 0, io_threads = 0, cpus = 0;
  double processors = 0;  // share of the time of all `cpus` that this program took
  double pipeline = 1;    // share of that which workers, I/O threads and the helping loop took
  double busy = 0;        // share of the workers' time in which they were at work, for whomever
  double running = 0;     // share of the workers' time in which they had a processor
  double own = 1;         // share of the workers' work that was this loader's
  double io_busy = 0;     // share of the I/O threads' time in which they were in a call
  double suspended = 0;   // samples that waited in a stage, on average
  std::string slowest;    // the stage with the most work
  double slowest_share = 0;
  std::string waits_in;  // the stage in which samples waited most
};

/// "4.2 %", from a tenth on "42 %".
inline std::string format_percent(double share) {
  char text[32];
  std::snprintf(text, sizeof(text), share < 0.1 ? "%.1f %%" : "%.0f %%", share * 100);
  return text;
}

inline std::string advise(const load_figures& f) {
  constexpr double hardly = 0.01;  // of the loop's time
  constexpr double full =
      0.85;  // of all processors: the rest is lost to scheduling and to what else runs there
  constexpr double most = 0.7;  // of a thread's time: it is what holds the others up
  const auto number = [](std::size_t n, const char* what) {
    return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
  };
  const std::string cpus = number(f.cpus, "processor"), workers = number(f.workers, "worker");
  const std::string cheaper =
      "make that stage cheaper (smaller pictures on disk, work moved to the device, a faster codec)";
  const std::string slowest = f.slowest.empty() ? ""
                                                : ", with '" + f.slowest + "' for " +
                                                      format_percent(f.slowest_share) + " of their time";
  const std::string others =
      "other loaders have this one's workers for " + format_percent(1 - f.own) + " of their work";

  if (f.iterations == 0) return "nothing was taken yet";
  if (f.wait < hardly) return "the training loop hardly waits for data: the model sets the pace";
  const bool helps = f.helped > f.wait / 2;
  std::string text = "the training loop waits " + format_percent(f.wait) + " of its time";
  if (helps) text += ", and runs samples itself meanwhile";
  text += "; ";

  if (f.processors >= full) {
    text += "all of the time of " + cpus + " is used";
    if (f.pipeline < 0.5) {
      return text + ", " + format_percent(1 - f.pipeline) +
             " of it by the rest of the program: leave the pipeline more (wick::share_cores, fewer threads "
             "of the "
             "model's)";
    }
    if (f.own < 0.5)
      return text + ", and " + others + ": take from fewer loaders at a time, or make their stages cheaper";
    text += slowest.empty() ? ": make the stages cheaper" : ", by '" + f.slowest + "' most: " + cheaper;
    return text + "; more threads would only take turns" +
           (f.workers > f.cpus ? ", as the " + workers + " do already" : "");
  }
  if (f.busy >= most) {
    const bool room = f.workers < f.cpus;
    const std::string more = "use more workers (" + std::to_string(f.workers) + " now, " + cpus + ")";
    if (f.own < 0.5) {
      return text + others + ": " +
             (room ? more : "take from fewer loaders at a time, or make their stages cheaper");
    }
    if (f.running < f.busy - 0.3) {
      return text + "the workers are at work for " + format_percent(f.busy) +
             " of their time, and have a processor for " + format_percent(f.running) +
             ": either a stage blocks them" + (f.slowest.empty() ? "" : ", probably '" + f.slowest + "'") +
             " (a lock, a read or a wait of its own: see io_pool), or other programs have the processors";
    }
    return text + "the workers are busy" + slowest + ": " + (room ? more : cheaper);
  }
  if (helps) {
    return text + "samples are so short that it makes many of them, and the workers are free for " +
           format_percent(1 - f.busy) +
           " of their time: raise prefetch or make batches larger, so that there is more to share";
  }
  if (f.suspended >= 0.5 && !f.waits_in.empty()) {
    char many[32];
    std::snprintf(many, sizeof(many), f.suspended < 10 ? "%.1f" : "%.0f", f.suspended);
    text +=
        "the workers are idle and " + std::string(many) + " samples at a time wait in '" + f.waits_in + "': ";
    if (f.io_busy >= most) {
      return text + "raise io_threads (" + std::to_string(f.io_threads) +
             " now, all in use), or bring the data closer";
    }
    return text + "raise prefetch, so that more wait at a time, or bring closer what they wait for";
  }
  return text + "the workers are idle: raise prefetch";
}

}  // namespace wick::detail
