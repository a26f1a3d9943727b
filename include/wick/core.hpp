// Includes wick without Torch: all domains, tools, and what coroutines use. Batches are wick::array.
#pragma once

#include <wick/async/async_semaphore.hpp>
#include <wick/async/sleep.hpp>
#include <wick/async/stop_token.hpp>
#include <wick/async/sync_wait.hpp>
#include <wick/async/when_all.hpp>
#include <wick/series.hpp>
#include <wick/tables.hpp>
#include <wick/text.hpp>
#include <wick/tools/audit.hpp>
#include <wick/tools/benchmark.hpp>
#include <wick/version.hpp>
#include <wick/vision.hpp>
