/// \file
/// A picture that is not decoded yet, with all that is to be done to it; carried out in one pass when its
/// slot in the batch is known. What decode() makes and the picture stages pass on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include <wick/codec/codec.hpp>
#include <wick/observe/phases.hpp>
#include <wick/pixels/geometry.hpp>
#include <wick/pixels/image.hpp>
#include <wick/pixels/pixel_ops.hpp>
#include <wick/resample/detail/wide_resample.hpp>
#include <wick/resample/resample.hpp>
#include <wick/sample/error.hpp>
#include <wick/sample/sample.hpp>
#include <wick/sample/shape.hpp>

namespace wick {

namespace detail {

/// In what numbers a picture comes out.
struct pixel_numbers {
  dtype type = dtype::uint8;  ///< int32: levels as they are; float32: in [0, 1]
  bool wide = false;          ///< levels of 16 bits, which the decoder must have
  bool indexes = false;       ///< numbers of colors or classes, which have no levels between them
};

}  // namespace detail

/// Encoded bytes (or pixels), a geometry plan, and color operations after it. Whatever order the members are
/// called in, the pixels are those of doing each at once: what does not commute is carried out first.
class lazy_image {
 public:
  static constexpr bool is_picture = true;

  lazy_image() noexcept = default;
  /// An encoded picture whose header was read; it will come out with `channels` channels. When it
  /// is `exact`, the decoder may not deliver it smaller than it is.
  lazy_image(bytes encoded, const picture_info& info, int channels, bool exact = false,
             const detail::pixel_numbers& as = {}) noexcept
      : encoded_(std::move(encoded)),
        info_(info),
        exact_(exact),
        as_(as),
        channels_(channels),
        out_channels_(channels),
        plan_(detail::plan::whole(static_cast<int>(info.width), static_cast<int>(info.height))) {}
  /// Pixels that exist already: what a user's stage returns flows on through the picture stages.
  lazy_image(image pixels) noexcept  // NOLINT: implicit on purpose
      : decoded_(std::move(pixels)),
        channels_(decoded_.channels()),
        out_channels_(channels_),
        plan_(detail::plan::whole(decoded_.width(), decoded_.height())) {}

  /// As it will come out.
  int width() const noexcept { return plan_.output_width(); }
  int height() const noexcept { return plan_.output_height(); }
  int channels() const noexcept { return out_channels_; }
  bool empty() const noexcept { return width() == 0; }
  const detail::plan& geometry() const noexcept { return plan_; }
  bool normalized() const noexcept { return normal_.count != 0; }

  /// Cuts `part` out. \throws wick::error when it is not inside the picture
  void crop(const detail::rect& part) {
    if (!pointwise_) carry_out();
    detail::compose_crop(plan_, part);
  }
  /// \throws wick::error when a side is less than 1, or when numbers of classes would be blended
  void resize(int width, int height, interpolation filter = interpolation::bilinear) {
    if (as_.indexes && filter != interpolation::nearest &&
        (width != this->width() || height != this->height())) {
      throw error(
          "a resize that blends would make numbers of classes which the mask does not have; give it "
          ".interpolation = wick::interpolation::nearest");
    }
    if (op_count_ != 0 && (width != this->width() || height != this->height())) carry_out();
    if (detail::compose_resize(plan_, width, height, filter)) return;
    carry_out();
    detail::compose_resize(plan_, width, height, filter);
  }
  void mirror_x() noexcept { detail::compose_mirror_x(plan_); }
  void mirror_y() noexcept { detail::compose_mirror_y(plan_); }

  /// Adds a color operation. \throws wick::error after normalize
  void apply(const detail::pixel_op& op) {
    refuse_normalized("color operations");
    refuse_numbers("color operations");
    if (op_count_ == ops_.size() || out_channels_ != channels_) carry_out();
    ops_[op_count_++] = op;
    pointwise_ = pointwise_ && op.pointwise();
  }
  /// Gray, as `channels` (1 or 3) equal channels. \throws wick::error after normalize
  void make_gray(int channels) {
    refuse_numbers("grayscale");
    if (out_channels_ >= 3) apply({detail::pixel_op::kind::gray});
    out_channels_ = channels;
  }
  /// The picture comes out as float32, (x / 255 - mean) / deviation. Color operations must come before.
  /// \throws wick::error when that was said already
  void normalize(const detail::normalization& by) {
    refuse_normalized("a second normalize");
    if (as_.indexes || as_.type == dtype::int32) {
      throw error("normalize gives float32, and the picture is to be " + std::string(to_string(as_.type)) +
                  (as_.indexes
                       ? " numbers of classes; leave normalize out"
                       : "; write wick::decode({.type = wick::dtype::float32}), or leave normalize out"));
    }
    normal_ = by;
  }

