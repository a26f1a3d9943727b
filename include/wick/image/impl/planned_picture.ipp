// Implements image/detail/planned_picture.hpp. Included in exactly one file of a program.
#pragma once

#include <cstdio>
#include <new>
#include <string>

#include <wick/image/detail/padding.hpp>
#include <wick/image/detail/parts.hpp>
#include <wick/image/detail/planned_picture.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pixels/detail/resample.hpp>
#include <wick/pixels/detail/wide_resample.hpp>

namespace wick::inline v0_1::detail {

planned_picture::planned_picture(bytes encoded, const picture_info& info, int channels, bool exact,
                                 const pixel_numbers& as, std::shared_ptr<crop_index> index) noexcept
    : encoded_(std::move(encoded)),
      info_(info),
      index_(std::move(index)),
      exact_(exact),
      as_(as),
      channels_(channels),
      out_channels_(channels),
      plan_(plan::whole(static_cast<int>(info.width), static_cast<int>(info.height))) {}

planned_picture::planned_picture(image pixels) noexcept
    : decoded_(std::move(pixels)),
      channels_(decoded_.channels()),
      out_channels_(channels_),
      plan_(plan::whole(decoded_.width(), decoded_.height())) {}

planned_picture::planned_picture(image pixels, const pixel_numbers& as) noexcept
    : planned_picture(std::move(pixels)) {
  as_ = as;
}

planned_picture::planned_picture(wide_rows levels, const pixel_numbers& as) noexcept
    : as_(as), channels_(levels.channels), out_channels_(levels.channels) {
  hold(std::move(levels));
}

void planned_picture::crop(const rect& part) {
  if (!pointwise_) carry_out();
  compose_crop(plan_, part);
  for (std::size_t i = 0; i < op_count_; ++i) ops_[i].crop(part);
  for (erased_numbers& e : erased_) e.crop(part);
}

void planned_picture::mirror_x() noexcept {
  for (std::size_t i = 0; i < op_count_; ++i) ops_[i].mirror_x(width());
  for (erased_numbers& e : erased_) e.mirror_x(width());
  compose_mirror_x(plan_);
}

void planned_picture::mirror_y() noexcept {
  for (std::size_t i = 0; i < op_count_; ++i) ops_[i].mirror_y(height());
  for (erased_numbers& e : erased_) e.mirror_y(height());
  compose_mirror_y(plan_);
}

void planned_picture::resize(int width, int height, interpolation filter) {
  require_pixels({this->width(), this->height()});
  if (as_.indexes && !is_nearest(filter) && (width != this->width() || height != this->height())) {
    throw error(
        "a resize that blends would make numbers of classes which the mask does not have; give it "
        ".interpolation = wick::interpolation::nearest");
  }
  if (!erased_.empty()) {
    throw error(
        "a resize after random_erasing, which is after normalize or to_float; erase after the resize");
  }
  if (op_count_ != 0 && (width != this->width() || height != this->height())) carry_out();
  if (compose_resize(plan_, width, height, filter)) return;
  carry_out();
  compose_resize(plan_, width, height, filter);
}

void planned_picture::pad(const border& around) {
  if (around.by.empty()) return;
  if (as_.wide && as_.indexes) {
    carry_out();
    return hold(pad_wide(wide(), around));
  }
  // NOLINTNEXTLINE(bugprone-use-after-move): the moved-out pixels are replaced
  replace_pixels(pad_picture(std::move(*this).pixels(), around.by, around.fill, around.mode));
}

void planned_picture::follow(const geometry_step& step) {
  using kind = geometry_step::kind;
  switch (step.what) {
    case kind::crop:
      return crop(step.part);
    case kind::resize:
      return resize(step.size.width, step.size.height, step.filter);
    case kind::mirror_x:
      return mirror_x();
    case kind::mirror_y:
      return mirror_y();
    case kind::pad:
      return pad(step.around);
    case kind::warp:
      if (as_.wide && as_.indexes) return warp_wide(step);
      return warp(step.pixels());
    case kind::drop_boxes:
      return;
  }
}

void planned_picture::apply(const pixel_op& op) {
  refuse_normalized("color operations");
  refuse_numbers("color operations");
  if (op_count_ == ops_.size() || out_channels_ != channels_) carry_out();
  ops_[op_count_++] = op;
  pointwise_ = pointwise_ && op.pointwise();
}

void planned_picture::make_gray(int channels) {
  refuse_normalized("grayscale");
  refuse_numbers("grayscale");
  if (out_channels_ >= 3) apply({pixel_op::kind::gray});
  out_channels_ = channels;
}

void planned_picture::normalize(const normalization& by) {
  refuse_normalized("a second normalize");
  if (as_.indexes || as_.type == dtype::int32) {
    throw error("normalize gives float32, and the picture is to be " + std::string(to_string(as_.type)) +
                (as_.indexes
                     ? " numbers of classes; leave normalize out"
                     : "; write wick::decode({.type = wick::dtype::float32}), or leave normalize out"));
  }
  normal_ = by;
}

void planned_picture::as_float() {
  refuse_normalized("to_float");
  if (as_.indexes || as_.type == dtype::int32) {
    throw error("to_float gives float32, and the picture is to be " + std::string(to_string(as_.type)) +
                (as_.indexes ? " numbers of classes; leave to_float out"
                             : "; write wick::decode({.type = wick::dtype::float32}) instead"));
  }
  as_.type = dtype::float32;
}

void planned_picture::erase(const erased_numbers& what) {
  if (type() != dtype::float32)
    throw error("erase wants a picture of float32, and it is " + std::string(to_string(type())));
  erased_.push_back(what);
}

namespace {

/// Call it in a handler of std::bad_alloc.
[[noreturn]] void rethrow_as_decode(const picture_info& info) {
  try {
    throw;
  } catch (const out_of_memory&) {
    throw;
  } catch (const std::bad_alloc&) {
    char text[192];
    std::snprintf(text, sizeof text,
                  "no memory for an image of %lld x %lld px, which takes up to 16 bytes a pixel; lower "
                  "loader_options::workers, or refuse such images by decode({.max_pixels})",
                  static_cast<long long>(info.width), static_cast<long long>(info.height));
    throw out_of_memory("decode", text);
  }
}

/// Attributes errors found during decoding to decode().
template <class F>
decltype(auto) as_decode(const picture_info& info, F&& f) {
  try {
    return f();
  } catch (const error& e) {
    throw late_error("decode", e.what());
  } catch (const std::bad_alloc&) {
    rethrow_as_decode(info);
  }
}

}  // namespace

void planned_picture::write_to(slot to) const {
  if (encoded_.empty()) return write_pixels_to(to);
  try {
    write_pixels_to(to);
  } catch (const std::bad_alloc&) {
    rethrow_as_decode(info_);
  }
}

void planned_picture::write_pixels_to(slot to) const {
  if (as_.wide) {
    const wide_rows out = render_wide();
    write_numbers(out.levels.data(), out.levels.size() / static_cast<std::size_t>(channels_), channels_,
                  65535.0f, type(), normal_, to);
  } else if (as_.type != dtype::uint8 && !normalized()) {
    const image out = render();
    write_numbers(out.data(), out.pixels().size() / static_cast<std::size_t>(out.channels()), out.channels(),
                  255.0f, type(), normal_, to);
  } else if (normalized()) {
    level_map rest;
    const image out = render(&rest);
    write_normalized(out, rest, normal_, to.data, to.planar);
  } else if (out_channels_ != channels_) {
    render().write_to(to);
  } else {
    render_to(to.planar ? picture_target::planar(to.data, width(), height(), channels())
                        : picture_target::interleaved(to.data, width(), height(), channels()));
  }
  for (const erased_numbers& e : erased_) detail::erase(e, extents(), to);
}

bool planned_picture::untouched() const noexcept {
  const plan all = as_.wide ? plan::whole(wide().width, wide().height)
                            : plan::whole(decoded().width(), decoded().height());
  return encoded_.empty() && op_count_ == 0 && out_channels_ == channels_ && plan_ == all;
}

void planned_picture::refuse_wide(const char* what) const {
  if (as_.wide) {
    throw error(
        std::string(what) +
        " of a picture of 16 bits a channel, which goes with crop, resize, flip and batch() "
        "alone; write wick::decode_depth() for distances, or wick::decode({.reduce_16_bits = true}) and no "
        ".type for 8 bits");
  }
}

void planned_picture::refuse_numbers(const char* what) const {
  refuse_wide(what);
  if (as_.indexes)
    throw error(std::string(what) + " on numbers of classes, which aren't levels; leave them out for masks");
}

void planned_picture::refuse_normalized(const char* what) const {
  if (normalized()) {
    throw error(std::string(what) +
                " after normalize: the picture is float32 by then; make normalize the last picture stage");
  }
  if (!erased_.empty()) {
    throw error(std::string(what) +
                " after random_erasing, which is after to_float; make random_erasing the last picture stage");
  }
}

decode_request planned_picture::request(const resample_scratch& scratch) const noexcept {
  rect part{scratch.columns.low(), scratch.rows.low(), scratch.columns.high() - scratch.columns.low(),
            scratch.rows.high() - scratch.rows.low()};
  double scale = std::max(static_cast<double>(plan_.width) / plan_.source.width,
                          static_cast<double>(plan_.height) / plan_.source.height);
  // On a scaled-down image, nearest would pick averages.
  if (exact_ || scale > 1 || is_nearest(plan_.filter)) scale = 1;
  if (scale < 1) {
    // The same filter may reach one pixel further in the scaled-down image.
    const rect& all = plan_.source;
    const int more = static_cast<int>(std::min(1 / scale, 65536.0)) + 1;
    const int right = std::min(part.x + part.width + more, all.x + all.width),
              bottom = std::min(part.y + part.height + more, all.y + all.height);
    part.x = std::max(part.x - more, all.x);
    part.y = std::max(part.y - more, all.y);
    part.width = right - part.x;
    part.height = bottom - part.y;
  }
  return {part, scale, channels_, as_.indexes};
}

void planned_picture::render_to(const picture_target& to, level_map* rest) const {
  phase_timer timer(slot_phase::resize);
  if (encoded_.empty()) {
    resample(decoded().view(), plan_, to);
  } else {
    as_decode(info_, [&] { decode_to(to, timer); });
  }
  if (op_count_ == 0) return;
  timer.next(slot_phase::color);
  wick::detail::apply({ops_.data(), op_count_}, to, rest);
}

void planned_picture::decode_to(const picture_target& to, phase_timer& timer) const {
  const bool by_rows = info_.decoder->decode_rows != nullptr;
  if (plan_.only_cuts() && !by_rows) {  // no tables are needed
    timer.next(slot_phase::decode);
    const rect& part = plan_.source;
    const decoded_picture got = decode(part, 1.0);
    timer.next(slot_phase::resize);
    return copy_pixels(got.pixels.view().part(part.x - got.left, part.y - got.top, part.width, part.height),
                       to);
  }
  resample_lease lease;
  resample_scratch& scratch = *lease;
  build_axes(plan_, 1.0, 0, 0, scratch);
  timer.next(slot_phase::decode);
  const decode_request wanted = request(scratch);
  if (by_rows) {
    decode_rows(wanted, scratch, to, timer);
  } else {
    decode_whole(wanted, scratch, to, timer);
  }
}

void planned_picture::decode_rows(const decode_request& wanted, resample_scratch& scratch,
                                  const picture_target& to, phase_timer& timer) const {
  decode_request with = wanted;
  with.notes = index_.get();
  row_resampler sink(plan_, scratch, to, &timer);
  info_.decoder->decode_rows(encoded_.span(), info_, with, sink);
  if (!sink.finished())
    throw error(std::string(info_.decoder->name) + " stopped before the last row; report it");
}

void planned_picture::decode_whole(const decode_request& wanted, resample_scratch& scratch,
                                   const picture_target& to, phase_timer& timer) const {
  const decoded_picture got = decode(wanted.wanted, wanted.scale);
  timer.next(slot_phase::resize);
  if (got.scale == 1.0) return resample(got.pixels.view(), got.left, got.top, scratch, to);
  build_axes(plan_, got.scale, got.left, got.top, scratch);
  resample(got.pixels.view(), 0, 0, scratch, to);
}

decoded_picture planned_picture::decode(const rect& part, double scale) const {
  decoded_picture got = info_.decoder->decode(encoded_.span(), info_, {part, scale, channels_, as_.indexes});
  const image& p = got.pixels;
  const auto covers = [&](int from, int size, int start, int extent) {
    return start <= from && start + extent / got.scale > from + size - 0.5;
  };
  if (p.channels() != channels_ || got.scale < scale || !covers(part.x, part.width, got.left, p.width()) ||
      !covers(part.y, part.height, got.top, p.height())) {
    throw error(std::string(info_.decoder->name) +
                " gave less of the picture than it was asked for; report it to the codec's author");
  }
  return got;
}

wide_rows planned_picture::render_wide() const {
  phase_timer timer(slot_phase::resize);
  resample_lease lease;
  resample_scratch& scratch = *lease;
  build_axes(plan_, 1.0, 0, 0, scratch);
  if (encoded_.empty()) return resample_wide(wide(), scratch);
  timer.next(slot_phase::decode);
  const int low = scratch.rows.low(), high = scratch.rows.high();
  const wide_rows got = as_decode(info_, [&] {
    return info_.decoder->decode_wide(encoded_.span(), info_,
                                      {{0, low, static_cast<int>(info_.width), high - low}, 1.0, channels_});
  });
  if (got.channels != channels_ || got.width != info_.width || got.top > low || got.top + got.height < high) {
    throw error(std::string(info_.decoder->name) +
                " gave less of the picture than it was asked for; report it to the codec's author");
  }
  timer.next(slot_phase::resize);
  return resample_wide(got, scratch);
}

image planned_picture::render(level_map* rest) const {
  image out(width(), height(), channels_);
  render_to(picture_target::interleaved(out.data(), width(), height(), channels_),
            out_channels_ == channels_ ? rest : nullptr);
  if (out_channels_ == channels_) return out;
  image changed(width(), height(), out_channels_);  // gray: copies the first channel to every color channel
  for (int y = 0; y < height(); ++y) {
    const std::uint8_t* in = out.row(y);
    std::uint8_t* to = changed.row(y);
    for (int x = 0; x < width(); ++x, in += channels_) {
      for (int c = 0; c < out_channels_; ++c) *to++ = in[0];
    }
  }
  return changed;
}

}  // namespace wick::detail
