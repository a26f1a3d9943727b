#include "images/bare_jpeg.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <jpeglib.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace images {

namespace {

/// One thread's libjpeg, kept from picture to picture.
class decompressor {
 public:
  decompressor() {
    info_.err = jpeg_std_error(&errors_);
    errors_.emit_message = [](j_common_ptr, int) {};
    jpeg_create_decompress(&info_);
  }
  decompressor(const decompressor&) = delete;
  decompressor& operator=(const decompressor&) = delete;
  ~decompressor() { jpeg_destroy_decompress(&info_); }

  void decode(std::span<const unsigned char> encoded, const wick::detail::plan& plan, unsigned char* place) {
    jpeg_mem_src(&info_, encoded.data(), static_cast<unsigned long>(encoded.size()));
    jpeg_read_header(&info_, TRUE);
    const double least = std::max(static_cast<double>(plan.width) / plan.source.width,
                                  static_cast<double>(plan.height) / plan.source.height);
    unsigned scale = 8;
    while (scale > 1 && scale / 2 >= least * 8) scale /= 2;
    info_.scale_num = scale;
    info_.scale_denom = 8;
    info_.out_color_space = JCS_RGB;
    info_.dct_method = JDCT_ISLOW;
    info_.do_fancy_upsampling = TRUE;
    jpeg_start_decompress(&info_);
    const wick::rect needed = source_of_window(plan);
    const double s = scale / 8.0;
    const auto all = info_.output_height;
    const auto left = static_cast<JDIMENSION>(needed.x * s), top = static_cast<JDIMENSION>(needed.y * s);
    const auto right =
        std::min(info_.output_width, static_cast<JDIMENSION>(std::ceil((needed.x + needed.width) * s)));
    const auto bottom = std::min(all, static_cast<JDIMENSION>(std::ceil((needed.y + needed.height) * s)));
    if (left > 0 || right < info_.output_width) {
      JDIMENSION x = left, width = right - left;
      jpeg_crop_scanline(&info_, &x, &width);
    }
    if (top > 0) jpeg_skip_scanlines(&info_, top);
    const std::size_t stride = place != nullptr ? std::size_t{info_.output_width} * 3
                                                : (std::size_t{info_.output_width} * 3 + 31) / 32 * 32;
    const bool whole = top == 0 && bottom == all;
    const std::size_t kept = whole ? all : 8;
    if (place == nullptr) {
      pixels_.resize(std::max(pixels_.size(), kept * stride + unaligned));
      place = pixels_.data() + unaligned;
    }
    for (JDIMENSION y = top; y < bottom;) {
      JSAMPROW rows[8];
      const JDIMENSION n = std::min<JDIMENSION>(8, bottom - y);
      for (JDIMENSION k = 0; k < n; ++k) rows[k] = place + (whole ? y + k : k) * stride;
      y += jpeg_read_scanlines(&info_, rows, n);
    }
    jpeg_abort_decompress(&info_);
  }

 private:
  /// The pixels that the window of the plan is made of, without the filter's reach.
  static wick::rect source_of_window(const wick::detail::plan& p) {
    const double across = static_cast<double>(p.source.width) / p.width,
                 down = static_cast<double>(p.source.height) / p.height;
    const auto low = [](int start, int from, double by) { return start + static_cast<int>(from * by); };
    const auto high = [](int start, int to, double by) {
      return start + static_cast<int>(std::ceil(to * by));
    };
    const int x = low(p.source.x, p.window.x, across), y = low(p.source.y, p.window.y, down);
    return {x, y, high(p.source.x, p.window.x + p.window.width, across) - x,
            high(p.source.y, p.window.y + p.window.height, down) - y};
  }

  /// Rows that are aligned are written around the cache, which is slower here.
  static constexpr std::size_t unaligned = 8;

  jpeg_decompress_struct info_{};
  jpeg_error_mgr errors_{};
  std::vector<unsigned char> pixels_;
};

}  // namespace

void bare_jpeg(std::span<const std::string> files, std::span<const job> jobs, std::size_t threads,
               unsigned char* batches) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    decompressor jpeg;
    std::vector<unsigned char> encoded;
    for (std::size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < jobs.size();) {
      const std::string& path = files[jobs[i].index];
      const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
      struct stat about {};
      if (file < 0 || ::fstat(file, &about) != 0) std::perror(path.c_str()), std::exit(1);
      const auto size = static_cast<std::size_t>(about.st_size);
      encoded.resize(std::max(encoded.size(), size));
      if (::read(file, encoded.data(), size) != about.st_size) std::perror(path.c_str()), std::exit(1);
      ::close(file);
      const wick::rect& part = jobs[i].plan.source;
      unsigned char* const place = batches == nullptr
                                       ? nullptr
                                       : batches + i % (batches_in_turn * batch_size) *
                                                       static_cast<std::size_t>(part.width * part.height * 3);
      jpeg.decode({encoded.data(), size}, jobs[i].plan, place);
    }
  };
  std::vector<std::thread> others;
  for (std::size_t t = 1; t < threads; ++t) others.emplace_back(work);
  work();
  for (std::thread& t : others) t.join();
}

}  // namespace images
