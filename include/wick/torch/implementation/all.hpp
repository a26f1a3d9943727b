/// \file
/// The bodies of what torch/ declares: compiled once, as wick::wick, or in the one file that defines
/// WICK_IMPLEMENTATION.
#pragma once

#include <wick/torch/implementation/archive.hpp>
#include <wick/torch/implementation/batch.hpp>
#include <wick/torch/implementation/nested.hpp>
#include <wick/torch/implementation/normalize.hpp>
#include <wick/torch/implementation/pin.hpp>
#include <wick/torch/implementation/tensor.hpp>
#include <wick/torch/implementation/tensors.hpp>
#include <wick/torch/implementation/threads.hpp>
#include <wick/torch/implementation/transfer.hpp>
#include <wick/torch/implementation/windows.hpp>
