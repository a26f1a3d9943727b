/// \file
/// All bodies of io/, which are compiled once.
#pragma once

#include <wick/io/impl/cached_read.hpp>
#include <wick/io/impl/file_extents.hpp>
#include <wick/io/impl/file_io.hpp>
#include <wick/io/impl/file_kind.hpp>
#include <wick/io/impl/file_stamp.hpp>
#include <wick/io/impl/file_system.hpp>
#include <wick/io/impl/index_lock.hpp>
#include <wick/io/impl/json_reader.hpp>
#include <wick/io/impl/kept_file.hpp>
#include <wick/io/impl/kept_index.hpp>
#include <wick/io/impl/large_pages.hpp>
#include <wick/io/impl/line_file.hpp>
#include <wick/io/impl/log_file.hpp>
#include <wick/io/impl/numbers.hpp>
#include <wick/io/impl/object_store.hpp>
#include <wick/io/impl/percent_encoding.hpp>
#include <wick/io/impl/plain_file.hpp>
#include <wick/io/impl/read.hpp>
#include <wick/io/impl/record.hpp>
#include <wick/io/impl/replace_file.hpp>
#include <wick/io/impl/source_file.hpp>
#include <wick/io/impl/user_cache.hpp>
#include <wick/io/impl/zip_archive.hpp>
