/// \file
/// All bodies of cache/, which are compiled once.
#pragma once

#include <wick/cache/impl/cache_folder.hpp>
#include <wick/cache/impl/cache_in_memory.hpp>
#include <wick/cache/impl/cache_on_disk.hpp>
#include <wick/cache/impl/disk_cache.hpp>
#include <wick/cache/impl/keeping.hpp>
#include <wick/cache/impl/memory_cache.hpp>
#include <wick/cache/impl/origin.hpp>
