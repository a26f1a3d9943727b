#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <vector>

#include "../support/doctest.hpp"
#include <wick/codec/detail/jpeg_scan.hpp>

namespace wick_test::jpeg_scan_tests {

using wick::detail::jpeg_huffman, wick::detail::jpeg_scan;

namespace {

constexpr std::array<int, 64> zigzag{0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,
                                     12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
                                     35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
                                     58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

using generator = std::mt19937_64;
unsigned below(generator& r, unsigned n) { return static_cast<unsigned>(r() % n); }

/// A Huffman table as a file has it, and what each symbol is written as.
struct code_table {
  std::array<std::uint8_t, 16> counts{};
  std::array<std::uint8_t, 256> values{};
  std::array<std::uint32_t, 256> code{};
  std::array<unsigned, 256> length{};
};

/// Any codes of 1 to 16 bits for the symbols; the first are the shortest, and not all codes are used.
code_table random_table(generator& r, std::vector<std::uint8_t> symbols) {
  std::vector<unsigned> lengths;
  std::uint32_t room = (1u << 16) - 1;  // in codes of 16 bits
  const unsigned shortest = 1 + below(r, 6);
  for (std::size_t left = symbols.size(); left > 0; --left) {
    unsigned length = shortest + below(r, 17 - shortest);
    if ((1u << (16 - length)) + left - 1 > room) length = 16;
    lengths.push_back(length);
    room -= 1u << (16 - length);
  }
  std::sort(lengths.begin(), lengths.end());
  std::shuffle(symbols.begin(), symbols.end(), r);
  code_table t;
  std::uint32_t code = 0;
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    if (i > 0) code = (code + 1) << (lengths[i] - lengths[i - 1]);
    ++t.counts[lengths[i] - 1];
    t.values[i] = symbols[i];
    t.code[symbols[i]] = code;
    t.length[symbols[i]] = lengths[i];
  }
  return t;
}
code_table random_dc(generator& r) {
  std::vector<std::uint8_t> symbols;
  for (unsigned size = 0; size < 12; ++size) symbols.push_back(static_cast<std::uint8_t>(size));
  return random_table(r, symbols);
}
/// Sizes up to 15, of which a picture of 8 bits needs 10.
code_table random_ac(generator& r) {
  std::vector<std::uint8_t> symbols{0x00, 0xF0};
  for (unsigned run = 0; run < 16; ++run) {
    for (unsigned size = 1; size < 16; ++size) symbols.push_back(static_cast<std::uint8_t>(run << 4 | size));
  }
  return random_table(r, symbols);
}

/// Bits with a zero after each FF.
class bit_writer {
 public:
  std::vector<std::uint8_t> out;

  void put(std::uint32_t bits, unsigned count) {
    while (count-- > 0) {
      byte_ = byte_ << 1 | (bits >> count & 1);
      if (++filled_ == 8) flush();
    }
  }
  void symbol(const code_table& t, unsigned s) { put(t.code[s], t.length[s]); }
  void value(int v, unsigned size) {
    put(static_cast<std::uint32_t>(v < 0 ? v - 1 : v) & ((1u << size) - 1), size);
  }
  /// Ones up to the next byte.
  void align() {
    while (filled_ != 0) put(1, 1);
  }
  void marker(unsigned code) {
    align();
    out.push_back(0xFF);
    out.push_back(static_cast<std::uint8_t>(code));
  }
  /// So many bits that were put in, among the first `bytes` of the output.
  static std::size_t bits_within(std::span<const std::uint8_t> data) {
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < data.size(); ++i) {
      if (data[i] == 0xFF && (i + 1 == data.size() || data[++i] != 0)) break;
      ++bytes;
    }
    return bytes * 8;
  }
  std::size_t bits() const { return count_ * 8 + filled_; }

