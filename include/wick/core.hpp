/// \file
/// wick without Torch: the engine, the data flow, the sources and the pictures. Batches are wick::array.
#pragma once

// First: where the compiler says what does not fit behind what, it names each file on the way to it.
// clang-format off
#include <wick/pipeline/pipeline.hpp>
#include <wick/sampling/order.hpp>
// clang-format on

#include <wick/async/async_mutex.hpp>
#include <wick/async/async_semaphore.hpp>
#include <wick/async/awaitable.hpp>
#include <wick/async/environment.hpp>
#include <wick/async/executor.hpp>
#include <wick/async/scope.hpp>
#include <wick/async/sleep.hpp>
#include <wick/async/stop_token.hpp>
#include <wick/async/sync_wait.hpp>
#include <wick/async/task.hpp>
#include <wick/async/when_all.hpp>
#include <wick/async/worker_local.hpp>
#include <wick/batch/batch.hpp>
#include <wick/batch/pack.hpp>
#include <wick/batch/ragged.hpp>
#include <wick/batch/with_index.hpp>
#include <wick/cache/cache_in_memory.hpp>
#include <wick/cache/cache_on_disk.hpp>
#include <wick/io/read.hpp>
#include <wick/loader/loader.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/filter.hpp>
#include <wick/pipeline/per_worker.hpp>
#include <wick/pipeline/sample.hpp>
#include <wick/pipeline/with_others.hpp>
#include <wick/profile/progress.hpp>
#include <wick/recovery/state.hpp>
#include <wick/recovery/state_file.hpp>
#include <wick/sampling/block_shuffle.hpp>
#include <wick/sampling/bucket.hpp>
#include <wick/sampling/concat.hpp>
#include <wick/sampling/mix.hpp>
#include <wick/sampling/subset.hpp>
#include <wick/sampling/weighted.hpp>
#include <wick/sampling/weights.hpp>
#include <wick/sampling/zip.hpp>
#include <wick/sources/decode_raw.hpp>
#include <wick/sources/file_windows.hpp>
#include <wick/sources/files.hpp>
#include <wick/sources/framed_records.hpp>
#include <wick/sources/idx.hpp>
#include <wick/sources/image_folder.hpp>
#include <wick/sources/memory.hpp>
#include <wick/sources/npy.hpp>
#include <wick/sources/records.hpp>
#include <wick/sources/replay_buffer.hpp>
#include <wick/sources/safetensors.hpp>
#include <wick/sources/tar.hpp>
#include <wick/sources/tfrecords.hpp>
#include <wick/sources/windows.hpp>
#include <wick/tables/csv.hpp>
#include <wick/text/lines.hpp>
#include <wick/text/tokens.hpp>
#include <wick/tools/benchmark.hpp>
#include <wick/tools/measure_lengths.hpp>
#include <wick/tools/write_tokens.hpp>
#include <wick/transforms/transforms.hpp>
#include <wick/version.hpp>
