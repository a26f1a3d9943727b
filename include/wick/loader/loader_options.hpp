/// \file
/// Options of a loader.
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
class slab_memory;

/// Options of a loader, beside its pipeline: `wick::loader train(pipeline, {.seed = 42, .workers = 8})`.
struct loader_options {
  /// All randomness comes from this: the same seed, data and pipeline give the same batches on any machine.
  std::uint64_t seed = 0;
  /// Threads that decode and transform. Default: as many as processors are available. Not with `executor`.
  std::optional<std::size_t> workers = {};
  /// By how much the workers' priority is below the training loop's, as nice(1) counts, from 0 to 19.
  /// Default: 15 where transfer() goes to a device, so that the loop launches its operations in time, and
  /// workers take the processors that it leaves; else 0. On Linux. Not with `executor`.
  std::optional<int> nice = {};
  /// Threads for blocking reads. Default: as many as give most reads a second, found while they run, up to
  /// 256. Not with `executor`.
  std::optional<std::size_t> io_threads = {};
  /// Batches ready or in the making ahead of the training loop. Default: 8 with 8 workers or more, else 4, or
  /// up to 8 while these and the loop's fit into 16 MiB.
  std::optional<std::size_t> prefetch = {};
  /// Bound on what samples take while they are on their way into their batches, in bytes: what read() reads,
  /// and what stages ask for with context::reserve().
  std::size_t memory = std::size_t{512} << 20;
  /// Samples that may be under way at a time where stages suspend. Default: chosen from workers and I/O
  /// threads.
  std::optional<std::size_t> in_flight = {};
  /// Begin the next epoch while the last batches of this one are being consumed; false: when epoch() asks for
  /// it, so that the data may change between epochs (see the concept source).
  bool prefetch_next_epoch = true;
  /// Run on this executor, shared with other loaders; it must outlive them. Null: an executor of its own.
  wick::executor* executor = nullptr;
  /// What is done about samples that fail: `on_error(on_error::replace)`, see there. Default: their batch
  /// fails.
  wick::on_error on_error = {};
  /// Every failure is appended to this file as a line of JSON when its batch is delivered; empty: none.
  std::string failure_log_file = {};
  /// A line of JSON is appended to this file for each batch that is handed over: hashes of its samples, for
  /// wick-audit. For a pipeline with batch(). Ranks of one machine may have the same file. Empty: none.
  std::string delivery_log_file = {};
  /// Files of loader.write_quarantine(): the samples in them are not tried, and count as failed. Give all
  /// ranks the same.
  std::vector<std::string> quarantine = {};
  /// When next() or next_async() has waited so long for a batch, one message says where each unfinished
  /// sample of that batch is: its key and stage, what it waits for, since when, and on which thread. The
  /// loader keeps waiting. After 0 s, there is no message.
  std::chrono::nanoseconds hang_after = std::chrono::seconds(120);
  /// Gets that message: `[](const std::string& text) { … }`, on a thread of its own. The loader is not
  /// destroyed or refreshed before the call returns, so it must not wait for either. Default: stderr.
  hang_handler on_hang = {};
  /// Where batches lie that pin() doesn't place; wick::python has its own. Null: in ordinary memory.
  std::shared_ptr<slab_memory> batch_memory = nullptr;
  /// loader.fingerprint() covers the samples' bytes, too; about 0.1 ns a byte.
  bool content_fingerprint = false;
};

}  // namespace wick
