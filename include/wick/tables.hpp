// Pipelines of tables, without Torch: common.hpp, CSV, and NumPy and safetensors files. Parquet is in
// <wick/tables/parquet.hpp>.
#pragma once

#include <wick/common.hpp>
#include <wick/sources/npy.hpp>
#include <wick/sources/safetensors.hpp>
#include <wick/tables/csv.hpp>
