// Reads the bits of a JPEG's scan, and decodes Huffman codes. ITU-T T.81, annex F.2.
//
// It's fast because one table lookup gives one or two symbols with their values, bits are loaded eight bytes
// at a time unless an FF is near, and unwanted blocks are skipped two or more symbols at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace wick::inline v0_1::detail {

/// The bits of a scan, without the zero byte after each FF. Zeros after a marker or the end.
struct jpeg_bits {
  std::uint64_t next =
      0;  // from the top bit; the bits after the first `count` may hold the start of the byte at `at`
  int count = 0;
  int made_up = 0;  // zero bits from past the marker, after all others
  const std::uint8_t* at = nullptr;
  const std::uint8_t* ff = nullptr;  // the first FF at or after `at`, or the end
  const std::uint8_t* end = nullptr;

  void begin(const std::uint8_t* from, const std::uint8_t* to) noexcept {
    *this = {};
    at = from;
    end = to;
    ff = next_ff(from, to);
  }
  /// Ensures that at least 56 bits are available.
  [[gnu::always_inline]] void refill() noexcept {
    if (ff - at >= 8) [[likely]] {
      next |= big64(at) >> count;
      at += (63 - count) >> 3;
      count |= 56;
    } else {
      *this = refilled(*this);
    }
  }
  [[gnu::always_inline]] std::uint32_t peek(int bits) const noexcept {
    return static_cast<std::uint32_t>(next >> (64 - bits));
  }
  [[gnu::always_inline]] void drop(int bits) noexcept {
    next <<= bits;
    count -= bits;
  }
  bool overdrawn() const noexcept { return made_up > count; }
  /// Whether a reader that looks ahead may reach the end of data that has no marker.
  bool near_end() const noexcept { return ff - at < 16 && (end - ff < 2 || ff[1] == 0xFF); }
  /// Whether fewer than 8 bits, the last byte's padding, are left before the marker.
  bool at_marker() const noexcept { return at == ff && count - made_up < 8; }

 private:
  static std::uint64_t big64(const std::uint8_t* from) noexcept {
    std::uint8_t b[8];
    std::memcpy(b, from, 8);
    return std::uint64_t{b[0]} << 56 | std::uint64_t{b[1]} << 48 | std::uint64_t{b[2]} << 40 |
           std::uint64_t{b[3]} << 32 | std::uint64_t{b[4]} << 24 | std::uint64_t{b[5]} << 16 |
           std::uint64_t{b[6]} << 8 | std::uint64_t{b[7]};
  }
  static const std::uint8_t* next_ff(const std::uint8_t* from, const std::uint8_t* to) noexcept {
    const void* const found =
        from == to ? nullptr : std::memchr(from, 0xFF, static_cast<std::size_t>(to - from));
    return found == nullptr ? to : static_cast<const std::uint8_t*>(found);
  }
  /// By value, so that the reader itself can stay in registers.
  [[gnu::noinline]] static jpeg_bits refilled(jpeg_bits b) noexcept {
    while (b.count < 56) {
      std::uint64_t byte = 0;
      if (b.at != b.ff) {
        byte = *b.at++;
      } else if (b.end - b.at >= 2 && b.at[1] == 0) {
        byte = 0xFF;
        b.at += 2;
        b.ff = next_ff(b.at, b.end);
      } else {
        b.made_up += 8;
      }
      b.next |= byte << (56 - b.count);
      b.count += 8;
    }
    return b;
  }
};

