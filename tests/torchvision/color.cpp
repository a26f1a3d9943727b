// Does to pictures what tests/torchvision/color.py asks for: a line "STAGE ARGUMENT… WIDTH HEIGHT CHANNELS
// PLANAR" and the pixels come in, a line "WIDTH HEIGHT CHANNELS" and the pixels go out, or a line "error
// WHAT".
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <wick/core.hpp>
#include <wick/transforms/augment.hpp>

namespace {

using words = std::vector<std::string>;
using wick::lazy_image;

double number(const words& w, std::size_t i) { return std::stod(w.at(i)); }
int whole(const words& w, std::size_t i) { return std::stoi(w.at(i)); }

wick::interpolation filter(const words& w, std::size_t i) {
  return w.at(i) == "nearest" ? wick::interpolation::nearest : wick::interpolation::bilinear;
}
wick::fill_color fill(const words& w, std::size_t i) {
  return {whole(w, i), whole(w, i + 1), whole(w, i + 2)};
}
std::optional<std::array<double, 2>> center(const words& w, std::size_t i) {
  if (w.size() <= i + 1) return std::nullopt;
  return std::array{number(w, i), number(w, i + 1)};
}

template <class Stage>
lazy_image with(const Stage& stage, lazy_image picture, std::uint64_t position = 3) {
  wick::context ctx(wick::detail::place{1, 2, position, position});
  return stage(std::move(picture), ctx);
}

lazy_image done(const words& w, lazy_image p) {
  const std::string& what = w.at(0);
  if (what == "invert") return with(wick::invert(), std::move(p));
  if (what == "posterize") return with(wick::posterize(whole(w, 1)), std::move(p));
  if (what == "solarize") return with(wick::solarize(number(w, 1)), std::move(p));
  if (what == "autocontrast") return with(wick::autocontrast(), std::move(p));
  if (what == "equalize") return with(wick::equalize(), std::move(p));
  if (what == "adjust_brightness") return with(wick::adjust_brightness(number(w, 1)), std::move(p));
  if (what == "adjust_contrast") return with(wick::adjust_contrast(number(w, 1)), std::move(p));
  if (what == "adjust_saturation") return with(wick::adjust_saturation(number(w, 1)), std::move(p));
  if (what == "adjust_hue") return with(wick::adjust_hue(number(w, 1)), std::move(p));
  if (what == "adjust_sharpness") return with(wick::adjust_sharpness(number(w, 1)), std::move(p));
  if (what == "gaussian_blur")
    return with(wick::gaussian_blur({whole(w, 1), whole(w, 2)}, number(w, 3)), std::move(p));
  if (what == "grayscale") return with(wick::grayscale(whole(w, 1)), std::move(p));
  if (what == "resize_nearest") {
    return with(wick::resize(whole(w, 1), whole(w, 2), {.interpolation = wick::interpolation::nearest}),
                std::move(p));
  }
  const auto position = [&w] { return static_cast<std::uint64_t>(number(w, 1)); };
  if (what == "rand_augment") {
    return with(wick::rand_augment({.num_ops = 1,
                                    .magnitude = whole(w, 2),
                                    .num_magnitude_bins = whole(w, 3),
                                    .interpolation = filter(w, 4)}),
                std::move(p), position());
  }
  if (what == "trivial_augment_wide") {
    return with(
        wick::trivial_augment_wide({.num_magnitude_bins = whole(w, 2), .interpolation = filter(w, 3)}),
        std::move(p), position());
  }
  if (what == "auto_augment") {
    return with(wick::auto_augment(static_cast<wick::auto_augment_policy>(whole(w, 2))), std::move(p),
                position());
  }
  if (what == "five_crop") {
    wick::context ctx(wick::detail::place{1, 2, 3, 3});
    auto five = wick::five_crop(whole(w, 1), whole(w, 2))(std::move(p), ctx);
    return std::move(five.at(static_cast<std::size_t>(whole(w, 3))));
  }
  if (what == "affine") {
    return with(wick::affine({.angle = number(w, 1),
                              .translate = {number(w, 2), number(w, 3)},
                              .scale = number(w, 4),
                              .shear = {number(w, 5), number(w, 6)},
                              .interpolation = filter(w, 7),
                              .fill = fill(w, 8),
                              .center = center(w, 11)}),
                std::move(p));
  }
  if (what == "rotate") {
    return with(wick::rotate(number(w, 1), {.interpolation = filter(w, 2),
                                            .expand = whole(w, 3) != 0,
                                            .fill = fill(w, 4),
                                            .center = center(w, 7)}),
                std::move(p));
  }
  if (what == "perspective") {
    wick::detail::corners from, to;
    for (std::size_t i = 0; i < 4; ++i) {
      from[i] = {number(w, 3 + 2 * i), number(w, 4 + 2 * i)};
      to[i] = {number(w, 11 + 2 * i), number(w, 12 + 2 * i)};
    }
    return with(wick::perspective(from, to, {.interpolation = filter(w, 1), .fill = whole(w, 2)}),
                std::move(p));
  }
  throw std::runtime_error("no stage " + what);
}

void answer(std::string line) {
  words w;
  std::istringstream in(line);
  for (std::string word; in >> word;) w.push_back(word);
  if (w.size() < 5) throw std::runtime_error("too short a line");
  const bool planar = w.back() == "1";
  w.pop_back();
  const int channels = std::stoi(w.back());
  w.pop_back();
  const int height = std::stoi(w.back());
  w.pop_back();
  const int width = std::stoi(w.back());
  w.pop_back();
  wick::image picture(width, height, channels);
  std::cin.read(reinterpret_cast<char*>(picture.data()),
                static_cast<std::streamsize>(picture.pixels().size()));
  try {
    const lazy_image out = done(w, std::move(picture));
    std::vector<char> slot(static_cast<std::size_t>(out.extents().count()) *
                           wick::detail::size_of(out.type()));
    out.write_to({reinterpret_cast<std::byte*>(slot.data()), planar});
    std::cout << out.width() << ' ' << out.height() << ' ' << out.channels() << '\n';
    std::cout.write(slot.data(), static_cast<std::streamsize>(slot.size()));
  } catch (const std::exception& e) {
    std::cout << "error " << e.what() << '\n';
  }
  std::cout.flush();
}

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  for (std::string line; std::getline(std::cin, line);) answer(line);
}
