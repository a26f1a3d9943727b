// What pipelines of any domain need: the loader, orders, read(), array_batch(), caches, and files. Without
// Torch.
#pragma once

// First, because the compiler names each file on the way to an error about stages that don't fit together.
// clang-format off
#include <wick/pipeline/pipeline.hpp>
#include <wick/sampling/order.hpp>
// clang-format on

#include <wick/async/executor.hpp>
#include <wick/async/task.hpp>
#include <wick/batch/batch.hpp>
#include <wick/batch/with_index.hpp>
#include <wick/cache/cache_in_memory.hpp>
#include <wick/cache/cache_on_disk.hpp>
#include <wick/io/read.hpp>
#include <wick/loader/loader.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/filter.hpp>
#include <wick/pipeline/per_worker.hpp>
#include <wick/pipeline/ranks.hpp>
#include <wick/pipeline/sample.hpp>
#include <wick/pipeline/with_others.hpp>
#include <wick/profile/progress.hpp>
#include <wick/resume/state_file.hpp>
#include <wick/sampling/block_shuffle.hpp>
#include <wick/sampling/class_weights.hpp>
#include <wick/sampling/concat.hpp>
#include <wick/sampling/mix.hpp>
#include <wick/sampling/subset.hpp>
#include <wick/sampling/weighted.hpp>
#include <wick/sampling/weights.hpp>
#include <wick/sampling/zip.hpp>
#include <wick/sources/files.hpp>
#include <wick/sources/memory.hpp>
#include <wick/sources/tar.hpp>
#include <wick/version.hpp>
