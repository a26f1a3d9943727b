/// \file
/// What a safetensors file says of its tensors.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace wick::inline v0_1::detail {

/// The header of a safetensors file: an object of JSON, {"NAME": {"dtype": "F32", "shape": [2, 3],
/// "data_offsets": [0, 24]}, …, "__metadata__": {…}}. Other members are passed over.
class safetensors_header {
 public:
  struct tensor {
    std::string name, type;
    std::vector<std::int64_t> extents;
    std::uint64_t begin = 0, end = 0;  ///< of its numbers, behind the header
  };

  /// \throws wick::error without a path
  explicit safetensors_header(std::string_view json);
  const std::vector<tensor>& tensors() const noexcept { return tensors_; }

 private:
  [[noreturn]] static void damaged(const char* what);
  void blanks() noexcept;
  bool accept(char c) noexcept;
  void expect(char c);
  std::string string();
  void escape(std::string& out);
  unsigned four_digits();
  std::uint64_t number();
  /// Calls f for each value of an array.
  template <class F>
  void array(F&& f);
  /// Calls f(name) for each member of an object.
  template <class F>
  void object(F&& f);
  void skip(unsigned depth = 0);
  void read(tensor& out);

  std::string_view left_;
  std::vector<tensor> tensors_;
};

}  // namespace wick::detail
