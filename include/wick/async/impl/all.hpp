/// \file
/// All bodies of async/, which are compiled once.
#pragma once

#include <wick/async/impl/concurrency.hpp>
#include <wick/async/impl/cpu_set.hpp>
#include <wick/async/impl/cpus.hpp>
#include <wick/async/impl/executor.hpp>
#include <wick/async/impl/html_text.hpp>
#include <wick/async/impl/interruption.hpp>
#include <wick/async/impl/io_pool.hpp>
#include <wick/async/impl/json_string.hpp>
#include <wick/async/impl/launch.hpp>
#include <wick/async/impl/process.hpp>
#include <wick/async/impl/processor_time.hpp>
#include <wick/async/impl/single_user.hpp>
#include <wick/async/impl/tenants.hpp>
#include <wick/async/impl/thread_name.hpp>
#include <wick/async/impl/timer_queue.hpp>
