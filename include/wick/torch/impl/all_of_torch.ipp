// Includes the implementation of torch/, compiled once: as wick::wick, or in the one file that defines
// WICK_IMPLEMENTATION.
#pragma once

#include <wick/torch/impl/archive.ipp>
#include <wick/torch/impl/nested.ipp>
#include <wick/torch/impl/normalize_tensors.ipp>
#include <wick/torch/impl/pin.ipp>
#include <wick/torch/impl/tensor.ipp>
#include <wick/torch/impl/tensor_batch.ipp>
#include <wick/torch/impl/tensor_dataset.ipp>
#include <wick/torch/impl/tensor_windows.ipp>
#include <wick/torch/impl/threads.ipp>
#include <wick/torch/impl/transfer.ipp>
