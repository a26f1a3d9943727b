/// \file
/// A picture that is not decoded yet: what decode() makes and the picture stages pass on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <wick/ext/cache_bytes.hpp>
#include <wick/image/detail/planned_picture.hpp>
#include <wick/pipeline/sample.hpp>
#include <wick/pipeline/shape.hpp>
#include <wick/pixels/image.hpp>

namespace wick::inline v0_1 {

/// Where a stage of geometry or color is not to look for parts: in a type that has none, and that it can't
/// look into: `template <> inline constexpr bool wick::has_no_parts<my_record> = true;`.
template <class T>
inline constexpr bool has_no_parts = false;

/// A picture that is not decoded yet, or pixels, and what the stages before have planned for it: decoding,
/// geometry, and colors are done in one pass when its slot in the batch is known. A stage of yours may take
/// one and return it; one that takes a wick::image gets the pixels.
class lazy_image : public detail::planned_picture {
 public:
  static constexpr bool is_picture = true;

  using detail::planned_picture::planned_picture;
  lazy_image() noexcept = default;
  /// Pixels that exist already: what a user's stage returns flows on through the picture stages.
  lazy_image(image pixels) noexcept : planned_picture(std::move(pixels)) {}  // NOLINT: implicit on purpose

  /// As it comes out.
  int width() const noexcept { return planned_picture::width(); }
  int height() const noexcept { return planned_picture::height(); }
  int channels() const noexcept { return planned_picture::channels(); }
  bool empty() const noexcept { return planned_picture::empty(); }
  /// [H, W, C].
  wick::shape extents() const { return planned_picture::extents(); }
  dtype type() const noexcept { return planned_picture::type(); }

  /// Decodes and does all that was asked for. \throws wick::error for damaged data, or when normalized or of
  /// 16 bits: neither has a place in an image
  image pixels() const& { return planned_picture::pixels(); }
  image pixels() && { return static_cast<planned_picture&&>(*this).pixels(); }
  /// The same of 16 bits, row by row. \throws wick::error also when it has 8
  std::vector<std::uint16_t> wide_levels() const { return planned_picture::wide_levels(); }
  /// What this stands for: a pipeline that ends without batch(), and group(), give that.
  using materialized_type = image;
  image materialize() && { return static_cast<planned_picture&&>(*this).materialize(); }
  /// So that a user's stage may take a wick::image.
  operator image() && { return std::move(*this).materialize(); }
  /// Carries out the planned operations now. \throws wick::error for damaged data
  void carry_out() { planned_picture::carry_out(); }
  /// Another one, which has these pixels in common with this one: nothing of them is copied. \throws
  /// wick::error when there are none before carry_out()
  lazy_image share() { return planned_picture::share(); }
  /// Another one of the same picture, decoded or not. What share() has not made common is copied.
  lazy_image clone() const { return planned_picture::clone(); }
  /// Decodes what is needed, resizes, mirrors and colors it straight into the slot. \throws wick::error for
  /// damaged data
  void write_to(slot to) const { planned_picture::write_to(to); }

  /// For a cache on disk.
  static lazy_image load(cache_reader& in) { return planned_picture::load(in); }
  static constexpr std::string_view saved_as = "pixels 1";

 private:
  lazy_image(planned_picture&& of) noexcept : planned_picture(std::move(of)) {}
};

}  // namespace wick
