/// \file
/// wick's own Huffman decoder in the place of libjpeg-turbo's. Only for libjpeg_turbo.hpp
/// beside it, which includes jpeglib.h before this.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <dlfcn.h>
#include <memory>
#include <span>

#include <wick/codec/detail/jpeg_scan.hpp>
#include <wick/codec/detail/jpeg_walk.hpp>

namespace wick::detail {

/// Takes the blocks of a baseline JPEG's one scan out of the data itself, so that libjpeg has the rest to do:
/// half of a decode is Huffman codes, and libjpeg's reader doesn't know which blocks of a row are wanted.
///
/// libjpeg has no call for this. It calls its entropy decoder for each MCU through a pointer to a function:
/// the second member of the structure that `entropy` points to, in every libjpeg since 1994. This class
/// replaces that pointer. It relies on nothing else, and jpeg_self_test checks that. libjpeg's own decoder
/// stays at the start of the scan. At anything unexpected in the data it is brought to the same MCU and
/// continues from there, so that damage has the same result as without this class.
class jpeg_scan_reader {
 public:
  using mcu_decoder = boolean (*)(j_decompress_ptr, JBLOCKROW*);
  /// Null where there is none.
  using find_slot = mcu_decoder* (*)(j_decompress_ptr);

  explicit jpeg_scan_reader(find_slot find) noexcept : find_(find) {}

  static mcu_decoder* second_word(j_decompress_ptr info) noexcept {
    return &reinterpret_cast<entropy_decoder*>(info->entropy)->decode_mcu;
  }
  /// The same, when both functions of the structure are libjpeg's own.
  static mcu_decoder* second_word_of_library(j_decompress_ptr info) noexcept {
    if (info->entropy == nullptr) return nullptr;
    const auto* const decoder = reinterpret_cast<entropy_decoder*>(info->entropy);
    const auto start = reinterpret_cast<void*>(decoder->start_pass);
    const auto decode_mcu = reinterpret_cast<void*>(decoder->decode_mcu);
    if (start == decode_mcu) return nullptr;
    Dl_info library, other;
    // jpeg_std_error has set this one to a function of the library. Of a static program nothing is known.
    if (dladdr(reinterpret_cast<void*>(info->err->format_message), &library) != 0) {
      for (void* const code : {start, decode_mcu}) {
        if (dladdr(code, &other) == 0 || other.dli_fbase != library.dli_fbase) return nullptr;
      }
    }
    return second_word(info);
  }

  /// How many MCUs were read here since then.
  std::size_t done() const noexcept { return done_; }
  void forget() noexcept {
    done_ = 0;
    installed_ = false;
  }
  /// The walk over the scan that this reads; null when libjpeg reads the picture.
  jpeg_walk* walk() noexcept { return installed_ ? &walk_ : nullptr; }
  /// libjpeg's error code for a wrong_jpeg_place, none of its own.
  static constexpr int misplaced = -2;

  /// To be called between jpeg_start_decompress and the first row. The picture may be of any kind; those that
  /// this reads not are left to libjpeg. `data` is what follows the scan's header.
  void install(j_decompress_ptr info, std::span<const std::uint8_t> data) {
    if (info->arith_code || info->progressive_mode || info->data_precision != 8 ||
        jpeg_has_multiple_scans(info))
      return;
    const auto count = static_cast<std::size_t>(info->blocks_in_MCU);
    std::array<jpeg_scan::block, jpeg_scan::most_blocks> blocks{};
    if (count > blocks.size()) return;
    for (std::size_t i = 0; i < count; ++i) {
      const int component = info->MCU_membership[i];
      const jpeg_component_info& c = *info->cur_comp_info[component];
      jpeg_huffman* const dc = table(0, c.dc_tbl_no, info->dc_huff_tbl_ptrs);
      jpeg_huffman* const ac = table(1, c.ac_tbl_no, info->ac_huff_tbl_ptrs);
      if (dc == nullptr || ac == nullptr) return;
      blocks[i] = {dc, ac, static_cast<unsigned>(component), c.component_needed && block_side(c) > 1};
    }
    done_ = column_ = 0;
    columns_ = info->MCUs_per_row;
    want(0, columns_ - 1);
    slot_ = find_(info);
    if (slot_ == nullptr) return;
    walk_.begin(data, {blocks.data(), count}, info->restart_interval, columns_, info->MCU_rows_in_scan);
    installed_ = true;
    own_ = *slot_;
    info->client_data = this;
    *slot_ = &decode;
  }
  /// Of each row, which MCUs are wanted.
  void want(JDIMENSION first, JDIMENSION last) noexcept {
    first_ = first;
    last_ = last;
  }

 private:
  struct entropy_decoder {
    void (*start_pass)(j_decompress_ptr);
    mcu_decoder decode_mcu;
  };
  static_assert(sizeof(JCOEF) == sizeof(std::int16_t) && sizeof(JBLOCK) == 64 * sizeof(JCOEF));

  static int block_side(const jpeg_component_info& c) noexcept {
#if JPEG_LIB_VERSION >= 70
    return c.DCT_h_scaled_size;
#else
    return c.DCT_scaled_size;
#endif
  }
  jpeg_huffman* table(std::size_t kind, int number, JHUFF_TBL* const* from) {
    if (number < 0 || number >= NUM_HUFF_TBLS || from[number] == nullptr) return nullptr;
    std::unique_ptr<jpeg_huffman>& made = tables_[kind][static_cast<std::size_t>(number)];
    if (made == nullptr) made = std::make_unique<jpeg_huffman>();
    return made->build(from[number]->bits + 1, from[number]->huffval, kind == 1) ? made.get() : nullptr;
  }

  /// \param out null: the MCU is not wanted
  static boolean decode(j_decompress_ptr info, JBLOCKROW* out) {
    auto& self = *static_cast<jpeg_scan_reader*>(info->client_data);
    const bool wanted = out != nullptr && self.column_ >= self.first_ && self.column_ <= self.last_;
    const jpeg_walk::outcome o = self.walk_.next(wanted ? out : nullptr);
    if (o == jpeg_walk::outcome::unreadable) return self.give_back(info, out);
    if (o == jpeg_walk::outcome::misplaced) {
      info->err->msg_code = misplaced;
      (*info->err->error_exit)(reinterpret_cast<j_common_ptr>(info));
    }
    ++self.done_;
    if (++self.column_ == self.columns_) self.column_ = 0;
    return TRUE;
  }
  boolean give_back(j_decompress_ptr info, JBLOCKROW* out) {
    *slot_ = own_;
    if (out != nullptr) {
      for (int i = 0; i < info->blocks_in_MCU; ++i) std::memset(out[i], 0, sizeof(JBLOCK));
    }
    // Into unused blocks: only libjpeg-turbo accepts null.
    JBLOCK unwanted[jpeg_scan::most_blocks];
    JBLOCKROW rows[jpeg_scan::most_blocks];
    for (std::size_t i = 0; i < jpeg_scan::most_blocks; ++i) rows[i] = unwanted + i;
    for (std::size_t i = 0; i < done_; ++i) (void)own_(info, rows);
    return own_(info, out);
  }

  std::array<std::array<std::unique_ptr<jpeg_huffman>, NUM_HUFF_TBLS>, 2> tables_;
  jpeg_walk walk_;
  find_slot find_;
  mcu_decoder* slot_ = nullptr;
  mcu_decoder own_ = nullptr;
  std::size_t done_ = 0;
  JDIMENSION column_ = 0, columns_ = 0, first_ = 0, last_ = 0;
  bool installed_ = false;
};

}  // namespace wick::detail
