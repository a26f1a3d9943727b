// Pipelines of time series, arrays, and replay buffers, without Torch: common.hpp, windows, and raw records.
#pragma once

#include <wick/batch/ragged.hpp>
#include <wick/common.hpp>
#include <wick/sources/decode_raw.hpp>
#include <wick/sources/file_windows.hpp>
#include <wick/sources/npy.hpp>
#include <wick/sources/records.hpp>
#include <wick/sources/replay_buffer.hpp>
#include <wick/sources/safetensors.hpp>
#include <wick/sources/windows.hpp>
