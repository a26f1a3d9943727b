// Implements the parts of image/detail/planned_picture.hpp that take, copy, and replace an image's pixels.
// Included in exactly one file of a program.
#pragma once

#include <string>

#include <wick/image/detail/planned_picture.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

image planned_picture::pixels() const& {
  refuse_normalized("pixels as wick::image");
  refuse_wide("pixels as wick::image");
  return render();
}

image planned_picture::pixels() && {
  refuse_normalized("pixels as wick::image");
  refuse_wide("pixels as wick::image");
  if (untouched()) return shared_ ? image(shared_->levels) : std::move(decoded_);
  image out = render();
  encoded_ = {};  // no longer needed
  return out;
}

std::vector<std::uint16_t> planned_picture::wide_levels() const {
  if (!as_.wide) throw error("levels of 16 bits of an image that has 8; take pixels()");
  return render_wide().levels;
}

image planned_picture::materialize() && {
  if (type() != dtype::uint8) {
    throw error("a wick::image has 8 bits a channel, and the picture is " + std::string(to_string(type())) +
                " by decode(), to_float() or normalize(), which goes with batch() alone; write these after "
                "the last stage that takes a wick::image, and make a field of a struct a wick::lazy_image");
  }
  return std::move(*this).pixels();
}

void planned_picture::replace_pixels(image pixels) {
  const pixel_numbers as = as_;
  *this = planned_picture(std::move(pixels));
  as_ = as;
}

planned_picture planned_picture::share() {
  if (!encoded_.empty()) throw error("a picture that is not decoded yet is shared; call carry_out() before");
  if (!shared_) {
    shared_ = std::make_shared<const shared_pixels>(shared_pixels{std::move(decoded_), std::move(wide_)});
  }
  return clone();
}

planned_picture planned_picture::clone() const {
  planned_picture out;
  out.encoded_ = bytes(encoded_.data(), encoded_.size());
  out.decoded_ = decoded_;
  out.wide_ = wide_;
  out.shared_ = shared_;
  out.info_ = info_;
  out.index_ = index_;
  out.exact_ = exact_;
  out.as_ = as_;
  out.channels_ = channels_;
  out.out_channels_ = out_channels_;
  out.plan_ = plan_;
  out.ops_ = ops_;
  out.op_count_ = op_count_;
  out.pointwise_ = pointwise_;
  out.normal_ = normal_;
  out.erased_ = erased_;
  return out;
}

std::size_t planned_picture::kept_bytes() const noexcept {
  return encoded_.size() + decoded().pixels().size() + wide().levels.size() * sizeof(std::uint16_t);
}

void planned_picture::save(cache_writer& out) const {
  if (!untouched()) throw error("a picture that is not decoded yet is saved; call carry_out() before");
  refuse_normalized("a cache on disk");
  for (const auto n : {static_cast<std::uint8_t>(as_.type), std::uint8_t{as_.wide},
                       static_cast<std::uint8_t>((as_.indexes ? 1 : 0) | (as_.color ? 0 : 2))})
    out.number(n);
  if (as_.wide) {
    out.number(kept_extents{wide().width, wide().height, wide().channels});
    return out.put(wide().levels.data(), wide().levels.size() * sizeof(std::uint16_t));
  }
  out.number(kept_extents{decoded().width(), decoded().height(), decoded().channels()});
  out.put(decoded().data(), decoded().pixels().size());
}

planned_picture planned_picture::load(cache_reader& in) {
  const auto type = in.number<std::uint8_t>(), wide = in.number<std::uint8_t>(),
             how = in.number<std::uint8_t>();
  const pixel_numbers as{static_cast<dtype>(type), wide != 0, (how & 1) != 0, (how & 2) == 0};
  const auto size = kept_extents::of(in, as.wide ? sizeof(std::uint16_t) : 1);
  planned_picture out;
  if (as.wide) {
    wide_rows rows(size.width, size.height, size.channels, 0);
    in.take(rows.levels.data(), rows.levels.size() * sizeof(std::uint16_t));
    out = planned_picture(std::move(rows), as);
  } else {
    image pixels(size.width, size.height, size.channels);
    in.take(pixels.data(), pixels.pixels().size());
    out = planned_picture(std::move(pixels));
  }
  out.as_ = as;
  return out;
}

void planned_picture::carry_out() {
  if (untouched()) return;
  if (as_.wide) {
    hold(render_wide());
    encoded_ = {};
    return;
  }
  hold(render());
  encoded_ = {};
  op_count_ = 0;
  pointwise_ = true;
  channels_ = out_channels_;
}

void planned_picture::hold(image pixels) noexcept {
  decoded_ = std::move(pixels);
  shared_.reset();
  plan_ = plan::whole(decoded_.width(), decoded_.height());
}

void planned_picture::hold(wide_rows rows) noexcept {
  wide_ = std::move(rows);
  shared_.reset();
  plan_ = plan::whole(wide_.width, wide_.height);
}

}  // namespace wick::detail
