/// \file
/// wick without Torch: the engine, the data flow, the sources and the pictures. Batches are wick::array.
#pragma once

// First: where the compiler says what does not fit behind what, it names each file on the way to it.
// clang-format off
#include <wick/pipeline/pipeline.hpp>
#include <wick/order/order.hpp>
// clang-format on

#include <wick/augment/augment.hpp>
#include <wick/batch/batch.hpp>
#include <wick/batch/pack.hpp>
#include <wick/batch/ragged.hpp>
#include <wick/batch/with_index.hpp>
#include <wick/cache/cache_in_memory.hpp>
#include <wick/color/transforms.hpp>
#include <wick/geometry/transforms.hpp>
#include <wick/image/transforms.hpp>
#include <wick/loader/loader.hpp>
#include <wick/loader/measure_lengths.hpp>
#include <wick/measure/measure.hpp>
#include <wick/mixing/mixing.hpp>
#include <wick/observe/progress.hpp>
#include <wick/order/block_shuffle.hpp>
#include <wick/order/bucket.hpp>
#include <wick/order/concat.hpp>
#include <wick/order/mix.hpp>
#include <wick/order/subset.hpp>
#include <wick/order/weighted.hpp>
#include <wick/order/weights.hpp>
#include <wick/order/zip.hpp>
#include <wick/pipeline/filter.hpp>
#include <wick/pipeline/per_worker.hpp>
#include <wick/pipeline/with_others.hpp>
#include <wick/read/decode_raw.hpp>
#include <wick/read/files.hpp>
#include <wick/read/idx.hpp>
#include <wick/read/image_folder.hpp>
#include <wick/read/memory.hpp>
#include <wick/read/read.hpp>
#include <wick/replay/replay_buffer.hpp>
#include <wick/resume/state.hpp>
#include <wick/resume/state_file.hpp>
#include <wick/run/async_mutex.hpp>
#include <wick/run/async_semaphore.hpp>
#include <wick/run/awaitable.hpp>
#include <wick/run/environment.hpp>
#include <wick/run/executor.hpp>
#include <wick/run/scope.hpp>
#include <wick/run/sleep.hpp>
#include <wick/run/stop_token.hpp>
#include <wick/run/sync_wait.hpp>
#include <wick/run/task.hpp>
#include <wick/run/when_all.hpp>
#include <wick/run/worker_local.hpp>
#include <wick/sample/context.hpp>
#include <wick/sample/sample.hpp>
#include <wick/series/file_windows.hpp>
#include <wick/series/windows.hpp>
#include <wick/tables/csv.hpp>
#include <wick/tables/npy.hpp>
#include <wick/tables/records.hpp>
#include <wick/tar/tar.hpp>
#include <wick/text/lines.hpp>
#include <wick/text/tokens.hpp>
#include <wick/text/write_tokens.hpp>
#include <wick/version.hpp>
