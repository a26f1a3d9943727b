/// \file
/// Where a decoder puts rows as they are finished, so that a picture that is only passed through is never
/// whole in memory: the seam between a codec and the resize.
#pragma once

#include <cstdint>
#include <span>

namespace wick::inline v0_1 {

/// What rows are going to come: a part of the picture, at full size or scaled.
struct decoded_rows {
  int width = 0, height = 0, channels = 0;
  int left = 0, top = 0;  ///< source pixel at which the part starts; times `scale` it is a whole number
  double scale = 1;       ///< delivered pixels a source pixel
};

/// Takes rows from top to bottom. One thread, from begin() to the last written(); it lives no longer than the
/// call that it was given to.
class row_sink {
 public:
  row_sink(const row_sink&) = delete;
  row_sink& operator=(const row_sink&) = delete;

  /// Called before the first row, and again where a decoder begins at the top again. \throws wick::error when
  /// `what` is not the requested part
  virtual void begin(const decoded_rows& what) = 0;
  /// Memory for the next rows, `width * channels` bytes each: at least one, or none when no more are needed.
  /// It stays good until written() says how many were filled.
  virtual std::span<std::uint8_t* const> room() = 0;
  /// The first `count` rows of room() are there.
  virtual void written(int count) = 0;

 protected:
  row_sink() = default;
  ~row_sink() = default;
};

}  // namespace wick
