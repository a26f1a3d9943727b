/// \file
/// wick without Torch: the engine, the data flow, the sources and the pictures. Batches are wick::array.
#pragma once

#include <wick/flow/batch.hpp>
#include <wick/flow/block_shuffle.hpp>
#include <wick/flow/concat.hpp>
#include <wick/flow/context.hpp>
#include <wick/flow/loader.hpp>
#include <wick/flow/mix.hpp>
#include <wick/flow/order.hpp>
#include <wick/flow/per_worker.hpp>
#include <wick/flow/pipeline.hpp>
#include <wick/flow/sample.hpp>
#include <wick/flow/weighted.hpp>
#include <wick/image/transforms.hpp>
#include <wick/read/files.hpp>
#include <wick/read/idx.hpp>
#include <wick/read/image_folder.hpp>
#include <wick/read/memory.hpp>
#include <wick/read/read.hpp>
#include <wick/read/tar.hpp>
#include <wick/run/executor.hpp>
#include <wick/run/scope.hpp>
#include <wick/run/sync_wait.hpp>
#include <wick/run/task.hpp>
#include <wick/run/worker_local.hpp>
#include <wick/version.hpp>
