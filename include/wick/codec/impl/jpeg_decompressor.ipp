// Wraps libjpeg's decompressor for decoding. Only for libjpeg_turbo.ipp.
#pragma once

#include <csetjmp>
#include <cstdio>
#include <iterator>
#include <jpeglib.h>
#include <type_traits>
#include <vector>
#ifndef JPEG_LIB_VERSION
#error "wick: jerror.h numbers its messages by JPEG_LIB_VERSION, so jpeglib.h has to come first"
#endif
#include <jerror.h>

#include <wick/codec/detail/jpeg_header.hpp>
#include <wick/codec/impl/jpeg_memory.ipp>

#if !defined(LIBJPEG_TURBO_VERSION) || !defined(JCS_ALPHA_EXTENSIONS)
#error \
    "wick: this jpeglib.h is not libjpeg-turbo's; install libjpeg-dev (Debian, Ubuntu) or libjpeg-turbo (vcpkg)"
#endif

namespace wick::inline v0_1::detail {

/// One thread's libjpeg decompressor, and everything it keeps.
///
/// libjpeg reports errors through a function that must not return. Here it jumps back into guarded(), past
/// frames of libjpeg and of functions without destructors only: no sink or other C++ code is called in
/// between.
class jpeg_decompressor {
 public:
  /// \param version,size from the headers that wick is compiled with
  /// \throws wick::error when the loaded libjpeg is of another kind
  explicit jpeg_decompressor(int version = JPEG_LIB_VERSION,
                             std::size_t size = sizeof(jpeg_decompress_struct)) {
    info_.err = jpeg_std_error(&errors_.mgr);
    errors_.mgr.error_exit = &jump;
    errors_.mgr.emit_message = [](j_common_ptr, int) {};  // damage within the pixels is ignored, as in Pillow
    errors_.mgr.output_message = [](j_common_ptr) {};
    if (!guarded([&] { jpeg_CreateDecompress(&info_, version, size); })) throw_not_created();
    memory_.install(reinterpret_cast<j_common_ptr>(&info_));
    info_.src = &source_;
    info_.progress = &progress_;
    progress_.progress_monitor = &count_scans;
    source_.init_source = [](j_decompress_ptr) {};
    source_.term_source = [](j_decompress_ptr) {};
    source_.resync_to_restart = &jpeg_resync_to_restart;
    source_.fill_input_buffer = &ended;
    source_.skip_input_data = &skip;
  }
  jpeg_decompressor(const jpeg_decompressor&) = delete;
  jpeg_decompressor& operator=(const jpeg_decompressor&) = delete;
  ~jpeg_decompressor() { jpeg_destroy_decompress(&info_); }

  /// \throws wick::error for damaged data, and exceptions of the sink
  void decode(std::span<const std::byte> encoded, const picture_info& about, const decode_request& request,
              row_sink& sink) {
    struct at_end {
      jpeg_decompressor& self;
      ~at_end() {
        self.guarded([this] { jpeg_abort_decompress(&self.info_); });
        self.forget_tables();
      }
    } whatever_happens{*this};
    begin(encoded, about, request);
    read_rows(choose_part(request.wanted), request, sink);
  }

 private:
  static constexpr int too_many_scans = -1;  // not one of libjpeg's codes
  struct error_state {
    jpeg_error_mgr mgr;  // must be first: libjpeg knows this struct by it
    std::jmp_buf back;
  };

  void read_rows(const rect& part, const decode_request& request, row_sink& sink) {
    sink.begin({static_cast<int>(info_.output_width), part.height, request.channels, part.x * 8 / scale_,
                part.y * 8 / scale_, scale_ / 8.0});
    if (part.y != 0) check(guarded([&] { jpeg_skip_scanlines(&info_, static_cast<JDIMENSION>(part.y)); }));
    const bool convert = info_.out_color_space == JCS_CMYK || info_.out_color_components != request.channels;
    if (convert)
      line_.resize(static_cast<std::size_t>(info_.output_width) *
                   static_cast<std::size_t>(info_.out_color_components));
    for (int y = 0; y < part.height;) {
      const std::span<std::uint8_t* const> room = sink.room();
      if (room.empty()) return;
      JSAMPROW line = line_.data();
      JDIMENSION got = 0;
      check(guarded([&] {
        got = jpeg_read_scanlines(&info_, convert ? &line : const_cast<JSAMPARRAY>(room.data()),
                                  convert ? 1 : static_cast<JDIMENSION>(room.size()));
      }));
      if (got == 0)
        throw error("damaged JPEG: libjpeg-turbo gives no more rows; write the file again or remove it");
      if (convert) convert_row(line, room[0], request.channels);
      y += static_cast<int>(got);
      sink.written(static_cast<int>(got));
    }
  }

