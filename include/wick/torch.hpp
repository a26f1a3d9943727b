// What needs LibTorch: batches of tensors, pin(), transfer(), and data sets of torch::data.
#pragma once

#include <wick/torch/archive.hpp>
#include <wick/torch/detail/tensor.hpp>
#include <wick/torch/nested.hpp>
#include <wick/torch/normalize_tensors.hpp>
#include <wick/torch/pin.hpp>
#include <wick/torch/tensor_batch.hpp>
#include <wick/torch/tensor_dataset.hpp>
#include <wick/torch/tensor_windows.hpp>
#include <wick/torch/threads.hpp>
#include <wick/torch/torch_data.hpp>
#include <wick/torch/transfer.hpp>
