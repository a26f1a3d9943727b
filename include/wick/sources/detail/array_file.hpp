// An array from a file, as a source of its rows.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <wick/pipeline/error.hpp>
#include <wick/pipeline/shape.hpp>
#include <wick/sources/memory.hpp>
#include <wick/sources/memory_view.hpp>

namespace wick::inline v0_1::detail {

class array_file {
 public:
  std::uint64_t size() const noexcept { return rows_.size(); }
  memory_view at(std::uint64_t i) const noexcept { return rows_.at(i); }
  void prefetch(std::uint64_t i, std::size_t most) const noexcept { rows_.prefetch(i, most); }
  std::string key(std::uint64_t i) const { return printable(called_) + ", row " + std::to_string(i); }
  std::uint64_t fingerprint() const noexcept { return rows_.fingerprint(); }

  const shape& row_extents() const noexcept { return rows_.format().extents; }
  dtype type() const noexcept { return rows_.format().type; }

 protected:
  array_file(std::string called, array_rows rows) : called_(std::move(called)), rows_(std::move(rows)) {}
  ~array_file() = default;
  array_file(const array_file&) = default;
  array_file& operator=(const array_file&) = default;

 private:
  std::string called_;  // the names of the file and of the array in it
  array_rows rows_;
};

}  // namespace wick::detail