  /// `call` calls libjpeg and nothing else. False if libjpeg failed. Taken by reference: a copy of fresh
  /// captures would wait for all pending stores, including the pixels.
  template <class F>
  [[gnu::noinline]] bool guarded(const F& call) noexcept {
    static_assert(std::is_trivially_destructible_v<F>);
    if (setjmp(errors_.back) != 0) return false;
    call();
    return true;
  }
  [[noreturn]] static void jump(j_common_ptr info) {
    std::longjmp(reinterpret_cast<error_state*>(info->err)->back, 1);
  }
  static boolean ended(j_decompress_ptr info) {
    info->err->msg_code = JERR_INPUT_EOF;
    (*info->err->error_exit)(reinterpret_cast<j_common_ptr>(info));
    return FALSE;
  }
  static void skip(j_decompress_ptr info, long count) {
    if (count <= 0) return;
    const std::size_t n = std::min(static_cast<std::size_t>(count), info->src->bytes_in_buffer);
    info->src->next_input_byte += n;
    info->src->bytes_in_buffer -= n;
  }
  /// Without a limit, a file of a megabyte could keep a worker busy for days.
  static void count_scans(j_common_ptr info) {
    if (reinterpret_cast<j_decompress_ptr>(info)->input_scan_number <= most_jpeg_scans) return;
    info->err->msg_code = too_many_scans;
    (*info->err->error_exit)(info);
  }
  std::string text() {
    char out[JMSG_LENGTH_MAX];
    (*errors_.mgr.format_message)(reinterpret_cast<j_common_ptr>(&info_), out);
    return out;
  }
  /// Checks the text, since other versions of libjpeg number their errors differently.
  [[noreturn]] void throw_not_created() {
    const std::string why = text();
    if (why.starts_with("Insufficient memory")) throw std::bad_alloc();
    throw error(
        "the libjpeg that this program loaded is not the one that wick was compiled for (it says: " + why +
        "); make the program find the libjpeg-turbo whose jpeglib.h was used, or compile wick again");
  }
  void check(bool good) {
    if (good) return;
    if (errors_.mgr.msg_code == too_many_scans) throw_too_many_scans();
    if (errors_.mgr.msg_code == JERR_OUT_OF_MEMORY) throw std::bad_alloc();
    if (errors_.mgr.msg_code == JERR_INPUT_EOF) throw_truncated("JPEG", size_, "in the middle");
    throw error("damaged JPEG, or of a kind that libjpeg-turbo does not read (it says: " + text() +
                "); write the file again, convert it" + or_leave_it_out);
  }

  void begin(std::span<const std::byte> encoded, const picture_info& about, const decode_request& request) {
    size_ = encoded.size();
    source_.next_input_byte = reinterpret_cast<const JOCTET*>(encoded.data());
    source_.bytes_in_buffer = encoded.size();
    check(guarded([&] { (void)jpeg_read_header(&info_, TRUE); }));
    if (info_.data_precision != 8) {
      throw error("JPEG of " + std::to_string(info_.data_precision) +
                  " bits a channel; convert it to 8 bits");
    }
    if (info_.image_width != static_cast<JDIMENSION>(about.width) ||
        info_.image_height != static_cast<JDIMENSION>(about.height)) {
      throw error("damaged JPEG: two frame headers, of different sizes; write the file again or remove it");
    }
    if (info_.num_components == 4) {
      info_.out_color_space = JCS_CMYK;
    } else {
      info_.out_color_space = request.channels <= 2   ? JCS_GRAYSCALE
                              : request.channels == 3 ? JCS_RGB
                                                      : JCS_EXT_RGBA;
    }
    // The sizes with SIMD code; the sizes between are often slower than the next larger one.
    scale_ = 8;
    while (scale_ > 1 && scale_ >= request.scale * 16 && keeps_colors(scale_ / 2)) scale_ /= 2;
    info_.scale_num = static_cast<unsigned>(scale_);
    info_.scale_denom = 8;
    info_.dct_method = JDCT_ISLOW;
    info_.do_fancy_upsampling = TRUE;  // also prevents merged upsampling
    check(guarded([&] { (void)jpeg_start_decompress(&info_); }));
  }

  /// libjpeg keeps a decompressor's tables for later files that have none. An image must not depend on the
  /// one before it.
  void forget_tables() noexcept {
    std::fill(std::begin(info_.quant_tbl_ptrs), std::end(info_.quant_tbl_ptrs), nullptr);
    std::fill(std::begin(info_.dc_huff_tbl_ptrs), std::end(info_.dc_huff_tbl_ptrs), nullptr);
    std::fill(std::begin(info_.ac_huff_tbl_ptrs), std::end(info_.ac_huff_tbl_ptrs), nullptr);
  }