  /// Decodes and does all that was asked for. \throws wick::error for damaged data, or when normalized or of
  /// 16 bits: neither has a place in an image
  image pixels() const& {
    refuse_normalized("pixels as wick::image");
    refuse_wide("pixels as wick::image");
    return render();
  }
  image pixels() && {
    refuse_normalized("pixels as wick::image");
    refuse_wide("pixels as wick::image");
    if (untouched()) return std::move(decoded_);
    image out = render();
    encoded_ = {};  // not needed any more
    return out;
  }
  /// What this stands for: a pipeline that ends without batch(), and group(), give that.
  using materialized_type = image;
  image materialize() && {
    if (as_.type != dtype::uint8) {
      throw error("a wick::image has 8 bits a channel, and decode() was asked for " +
                  std::string(to_string(as_.type)) +
                  ": that goes with batch() alone; leave .type out, or write batch()");
    }
    return std::move(*this).pixels();
  }
  /// So that a user's stage may simply take a wick::image.
  operator image() && { return std::move(*this).materialize(); }
  /// Other pixels in place of these, which come out in the same numbers.
  void replace_pixels(image pixels) {
    const detail::pixel_numbers as = as_;
    *this = lazy_image(std::move(pixels));
    as_ = as;
  }

  /// [H, W, C].
  wick::shape extents() const { return {height(), width(), channels()}; }
  dtype type() const noexcept { return normalized() ? dtype::float32 : as_.type; }
  /// Decodes what is needed, resizes, mirrors and colors it straight into the slot. \throws wick::error for
  /// damaged data
  void write_to(slot to) const {
    if (as_.wide) {
      const detail::wide_rows out = render_wide();
      detail::write_numbers(out.levels.data(), out.levels.size() / static_cast<std::size_t>(channels_),
                            channels_, 65535.0f, type(), normal_, to);
    } else if (as_.type != dtype::uint8 && !normalized()) {
      const image out = render();
      detail::write_numbers(out.data(), out.pixels().size() / static_cast<std::size_t>(out.channels()),
                            out.channels(), 255.0f, type(), normal_, to);
    } else if (normalized()) {
      detail::write_normalized(render(), normal_, to.data, to.planar);
    } else if (out_channels_ != channels_) {
      render().write_to(to);
    } else {
      render_to(to.planar ? detail::picture_target::planar(to.data, width(), height(), channels())
                          : detail::picture_target::interleaved(to.data, width(), height(), channels()));
    }
  }

 private:
  bool untouched() const noexcept {
    return encoded_.empty() && op_count_ == 0 && out_channels_ == channels_ &&
           plan_ == detail::plan::whole(decoded_.width(), decoded_.height());
  }
  void refuse_wide(const char* what) const {
    if (as_.wide) {
      throw error(std::string(what) +
                  " of a picture of 16 bits a channel, which goes with crop, resize, flip and batch() "
                  "alone; write wick::decode({.reduce_16_bits = true}) and no .type for 8 bits");
    }
  }
  void refuse_numbers(const char* what) const {
    refuse_wide(what);
    if (as_.indexes)
      throw error(std::string(what) +
                  " on numbers of classes, which are no levels; leave them out for masks");
  }
  void refuse_normalized(const char* what) const {
    if (normalized()) {
      throw error(std::string(what) +
                  " after normalize: the picture is float32 by then; make normalize the last picture stage");
    }
  }

