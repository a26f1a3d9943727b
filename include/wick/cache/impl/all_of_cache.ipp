// Includes the implementation of cache/, which is compiled once.
#pragma once

#include <wick/cache/impl/cache_folder.ipp>
#include <wick/cache/impl/cache_in_memory.ipp>
#include <wick/cache/impl/cache_on_disk.ipp>
#include <wick/cache/impl/cache_writer.ipp>
#include <wick/cache/impl/disk_cache.ipp>
#include <wick/cache/impl/keeping.ipp>
#include <wick/cache/impl/memory_cache.ipp>
#include <wick/cache/impl/origin.ipp>
