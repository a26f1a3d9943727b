/// \file
/// Tensors of a safetensors file as sources: a row is a sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <wick/pipeline/shape.hpp>
#include <wick/sources/memory.hpp>
#include <wick/sources/memory_view.hpp>

namespace wick {

/// A tensor [N, …] of a file that safetensors' save_file() wrote: sample i is its row i, without a copy
/// before batch(). Two tensors side by side are `zip(safetensors(path, "x"), safetensors(path, "y"))`. The
/// tensor is read into memory here, and nothing else of the file. Format: Hugging Face, "Safetensors".
class safetensors {
 public:
  /// \throws wick::error when the file is missing, damaged or cut off, or when there is no tensor of that
  /// name, or one without rows, or of a type that batches can't have
  safetensors(const std::string& path, const std::string& name);

  std::uint64_t size() const noexcept { return rows_.size(); }
  memory_view at(std::uint64_t i) const noexcept { return rows_.at(i); }
  void prefetch(std::uint64_t i, std::size_t most) const noexcept { rows_.prefetch(i, most); }
  std::string key(std::uint64_t i) const;
  std::uint64_t fingerprint() const noexcept { return rows_.fingerprint(); }

  const shape& row_extents() const noexcept { return rows_.format().extents; }
  dtype type() const noexcept { return rows_.format().type; }

 private:
  std::string called_;
  detail::array_rows rows_;
};

}  // namespace wick
