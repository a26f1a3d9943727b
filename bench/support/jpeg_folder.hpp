// A folder of JPEGs with a sub-folder per class, made up but with the detail of photographs. To be included
// in one file of a program.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#define STB_IMAGE_WRITE_STATIC
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb_image_write.h>

namespace wick_bench {

/// Pictures of 500 x 375 px: patches of light at all scales, as clouds and foliage have them, and a few
/// things with edges in front. At quality 90 they have about 43 KB, as photographs of this size.
class picture_maker {
 public:
  static constexpr int width = 500, height = 375;

  explicit picture_maker(std::uint32_t seed) : random_(seed * 2654435761u + 1) {}

  std::vector<std::uint8_t> make() {
    std::vector<float> light(static_cast<std::size_t>(width) * height), hue(light.size());
    float strength = 62;
    for (int cell = 128; cell >= 2; cell /= 2, strength *= 0.7f) add_noise(light, cell, strength);
    for (int cell = 128; cell >= 32; cell /= 2) add_noise(hue, cell, 22);
    std::array<float, 3> tint{below(60) + 90, below(60) + 90, below(60) + 90};
    std::vector<std::uint8_t> out(light.size() * 3);
    for (std::size_t i = 0; i < light.size(); ++i) {
      for (std::size_t c = 0; c < 3; ++c) {
        out[3 * i + c] = static_cast<std::uint8_t>(
            std::clamp(tint[c] + light[i] + hue[i] * (static_cast<float>(c) - 1), 0.0f, 255.0f));
      }
    }
    for (int n = 0; n < 4; ++n) add_disc(out);
    return out;
  }

 private:
  std::uint32_t next() noexcept {
    random_ ^= random_ << 13;
    random_ ^= random_ >> 17;
    return random_ ^= random_ << 5;
  }
  float below(float n) noexcept { return static_cast<float>(next() >> 8) / static_cast<float>(1 << 24) * n; }

  /// Random values on a grid, with straight lines between them.
  void add_noise(std::vector<float>& to, int cell, float strength) {
    const int columns = width / cell + 2, rows = height / cell + 2;
    std::vector<float> grid(static_cast<std::size_t>(columns) * static_cast<std::size_t>(rows));
    for (float& g : grid) g = (below(2) - 1) * strength;
    for (int y = 0; y < height; ++y) {
      const float v = static_cast<float>(y % cell) / static_cast<float>(cell);
      const float* const above = grid.data() + y / cell * columns;
      for (int x = 0; x < width; ++x) {
        const float u = static_cast<float>(x % cell) / static_cast<float>(cell);
        const float *const a = above + x / cell, *const b = a + columns;
        to[static_cast<std::size_t>(y * width + x)] +=
            (a[0] * (1 - u) + a[1] * u) * (1 - v) + (b[0] * (1 - u) + b[1] * u) * v;
      }
    }
  }
  void add_disc(std::vector<std::uint8_t>& to) {
    const float cx = below(width), cy = below(height), r = 20 + below(70);
    const std::array<float, 3> shade{below(255), below(255), below(255)};
    for (int y = std::max(0, static_cast<int>(cy - r)); y < std::min(height, static_cast<int>(cy + r)); ++y) {
      for (int x = std::max(0, static_cast<int>(cx - r)); x < std::min(width, static_cast<int>(cx + r));
           ++x) {
        const float dx = static_cast<float>(x) - cx, dy = static_cast<float>(y) - cy,
                    d = (dx * dx + dy * dy) / (r * r);
        if (d > 1) continue;
        for (std::size_t c = 0; c < 3; ++c) {  // a ball, half see-through, so that the surface has grain too
          std::uint8_t& p = to[static_cast<std::size_t>(y * width + x) * 3 + c];
          p = static_cast<std::uint8_t>((p + shade[c] * (1 - 0.6f * d)) / 2);
        }
      }
    }
  }

  std::uint32_t random_;
};

/// `count` pictures in ten classes below `root`.
inline void make_jpeg_folder(const std::filesystem::path& root, std::size_t count) {
  for (int c = 0; c < 10; ++c) std::filesystem::create_directories(root / ("class_" + std::to_string(c)));
  std::atomic<std::size_t> next{0};
  std::atomic<bool> good{true};
  const auto work = [&] {
    for (std::size_t i; (i = next.fetch_add(1)) < count;) {
      const std::vector<std::uint8_t> pixels = picture_maker(static_cast<std::uint32_t>(i + 1)).make();
      const std::filesystem::path file =
          root / ("class_" + std::to_string(i % 10)) / (std::to_string(10'000 + i) + ".jpg");
      if (stbi_write_jpg(file.c_str(), picture_maker::width, picture_maker::height, 3, pixels.data(), 90) ==
          0)
        good = false;
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < std::max(1u, std::thread::hardware_concurrency()); ++t) threads.emplace_back(work);
  for (std::thread& t : threads) t.join();
  if (!good)
    throw std::runtime_error("could not write the pictures to " + root.string() + "; is the disk full?");
}

/// The paths of all pictures below a folder of classes and their size on disk.
struct picture_list {
  std::vector<std::string> files;
  std::uint64_t bytes = 0;
};

/// The files of `source` (a wick::image_folder), in its order.
template <class Source>
picture_list pictures_of(const Source& source) {
  picture_list out;
  for (std::uint64_t i = 0; i < source.size(); ++i) {
    out.files.emplace_back(source.at(i).data.path);
    out.bytes += std::filesystem::file_size(out.files.back());
  }
  return out;
}

}  // namespace wick_bench