  /// What is needed of the encoded picture, by the tables of the full size.
  decode_request request(const detail::resample_scratch& scratch) const noexcept {
    detail::rect part{scratch.columns.low(), scratch.rows.low(),
                      scratch.columns.high() - scratch.columns.low(),
                      scratch.rows.high() - scratch.rows.low()};
    double scale = std::max(static_cast<double>(plan_.width) / plan_.source.width,
                            static_cast<double>(plan_.height) / plan_.source.height);
    if (exact_ || scale > 1) scale = 1;
    if (scale < 1) {
      // The same filter over a smaller picture may reach one pixel of that further.
      const detail::rect& all = plan_.source;
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
  /// Geometry and color, in the channels the decoder gives.
  void render_to(const detail::picture_target& to) const {
    detail::phase_timer timer(detail::phase::resize);
    if (encoded_.empty()) {
      detail::resample(decoded_.view(), plan_, to);
    } else {
      try {
        decode_to(to, timer);
      } catch (const error& e) {  // what only decoding shows is still decode()'s
        throw detail::late_error("decode", e.what());
      }
    }
    if (op_count_ == 0) return;
    timer.next(detail::phase::color);
    for (std::size_t i = 0; i < op_count_; ++i) wick::detail::apply(ops_[i], to);
  }
  void decode_to(const detail::picture_target& to, detail::phase_timer& timer) const {
    const bool by_rows = info_.decoder->decode_rows != nullptr;
    if (plan_.only_cuts() && !by_rows) {  // no tables are needed
      timer.next(detail::phase::decode);
      const detail::rect& part = plan_.source;
      const decoded_picture got = decode(part, 1.0);
      timer.next(detail::phase::resize);
      return detail::copy_pixels(
          got.pixels.view().part(part.x - got.left, part.y - got.top, part.width, part.height), to);
    }
    detail::resample_lease lease;
    detail::resample_scratch& scratch = *lease;
    detail::build_axes(plan_, 1.0, 0, 0, scratch);
    timer.next(detail::phase::decode);
    const decode_request wanted = request(scratch);
    if (by_rows) {
      decode_rows(wanted, scratch, to, timer);
    } else {
      decode_whole(wanted, scratch, to, timer);
    }
  }
  void decode_rows(const decode_request& wanted, detail::resample_scratch& scratch,
                   const detail::picture_target& to, detail::phase_timer& timer) const {
    detail::row_resampler sink(plan_, scratch, to, &timer);
    info_.decoder->decode_rows(encoded_.span(), info_, wanted, sink);
    if (!sink.finished())
      throw error(std::string(info_.decoder->name) + " stopped before the last row; report it");
  }
  void decode_whole(const decode_request& wanted, detail::resample_scratch& scratch,
                    const detail::picture_target& to, detail::phase_timer& timer) const {
    const decoded_picture got = decode(wanted.wanted, wanted.scale);
    timer.next(detail::phase::resize);
    if (got.scale == 1.0) return detail::resample(got.pixels.view(), got.left, got.top, scratch, to);
    detail::build_axes(plan_, got.scale, got.left, got.top, scratch);
    detail::resample(got.pixels.view(), 0, 0, scratch, to);
  }
  decoded_picture decode(const detail::rect& part, double scale) const {
    decoded_picture got =
        info_.decoder->decode(encoded_.span(), info_, {part, scale, channels_, as_.indexes});
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
  /// The geometry of a picture of 16 bits.
  detail::wide_rows render_wide() const {
    detail::phase_timer timer(detail::phase::resize);
    detail::resample_lease lease;
    detail::resample_scratch& scratch = *lease;
    detail::build_axes(plan_, 1.0, 0, 0, scratch);
    if (encoded_.empty()) return detail::resample_wide(wide_, scratch);
    timer.next(detail::phase::decode);
    const int low = scratch.rows.low(), high = scratch.rows.high();
    detail::wide_rows got;
    try {
      got = info_.decoder->decode_wide(encoded_.span(), info_,
                                       {{0, low, static_cast<int>(info_.width), high - low}, 1.0, channels_});
    } catch (const error& e) {
      throw detail::late_error("decode", e.what());
    }
    if (got.channels != channels_ || got.width != info_.width || got.top > low ||
        got.top + got.height < high) {
      throw error(std::string(info_.decoder->name) +
                  " gave less of the picture than it was asked for; report it to the codec's author");
    }
    timer.next(detail::phase::resize);
    return detail::resample_wide(got, scratch);
  }
  /// All of it but the normalization.
  image render() const {
    image out(width(), height(), channels_);
    render_to(detail::picture_target::interleaved(out.data(), width(), height(), channels_));
    if (out_channels_ == channels_) return out;
    image changed(width(), height(), out_channels_);  // gray: every color channel is the first one
    for (int y = 0; y < height(); ++y) {
      const std::uint8_t* in = out.row(y);
      std::uint8_t* to = changed.row(y);
      for (int x = 0; x < width(); ++x, in += channels_) {
        for (int c = 0; c < out_channels_; ++c) *to++ = in[0];
      }
    }
    return changed;
  }
  void carry_out() {
    if (as_.wide) {
      wide_ = render_wide();
      encoded_ = {};
      plan_ = detail::plan::whole(wide_.width, wide_.height);
      return;
    }
    decoded_ = render();
    encoded_ = {};
    op_count_ = 0;
    pointwise_ = true;
    channels_ = out_channels_;
    plan_ = detail::plan::whole(decoded_.width(), decoded_.height());
  }

  bytes encoded_;  // empty when the pixels exist:
  image decoded_;
  detail::wide_rows wide_;  // in place of decoded_ when that is what they are
  picture_info info_;
  bool exact_ = false;
  detail::pixel_numbers as_;
  int channels_ = 0;      // while geometry and color are worked on
  int out_channels_ = 0;  // when all is done
  detail::plan plan_;
  std::array<detail::pixel_op, 6> ops_{};
  std::size_t op_count_ = 0;
  bool pointwise_ =
      true;  // all of them; a flag, since g++ 12 takes a look at the array after a move for one at nothing
  detail::normalization normal_;
};

}  // namespace wick
