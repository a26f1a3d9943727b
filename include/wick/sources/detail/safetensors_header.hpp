// A safetensors file's description of its tensors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wick::inline v0_1::detail {

/// The header of a safetensors file: a JSON object, {"NAME": {"dtype": "F32", "shape": [2, 3],
/// "data_offsets": [0, 24]}, …, "__metadata__": {…}}. Other members are skipped.
class safetensors_header {
 public:
  struct tensor {
    std::string name, type;
    std::vector<std::int64_t> extents;
    std::uint64_t begin = 0, end = 0;  ///< of its data, relative to the header's end
  };

  /// \throws wick::error without a path
  explicit safetensors_header(std::string_view text);
  const std::vector<tensor>& tensors() const noexcept { return tensors_; }

 private:
  std::vector<tensor> tensors_;
};

}  // namespace wick::detail
