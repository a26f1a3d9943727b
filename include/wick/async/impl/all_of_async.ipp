// Includes the implementation of async/, which is compiled once.
#pragma once

#include <wick/async/impl/concurrency.ipp>
#include <wick/async/impl/interruption.ipp>
#include <wick/async/impl/io_pool.ipp>
#include <wick/async/impl/tenants.ipp>
#include <wick/async/impl/timer_queue.ipp>
#include <wick/async/impl/worker_pool.ipp>
