// A depth map: a 16-bit distance for each pixel of an image, never blended; and decode_depth(), which makes
// one from bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wick/ext/cache_bytes.hpp>
#include <wick/ext/stage.hpp>
#include <wick/image/decode.hpp>
#include <wick/image/detail/first_part.hpp>
#include <wick/image/detail/steps.hpp>
#include <wick/image/lazy_image.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/sample.hpp>
#include <wick/pipeline/shape.hpp>

namespace wick::inline v0_1 {

class depth;

namespace detail {

/// Applies a geometry step of the image to the depth map.
void follow(depth& of, const geometry_step& step, frame in);

}  // namespace detail

/// 16-bit distances, one a pixel: 0 to 65535, where 0 is "not measured". In a sample, the depth map follows
/// the image's geometry, and color stages don't change it. Distances are never blended, since there is no
/// object at the mean distance of two others: resizes and rotations take the nearest. Borders are 0. The map
/// is decoded when its slot in the batch is known, and batches as [H, W] of int32.
class depth {
 public:
  depth() noexcept = default;
  /// Existing distances, row by row. \throws wick::error unless there are width · height of them
  depth(int width, int height, std::vector<std::uint16_t> distances);
  /// For decode_depth().
  explicit depth(lazy_image distances) noexcept : distances_(std::move(distances)) {}

  /// The size after all planned operations.
  int width() const noexcept { return distances_.width(); }
  int height() const noexcept { return distances_.height(); }
  bool empty() const noexcept { return distances_.empty(); }
  /// The distances, row by row. \throws wick::error for damaged data
  std::vector<std::uint16_t> distances() const;
  /// A pipeline that ends without batch(), and group(), deliver it decoded.
  using materialized_type = depth;
  depth materialize() &&;
  void carry_out();
  /// Returns a map that shares the distances; they aren't copied. \throws wick::error before carry_out()
  depth share() { return depth(distances_.share()); }
  std::size_t kept_bytes() const noexcept { return distances_.kept_bytes(); }
  /// For a cache on disk. \throws wick::error before carry_out()
  void save(ext::cache_writer& out) const { distances_.save(out); }
  static depth load(ext::cache_reader& in) { return depth(lazy_image::load(in)); }
  static constexpr std::string_view saved_as = "depth 1";
  /// A copy, decoded or not.
  depth clone() const { return depth(distances_.clone()); }

  /// [H, W].
  wick::shape extents() const { return {height(), width()}; }
  dtype type() const noexcept { return dtype::int32; }
  /// Decodes the needed part, straight into the slot. \throws wick::error for damaged data
  void write_to(ext::slot to) const;

 private:
  friend void detail::follow(depth& of, const detail::geometry_step& step, detail::frame in);

  lazy_image distances_;
};

/// Options of decode_depth().
struct decode_depth_options {
  std::int64_t max_pixels = 178'956'970;  ///< more in a header is an error before memory is allocated
};

namespace detail {

class decode_depth_stage {
 public:
  static constexpr stage_traits traits{
      .name = "decode_depth", .has_fingerprint = true, .has_note = true, .in_slot = slot_phase::decode};

  explicit decode_depth_stage(const decode_depth_options& options);
  depth operator()(bytes encoded, context& c) const;
  template <class Item>
    requires holds_behind<still_bytes, Item>
  auto operator()(Item item, context& c) const {
    return with_first<still_bytes>(std::move(item),
                                   [&](bytes encoded) { return (*this)(std::move(encoded), c); });
  }
  std::uint64_t fingerprint() const noexcept { return distances_.fingerprint(); }
  std::string note() const { return distances_.note(); }

 private:
  decode_stage distances_;
};

}  // namespace detail

/// Bytes → depth: a 16-bit gray PNG, as RGB-D cameras and KITTI, NYU, and ScanNet store it. decode_depth()
/// takes the first part of the sample that is still bytes: `zip(images, depths) | read() | decode() |
/// decode_depth()`. \throws wick::error for anything else, including an 8-bit PNG
detail::decode_depth_stage decode_depth(const decode_depth_options& options = {});

}  // namespace wick
