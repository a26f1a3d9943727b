// The resize: antialiased, separable, in integers, one output row at a time, from decoded pixels straight to
// their destination. Its inner loops are compiled once, with the decoder, for every instruction set, and
// chosen at run time; all give the same bytes.
#pragma once

#include <wick/pixels/detail/row_resampler.hpp>
#include <wick/pixels/geometry.hpp>
#include <wick/pixels/image.hpp>

namespace wick::inline v0_1::detail {

/// Applies a plan to decoded pixels and writes to `to`, which has the plan's output size and the image's
/// channels. Within one level of Pillow's resize for `bilinear` and `bicubic`; the same integers on every
/// machine.
inline void resample(const picture_view& from, const plan& p, const picture_target& to) {
  if (p.only_cuts()) {
    const rect& part = p.source;
    return copy_pixels(from.part(part.x, part.y, part.width, part.height), to);
  }
  detail::resample_lease scratch;
  detail::build_axes(p, 1.0, 0, 0, *scratch);
  detail::resample(from, 0, 0, *scratch, to);
}

/// The same, into a new image.
inline image resample(const picture_view& from, const plan& p) {
  image out(p.output_width(), p.output_height(), from.channels);
  resample(from, p, picture_target::interleaved(out.data(), out.width(), out.height(), out.channels()));
  return out;
}

}  // namespace wick::detail
