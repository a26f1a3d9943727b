// Includes the implementation of sources/, which is compiled once.
#pragma once

#include <wick/sources/impl/class_folder.ipp>
#include <wick/sources/impl/decode_raw.ipp>
#include <wick/sources/impl/file_index.ipp>
#include <wick/sources/impl/file_windows.ipp>
#include <wick/sources/impl/files.ipp>
#include <wick/sources/impl/folder.ipp>
#include <wick/sources/impl/framed_records.ipp>
#include <wick/sources/impl/idx.ipp>
#include <wick/sources/impl/kept_tar.ipp>
#include <wick/sources/impl/memory.ipp>
#include <wick/sources/impl/memory_view.ipp>
#include <wick/sources/impl/npy.ipp>
#include <wick/sources/impl/open_shards.ipp>
#include <wick/sources/impl/opened_files.ipp>
#include <wick/sources/impl/records.ipp>
#include <wick/sources/impl/row_files.ipp>
#include <wick/sources/impl/safetensors.ipp>
#include <wick/sources/impl/safetensors_header.ipp>
#include <wick/sources/impl/tar.ipp>
#include <wick/sources/impl/tar_header.ipp>
#include <wick/sources/impl/tar_index.ipp>
#include <wick/sources/impl/tar_scan.ipp>
#include <wick/sources/impl/tfrecords.ipp>
#include <wick/sources/impl/walk.ipp>
#include <wick/sources/impl/windows.ipp>
