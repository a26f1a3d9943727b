// Implements image/mask.hpp. Included in exactly one file of a program.
#pragma once

#include <wick/image/mask.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pixels/geometry.hpp>

namespace wick::inline v0_1 {

namespace detail {
inline constexpr const char* decodes_mask = "decode_mask";
}

namespace detail::masks {

inline image one_channel(image numbers) {
  if (numbers.channels() != 1) {
    throw error("mask: a picture of " + std::to_string(numbers.channels()) +
                " channels; give one channel of numbers");
  }
  return numbers;
}

/// \throws wick::error for a fill that doesn't fit into the mask's numbers
inline void require_fill(int fill, int highest) {
  if (fill >= 0 && fill <= highest) return;
  throw error("mask_fill " + std::to_string(fill) + ": the mask has numbers of " +
              (highest > 255 ? "16" : "8") + " bits, 0 to " + std::to_string(highest) +
              "; give one of these, and have the loss ignore it (.ignore_index)");
}

/// Attributes errors found during decoding to the stage that read the header.
template <class F>
decltype(auto) decoding(const char* stage, F&& f) {
  try {
    return f();
  } catch (const detail::late_error& e) {
    throw detail::late_error(stage, e.what());
  } catch (const detail::out_of_memory& e) {
    throw detail::out_of_memory(stage, e.what());
  }
}

/// Applies the image's geometry to numbers that must not be blended.
inline void follow(lazy_image& numbers, const geometry_step& step, const char* decoder) {
  decoding(decoder, [&] {
    using kind = geometry_step::kind;
    if (step.what == kind::warp || (step.what == kind::pad && step.around.mode == padding_mode::constant))
      require_fill(step.around.mask_fill, numbers.highest_level());
    geometry_step own = step;
    if (step.what == kind::warp)
      own.filter = interpolation::nearest;
    else if (own.filter != interpolation::nearest)
      own.filter = interpolation::nearest_corner;
    own.around.fill = {step.around.mask_fill};
    numbers.follow(own);
  });
}

}  // namespace detail::masks

mask::mask(image numbers)
    : numbers_(detail::masks::one_channel(std::move(numbers)),
               detail::pixel_numbers{dtype::uint8, false, true}) {}

void detail::follow(mask& of, const geometry_step& step, frame) {
  masks::follow(of.numbers_, step, decodes_mask);
}

image mask::pixels() const {
  return detail::masks::decoding(detail::decodes_mask, [&] { return numbers_.pixels(); });
}

mask mask::materialize() && {
  carry_out();
  return std::move(*this);
}

void mask::carry_out() {
  detail::masks::decoding(detail::decodes_mask, [&] { numbers_.carry_out(); });
}

void mask::write_to(ext::slot to) const {
  detail::masks::decoding(detail::decodes_mask, [&] { numbers_.write_to(to); });
}

namespace detail {

decode_mask_stage::decode_mask_stage(const decode_mask_options& options)
    : numbers_({.mode = color::index,
                .type = options.type,
                .max_pixels = options.max_pixels,
                .crop_index_bytes = 0},
               decodes_mask) {}

mask decode_mask_stage::operator()(bytes encoded, context& c) const {
  return mask(numbers_(std::move(encoded), c));
}

}  // namespace detail

detail::decode_mask_stage decode_mask(const decode_mask_options& options) {
  return detail::decode_mask_stage(options);
}

}  // namespace wick
