// The policies that auto_augment draws from, as in its paper. Included only by augment.ipp.
#pragma once

#include <array>
#include <cstdint>

namespace wick::inline v0_1::detail {

enum class augmentation : std::uint8_t {
  identity,
  shear_x,
  shear_y,
  translate_x,
  translate_y,
  rotate,
  brightness,
  color,
  contrast,
  sharpness,
  posterize,
  solarize,
  autocontrast,
  equalize,
  invert,
};

struct augment_step {
  augmentation what;
  std::uint8_t tenths;    ///< the probability in tenths
  std::uint8_t strength;  ///< 0 to 9
};

using augment_pair = std::array<augment_step, 2>;
using augment_policy = std::array<augment_pair, 25>;
namespace policies {
using o = augmentation;

// clang-format off
inline constexpr augment_policy imagenet{{
    {{{o::posterize, 4, 8}, {o::rotate, 6, 9}}},
    {{{o::solarize, 6, 5}, {o::autocontrast, 6, 0}}},
    {{{o::equalize, 8, 0}, {o::equalize, 6, 0}}},
    {{{o::posterize, 6, 7}, {o::posterize, 6, 6}}},
    {{{o::equalize, 4, 0}, {o::solarize, 2, 4}}},
    {{{o::equalize, 4, 0}, {o::rotate, 8, 8}}},
    {{{o::solarize, 6, 3}, {o::equalize, 6, 0}}},
    {{{o::posterize, 8, 5}, {o::equalize, 10, 0}}},
    {{{o::rotate, 2, 3}, {o::solarize, 6, 8}}},
    {{{o::equalize, 6, 0}, {o::posterize, 4, 6}}},
    {{{o::rotate, 8, 8}, {o::color, 4, 0}}},
    {{{o::rotate, 4, 9}, {o::equalize, 6, 0}}},
    {{{o::equalize, 0, 0}, {o::equalize, 8, 0}}},
    {{{o::invert, 6, 0}, {o::equalize, 10, 0}}},
    {{{o::color, 6, 4}, {o::contrast, 10, 8}}},
    {{{o::rotate, 8, 8}, {o::color, 10, 2}}},
    {{{o::color, 8, 8}, {o::solarize, 8, 7}}},
    {{{o::sharpness, 4, 7}, {o::invert, 6, 0}}},
    {{{o::shear_x, 6, 5}, {o::equalize, 10, 0}}},
    {{{o::color, 4, 0}, {o::equalize, 6, 0}}},
    {{{o::equalize, 4, 0}, {o::solarize, 2, 4}}},
    {{{o::solarize, 6, 5}, {o::autocontrast, 6, 0}}},
    {{{o::invert, 6, 0}, {o::equalize, 10, 0}}},
    {{{o::color, 6, 4}, {o::contrast, 10, 8}}},
    {{{o::equalize, 8, 0}, {o::equalize, 6, 0}}},
}};
inline constexpr augment_policy cifar10{{
    {{{o::invert, 1, 0}, {o::contrast, 2, 6}}},
    {{{o::rotate, 7, 2}, {o::translate_x, 3, 9}}},
    {{{o::sharpness, 8, 1}, {o::sharpness, 9, 3}}},
    {{{o::shear_y, 5, 8}, {o::translate_y, 7, 9}}},
    {{{o::autocontrast, 5, 0}, {o::equalize, 9, 0}}},
    {{{o::shear_y, 2, 7}, {o::posterize, 3, 7}}},
    {{{o::color, 4, 3}, {o::brightness, 6, 7}}},
    {{{o::sharpness, 3, 9}, {o::brightness, 7, 9}}},
    {{{o::equalize, 6, 0}, {o::equalize, 5, 0}}},
    {{{o::contrast, 6, 7}, {o::sharpness, 6, 5}}},
    {{{o::color, 7, 7}, {o::translate_x, 5, 8}}},
    {{{o::equalize, 3, 0}, {o::autocontrast, 4, 0}}},
    {{{o::translate_y, 4, 3}, {o::sharpness, 2, 6}}},
    {{{o::brightness, 9, 6}, {o::color, 2, 8}}},
    {{{o::solarize, 5, 2}, {o::invert, 0, 0}}},
    {{{o::equalize, 2, 0}, {o::autocontrast, 6, 0}}},
    {{{o::equalize, 2, 0}, {o::equalize, 6, 0}}},
    {{{o::color, 9, 9}, {o::equalize, 6, 0}}},
    {{{o::autocontrast, 8, 0}, {o::solarize, 2, 8}}},
    {{{o::brightness, 1, 3}, {o::color, 7, 0}}},
    {{{o::solarize, 4, 5}, {o::autocontrast, 9, 0}}},
    {{{o::translate_y, 9, 9}, {o::translate_y, 7, 9}}},
    {{{o::autocontrast, 9, 0}, {o::solarize, 8, 3}}},
    {{{o::equalize, 8, 0}, {o::invert, 1, 0}}},
    {{{o::translate_y, 7, 9}, {o::autocontrast, 9, 0}}},
}};
inline constexpr augment_policy svhn{{
    {{{o::shear_x, 9, 4}, {o::invert, 2, 0}}},
    {{{o::shear_y, 9, 8}, {o::invert, 7, 0}}},
    {{{o::equalize, 6, 0}, {o::solarize, 6, 6}}},
    {{{o::invert, 9, 0}, {o::equalize, 6, 0}}},
    {{{o::equalize, 6, 0}, {o::rotate, 9, 3}}},
    {{{o::shear_x, 9, 4}, {o::autocontrast, 8, 0}}},
    {{{o::shear_y, 9, 8}, {o::invert, 4, 0}}},
    {{{o::shear_y, 9, 5}, {o::solarize, 2, 6}}},
    {{{o::invert, 9, 0}, {o::autocontrast, 8, 0}}},
    {{{o::equalize, 6, 0}, {o::rotate, 9, 3}}},
    {{{o::shear_x, 9, 4}, {o::solarize, 3, 3}}},
    {{{o::shear_y, 8, 8}, {o::invert, 7, 0}}},
    {{{o::equalize, 9, 0}, {o::translate_y, 6, 6}}},
    {{{o::invert, 9, 0}, {o::equalize, 6, 0}}},
    {{{o::contrast, 3, 3}, {o::rotate, 8, 4}}},
    {{{o::invert, 8, 0}, {o::translate_y, 0, 2}}},
    {{{o::shear_y, 7, 6}, {o::solarize, 4, 8}}},
    {{{o::invert, 6, 0}, {o::rotate, 8, 4}}},
    {{{o::shear_y, 3, 7}, {o::translate_x, 9, 3}}},
    {{{o::shear_x, 1, 6}, {o::invert, 6, 0}}},
    {{{o::solarize, 7, 2}, {o::translate_y, 6, 7}}},
    {{{o::shear_y, 8, 4}, {o::invert, 8, 0}}},
    {{{o::shear_x, 7, 9}, {o::translate_y, 8, 3}}},
    {{{o::shear_y, 8, 5}, {o::autocontrast, 7, 0}}},
    {{{o::shear_x, 7, 2}, {o::invert, 1, 0}}},
}};
// clang-format on

}  // namespace policies

}  // namespace wick::detail
