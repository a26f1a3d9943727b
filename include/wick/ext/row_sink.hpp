// The seam between a codec and the resize: a decoder delivers rows as it finishes them, so that an image
// that only passes through is never whole in memory.
#pragma once

#include <cstdint>
#include <span>

namespace wick::inline v0_1::ext {

/// The rows that a decoder is about to deliver: a part of the image, at full size or scaled.
struct decoded_rows {
  int width = 0, height = 0, channels = 0;
  int left = 0, top = 0;  ///< source pixel at which the part starts; times `scale` it is a whole number
  double scale = 1;       ///< delivered pixels per source pixel
};

/// Takes rows from top to bottom. One thread uses it, from begin() to the last written(). It lives no longer
/// than the call that it is passed to.
class row_sink {
 public:
  row_sink(const row_sink&) = delete;
  row_sink& operator=(const row_sink&) = delete;

  /// Called before the first row, and again if a decoder restarts at the top. \throws wick::error if `what`
  /// isn't the requested part
  virtual void begin(const decoded_rows& what) = 0;
  /// Memory for the next rows, `width * channels` bytes each: at least one, or none if no more are needed. It
  /// stays valid until written() says how many were filled.
  virtual std::span<std::uint8_t* const> room() = 0;
  /// Says that the first `count` rows of room() are filled.
  virtual void written(int count) = 0;

 protected:
  row_sink() = default;
  ~row_sink() = default;
};

}  // namespace wick::ext

namespace wick::inline v0_1::detail {
using namespace ext;
}  // namespace wick::detail
