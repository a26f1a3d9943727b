/// \file
/// NumPy's arrays as sources: a row is a sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include <wick/read/memory_view.hpp>
#include <wick/sample/shape.hpp>
#include <wick/sample/source.hpp>

namespace wick {

/// An array [N, …] that numpy.save() or numpy.savez() wrote, plain or compressed: sample i is its row i,
/// without a copy before batch(). Two arrays side by side are `zip(npy("x.npy"), npy("y.npy"))`. The array is
/// read into memory here. Format: "NEP 1 — A simple file format for NumPy arrays"; .npz is a ZIP archive of
/// such files.
class npy {
 public:
  /// The array of a .npy file. \throws wick::error when it is missing, damaged or cut off, in Fortran's
  /// order, of a type that batches can't have, or a number without rows
  explicit npy(const std::string& path);
  /// The array of this name in a .npz file. \throws wick::error as above, and when there is none of that name
  npy(const std::string& path, const std::string& name);

  std::uint64_t size() const noexcept { return count_; }
  memory_view at(std::uint64_t i) const noexcept { return {data_ + i * row_->bytes, *row_}; }
  void prefetch(std::uint64_t i, std::size_t most) const noexcept {
    prefetch_bytes(data_ + i * row_->bytes, row_->bytes, most);
  }
  std::string key(std::uint64_t i) const;
  /// Of shape, type, and rows: all of them up to 16 MiB, else as many, evenly spaced.
  std::uint64_t fingerprint() const noexcept;

  const shape& row_extents() const noexcept { return row_->extents; }
  dtype type() const noexcept { return row_->type; }

 private:
  void take(std::string file);

  std::string called_;
  std::shared_ptr<const std::string> file_;
  std::shared_ptr<const detail::row_format> row_;
  const std::byte* data_ = nullptr;
  std::uint64_t count_ = 0;
};

}  // namespace wick
