// Implements sources/memory_view.hpp. Included in exactly one file of a program.
#pragma once

#include <wick/sources/memory_view.hpp>

namespace wick::inline v0_1::detail {

strided_loop::strided_loop(const shape& extents, const shape& strides, std::size_t element) noexcept
    : run_(element) {
  span_ = element;
  for (std::size_t d = extents.rank(); d-- > 0;) {
    const std::int64_t extent = extents[d], step = strides[d] * static_cast<std::int64_t>(element);
    if (extent == 1) continue;
    span_ += static_cast<std::size_t>((extent - 1) * step);
    if (loops_ == 0 && step == static_cast<std::int64_t>(run_)) {
      run_ *= static_cast<std::size_t>(extent);
    } else if (loops_ != 0 && step == loop_[loops_ - 1].extent * loop_[loops_ - 1].step) {
      loop_[loops_ - 1].extent *= extent;
    } else {
      loop_[loops_++] = {extent, step};
    }
  }
}

void strided_loop::copy(const std::byte* from, std::byte* to) const noexcept {
  switch (loops_ == 0 ? 0 : run_) {
    case 0:
      std::memcpy(to, from, run_);
      break;
    case 1:
      walk<1>(from, to);
      break;
    case 2:
      walk<2>(from, to);
      break;
    case 3:
      walk<3>(from, to);
      break;
    case 4:
      walk<4>(from, to);
      break;
    case 8:
      walk<8>(from, to);
      break;
    case 12:
      walk<12>(from, to);
      break;
    case 16:
      walk<16>(from, to);
      break;
    default:
      walk<0>(from, to);
  }
}

row_format::row_format(const shape& of, dtype element)
    : extents(of), type(element), bytes(static_cast<std::size_t>(of.count()) * size_of(element)) {
  for (const std::int64_t e : of) {
    if (e < 1)
      throw error("wick: a row of shape " + to_string(of) + " has no elements; extents are at least 1");
  }
}

row_format::row_format(const shape& of, dtype element, const shape& strides) : row_format(of, element) {
  walk = detail::strided_loop(of, strides, size_of(element));
  packed = walk.packed();
}

}  // namespace wick::detail

namespace wick::inline v0_1 {

void memory_view::refuse() const {
  throw error(
      "wick::memory_view: the elements of a row " + to_string(extents()) +
      " don't lie side by side; make the array contiguous before it becomes a source, or copy the row "
      "by write_to(), into size() bytes");
}

}  // namespace wick