  std::span<const jpeg_component_info> components() const noexcept {
    return {info_.comp_info, static_cast<std::size_t>(info_.num_components)};
  }
  /// The side in pixels, at most 8, to which libjpeg scales the component's 8 x 8 blocks when the image's are
  /// scaled to `scale`: doubled while the image's sampling is a multiple of the doubled one (jdmaster.c).
  int block_side(const jpeg_component_info& c, int scale) const noexcept {
    const int across = info_.max_h_samp_factor * scale, down = info_.max_v_samp_factor * scale;
    int side = scale;
    while (side < 8 && across % (c.h_samp_factor * side * 2) == 0 && down % (c.v_samp_factor * side * 2) == 0)
      side *= 2;
    return side;
  }
  /// Whether each component keeps its stored resolution, or at least half the image's resolution along each
  /// side. For example, 4:1:1 scaled to an eighth would keep only a quarter.
  bool keeps_colors(int scale) const noexcept {
    return std::ranges::all_of(components(), [&](const jpeg_component_info& c) {
      const int side = block_side(c, scale);
      return side == 8 || (info_.max_h_samp_factor * scale <= c.h_samp_factor * side * 2 &&
                           info_.max_v_samp_factor * scale <= c.v_samp_factor * side * 2);
    });
  }

  /// The part to decode, in scaled pixels. Smooth upsampling reads one column on each side; with these
  /// decoded, too, the wanted part looks as it does in the whole image.
  rect choose_part(const rect& wanted) {
    const double s = scale_ / 8.0;
    const int width = static_cast<int>(info_.output_width), height = static_cast<int>(info_.output_height);
    int margin = 0;
    bool cuts = true;
    for (const jpeg_component_info& c : components()) {
      const int side = block_side(c, scale_);
      const bool across = c.h_samp_factor * side != info_.max_h_samp_factor * scale_;
      const bool down = c.v_samp_factor * side != info_.max_v_samp_factor * scale_;
      if (across) margin = 1;
      // jpeg_crop_scanline miscounts components that are scaled differently from the image but also
      // upsampled.
      cuts = cuts && (side == scale_ || !(across || down));
    }
    // At least two chroma samples: libjpeg-turbo upsamples a single one differently.
    const int from = static_cast<int>(wanted.x * s), least = margin != 0 ? from + 2 : 0;
    const int right =
        cuts ? std::min(width, std::max(ceiling((wanted.x + wanted.width) * s) + margin, least + 1)) : width;
    const int left = cuts ? std::max(0, std::min(from, right - 2) - margin) : 0;
    const int top = std::clamp(static_cast<int>(wanted.y * s), 0, height - 1);
    const int bottom = std::min(height, ceiling((wanted.y + wanted.height) * s));
    rect part{0, top, width, bottom - top};
    if (left > 0 || right < width) {
      JDIMENSION x = static_cast<JDIMENSION>(left), w = static_cast<JDIMENSION>(right - left);
      check(guarded([&] { jpeg_crop_scanline(&info_, &x, &w); }));
      part.x = static_cast<int>(x);
      part.width = static_cast<int>(w);
    }
    return part;
  }
  static int ceiling(double v) noexcept {
    const int whole = static_cast<int>(v);
    return whole < v ? whole + 1 : whole;
  }

  /// Converts CMYK (inverted, as Adobe writes it) to RGB or gray like Pillow, and gray to gray and alpha.
  void convert_row(const std::uint8_t* in, std::uint8_t* out, int channels) const noexcept {
    for (JDIMENSION x = 0; x < info_.output_width; ++x, out += channels) {
      if (info_.out_color_components == 1) {
        out[0] = *in++;
        out[1] = 255;
        continue;
      }
      std::uint32_t rgb[3];
      for (int c = 0; c < 3; ++c) {
        const std::uint32_t product = (255u - in[c]) * in[3] + 128;
        const std::uint32_t ink = ((product >> 8) + product) >> 8;
        rgb[c] = in[3] > ink ? in[3] - ink : 0;
      }
      in += 4;
      if (channels >= 3) {
        for (int c = 0; c < 3; ++c) out[c] = static_cast<std::uint8_t>(rgb[c]);
      } else {
        out[0] =
            static_cast<std::uint8_t>((rgb[0] * 19595u + rgb[1] * 38470u + rgb[2] * 7471u + 0x8000u) >> 16);
      }
      if (channels == 2 || channels == 4) out[channels - 1] = 255;
    }
  }

  jpeg_decompress_struct info_{};
  error_state errors_{};
  jpeg_source_mgr source_{};
  jpeg_progress_mgr progress_{};
  jpeg_memory memory_{};
  std::vector<std::uint8_t> line_;
  std::size_t size_ = 0;
  int scale_ = 8;
};

}  // namespace wick::detail
