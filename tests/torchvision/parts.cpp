// What wick makes of samples of a picture, a mask, boxes and points: tests/torchvision/parts.py tells each
// case by a line on the standard input, and compares.
//
//   parts FOLDER < cases
//
// A case: NAME, boxes (their number, four numbers each), points (their number, two each), stages (their
// number, then each with its numbers). FOLDER has NAME.png and NAME.mask.png; NAME.rgb and NAME.numbers are
// written. A line of the results: width and height, boxes, points and their marks, the rectangles that
// random stages chose.
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>

#include <wick/core.hpp>

namespace {

using scene = std::tuple<wick::lazy_image, wick::mask, wick::boxes, wick::keypoints>;

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw wick::error("can't read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}
void write_file(const std::string& path, const wick::image& from) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(from.data()), static_cast<std::streamsize>(from.pixels().size()));
}
wick::bytes bytes_of(const std::string& from) { return {from.data(), from.size()}; }

wick::rect rect_of(std::istream& in) {
  wick::rect r;
  in >> r.x >> r.y >> r.width >> r.height;
  return r;
}

/// One stage, named and with its numbers, on the item.
scene apply(const std::string& stage, std::istream& in, scene item, wick::context& c, std::ostream& chosen) {
  const int width = std::get<0>(item).width(), height = std::get<0>(item).height();
  int a = 0, b = 0;
  if (stage == "resize") {
    in >> a >> b;
    return wick::resize(a, b)(std::move(item), c);
  }
  if (stage == "bicubic") {
    in >> a >> b;
    return wick::resize(a, b, {.interpolation = wick::interpolation::bicubic})(std::move(item), c);
  }
  if (stage == "shorter") {
    in >> a >> b;
    return wick::resize(a, {.max_size = b})(std::move(item), c);
  }
  if (stage == "longer") {
    in >> a;
    return wick::resize({.max_size = a})(std::move(item), c);
  }
  if (stage == "letterbox") {
    in >> a >> b;
    int fill = 0, enlarge = 0;
    in >> fill >> enlarge;
    return wick::letterbox(a, b, {.fill = fill, .mask_fill = fill, .enlarge = enlarge != 0})(std::move(item),
                                                                                             c);
  }
  if (stage == "random_iou_crop") {
    const auto crop = wick::random_iou_crop();
    wick::context again(wick::detail::place{c.seed(), c.epoch(), c.position(), c.index()});
    again.enter(c.stage());
    const auto r = crop.choose({width, height}, std::get<2>(item), again.random())
                       .value_or(wick::rect{-1, -1, width, height});
    chosen << " " << r.x << " " << r.y << " " << r.width << " " << r.height;
    return crop(std::move(item), c);
  }
  if (stage == "center_crop") {
    in >> a >> b;
    return wick::center_crop(a, b)(std::move(item), c);
  }
  if (stage == "horizontal_flip") return wick::horizontal_flip()(std::move(item), c);
  if (stage == "vertical_flip") return wick::vertical_flip()(std::move(item), c);
  if (stage == "pad") {
    const wick::rect by = rect_of(in);
    in >> a;
    return wick::pad(by.x, by.y, by.width, by.height, {.fill = a, .mask_fill = a})(std::move(item), c);
  }
  if (stage == "affine") {
    double angle = 0, x = 0, y = 0, scale = 1, shear_x = 0, shear_y = 0;
    in >> angle >> x >> y >> scale >> shear_x >> shear_y >> a;
    return wick::affine({.angle = angle,
                         .translate = {x, y},
                         .scale = scale,
                         .shear = {shear_x, shear_y},
                         .fill = a,
                         .mask_fill = a})(std::move(item), c);
  }
  if (stage == "rotate") {
    double angle = 0;
    in >> angle >> a >> b;
    return wick::rotate(angle, {.expand = a != 0, .fill = b, .mask_fill = b})(std::move(item), c);
  }
  if (stage == "perspective") {
    wick::detail::corners from, to;
    for (auto* each : {&from, &to})
      for (auto& [x, y] : *each) in >> x >> y;
    in >> a;
    return wick::perspective(
        from, to, {.interpolation = wick::interpolation::nearest, .fill = a, .mask_fill = a})(std::move(item),
                                                                                              c);
  }
  if (stage == "random_crop") {
    in >> a >> b;
    const auto crop = wick::random_crop(a, b);
    // Where a point at the corner goes.
    std::tuple<wick::lazy_image, wick::keypoints> corner{wick::image(width, height, 1),
                                                         wick::keypoints{.xy = {{0, 0}}}};
    wick::context again(wick::detail::place{c.seed(), c.epoch(), c.position(), c.index()});
    again.enter(c.stage());
    const auto at = std::get<1>(crop(std::move(corner), again)).xy[0];
    chosen << " " << -at[0] << " " << -at[1] << " " << b << " " << a;
    return crop(std::move(item), c);
  }
  if (stage == "random_resized_crop") {
    in >> a >> b;
    const auto crop = wick::random_resized_crop(a, b);
    wick::context again(wick::detail::place{c.seed(), c.epoch(), c.position(), c.index()});
    again.enter(c.stage());
    const wick::rect r = crop.choose(width, height, again.random());
    chosen << " " << r.x << " " << r.y << " " << r.width << " " << r.height;
    return crop(std::move(item), c);
  }
  throw wick::error("no stage " + stage);
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) throw wick::error("usage: parts FOLDER < cases");
  const std::string folder = std::string(argv[1]) + "/";
  std::cout.precision(9);
  std::uint64_t position = 0;
  for (std::string line; std::getline(std::cin, line); ++position) {
    std::istringstream in(line);
    std::string name, stage;
    std::size_t boxes = 0, points = 0, stages = 0;
    scene item;
    wick::context c(wick::detail::place{1, 0, position, position});
    in >> name >> boxes;
    for (std::size_t i = 0; i < boxes; ++i) {
      auto& [left, top, right, bottom] = std::get<2>(item).xyxy.emplace_back();
      in >> left >> top >> right >> bottom;
      std::get<2>(item).ids.push_back(static_cast<std::int64_t>(i));
    }
    in >> points;
    for (std::size_t i = 0; i < points; ++i) {
      auto& [x, y] = std::get<3>(item).xy.emplace_back();
      in >> x >> y;
    }
    std::get<0>(item) = wick::decode()(bytes_of(read_file(folder + name + ".png")), c);
    std::get<1>(item) = wick::decode_mask()(bytes_of(read_file(folder + name + ".mask.png")), c);
    std::ostringstream chosen;
    in >> stages;
    for (std::size_t i = 0; i < stages; ++i) {
      in >> stage;
      c.enter(static_cast<std::uint32_t>(i));
      item = apply(stage, in, std::move(item), c, chosen);
    }
    auto& [picture, mask, box, point] = item;
    write_file(folder + name + ".rgb", picture.pixels());
    write_file(folder + name + ".numbers", mask.pixels());
    std::cout << picture.width() << " " << picture.height() << " " << box.size();
    for (std::size_t i = 0; i < box.size(); ++i) {
      std::cout << " " << box.ids[i];
      for (const float side : box.xyxy[i]) std::cout << " " << side;
    }
    std::cout << " " << point.size();
    for (std::size_t i = 0; i < point.size(); ++i)
      std::cout << " " << point.xy[i][0] << " " << point.xy[i][1] << " "
                << (point.visible.empty() || point.visible[i] != 0);
    std::cout << chosen.str() << "\n";
  }
} catch (const std::exception& e) {
  std::cerr << "parts: " << e.what() << "\n";
  return 1;
}
