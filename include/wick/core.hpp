/// \file
/// wick without Torch: the engine, the data flow, the sources and the pictures. Batches are wick::array.
#pragma once

#include <wick/flow/batch.hpp>
#include <wick/flow/context.hpp>
#include <wick/flow/loader.hpp>
#include <wick/flow/order.hpp>
#include <wick/flow/pipeline.hpp>
#include <wick/flow/sample.hpp>
#include <wick/run/executor.hpp>
#include <wick/run/scope.hpp>
#include <wick/run/sync_wait.hpp>
#include <wick/run/task.hpp>
#include <wick/run/worker_local.hpp>
