/// \file
/// All bodies of sources/, which are compiled once.
#pragma once

#include <wick/sources/impl/decode_raw.hpp>
#include <wick/sources/impl/file_windows.hpp>
#include <wick/sources/impl/files.hpp>
#include <wick/sources/impl/folder.hpp>
#include <wick/sources/impl/framed_records.hpp>
#include <wick/sources/impl/idx.hpp>
#include <wick/sources/impl/image_folder.hpp>
#include <wick/sources/impl/kept_tar.hpp>
#include <wick/sources/impl/memory.hpp>
#include <wick/sources/impl/memory_view.hpp>
#include <wick/sources/impl/npy.hpp>
#include <wick/sources/impl/open_shards.hpp>
#include <wick/sources/impl/records.hpp>
#include <wick/sources/impl/row_files.hpp>
#include <wick/sources/impl/safetensors.hpp>
#include <wick/sources/impl/safetensors_header.hpp>
#include <wick/sources/impl/tar.hpp>
#include <wick/sources/impl/tar_header.hpp>
#include <wick/sources/impl/tar_index.hpp>
#include <wick/sources/impl/tar_scan.hpp>
#include <wick/sources/impl/tfrecords.hpp>
#include <wick/sources/impl/walk.hpp>
#include <wick/sources/impl/windows.hpp>
#include <wick/sources/impl/zip_archive.hpp>
