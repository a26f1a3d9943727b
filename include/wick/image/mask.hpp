// A mask: a number for each pixel of an image (its class), never blended; and decode_mask(), which makes
// one from bytes.
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

/// Applies a geometry step of the image to the mask. Pixels are copied, not blended: the pixel that torch's
/// `nearest` takes (under the upper left corner), or the one under the center if the image's resize is
/// `nearest`, too.
void follow(mask& of, const geometry_step& step, frame in);

}  // namespace detail

/// Class numbers, one a pixel; use wick::depth for distances. In a sample, the mask follows the image's
/// crops, resizes, flips, and pads; color stages don't change it. It is decoded when its slot in the batch is
/// known, and batches as [H, W] of uint8 or int32: `.to(torch::kLong)` on the device converts it for
/// cross_entropy.
class mask {
 public:
  mask() noexcept = default;
  /// Existing numbers. \throws wick::error unless there is one channel
  mask(image numbers);  // NOLINT: implicit on purpose
  /// For decode_mask().
  explicit mask(lazy_image numbers) noexcept : numbers_(std::move(numbers)) {}

  /// The size after all planned operations.
  int width() const noexcept { return numbers_.width(); }
  int height() const noexcept { return numbers_.height(); }
  bool empty() const noexcept { return numbers_.empty(); }
  /// The numbers, in one channel. \throws wick::error for damaged data, or for 16-bit numbers, which an image
  /// can't hold
  image pixels() const;
  /// A pipeline that ends without batch(), and group(), deliver it decoded.
  using materialized_type = mask;
  mask materialize() &&;
  void carry_out();
  /// Returns a mask that shares the pixels; they aren't copied. \throws wick::error before carry_out()
  mask share() { return mask(numbers_.share()); }
  std::size_t kept_bytes() const noexcept { return numbers_.kept_bytes(); }
  /// For a cache on disk. \throws wick::error before carry_out()
  void save(ext::cache_writer& out) const { numbers_.save(out); }
  static mask load(ext::cache_reader& in) { return mask(lazy_image::load(in)); }
  static constexpr std::string_view saved_as = "mask 1";
  /// A copy, decoded or not.
  mask clone() const { return mask(numbers_.clone()); }

  /// [H, W].
  wick::shape extents() const { return {height(), width()}; }
  dtype type() const noexcept { return numbers_.type(); }
  /// Decodes the needed part, straight into the slot. \throws wick::error for damaged data
  void write_to(ext::slot to) const;

 private:
  friend void detail::follow(mask& of, const detail::geometry_step& step, detail::frame in);

  lazy_image numbers_;
};

/// Options of decode_mask().
struct decode_mask_options {
  /// uint8, or int32, which also accepts 16-bit PNGs, unscaled.
  dtype type = dtype::uint8;
  std::int64_t max_pixels = 178'956'970;  ///< more in a header is an error before memory is allocated
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

/// Bytes → mask: the stored numbers of a PNG or GIF with a palette, or the unscaled levels of a gray PNG, up
/// to 16 bits with `.type = wick::dtype::int32`. decode_mask() takes the first part of the sample that is
/// still bytes: after decode(), the mask. \throws wick::error when the bytes aren't such an image
detail::decode_mask_stage decode_mask(const decode_mask_options& options = {});

}  // namespace wick
