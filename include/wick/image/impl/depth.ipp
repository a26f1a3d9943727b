// Implements image/depth.hpp. Included in exactly one file of a program.
#pragma once

#include <cstddef>

#include <wick/ext/codec.hpp>
#include <wick/image/depth.hpp>
#include <wick/image/impl/mask.ipp>
#include <wick/pipeline/error.hpp>
#include <wick/pixels/wide_rows.hpp>

namespace wick::inline v0_1 {

namespace detail {

inline constexpr pixel_numbers distances{dtype::int32, true, true};
inline constexpr const char* decodes_depth = "decode_depth";

inline wide_rows rows_of_distances(int width, int height, std::vector<std::uint16_t> all) {
  if (width < 1 || height < 1 ||
      all.size() != static_cast<std::size_t>(width) * static_cast<std::size_t>(height)) {
    throw error("depth: " + std::to_string(all.size()) + " distances for " + size_text(width, height) +
                " px; give one a pixel");
  }
  wide_rows out;
  out.width = width;
  out.height = height;
  out.channels = 1;
  out.levels = std::move(all);
  return out;
}

}  // namespace detail

depth::depth(int width, int height, std::vector<std::uint16_t> distances)
    : distances_(detail::rows_of_distances(width, height, std::move(distances)), detail::distances) {}

void detail::follow(depth& of, const geometry_step& step, frame) {
  geometry_step own = step;
  own.around.mask_fill = 0;
  masks::follow(of.distances_, own, decodes_depth);
}

std::vector<std::uint16_t> depth::distances() const {
  return detail::masks::decoding(detail::decodes_depth, [&] { return distances_.wide_levels(); });
}

depth depth::materialize() && {
  carry_out();
  return std::move(*this);
}

void depth::carry_out() {
  detail::masks::decoding(detail::decodes_depth, [&] { distances_.carry_out(); });
}

void depth::write_to(ext::slot to) const {
  detail::masks::decoding(detail::decodes_depth, [&] { distances_.write_to(to); });
}

namespace detail {

decode_depth_stage::decode_depth_stage(const decode_depth_options& options)
    : distances_({.mode = color::index,
                  .type = dtype::int32,
                  .max_pixels = options.max_pixels,
                  .crop_index_bytes = 0},
                 decodes_depth) {}

depth decode_depth_stage::operator()(bytes encoded, context& c) const {
  const picture_info info = codecs().probe(encoded.span());
  const bool gray = info.channels == 1 && !info.palette;
  if (!gray || info.bits != 16 || info.decoder->decode_wide == nullptr) {
    throw error(
        "a " + std::string(info.format) + " of " + std::to_string(info.bits) + " bits" +
        (info.palette         ? " with a palette"
         : info.channels == 2 ? " with alpha"
         : gray               ? ""
                              : " in color") +
        ", and a depth map is a gray PNG of 16 bits; write it again from the sensor's data (levels of "
        "8 bits have lost the distances), or write decode_mask() for numbers of classes");
  }
  return depth(distances_(std::move(encoded), c));
}

}  // namespace detail

detail::decode_depth_stage decode_depth(const decode_depth_options& options) {
  return detail::decode_depth_stage(options);
}

}  // namespace wick
