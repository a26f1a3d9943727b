/// \file
/// The bodies of the engine: each of these programs is one file, and links nothing else of wick.
#pragma once

#include <wick/run/implementation/budget.hpp>
#include <wick/run/implementation/executor.hpp>
#include <wick/run/implementation/io_pool.hpp>
#include <wick/run/implementation/tenants.hpp>
#include <wick/run/implementation/timer_queue.hpp>
#include <wick/system/implementation/cpu_set.hpp>
#include <wick/system/implementation/cpus.hpp>
#include <wick/system/implementation/file_system.hpp>
#include <wick/system/implementation/process.hpp>
#include <wick/system/implementation/processor_time.hpp>
