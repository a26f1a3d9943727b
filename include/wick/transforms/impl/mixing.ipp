// Implements transforms/mixing.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>

#include <wick/ext/fingerprint.hpp>
#include <wick/image/detail/arguments.hpp>
#include <wick/image/detail/steps.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/transforms/mixing.hpp>

namespace wick::inline v0_1 {

void soft_label::write_to(ext::slot to) const noexcept {
  if (!shares.empty()) std::memcpy(to.data, shares.data(), shares.size() * sizeof(float));
}

namespace detail {

namespace {

/// The logarithm of a Gamma(alpha) variate; for a small alpha, the variate itself may underflow to 0.
double draw_log_gamma(random_stream& from, double alpha) {
  const double raised = alpha < 1 ? alpha + 1 : alpha;
  const double d = raised - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = from.normal(), t = 1 + c * x;
    const double u = 1 - from.uniform();  // never 0
    if (t <= 0) continue;
    const double v = t * t * t;
    if (std::log(u) >= x * x / 2 + d - d * v + d * std::log(v)) continue;
    const double out = std::log(d * v);
    return alpha < 1 ? out + std::log(1 - from.uniform()) / alpha : out;
  }
}
std::string size_of(const image& of) {
  return std::to_string(of.width()) + " x " + std::to_string(of.height()) + " x " +
         std::to_string(of.channels());
}
void require_alike(const image& a, const image& b) {
  if (a.extents() == b.extents()) return;
  throw error("a picture of " + size_of(a) + " and another of " + size_of(b) +
              " are to be mixed; write a resize() or crop to one size before it, and decode() to one number "
              "of channels");
}

}  // namespace

double draw_beta(random_stream& from, double alpha) {
  const double a = draw_log_gamma(from, alpha), b = draw_log_gamma(from, alpha);
  return 1 / (1 + std::exp(b - a));
}

soft_label soften(std::int64_t label, std::size_t classes) {
  if (label < 0 || static_cast<std::uint64_t>(label) >= classes) {
    throw error("class " + std::to_string(label) + "; there are " + std::to_string(classes) +
                ", counted from 0: give mixup() and cutmix() the number of all");
  }
  soft_label out;
  out.shares.assign(classes, 0.0f);
  out.shares[static_cast<std::size_t>(label)] = 1;
  return out;
}
soft_label soften(soft_label label, std::size_t classes) {
  if (label.shares.size() != classes) {
    throw error("a label of " + std::to_string(label.shares.size()) + " classes, and " +
                std::to_string(classes) + " were said; give mixup() and cutmix() the same number");
  }
  return label;
}

void blend(image& a, const image& b, double share) {
  require_alike(a, b);
  const float own = static_cast<float>(share), rest = 1 - own;
  std::uint8_t* const to = a.data();
  const std::uint8_t* const from = b.data();
  const std::size_t count = a.pixels().size();
  for (std::size_t i = 0; i < count; ++i) {
    const float level = own * static_cast<float>(to[i]) + rest * static_cast<float>(from[i]);
    to[i] = static_cast<std::uint8_t>(std::min(level + 0.5f, 255.0f));
  }
}
void blend(soft_label& a, const soft_label& b, double share) noexcept {
  for (std::size_t i = 0; i < a.shares.size(); ++i) {
    a.shares[i] = static_cast<float>(share * static_cast<double>(a.shares[i]) +
                                     (1 - share) * static_cast<double>(b.shares[i]));
  }
}
void paste(image& a, const image& b, const rect& part) {
  require_alike(a, b);
  place_tile(a, b, {part, part.x, part.y});
}

rect cut_at(int x, int y, int width, int height, double share) {
  const double r = 0.5 * std::sqrt(1 - share);
  const int half_width = static_cast<int>(r * width), half_height = static_cast<int>(r * height);
  const int left = std::max(x - half_width, 0), top = std::max(y - half_height, 0);
  return {left, top, std::min(x + half_width, width) - left, std::min(y + half_height, height) - top};
}
void mixup_by(sample<image, soft_label>& into, const sample<image, soft_label>& other, double share) {
  blend(into.data, other.data, share);
  blend(into.target, other.target, share);
}
void cutmix_by(sample<image, soft_label>& into, const sample<image, soft_label>& other, double share, int x,
               int y) {
  const double width = into.data.width(), height = into.data.height();
  const rect part = cut_at(x, y, into.data.width(), into.data.height(), share);
  paste(into.data, other.data, part);
  blend(into.target, other.target, 1 - static_cast<double>(part.width) * part.height / (width * height));
}

mixed_pair_stage::mixed_pair_stage(bool cut, std::size_t classes, const mixup_options& options)
    : cut_(cut), classes_(classes), options_(options) {
  const std::string who(label());
  if (classes == 0) throw error(who + ": 0 classes; give the number of all");
  if (!(options.alpha > 0 && std::isfinite(options.alpha)))
    throw error(who + ": alpha = " + std::to_string(options.alpha) + "; give a finite one above 0");
  require_probability(who, options.p);
}
std::uint64_t mixed_pair_stage::fingerprint() const noexcept {
  return fingerprint_hash::of(cut_, std::uint64_t{classes_}, options_.alpha);
}
void mixed_pair_stage::mix(sample<image, soft_label>& into, const sample<image, soft_label>& other,
                           random_stream& random) const {
  const double share = draw_beta(random, options_.alpha);
  if (!cut_) return mixup_by(into, other, share);
  const auto below = [&](int n) { return static_cast<int>(random.below(static_cast<std::uint64_t>(n))); };
  const int x = below(into.data.width()), y = below(into.data.height());
  cutmix_by(into, other, share, x, y);
}

mosaic_tile tile_at(int quadrant, int center_x, int center_y, frame of, int side) noexcept {
  const bool right = quadrant % 2 != 0, lower = quadrant / 2 != 0;
  const int width = std::min(of.width, right ? side - center_x : center_x);
  const int height = std::min(of.height, lower ? side - center_y : center_y);
  return {{right ? 0 : of.width - width, lower ? 0 : of.height - height, width, height},
          right ? center_x : center_x - width,
          lower ? center_y : center_y - height};
}
void place_tile(image& canvas, const image& picture, const mosaic_tile& tile) {
  const auto channels = static_cast<std::size_t>(canvas.channels());
  for (int y = 0; y < tile.part.height; ++y) {
    std::memcpy(canvas.row(tile.y + y) + static_cast<std::size_t>(tile.x) * channels,
                picture.row(tile.part.y + y) + static_cast<std::size_t>(tile.part.x) * channels,
                static_cast<std::size_t>(tile.part.width) * channels);
  }
}
void place_tile(boxes& all, boxes more, const mosaic_tile& tile, frame size) {
  follow(more, geometry_step::crop(tile.part), size);
  for (auto& box : more.xyxy) {
    for (std::size_t i = 0; i < 4; ++i) box[i] += static_cast<float>(i % 2 == 0 ? tile.x : tile.y);
  }
  const auto append = [&](auto& to, const auto& what, const char* called) {
    if ((to.empty() && !all.xyxy.empty() && !what.empty()) ||
        (what.empty() && !more.xyxy.empty() && !to.empty())) {
      throw error(std::string("boxes with ") + called + " and boxes without are to be put together; give " +
                  called + " to all samples or to none");
    }
    to.insert(to.end(), what.begin(), what.end());
  };
  append(all.labels, more.labels, "labels");
  append(all.ids, more.ids, "ids");
  append(all.visible, more.visible, "visible shares");
  all.xyxy.insert(all.xyxy.end(), more.xyxy.begin(), more.xyxy.end());
}

mosaic_stage::mosaic_stage(int size, const mosaic_options& options) : size_(size), options_(options) {
  if (size < 1 || std::int64_t{4} * size * size > detail::most_pixels)
    throw error("mosaic: size " + std::to_string(size) + "; give half the side of the square, 1 to 6,688");
  if (options.fill < 0 || options.fill > 255)
    throw error("mosaic: fill " + std::to_string(options.fill) + "; give a level, 0 to 255");
  if (options.mask_fill < 0 || options.mask_fill > 255)
    throw error("mosaic: mask_fill " + std::to_string(options.mask_fill) + "; give a number, 0 to 255");
  require_probability(traits.name, options.p);
}
std::uint64_t mosaic_stage::fingerprint() const noexcept {
  const std::uint64_t all = fingerprint_hash::of(size_, options_.fill);
  return options_.mask_fill == 0 ? all : fingerprint_hash::of(all, options_.mask_fill);
}
void mosaic_stage::arrange(mosaic_plan& plan, random_stream& random) const {
  const std::array<frame, 4>& sizes = plan.sizes;
  const int side = 2 * size_;
  if (plan.count == 1) {
    const int width = std::min(sizes[0].width, side), height = std::min(sizes[0].height, side);
    plan.where[0] = {{(sizes[0].width - width) / 2, (sizes[0].height - height) / 2, width, height},
                     (side - width) / 2,
                     (side - height) / 2};
    return;
  }
  const auto draw = [&] { return static_cast<int>(random.uniform(0.5 * size_, 1.5 * size_)); };
  const int x = draw(), y = draw();
  for (std::size_t i = 0; i < plan.count; ++i)
    plan.where[i] = tile_at(static_cast<int>(i), x, y, sizes[i], side);
}
void mosaic_stage::join_pictures(image* const* from, const mosaic_plan& plan) const {
  image canvas(2 * size_, 2 * size_, from[0]->channels());
  std::memset(canvas.data(), options_.fill, canvas.pixels().size());
  for (std::size_t i = 0; i < plan.count; ++i) {
    if (from[i]->channels() != canvas.channels()) {
      throw error("pictures of " + std::to_string(canvas.channels()) + " and of " +
                  std::to_string(from[i]->channels()) +
                  " channels are to be put together; have decode() make them of one number");
    }
    place_tile(canvas, *from[i], plan.where[i]);
  }
  *from[0] = std::move(canvas);
}
void mosaic_stage::join_masks(mask* const* from, const mosaic_plan& plan) const {
  image canvas(2 * size_, 2 * size_, 1);
  std::memset(canvas.data(), options_.mask_fill, canvas.pixels().size());
  for (std::size_t i = 0; i < plan.count; ++i) place_tile(canvas, from[i]->pixels(), plan.where[i]);
  *from[0] = mask(lazy_image(std::move(canvas), pixel_numbers{from[0]->type(), false, true}));
}

}  // namespace detail

detail::chain<detail::with_others_stage, detail::mixed_pair_stage> mixup(std::size_t num_classes,
                                                                         const mixup_options& options) {
  return with_others(1, {options.p}) | detail::mixed_pair_stage(false, num_classes, options);
}

detail::chain<detail::with_others_stage, detail::mixed_pair_stage> cutmix(std::size_t num_classes,
                                                                          const mixup_options& options) {
  return with_others(1, {options.p}) | detail::mixed_pair_stage(true, num_classes, options);
}

detail::chain<detail::with_others_stage, detail::mosaic_stage> mosaic(int size,
                                                                      const mosaic_options& options) {
  return with_others(3, {options.p}) | detail::mosaic_stage(size, options);
}

}  // namespace wick
