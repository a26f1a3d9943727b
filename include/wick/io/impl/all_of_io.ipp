// Includes the implementation of io/, which is compiled once.
#pragma once

#include <wick/io/impl/cached_read.ipp>
#include <wick/io/impl/file_extents.ipp>
#include <wick/io/impl/file_io.ipp>
#include <wick/io/impl/file_kind.ipp>
#include <wick/io/impl/file_stamp.ipp>
#include <wick/io/impl/file_system.ipp>
#include <wick/io/impl/index_lock.ipp>
#include <wick/io/impl/json_reader.ipp>
#include <wick/io/impl/kept_file.ipp>
#include <wick/io/impl/kept_index.ipp>
#include <wick/io/impl/large_pages.ipp>
#include <wick/io/impl/line_file.ipp>
#include <wick/io/impl/log_file.ipp>
#include <wick/io/impl/numbers.ipp>
#include <wick/io/impl/object_store.ipp>
#include <wick/io/impl/percent_encoding.ipp>
#include <wick/io/impl/plain_file.ipp>
#include <wick/io/impl/read.ipp>
#include <wick/io/impl/read_group.ipp>
#include <wick/io/impl/record.ipp>
#include <wick/io/impl/replace_file.ipp>
#include <wick/io/impl/source_file.ipp>
#include <wick/io/impl/user_cache.ipp>
#include <wick/io/impl/zip_archive.ipp>
