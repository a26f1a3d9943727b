// What decoding costs without a loader: stb_image in a loop on some threads. Compiled as wick compiles it.
// To be included in one file of a program.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <span>
#include <string>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <vector>

#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#define STBI_ONLY_JPEG
#define STBI_ONLY_PNG
#define STBI_ONLY_BMP
#define STBI_ONLY_GIF
#define STBI_NO_STDIO
#define STBI_NO_LINEAR
#define STBI_ASSERT(x) ((void)0)
#if defined(__ARM_NEON) || defined(__aarch64__)
#define STBI_NEON
#endif
#include <stb_image.h>

namespace wick_bench {

/// Whether two decoders have made one picture of a JPEG: they round, and interpolate chroma, in their own
/// ways.
inline bool alike(const std::uint8_t* a, const std::uint8_t* b, std::size_t size) {
  std::uint64_t apart = 0;
  for (std::size_t i = 0; i < size; ++i)
    apart += static_cast<std::uint64_t>(a[i] > b[i] ? a[i] - b[i] : b[i] - a[i]);
  return apart <= size;  // a level on average
}

/// Decodes `files` on `threads` threads, each taking the next one: reads it into a buffer that is kept,
/// decodes it to RGB. `each(i, pixels, width, height)` is called on the thread that decoded file i. Ends the
/// program when one can't be read.
template <class Each>
void bare_decode(std::span<const std::string> files, std::size_t threads, Each each) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    std::vector<std::uint8_t> encoded;
    for (std::size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < files.size();) {
      const int file = ::open(files[i].c_str(), O_RDONLY | O_CLOEXEC);
      struct stat about {};
      if (file < 0 || ::fstat(file, &about) != 0) std::perror(files[i].c_str()), std::exit(1);
      encoded.resize(static_cast<std::size_t>(about.st_size));
      if (::read(file, encoded.data(), encoded.size()) != about.st_size)
        std::perror(files[i].c_str()), std::exit(1);
      ::close(file);
      int width = 0, height = 0;
      int channels = 0;
      std::uint8_t* const pixels = stbi_load_from_memory(encoded.data(), static_cast<int>(encoded.size()),
                                                         &width, &height, &channels, 3);
      if (pixels == nullptr) {
        std::fprintf(stderr, "%s: stb_image can't decode it\n", files[i].c_str());
        std::exit(1);
      }
      each(i, pixels, width, height);
      stbi_image_free(pixels);
    }
  };
  std::vector<std::thread> others;
  for (std::size_t t = 1; t < threads; ++t) others.emplace_back(work);
  work();
  for (std::thread& t : others) t.join();
}
inline void bare_decode(std::span<const std::string> files, std::size_t threads) {
  bare_decode(files, threads, [](std::size_t, const std::uint8_t*, int, int) {});
}

}  // namespace wick_bench