/// A Huffman table, indexed by the next bits.
class jpeg_huffman {
 public:
  /// A decoded symbol: how many coefficients to advance, and the value of the last of them.
  struct symbol {
    unsigned step;
    std::int16_t value;
  };
  /// Values of `step`: end of the block; invalid code.
  static constexpr unsigned end_of_block = 128, bad = 64;
  /// From zigzag to natural order.
  static constexpr std::array<std::uint8_t, 64> natural_order{
      0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33, 40, 48,
      41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23,
      30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

  /// `counts[l - 1]` is the number of codes of length l; `values` holds their symbols. False if the table is
  /// invalid.
  bool build(const std::uint8_t* counts, const std::uint8_t* values, bool ac) {
    if (built_ && ac == ac_ && std::equal(counts, counts + 16, counts_.begin()) &&
        std::equal(values, values + total(counts), values_.begin())) {
      return true;
    }
    built_ = steps_built_ = false;
    ac_ = ac;
    const unsigned n = total(counts);
    if (n > 256) return false;
    std::copy_n(counts, 16, counts_.begin());
    std::copy_n(values, n, values_.begin());
    std::uint32_t code = 0;
    unsigned first = 0;
    look_.fill(0);
    for (unsigned length = 1; length <= 16; ++length, code <<= 1) {
      const unsigned these = counts_[length - 1];
      if (code + these >= (1u << length)) return false;  // no code may be all ones
      offset_[length] = static_cast<std::int32_t>(first) - static_cast<std::int32_t>(code);
      for (unsigned i = 0; i < these; ++i) {
        if (!ac && values_[first + i] > 15) return false;
        if (length <= look_bits) fill(code + i, length, values_[first + i]);
      }
      code += these;
      first += these;
      limit_[length] = code << (16 - length);
    }
    if (ac) {
      for (std::uint32_t i = 0; i < pairs_.size(); ++i) pairs_[i] = pair_of(i);
    }
    return built_ = true;
  }
  /// Builds the table that `step_over` needs, once.
  void prepare_steps() noexcept {
    if (steps_built_) return;
    for (std::uint32_t i = 0; i < steps_.size(); ++i) steps_[i] = steps_of(i);
    steps_built_ = true;
  }

  /// The next symbol. Sets `whole` if it took at most look_bits; otherwise `in` was refilled first.
  [[gnu::always_inline]] symbol read(jpeg_bits& in, bool& whole) const noexcept {
    const std::uint32_t e = look_[in.peek(look_bits)];
    whole = (e & whole_mask) != 0;
    if (whole) [[likely]] {
      in.drop(static_cast<int>(e & whole_mask));
      return {e >> 8 & 0xFF, static_cast<std::int16_t>(e >> 16)};
    }
    in.refill();
    const std::uint32_t coded = e != 0 ? e : find(in.peek(16));
    in.drop(static_cast<int>(coded >> 16 & 0xFF));
    const int size = static_cast<int>(coded >> 24);
    const std::int32_t value = extend(in.next, size);
    in.drop(size);
    return {coded >> 8 & 0xFF, static_cast<std::int16_t>(value)};
  }

  /// Reads coefficients 1 to 63 of a block, in natural order, into a zeroed block. False if the data doesn't
  /// conform to the standard.
  [[gnu::always_inline]] bool read_block(jpeg_bits& in, std::int16_t* block) const noexcept {
    for (unsigned k = 0;;) {
      in.refill();
      for (int i = 0; i < looks_per_refill; ++i) {
        const std::uint64_t e = pairs_[in.peek(look_bits)];
        const unsigned first = k + (e >> 8 & 0xFF), last = first + (e >> 16 & 0xFF);
        if (last < 63) [[likely]] {
          in.drop(static_cast<int>(e & 0xFF));
          block[natural_order[first]] = static_cast<std::int16_t>(e >> 32);
          block[natural_order[last]] = static_cast<std::int16_t>(e >> 48);
          k = last;
          continue;
        }
        if (last >= end_of_block && (first < 63 || first == k + end_of_block)) {
          in.drop(static_cast<int>(e & 0xFF));
          if (first < 63) block[natural_order[first]] = static_cast<std::int16_t>(e >> 32);
          return true;
        }
        bool whole;
        const symbol s = read(in, whole);
        k += s.step;
        if (k >= 63) {
          if (k == 63) block[63] = s.value;
          return k == 63 || k >= end_of_block;
        }
        block[natural_order[k]] = s.value;
        if (!whole) break;
      }
    }
  }

  /// Skips a block without decoding its coefficients. Requires prepare_steps().
  [[gnu::always_inline]] bool step_over(jpeg_bits& in) const noexcept {
    for (unsigned k = 0;;) {
      in.refill();
      for (int i = 0; i < 2; ++i) {
        const std::uint32_t e = steps_[in.peek(step_bits)];
        const unsigned to = k + (e >> 8);
        // Ends exactly at 63, or at an earlier end of block; otherwise read one symbol.
        if (to > 63 && (to < end_of_block || to > end_of_block + 62)) {
          const stepped one = step_over_one(in);
          in = one.in;
          k += one.step;
          if (k >= 63) return k == 63 || k >= end_of_block;
          break;
        }
        in.drop(static_cast<int>(e & 0xFF));
        if (to >= 63) return true;
        k = to;
      }
    }
  }

 private:
  static constexpr int look_bits = 10, step_bits = 11, looks_per_refill = 5;
  static constexpr std::uint32_t whole_mask = 15;
  static_assert(look_bits <= static_cast<int>(whole_mask));
  static_assert(56 - (looks_per_refill - 1) * look_bits >= look_bits);

  static unsigned total(const std::uint8_t* counts) noexcept {
    unsigned n = 0;
    for (int i = 0; i < 16; ++i) n += counts[i];
    return n;
  }
  static unsigned step_of(unsigned value) noexcept {
    return (value & 15) == 0 && value != 0xF0 ? end_of_block : (value >> 4) + 1;
  }
  /// Converts the first `size` bits to a signed value (T.81, figure F.12).
  [[gnu::always_inline]] static std::int32_t extend(std::uint64_t bits, int size) noexcept {
    const auto plain = static_cast<std::int32_t>(bits >> 1 >> (63 - size));
    const auto positive = static_cast<std::int32_t>(static_cast<std::int64_t>(bits) >> 63);
    return plain + (~positive & (1 - (1 << size)));
  }
  static std::uint32_t coded(unsigned step, unsigned length, unsigned size) noexcept {
    return size << 24 | length << 16 | step << 8;
  }
  /// Fills all entries whose bits begin with the code. The low byte holds the bits of code plus value, and of
  /// the value alone, four bits each; both are 0 if they don't fit into look_bits. The next byte is the step.
  /// The upper half is the value, or else the lengths of the code and the value, a byte each.
  void fill(std::uint32_t code, unsigned length, unsigned value) noexcept {
    const unsigned size = value & 15, step = step_of(value), rest = look_bits - length;
    for (std::uint32_t i = 0; i < 1u << rest; ++i) {
      std::uint32_t& e = look_[code << rest | i];
      if (size > rest) {
        e = coded(step, length, size);
      } else {
        const std::int32_t v = extend(std::uint64_t{i} << (64 - rest) % 64, static_cast<int>(size));
        e = static_cast<std::uint32_t>(v) << 16 | step << 8 | size << 4 | (length + size);
      }
    }
  }
  /// Finds a code longer than look_bits in the next 16 bits.
  [[gnu::noinline]] std::uint32_t find(std::uint32_t bits) const noexcept {
    for (unsigned length = look_bits + 1; length <= 16; ++length) {
      if (bits >= limit_[length]) continue;
      const auto at = static_cast<std::int32_t>(bits >> (16 - length)) + offset_[length];
      const unsigned value = values_[static_cast<std::size_t>(at) & 255];
      return coded(step_of(value), length, value & 15);
    }
    return coded(bad, 0, 0);
  }
  /// Combines all symbols whose codes fit into step_bits. Low byte: their bits; high byte: the sum of their
  /// steps, with end_of_block.
  std::uint16_t steps_of(std::uint32_t look) const noexcept {
    unsigned used = 0, steps = 0;
    while (used < step_bits) {
      const std::uint32_t rest = look << used & ((1u << step_bits) - 1);  // padded with zeros
      const std::uint32_t e = look_[rest >> (step_bits - look_bits)];
      const bool whole = (e & whole_mask) != 0;
      const unsigned size = whole ? e >> 4 & 15 : e >> 24;
      const unsigned code = whole ? (e & whole_mask) - size : e >> 16 & 0xFF;
      const unsigned step = e >> 8 & 0xFF;
      if (e == 0 || used + code > step_bits || (step != end_of_block && steps + step > 63)) break;
      used += code + size;
      steps += step;
      if (step == end_of_block) break;
    }
    // No symbol fits: a step that no block has, so that the caller reads a single symbol.
    return static_cast<std::uint16_t>(used == 0 ? 64u << 8 : steps << 8 | used);
  }
  /// The entry of pairs_ for these bits.
  std::uint64_t pair_of(std::uint32_t look) const noexcept {
    constexpr std::uint64_t none = std::uint64_t{bad} << 8;
    const std::uint32_t a = look_[look];
    const unsigned bits = a & whole_mask, step = a >> 8 & 0xFF;
    if (bits == 0 || step == bad) return none;
    const std::uint64_t one = std::uint64_t{a >> 16} << 48 | std::uint64_t{a >> 16} << 32 | step << 8 | bits;
    const std::uint32_t b = look_[look << bits & ((1u << look_bits) - 1)];
    const unsigned more = b & whole_mask, next = b >> 8 & 0xFF;
    if (step == end_of_block || more == 0 || next == bad || bits + more > look_bits) return one;
    return std::uint64_t{b >> 16} << 48 | std::uint64_t{a >> 16} << 32 | next << 16 | step << 8 |
           (bits + more);
  }
  struct stepped {
    jpeg_bits in;
    unsigned step;
  };
  [[gnu::noinline]] stepped step_over_one(jpeg_bits in) const noexcept {
    in.refill();
    bool whole;
    const unsigned step = read(in, whole).step;
    return {in, step};
  }

  /// Two symbols if both fit into look_bits. From the lowest byte: their bits; the first step; the second
  /// step, 0 if there is none; an unused byte; the values, 16 bits each.
  std::array<std::uint64_t, 1u << look_bits> pairs_;
  std::array<std::uint32_t, 1u << look_bits> look_;
  std::array<std::uint16_t, 1u << step_bits> steps_;
  std::array<std::uint32_t, 17> limit_;
  std::array<std::int32_t, 17> offset_;
  std::array<std::uint8_t, 16> counts_;
  std::array<std::uint8_t, 256> values_;
  bool built_ = false, steps_built_ = false, ac_ = false;
};

}  // namespace wick::detail
