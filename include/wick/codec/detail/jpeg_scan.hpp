// Decodes the entropy-coded data of a baseline JPEG, MCU by MCU. ITU-T T.81, annex F.2.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <wick/codec/detail/jpeg_huffman.hpp>
#include <wick/codec/detail/jpeg_place.hpp>

namespace wick::inline v0_1::detail {

/// The only scan of a baseline JPEG.
class jpeg_scan {
 public:
  struct block {
    const jpeg_huffman* dc;
    jpeg_huffman* ac;
    unsigned component;
    bool coefficients;  // whether to keep the AC coefficients
  };
  static constexpr std::size_t most_blocks = 10;  // in an MCU

  /// Starts at the first byte after the scan's header. `restart_interval` is in MCUs; 0: no restart markers.
  void begin(std::span<const std::uint8_t> data, std::span<const block> blocks,
             unsigned restart_interval) noexcept {
    start_ = data.data();
    in_.begin(start_, start_ + data.size());
    blocks_ = std::min(blocks.size(), most_blocks);
    std::copy_n(blocks.begin(), blocks_, block_.begin());
    steps_over_ = false;
    last_dc_ = {};
    interval_ = to_restart_ = restart_interval;
    restart_ = 0;
  }

  /// Reads the next MCU: block i into `*to[i]`, which must be zeroed. Skips it if `to` is null. False for
  /// data that doesn't conform to the standard, and near the end of data without a final marker; then
  /// `*to[i]` is unspecified and the scan is over.
  bool next(std::int16_t (*const* to)[64]) noexcept {
    if (interval_ != 0 && to_restart_-- == 0 && !restart()) return false;
    jpeg_bits in = in_;
    for (std::size_t i = 0; i < blocks_; ++i) {
      const block& b = block_[i];
      in.refill();
      bool whole;
      const jpeg_huffman::symbol difference = b.dc->read(in, whole);
      if (difference.step == jpeg_huffman::bad) return false;
      last_dc_[b.component] += static_cast<std::uint32_t>(difference.value);
      if (to == nullptr || !b.coefficients) {
        if (to != nullptr) (*to[i])[0] = static_cast<std::int16_t>(last_dc_[b.component]);
        if (!steps_over_) [[unlikely]]
          prepare_steps();
        if (!b.ac->step_over(in)) return false;
      } else {
        std::int16_t* const out = *to[i];
        out[0] = static_cast<std::int16_t>(last_dc_[b.component]);
        if (!b.ac->read_block(in, out)) return false;
      }
    }
    in_ = in;
    return !in.overdrawn() && !in.near_end();
  }

  /// The place before the next MCU. Requires less than most_bytes of data.
  jpeg_place here() const noexcept {
    const std::uint8_t* at = in_.at;
    int bits = in_.count - in_.made_up;  // read in advance
    for (; bits > 0; bits -= 8) at -= at - start_ >= 2 && at[-1] == 0 && at[-2] == 0xFF ? 2 : 1;
    jpeg_place place{static_cast<std::uint32_t>((at - start_) * 8 - bits), {}};
    for (std::size_t c = 0; c < last_dc_.size(); ++c)
      place.last_dc[c] = static_cast<std::uint16_t>(last_dc_[c]);
    return place;
  }
  /// Moves to the start of MCU number `mcu`. False when it's past the end of the data.
  bool go_to(const jpeg_place& place, std::size_t mcu) noexcept {
    const std::size_t byte = place.bit / 8;
    if (byte > static_cast<std::size_t>(in_.end - start_)) return false;
    in_.begin(start_ + byte, in_.end);
    in_.refill();
    in_.drop(static_cast<int>(place.bit % 8));
    std::copy(place.last_dc.begin(), place.last_dc.end(), last_dc_.begin());
    if (interval_ == 0) return true;
    const auto since = static_cast<unsigned>(mcu % interval_);
    to_restart_ = since == 0 && mcu != 0 ? 0 : interval_ - since;
    restart_ = mcu == 0 ? 0 : static_cast<unsigned>((mcu - 1) / interval_ % 8);
    return true;
  }
  static constexpr std::size_t most_bytes = std::size_t{1} << 29;  // bit numbers must fit into 32 bits

 private:
  /// Not needed if the whole image is wanted.
  [[gnu::noinline]] void prepare_steps() noexcept {
    for (std::size_t i = 0; i < blocks_; ++i) block_[i].ac->prepare_steps();
    steps_over_ = true;
  }
  bool restart() noexcept {
    if (!in_.at_marker() || in_.end - in_.at < 2 || in_.at[1] != 0xD0 + restart_) return false;
    restart_ = (restart_ + 1) % 8;
    to_restart_ = interval_ - 1;
    last_dc_ = {};
    in_.begin(in_.at + 2, in_.end);
    return true;
  }

  jpeg_bits in_;
  const std::uint8_t* start_ = nullptr;
  std::array<block, most_blocks> block_{};
  std::size_t blocks_ = 0;
  bool steps_over_ = false;  // prepare_steps() ran
  std::array<std::uint32_t, 4> last_dc_{};
  unsigned interval_ = 0, to_restart_ = 0, restart_ = 0;
};

}  // namespace wick::detail
