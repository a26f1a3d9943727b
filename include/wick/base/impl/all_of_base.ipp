// Includes the implementation of base/, which is compiled once.
#pragma once

#include <wick/base/impl/cpu_set.ipp>
#include <wick/base/impl/cpus.ipp>
#include <wick/base/impl/html_text.ipp>
#include <wick/base/impl/json_string.ipp>
#include <wick/base/impl/launch.ipp>
#include <wick/base/impl/process.ipp>
#include <wick/base/impl/processor_time.ipp>
#include <wick/base/impl/single_user.ipp>
#include <wick/base/impl/thread_name.ipp>
