// The tensors of a safetensors file as sources: a row is a sample.
#pragma once

#include <string>

#include <wick/sources/detail/array_file.hpp>

namespace wick::inline v0_1 {

/// A tensor [N, …] of a file that safetensors' save_file() wrote. Sample i is its row i, and nothing is
/// copied before batch(). To pair two tensors, write `zip(safetensors(path, "x"), safetensors(path, "y"))`.
/// The constructor reads only this tensor into memory. Format: Hugging Face, "Safetensors".
class safetensors : public detail::array_file {
 public:
  /// \throws wick::error when the file is missing, damaged, or truncated, when no tensor has that name, or
  /// when the tensor has no rows or a type that batches can't have
  safetensors(const std::string& path, const std::string& name);
};

}  // namespace wick
