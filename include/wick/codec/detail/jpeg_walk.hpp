// Walks over the MCUs of a baseline JPEG's scan, and skips as many as it can.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <wick/codec/detail/jpeg_place.hpp>
#include <wick/codec/detail/jpeg_scan.hpp>

namespace wick::inline v0_1::detail {

/// Visits the MCUs of a scan in order. On the way, it notes the places of each row's first MCU, of every
/// eighth MCU after it, and of the end. Given the places of an earlier walk, it only counts unwanted MCUs
/// before the last place, and jumps to the nearest place when an MCU is wanted.
///
/// It notes places without gaps, from the start, and only after readable MCUs, so nothing before the last
/// place is damaged. After a jump, it must arrive exactly at the next place, which is at most a row away. So
/// it never jumps to the last place, or to one with a restart marker before the next place.
class jpeg_walk {
 public:
  enum class outcome : std::uint8_t {
    good,
    unreadable,  ///< see jpeg_scan::next()
    misplaced,   ///< a place from the index is wrong
  };
  static constexpr std::size_t stride = 8;             // MCUs between places
  static constexpr std::size_t most_places = 1 << 16;  // per image; an image with more isn't indexed

  /// See jpeg_scan::begin(); `columns` and `rows` are in MCUs.
  void begin(std::span<const std::uint8_t> data, std::span<const jpeg_scan::block> blocks,
             unsigned restart_interval, std::size_t columns, std::size_t rows) noexcept {
    scan_.begin(data, blocks, restart_interval);
    columns_ = columns;
    interval_ = restart_interval;
    each_row_ = (columns + stride - 1) / stride;
    total_ =
        data.size() < jpeg_scan::most_bytes && rows <= most_places / each_row_ ? each_row_ * rows + 1 : 0;
    asked_ = walked_ = known_ = column_ = walked_column_ = 0;
    places_.clear();
    notes_ = false;
  }
  /// The number of places in the scan; 0: none can be noted.
  std::size_t total() const noexcept { return total_; }
  /// Call before the first MCU. Notes places, and uses those of an earlier walk. False: they belong to
  /// another scan.
  /// \param known  appends the known places to the vector it's called with
  template <class Known>
  bool use(Known&& known) {
    places_.clear();
    places_.reserve(total_);  // so that next() doesn't allocate
    known(places_);
    if (places_.size() > total_) return false;
    notes_ = true;
    if (places_.empty()) places_.push_back(scan_.here());
    const std::size_t last = places_.size() - 1;
    known_ = mcu_at(last);
    return places_[0] == scan_.here();
  }
  /// All places known so far.
  std::span<const jpeg_place> places() const noexcept { return {places_.data(), places_.size()}; }

  /// The next MCU, as in jpeg_scan::next(). The walk is over after any outcome but good.
  outcome next(std::int16_t (*const* to)[64]) noexcept {
    if (!notes_) return scan_.next(to) ? outcome::good : outcome::unreadable;
    if (const outcome o = go_to_asked(); o != outcome::good) return o;
    if (const outcome o = step(to); o != outcome::good) return o;
    ++asked_;
    if (++column_ == columns_) column_ = 0;
    return outcome::good;
  }
  /// Skips the next `mcus`, all of them unwanted.
  outcome skip(std::size_t mcus) noexcept {
    while (mcus != 0) {
      std::size_t some = 1;
      if (may_count()) {
        some = std::min(mcus, known_ - asked_);
        asked_ += some;
        column_ = (column_ + some) % columns_;
      } else if (const outcome o = next(nullptr); o != outcome::good) {
        return o;
      }
      mcus -= some;
    }
    return outcome::good;
  }

 private:
  /// Whether to pass an unwanted MCU without reading it: there is a place after it, and the walk isn't
  /// between two places.
  bool may_count() const noexcept {
    return asked_ < known_ && (walked_ != asked_ || walked_column_ % stride == 0);
  }
  std::size_t mcu_at(std::size_t place) const noexcept {
    return place / each_row_ * columns_ + place % each_row_ * stride;
  }
  /// Whether a restart marker comes before the next place. It resynchronizes the walk, which would then
  /// arrive at the next place even from a wrong one.
  bool restarts_behind(std::size_t place) const noexcept {
    return interval_ != 0 && (mcu_at(place + 1) - 1) / interval_ > mcu_at(place) / interval_;
  }
  outcome go_to_asked() noexcept {
    if (walked_ == asked_) return outcome::good;
    std::size_t nearest = std::min(asked_ / columns_ * each_row_ + column_ / stride,
                                   std::max<std::size_t>(places_.size(), 2) - 2);
    while (mcu_at(nearest) > walked_ && restarts_behind(nearest)) --nearest;
    if (const std::size_t mcu = mcu_at(nearest); mcu > walked_) {
      if (!scan_.go_to(places_[nearest], mcu)) return outcome::misplaced;
      walked_ = mcu;
      walked_column_ = nearest % each_row_ * stride;
    }
    while (walked_ < asked_) {
      if (const outcome o = step(nullptr); o != outcome::good) return o;
    }
    return outcome::good;
  }
  outcome step(std::int16_t (*const* to)[64]) noexcept {
    if (!scan_.next(to)) return walked_ < known_ ? outcome::misplaced : outcome::unreadable;
    ++walked_;
    if (++walked_column_ == columns_) walked_column_ = 0;
    return walked_column_ % stride == 0 ? arrive() : outcome::good;
  }
  outcome arrive() noexcept {
    const std::size_t place = walked_ / columns_ * each_row_ + walked_column_ / stride;
    if (place < places_.size()) {
      return scan_.here() == places_[place] ? outcome::good : outcome::misplaced;
    }
    if (place < total_) {
      places_.push_back(scan_.here());
      known_ = walked_;
    }
    return outcome::good;
  }

  jpeg_scan scan_;
  std::vector<jpeg_place> places_;
  std::size_t columns_ = 1, each_row_ = 1, total_ = 0;  // MCUs; places in a row and in all
  std::size_t interval_ = 0;                            // MCUs between restart markers
  std::size_t asked_ = 0, column_ = 0;                  // the next MCU
  std::size_t walked_ = 0, walked_column_ = 0;          // the MCU that scan_ is at
  std::size_t known_ = 0;                               // the MCU at the last place
  bool notes_ = false;
};

}  // namespace wick::detail