 private:
  void flush() {
    out.push_back(static_cast<std::uint8_t>(byte_));
    if (out.back() == 0xFF) out.push_back(0);
    byte_ = filled_ = 0;
    ++count_;
  }
  std::uint32_t byte_ = 0, filled_ = 0;
  std::size_t count_ = 0;
};

unsigned size_of(int v) {
  unsigned size = 0;
  for (unsigned n = static_cast<unsigned>(v < 0 ? -v : v); n != 0; n >>= 1) ++size;
  return size;
}

using block_values = std::array<std::int16_t, 64>;  // in natural order

block_values random_block(generator& r) {
  block_values b{};
  b[0] = static_cast<std::int16_t>(static_cast<int>(below(r, 2047)) - 1023);
  const unsigned kind = below(r, 8), most = kind == 0 ? 0 : kind == 1 ? 63 : below(r, 64);
  const unsigned density = 1 + below(r, 40), size = 1 + below(r, kind == 2 ? 15 : 6);
  for (unsigned k = 1; k <= most; ++k) {
    if (below(r, density) != 0 && k != most) continue;
    b[static_cast<std::size_t>(zigzag[k])] = static_cast<std::int16_t>(
        static_cast<int>(below(r, (2u << size) - 1)) - static_cast<int>((1u << size) - 1));
  }
  return b;
}

void write_block(bit_writer& w, const block_values& b, int& last, const code_table& dc,
                 const code_table& ac) {
  const int difference = b[0] - last;
  last = b[0];
  w.symbol(dc, size_of(difference));
  w.value(difference, size_of(difference));
  unsigned run = 0;
  for (unsigned k = 1; k < 64; ++k) {
    const int v = b[static_cast<std::size_t>(zigzag[k])];
    if (v == 0) {
      ++run;
      continue;
    }
    for (; run > 15; run -= 16) w.symbol(ac, 0xF0);
    w.symbol(ac, run << 4 | size_of(v));
    w.value(v, size_of(v));
    run = 0;
  }
  if (run > 0) w.symbol(ac, 0x00);
}

struct picture {
  std::vector<std::uint8_t> data;
  std::vector<std::vector<block_values>> mcus;
  std::vector<std::size_t> ends;  // of each MCU, in bits; only without restart markers
  std::vector<jpeg_scan::block> blocks;
  std::vector<std::unique_ptr<jpeg_huffman>> tables;
  unsigned restart = 0;
};

picture random_picture(generator& r, unsigned mcus, unsigned restart) {
  picture p;
  p.restart = restart;
  const unsigned components = 1 + below(r, 3);
  std::vector<code_table> dc, ac;
  for (unsigned c = 0; c < components; ++c) {
    dc.push_back(random_dc(r));
    ac.push_back(random_ac(r));
    for (const bool is_ac : {false, true}) {
      const code_table& t = is_ac ? ac.back() : dc.back();
      p.tables.push_back(std::make_unique<jpeg_huffman>());
      REQUIRE(p.tables.back()->build(t.counts.data(), t.values.data(), is_ac));
    }
  }
  std::vector<unsigned> of;
  for (unsigned c = 0; c < components; ++c) {
    for (unsigned n = 1 + below(r, 3); n > 0; --n) of.push_back(c);
  }
  for (const unsigned c : of) p.blocks.push_back({p.tables[c * 2].get(), p.tables[c * 2 + 1].get(), c, true});
  bit_writer w;
  std::array<int, 3> last{};
  for (unsigned m = 0; m < mcus; ++m) {
    if (restart != 0 && m != 0 && m % restart == 0) {
      w.marker(0xD0 + (m / restart - 1) % 8);
      last = {};
    }
    auto& mcu = p.mcus.emplace_back();
    for (const unsigned c : of) {
      mcu.push_back(random_block(r));
      write_block(w, mcu.back(), last[c], dc[c], ac[c]);
    }
    p.ends.push_back(w.bits());
  }
  w.marker(0xD9);
  p.data = std::move(w.out);
  return p;
}

/// The next MCU as it is read; of memory of exactly that size.
struct mcu_memory {
  std::vector<std::array<std::int16_t, 64>> blocks;
  std::vector<std::int16_t (*)[64]> to;

