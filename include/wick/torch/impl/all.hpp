/// \file
/// The bodies of what torch/ declares: compiled once, as wick::wick, or in the one file that defines
/// WICK_IMPLEMENTATION.
#pragma once

#include <wick/torch/impl/archive.hpp>
#include <wick/torch/impl/batch.hpp>
#include <wick/torch/impl/nested.hpp>
#include <wick/torch/impl/normalize.hpp>
#include <wick/torch/impl/pin.hpp>
#include <wick/torch/impl/tensor.hpp>
#include <wick/torch/impl/tensor_dataset.hpp>
#include <wick/torch/impl/threads.hpp>
#include <wick/torch/impl/transfer.hpp>
#include <wick/torch/impl/windows.hpp>
