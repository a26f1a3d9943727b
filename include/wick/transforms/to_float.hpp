// The to_float stage: converts bytes to float32 in [0, 1].
#pragma once

#include <string_view>

#include <wick/ext/stage.hpp>
#include <wick/image/detail/parts.hpp>
#include <wick/image/lazy_image.hpp>
#include <wick/pipeline/context.hpp>

namespace wick::inline v0_1 {

namespace detail {

struct to_float_stage : color_stage<to_float_stage> {
  static constexpr std::string_view name = "to_float";

  bool draw(context&) const noexcept { return true; }
  void apply(lazy_image& picture, bool) const { picture.as_float(); }
};

}  // namespace detail

/// Makes batch() deliver the image as float32: x / 255, or x / 65535 for 16 bits. Later stages, except
/// random_erasing, still work on the levels. torchvision.transforms.v2.ToDtype(torch.float32, scale=True).
inline detail::to_float_stage to_float() noexcept { return {}; }

}  // namespace wick
