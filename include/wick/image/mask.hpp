/// \file
/// A mask: a number for each pixel of a picture (its class), which is never blended; and
/// decode_mask(), which makes one of bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <wick/ext/cache_bytes.hpp>
#include <wick/ext/stage.hpp>
#include <wick/image/decode.hpp>
#include <wick/image/detail/steps.hpp>
#include <wick/image/lazy_image.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/sample.hpp>
#include <wick/pipeline/shape.hpp>
#include <wick/pixels/image.hpp>

namespace wick::inline v0_1 {

class mask;

namespace detail {

/// Does what a stage of geometry did to the picture. Pixels are taken as they are: the one that torch's
/// `nearest` takes (under the upper left corner), that under the center where the resize of the picture is
/// `nearest`, too.
void follow(mask& of, const geometry_step& step, frame in);

}  // namespace detail

/// Numbers of classes, one a pixel; distances are a wick::depth. In a sample it goes along with the picture's
/// crops, resizes, flips and pads; colors leave it alone. It is decoded when its slot in the batch is known,
/// and batches as [H, W], of uint8 or int32: `.to(torch::kLong)` on the device makes of it what cross_entropy
/// takes.
class mask {
 public:
  mask() noexcept = default;
  /// Numbers that exist already. \throws wick::error unless there is one channel
  mask(image numbers);  // NOLINT: implicit on purpose
  /// For decode_mask().
  explicit mask(lazy_image numbers) noexcept : numbers_(std::move(numbers)) {}

  /// As it comes out.
  int width() const noexcept { return numbers_.width(); }
  int height() const noexcept { return numbers_.height(); }
  bool empty() const noexcept { return numbers_.empty(); }
  /// The numbers, in one channel. \throws wick::error for damaged data, or for numbers of 16 bits, which have
  /// no place in an image
  image pixels() const;
  /// A pipeline that ends without batch(), and group(), give it decoded.
  using materialized_type = mask;
  mask materialize() &&;
  void carry_out();
  /// Another one, with the same pixels, which are not copied. \throws wick::error before carry_out()
  mask share() { return mask(numbers_.share()); }
  std::size_t kept_bytes() const noexcept { return numbers_.kept_bytes(); }
  /// For a cache on disk. \throws wick::error before carry_out()
  void save(cache_writer& out) const { numbers_.save(out); }
  static mask load(cache_reader& in) { return mask(lazy_image::load(in)); }
  static constexpr std::string_view saved_as = "mask 1";
  /// Another one, decoded or not.
  mask clone() const { return mask(numbers_.clone()); }

  /// [H, W].
  wick::shape extents() const { return {height(), width()}; }
  dtype type() const noexcept { return numbers_.type(); }
  /// Decodes what is needed, straight into the slot. \throws wick::error for damaged data
  void write_to(slot to) const;

 private:
  friend void detail::follow(mask& of, const detail::geometry_step& step, detail::frame in);

  lazy_image numbers_;
};

/// Options of decode_mask().
struct decode_mask_options {
  /// uint8, or int32: then a PNG of 16 bits is taken as well, as it is.
  dtype type = dtype::uint8;
  std::int64_t max_pixels = 178'956'970;  ///< more in a header is an error before memory is taken
};

namespace detail {

class decode_mask_stage {
 public:
  static constexpr stage_traits traits{
      .name = "decode_mask", .has_fingerprint = true, .has_note = true, .in_slot = slot_phase::decode};

  explicit decode_mask_stage(const decode_mask_options& options);
  mask operator()(bytes encoded, context& c) const;
  template <class Item>
    requires holds_behind<still_bytes, Item>
  auto operator()(Item item, context& c) const {
    return with_first<still_bytes>(std::move(item),
                                   [&](bytes encoded) { return (*this)(std::move(encoded), c); });
  }
  std::uint64_t fingerprint() const noexcept { return numbers_.fingerprint(); }
  std::string note() const { return numbers_.note(); }

 private:
  decode_stage numbers_;
};

}  // namespace detail

/// Bytes → mask: the numbers that a PNG or GIF with a palette stores, or the levels of a gray PNG, as they
/// are, of 16 bits with `.type = wick::dtype::int32`. It takes the first part of the sample that is still
/// bytes: after decode() that of the mask. \throws wick::error when the bytes aren't such a picture
detail::decode_mask_stage decode_mask(const decode_mask_options& options = {});

}  // namespace wick
