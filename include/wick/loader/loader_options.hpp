// Options of a loader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <wick/async/hang_handler.hpp>
#include <wick/base/detail/duration.hpp>
#include <wick/failures/on_error.hpp>

namespace wick::inline v0_1 {

class executor;
namespace ext {
class slab_memory;
}  // namespace ext

/// Options of a loader, besides its pipeline: `wick::loader train(pipeline, {.seed = 42, .workers = 8})`.
struct loader_options {
  /// All randomness comes from this: the same seed, data, and pipeline give the same batches on any machine.
  std::uint64_t seed = 0;
  /// Threads that decode and transform. Default: as many as processors are available. Not with `executor`.
  std::optional<std::size_t> workers = {};
  /// How far the workers' priority is below the training loop's, as nice(1) counts, from 0 to 19.
  /// Default: 15 where transfer() goes to a device, so that the loop launches its operations in time, and
  /// workers take the processors that it leaves; else 0. On Linux. Not with `executor`.
  std::optional<int> nice = {};
  /// Threads for blocking reads. Default: the number with the most reads per second, found at run time, up
  /// to 256. Not with `executor`.
  std::optional<std::size_t> io_threads = {};
  /// Batches ready or being made ahead of the training loop. Default: 8 with 8 workers or more, else 4, or
  /// up to 8 while these and the loop's fit into 16 MiB. While most samples wait (for a server, a disk, or a
  /// timer), as many as hold `in_flight` samples, as long as these batches take less than a quarter of
  /// `memory`, in which they aren't counted; not where batches are objects, as of group(), whose bytes aren't
  /// known.
  std::optional<std::size_t> prefetch = {};
  /// Bound on the bytes of samples on their way into their batches: those that read() reads, and those that
  /// stages ask for with context::reserve().
  std::size_t memory = std::size_t{512} << 20;
  /// Samples that may be in flight at one time if stages suspend. Default: 256, or more with many workers or
  /// I/O threads; each worker may exceed that by the samples that it claims together.
  std::optional<std::size_t> in_flight = {};
  /// Begin the next epoch while the last batches of this one are being consumed. When false, it begins when
  /// epoch() asks for it, so that the data may change between epochs (see the concept source).
  bool prefetch_next_epoch = true;
  /// Run on this executor, shared with other loaders; it must outlive them. Null: an executor of its own.
  wick::executor* executor = nullptr;
  /// The handling of samples that fail: `on_error(on_error::replace)`, see there. Default: their batch
  /// fails.
  wick::on_error on_error = {};
  /// The loader appends every failure to this file as a line of JSON when it delivers the batch. Empty: none.
  std::string failure_log_file = {};
  /// The loader appends a line of JSON to this file for each batch that it hands over: hashes of its samples,
  /// for wick-audit. For a pipeline with batch(). Ranks of one machine may share a file. Empty: none.
  std::string delivery_log_file = {};
  /// Files of loader.write_quarantine(): the samples in them are not tried, and count as failed. Give all
  /// ranks the same.
  std::vector<std::string> quarantine = {};
  /// When next() or next_async() has waited this long for a batch, one message says where each unfinished
  /// sample of that batch is: its key and stage, what it waits for, since when, and on which thread. The
  /// loader keeps waiting. With 0 s, there is no message.
  std::chrono::nanoseconds hang_after = std::chrono::seconds(120);
  /// Gets that message: `[](const std::string& text) { … }`, on a thread of its own. The loader is not
  /// destroyed or refreshed before the call returns, so the call must not wait for either. Default: stderr.
  hang_handler on_hang = {};
  /// The memory of batches that pin() doesn't place; wick::python has its own. Null: ordinary memory.
  std::shared_ptr<ext::slab_memory> batch_memory = nullptr;
  /// loader.fingerprint() covers the samples' bytes, too; about 0.1 ns a byte.
  bool content_fingerprint = false;
};

}  // namespace wick
