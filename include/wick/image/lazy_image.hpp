// An image that isn't decoded yet: decode() makes it, and the image stages pass it on.
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

namespace wick::inline v0_1::ext {

/// Set this for a type that has no parts and that geometry and color stages can't look into:
/// `template <> inline constexpr bool wick::ext::has_no_parts<my_record> = true;`.
template <class T>
inline constexpr bool has_no_parts = false;

}  // namespace wick::ext

namespace wick::inline v0_1 {

/// An image that isn't decoded yet, or pixels, and the operations that earlier stages have planned for it.
/// Decoding, geometry, and colors are done in one pass when its slot in the batch is known. Your stage may
/// take one and return it; a stage that takes a wick::image gets the pixels.
class lazy_image : public detail::planned_picture {
 public:
  static constexpr bool is_picture = true;

  using detail::planned_picture::planned_picture;
  lazy_image() noexcept = default;
  /// Existing pixels: an image that a user's stage returns continues through the image stages.
  lazy_image(image pixels) noexcept : planned_picture(std::move(pixels)) {}  // NOLINT: implicit on purpose

  /// The size after all planned operations.
  int width() const noexcept { return planned_picture::width(); }
  int height() const noexcept { return planned_picture::height(); }
  int channels() const noexcept { return planned_picture::channels(); }
  bool empty() const noexcept { return planned_picture::empty(); }
  /// [H, W, C].
  wick::shape extents() const { return planned_picture::extents(); }
  dtype type() const noexcept { return planned_picture::type(); }

  /// Decodes, and applies all planned operations. \throws wick::error for damaged data, or when the image
  /// is normalized or has 16 bits: an image can hold neither
  image pixels() const& { return planned_picture::pixels(); }
  image pixels() && { return static_cast<planned_picture&&>(*this).pixels(); }
  /// The same for 16 bits, row by row. \throws wick::error also when the image has 8
  std::vector<std::uint16_t> wide_levels() const { return planned_picture::wide_levels(); }
  /// A pipeline that ends without batch(), and group(), deliver this type instead.
  using materialized_type = image;
  image materialize() && { return static_cast<planned_picture&&>(*this).materialize(); }
  /// Lets a user's stage take a wick::image.
  operator image() && { return std::move(*this).materialize(); }
  /// Carries out the planned operations now. \throws wick::error for damaged data
  void carry_out() { planned_picture::carry_out(); }
  /// Returns an image that shares these pixels; they aren't copied. \throws wick::error when there are none
  /// before carry_out()
  lazy_image share() { return planned_picture::share(); }
  /// Returns a copy of the image, decoded or not. Everything that share() hasn't made shared is copied.
  lazy_image clone() const { return planned_picture::clone(); }
  /// Decodes the needed part, and resizes, mirrors, and colors it straight into the slot. \throws wick::error
  /// for damaged data
  void write_to(ext::slot to) const { planned_picture::write_to(to); }

  /// For a cache on disk.
  static lazy_image load(ext::cache_reader& in) { return planned_picture::load(in); }
  static constexpr std::string_view saved_as = "pixels 1";

 private:
  lazy_image(planned_picture&& of) noexcept : planned_picture(std::move(of)) {}
};

}  // namespace wick