  explicit mcu_memory(std::size_t count) : blocks(count) {
    for (auto& b : blocks) {
      b.fill(0);
      to.push_back(reinterpret_cast<std::int16_t(*)[64]>(b.data()));
    }
  }
};

}  // namespace

TEST_CASE("blocks come out as they were written, whatever the tables, and whichever of them are wanted") {
  generator r(1);
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    const unsigned restart = round % 3 == 0 ? 1 + below(r, 12) : 0;
    picture p = random_picture(r, 1 + below(r, 100), restart);
    for (auto& b : p.blocks) b.coefficients = round % 5 != 0 || below(r, 2) != 0;
    const unsigned wanted_of_4 = static_cast<unsigned>(round) % 5;
    jpeg_scan scan;
    scan.begin(p.data, p.blocks, restart);
    for (const auto& mcu : p.mcus) {
      if (below(r, 4) >= wanted_of_4) {
        REQUIRE(scan.next(nullptr));
        continue;
      }
      mcu_memory got(mcu.size());
      REQUIRE(scan.next(got.to.data()));
      for (std::size_t i = 0; i < mcu.size(); ++i) {
        if (p.blocks[i].coefficients) {
          REQUIRE(got.blocks[i] == mcu[i]);
        } else {
          REQUIRE(got.blocks[i][0] == mcu[i][0]);
          REQUIRE(std::count(got.blocks[i].begin() + 1, got.blocks[i].end(), 0) == 63);
        }
      }
    }
  }
}

TEST_CASE("of a scan that breaks off, what is whole is read and nothing after it") {
  generator r(2);
  for (int round = 0; round < 400; ++round) {
    CAPTURE(round);
    const picture p = random_picture(r, 1 + below(r, 30), 0);
    std::size_t size = below(r, static_cast<unsigned>(p.data.size()));
    const bool marker = round % 2 == 0;
    if (marker && size > 0 && p.data[size - 1] == 0xFF) --size;
    // Of exactly that size, so that a sanitizer sees a byte too many.
    const std::size_t all = size + (marker ? 2 : 0);
    const std::unique_ptr<std::uint8_t[]> cut(new std::uint8_t[all]);
    std::copy_n(p.data.begin(), size, cut.get());
    if (marker) cut[size] = 0xFF, cut[size + 1] = 0xD9;
    const std::size_t bits = bit_writer::bits_within({cut.get(), all});
    jpeg_scan scan;
    scan.begin({cut.get(), all}, p.blocks, 0);
    for (std::size_t m = 0; m < p.mcus.size(); ++m) {
      mcu_memory got(p.mcus[m].size());
      const bool good = scan.next(below(r, 2) != 0 ? got.to.data() : nullptr);
      CHECK((!good || p.ends[m] <= bits));
      CHECK((good || p.ends[m] + (marker ? 0 : 8 * (16 + 8)) >
                         bits));  // without a marker it gives up a little earlier
      if (!good) break;
    }
  }
}

