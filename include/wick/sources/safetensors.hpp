/// \file
/// Tensors of a safetensors file as sources: a row is a sample.
#pragma once

#include <string>

#include <wick/sources/detail/array_file.hpp>

namespace wick::inline v0_1 {

/// A tensor [N, …] of a file that safetensors' save_file() wrote: sample i is its row i, without a copy
/// before batch(). Two tensors side by side are `zip(safetensors(path, "x"), safetensors(path, "y"))`. The
/// tensor is read into memory here, and nothing else of the file. Format: Hugging Face, "Safetensors".
class safetensors : public detail::array_file {
 public:
  /// \throws wick::error when the file is missing, damaged or cut off, or when there is no tensor of that
  /// name, or one without rows, or of a type that batches can't have
  safetensors(const std::string& path, const std::string& name);
};

}  // namespace wick
