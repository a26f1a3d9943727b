// The code of docs/guides/formats.md. Compiled; a test compares the two.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>
#include <utility>

#include <torch/torch.h>

#include <wick/wick.hpp>

namespace {

/// A PPM: "P6", width, height and 255 as text, a byte of white space, then the pixels.
struct ppm {
  std::array<int, 3> numbers{};
  std::span<const std::byte> pixels;

  explicit ppm(std::span<const std::byte> file) {
    const auto* at = reinterpret_cast<const char*>(file.data());
    const auto* const end = at + file.size();
    at += 2;
    for (int& number : numbers) {
      while (at < end && (*at == ' ' || *at == '\n')) ++at;
      const auto [behind, wrong] = std::from_chars(at, end, number);
      if (wrong != std::errc() || number < 1)
        throw wick::error("PPM: a header that is damaged, or has a comment");
      at = behind;
    }
    if (numbers[2] != 255) throw wick::error("PPM of other than 8 bits; convert it");
    pixels = file.last(static_cast<std::size_t>(end - std::min(at + 1, end)));
  }
};

bool probe_ppm(std::span<const std::byte> file, wick::ext::picture_info& info) {
  if (file.size() < 2 || file[0] != std::byte{'P'} || file[1] != std::byte{'6'}) return false;
  const ppm header(file);
  info.format = "PPM";
  info.width = header.numbers[0];
  info.height = header.numbers[1];
  info.channels = 3;
  return true;
}

wick::ext::decoded_picture decode_ppm(std::span<const std::byte> file, const wick::ext::picture_info& info,
                                      const wick::ext::decode_request& request) {
  if (request.channels != 3) throw wick::error("PPM: RGB is all that this decoder gives");
  const ppm read(file);
  const std::size_t bytes = static_cast<std::size_t>(info.width) * static_cast<std::size_t>(info.height) * 3;
  if (read.pixels.size() < bytes) throw wick::error("PPM breaks off");
  wick::image out(static_cast<int>(info.width), static_cast<int>(info.height), 3);
  const auto* const from = reinterpret_cast<const std::uint8_t*>(read.pixels.data());
  std::copy(from, from + bytes, out.data());
  return {.pixels = std::move(out)};
}

const wick::ext::codec ppm_decoder{
    .name = "ppm", .probe = &probe_ppm, .check_complete = nullptr, .decode = &decode_ppm};

[[maybe_unused]] void train() {
  wick::ext::codecs().add(ppm_decoder);
  wick::loader train(wick::image_folder("train") | wick::shuffle() | wick::read() | wick::decode() |
                         wick::random_resized_crop(224) | wick::batch(256),
                     {.seed = 42});
  for (auto& batch : train.epoch(0)) (void)batch.data, (void)batch.target;
}

}  // namespace
