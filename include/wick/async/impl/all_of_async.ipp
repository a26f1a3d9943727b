/// \file
/// All bodies of async/, which are compiled once.
#pragma once

#include <wick/async/impl/concurrency.ipp>
#include <wick/async/impl/cpu_set.ipp>
#include <wick/async/impl/cpus.ipp>
#include <wick/async/impl/executor.ipp>
#include <wick/async/impl/html_text.ipp>
#include <wick/async/impl/interruption.ipp>
#include <wick/async/impl/io_pool.ipp>
#include <wick/async/impl/json_string.ipp>
#include <wick/async/impl/launch.ipp>
#include <wick/async/impl/process.ipp>
#include <wick/async/impl/processor_time.ipp>
#include <wick/async/impl/single_user.ipp>
#include <wick/async/impl/tenants.ipp>
#include <wick/async/impl/thread_name.ipp>
#include <wick/async/impl/timer_queue.ipp>
