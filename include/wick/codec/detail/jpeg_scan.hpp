/// \file
/// The entropy-coded pixels of a baseline JPEG, MCU by MCU. ITU-T T.81, annex F.2.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <wick/codec/detail/jpeg_huffman.hpp>
#include <wick/codec/detail/jpeg_place.hpp>

namespace wick::inline v0_1::detail {

/// The one scan of a baseline JPEG, MCU by MCU.
class jpeg_scan {
 public:
  struct block {
    const jpeg_huffman* dc;
    jpeg_huffman* ac;
    unsigned component;
    bool coefficients;  // whether those after the first are wanted
  };
  static constexpr std::size_t most_blocks = 10;  // of an MCU

  /// From the first byte after the scan's header. `restart_interval` MCUs are between two restart markers, 0:
  /// none.
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

  /// The next MCU: block i into `*to[i]`, which must be zeros; without `to` it is stepped over. False at
  /// anything that is not as the standard has it, and near the end of data that no marker ends, with what is
  /// in `*to[i]` unspecified; then there is no next one.
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

  /// In front of the next MCU; of data of less than most_bytes.
  jpeg_place here() const noexcept {
    const std::uint8_t* at = in_.at;
    int bits = in_.count - in_.made_up;  // read in advance
    for (; bits > 0; bits -= 8) at -= at - start_ >= 2 && at[-1] == 0 && at[-2] == 0xFF ? 2 : 1;
    jpeg_place place{static_cast<std::uint32_t>((at - start_) * 8 - bits), {}};
    for (std::size_t c = 0; c < last_dc_.size(); ++c)
      place.last_dc[c] = static_cast<std::uint16_t>(last_dc_[c]);
    return place;
  }
  /// To where MCU number `mcu` begins. False when it is after the data.
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
  static constexpr std::size_t most_bytes = std::size_t{1} << 29;  // whose bits have numbers of 32 bits

 private:
  /// A picture that is wanted whole never needs it.
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
  bool steps_over_ = false;  // the tables can
  std::array<std::uint32_t, 4> last_dc_{};
  unsigned interval_ = 0, to_restart_ = 0, restart_ = 0;
};

}  // namespace wick::detail