TEST_CASE("codes that are none, blocks of more than 64, and markers out of turn are refused") {
  generator r(3);
  const code_table dc = random_dc(r), ac = random_ac(r);
  jpeg_huffman dc_table, ac_table;
  REQUIRE(dc_table.build(dc.counts.data(), dc.values.data(), false));
  REQUIRE(ac_table.build(ac.counts.data(), ac.values.data(), true));
  const jpeg_scan::block one{&dc_table, &ac_table, 0, true};
  // Whether the second MCU is refused, read and stepped over alike.
  const auto refused = [&](const auto& write, unsigned restart) {
    bit_writer w;
    int last = 0;
    write_block(w, block_values{}, last, dc, ac);
    write(w);
    for (int i = 0; i < 64; ++i) w.put(0, 8);  // so that nothing ends before it is refused
    std::array<bool, 2> out{};
    for (const bool wanted : {false, true}) {
      jpeg_scan scan;
      scan.begin(w.out, {&one, 1}, restart);
      mcu_memory first(1), second(1);
      REQUIRE(scan.next(wanted ? first.to.data() : nullptr));
      out[wanted] = !scan.next(wanted ? second.to.data() : nullptr);
    }
    CHECK(out[0] == out[1]);
    return out[0] && out[1];
  };
  const auto dc_of_0 = [&](bit_writer& w) { w.symbol(dc, 0); };

  CHECK(!refused([&](bit_writer& w) { dc_of_0(w), w.symbol(ac, 0); }, 0));
  CHECK(refused([&](bit_writer& w) { w.put(0xFFFF, 16); }, 0));  // no table here has this code
  CHECK(refused([&](bit_writer& w) { dc_of_0(w), w.put(0xFFFF, 16); }, 0));
  for (const unsigned k :
       {48u, 49u, 62u, 63u}) {  // how many coefficients are there before a run of 15 and one
    CAPTURE(k);
    const auto write = [&](bit_writer& w) {
      dc_of_0(w);
      for (unsigned i = 0; i < k; ++i) w.symbol(ac, 0x01), w.value(1, 1);
      if (k < 63) w.symbol(ac, 0xF1), w.value(1, 1);
    };
    // 16 more than 47 are too many.
    CHECK(refused(write, 0) == (k != 63));
  }
  CHECK(!refused([&](bit_writer& w) { w.marker(0xD0), dc_of_0(w), w.symbol(ac, 0); }, 1));
  CHECK(refused([&](bit_writer& w) { w.marker(0xD1), dc_of_0(w), w.symbol(ac, 0); }, 1));
  CHECK(refused([&](bit_writer& w) { w.align(), w.put(0, 8), w.marker(0xD0), dc_of_0(w), w.symbol(ac, 0); },
                1));
  CHECK(refused([&](bit_writer& w) { dc_of_0(w), w.symbol(ac, 0); }, 1));
  CHECK(refused([&](bit_writer& w) { w.marker(0xD0), dc_of_0(w), w.symbol(ac, 0); }, 0));
}

TEST_CASE("what is no Huffman table is refused, and a table that was built is replaced by the next") {
  generator r(4);
  jpeg_huffman table;
  code_table t = random_dc(r);
  t.counts = {};
  t.counts[0] = 3;  // of one bit
  CHECK(!table.build(t.counts.data(), t.values.data(), false));
  t.counts = {};
  t.counts[15] = 200, t.counts[14] = 200;
  CHECK(!table.build(t.counts.data(), t.values.data(), true));
  t = random_dc(r);
  t.values[0] = 16;  // a difference of 16 bits
  CHECK(!table.build(t.counts.data(), t.values.data(), false));
  CHECK(table.build(t.counts.data(), t.values.data(), true));
  CHECK(!table.build(t.counts.data(), t.values.data(), false));

  for (int round = 0; round < 20; ++round) {
    const code_table ac = random_ac(r), dc = random_dc(r);
    REQUIRE(table.build(ac.counts.data(), ac.values.data(), true));
    jpeg_huffman dc_table;
    REQUIRE(dc_table.build(dc.counts.data(), dc.values.data(), false));
    const jpeg_scan::block one{&dc_table, &table, 0, true};
    bit_writer w;
    int last = 0;
    const block_values b = random_block(r);
    write_block(w, b, last, dc, ac);
    write_block(w, b, last, dc, ac);
    w.marker(0xD9);
    jpeg_scan scan;
    scan.begin(w.out, {&one, 1}, 0);
    mcu_memory got(1);
    CHECK(scan.next(nullptr));
    CHECK(scan.next(got.to.data()));
    CHECK(got.blocks[0] == b);
  }
}

}  // namespace wick_test::jpeg_scan_tests
