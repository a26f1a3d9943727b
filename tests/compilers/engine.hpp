/// \file
/// The bodies of the engine: each of these programs is one file, and links nothing else of wick.
#pragma once

#include <wick/async/impl/cpu_set.hpp>
#include <wick/async/impl/cpus.hpp>
#include <wick/async/impl/executor.hpp>
#include <wick/async/impl/io_pool.hpp>
#include <wick/async/impl/process.hpp>
#include <wick/async/impl/processor_time.hpp>
#include <wick/async/impl/tenants.hpp>
#include <wick/async/impl/timer_queue.hpp>
#include <wick/io/impl/file_system.hpp>
#include <wick/pipeline/impl/budget.hpp>
