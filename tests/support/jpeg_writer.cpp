#ifdef WICK_TEST_LIBJPEG_TURBO
#include "jpeg_writer.hpp"

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <jpeglib.h>
#include <stdexcept>
#include <vector>

namespace wick_test {

std::string encode_jpeg(const wick::image& picture, const jpeg_kind& kind) {
  jpeg_compress_struct info{};
  jpeg_error_mgr errors{};
  info.err = jpeg_std_error(&errors);  // prints, and ends the program: a test asked for what can't be
  jpeg_create_compress(&info);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&info, &memory, &size);

  const int channels = picture.channels();
  info.image_width = static_cast<JDIMENSION>(picture.width());
  info.image_height = static_cast<JDIMENSION>(picture.height());
  info.input_components = channels;
  info.in_color_space = channels == 1 ? JCS_GRAYSCALE : channels == 3 ? JCS_RGB : JCS_CMYK;
  jpeg_set_defaults(&info);
  if (channels >= 3) {
    const bool ycc = kind.colors == jpeg_colors::ycc;
    jpeg_set_colorspace(&info, channels == 3 ? (ycc ? JCS_YCbCr : JCS_RGB) : (ycc ? JCS_YCCK : JCS_CMYK));
  }
  jpeg_set_quality(&info, kind.quality, TRUE);
  for (int c = 0; c < channels; ++c) {
    const auto k = static_cast<std::size_t>(c);
    info.comp_info[c].h_samp_factor = channels == 1 ? 1 : kind.across[k];
    info.comp_info[c].v_samp_factor = channels == 1 ? 1 : kind.down[k];
  }
  info.arith_code = kind.arithmetic ? TRUE : FALSE;
  info.restart_interval = kind.restart_blocks;
  std::vector<jpeg_scan_info> scans(4);
  if (kind.most_scans) {
    // All but the last bit of each coefficient, then that bit, for some of them two at a time.
    scans = {{1, {0}, 0, 0, 0, 1}, {1, {0}, 0, 0, 1, 0}};
    for (int k = 1; k <= 63; ++k) scans.push_back({1, {0}, k, k, 0, 1});
    for (int k = 1; k <= 63;) {
      const int last = k < 57 ? k + 1 : k;
      scans.push_back({1, {0}, k, last, 1, 0});
      k = last + 1;
    }
    info.scan_info = scans.data();
    info.num_scans = static_cast<int>(scans.size());
  } else if (kind.progressive) {
    jpeg_simple_progression(&info);
  } else if (kind.one_scan_each) {
    for (int c = 0; c < channels; ++c) scans[static_cast<std::size_t>(c)] = {1, {c, 0, 0, 0}, 0, 63, 0, 0};
    info.scan_info = scans.data();
    info.num_scans = channels;
  }
  jpeg_start_compress(&info, TRUE);
  while (info.next_scanline < info.image_height) {
    auto* row = const_cast<JSAMPROW>(picture.row(static_cast<int>(info.next_scanline)));
    jpeg_write_scanlines(&info, &row, 1);
  }
  jpeg_finish_compress(&info);
  jpeg_destroy_compress(&info);
  std::string out(reinterpret_cast<const char*>(memory), size);
  std::free(memory);
  return out;
}

}  // namespace wick_test
#endif
