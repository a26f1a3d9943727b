/// \file
/// What to change, in a sentence, from what was measured of a loader. Arithmetic and words; measuring is
/// elsewhere.
#pragma once

#include <cstddef>
#include <cstdint>
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
std::string format_percent(double share);

std::string advise(const load_figures& f);

}  // namespace wick::detail
