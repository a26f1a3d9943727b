// NumPy arrays as sources: a row is a sample.
#pragma once

#include <string>

#include <wick/sources/detail/array_file.hpp>

namespace wick::inline v0_1 {

/// An array [N, …] that numpy.save() or numpy.savez() wrote, plain or compressed. Sample i is its row i, and
/// nothing is copied before batch(). To pair two arrays, write `zip(npy("x.npy"), npy("y.npy"))`. The
/// constructor reads the array into memory. Format: "NEP 1 — A simple file format for NumPy arrays"; .npz is
/// a ZIP archive of such files.
class npy : public detail::array_file {
 public:
  /// The array of a .npy file. \throws wick::error when it is missing, damaged, or truncated, is in Fortran
  /// order, has a type that batches can't have, or is a number without rows
  explicit npy(const std::string& path);
  /// The array of this name in a .npz file. \throws wick::error as above, and when no array has that name
  npy(const std::string& path, const std::string& name);

 private:
  static detail::array_rows rows_of(const std::string& called, std::string file);
};

}  // namespace wick
