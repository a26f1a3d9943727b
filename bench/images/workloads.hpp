// The pipelines that are measured, and what each does to which picture.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <wick/codec/detail/stb.hpp>
#include <wick/core.hpp>

namespace images {

inline constexpr std::size_t batch_size = 64;
inline constexpr std::uint64_t seed = 7;
inline constexpr int output = 224;

struct settings {
  std::filesystem::path folder;
  std::size_t workers = 2;
  wick::decode_options decode = {};
  int side = output;                          // of what train() makes
  std::array<double, 2> scale = {0.08, 1.0};  // of its crops
};

/// decode() by stb_image, whatever codec is in front of it.
struct stb_decode {
  wick::lazy_image operator()(wick::bytes encoded) const {
    wick::ext::picture_info info;
    wick::detail::stb_codec.probe(encoded.span(), info);
    info.decoder = &wick::detail::stb_codec;
    return wick::lazy_image(std::move(encoded), info, 3);
  }
};

inline wick::loader_options options(const settings& s) { return {.seed = seed, .workers = s.workers}; }

/// Training: RandomResizedCrop, to 224 px unless the settings say otherwise, and a flip.
template <class Decode>
auto train(const settings& s, Decode decode) {
  return wick::image_folder(s.folder) | wick::shuffle() | wick::read() | decode |
         wick::random_resized_crop(s.side, {.scale = s.scale}) | wick::random_horizontal_flip();
}
/// Validation: Resize 256, CenterCrop 224.
inline auto validate(const settings& s) {
  return wick::image_folder(s.folder) | wick::read() | wick::decode(s.decode) | wick::resize(256) |
         wick::center_crop(output);
}
/// Nothing but decoding.
inline auto whole(const settings& s) {
  return wick::image_folder(s.folder) | wick::shuffle() | wick::read() | wick::decode(s.decode);
}

/// One picture's work, as the pipeline planned it.
struct job {
  std::uint64_t index = 0;  ///< in the source
  wick::detail::plan plan;
};

/// What `pipeline`, which ends with pictures, does in an epoch, by position.
template <class Pipeline>
std::vector<job> jobs_of(const Pipeline& pipeline, const settings& s, std::uint64_t epoch) {
  wick::loader loader(
      pipeline |
          [](wick::lazy_image picture, wick::context& c) {
            return job{c.index(), picture.geometry()};
          } |
          wick::group(batch_size),
      options(s));
  std::vector<job> out;
  for (auto& batch : loader.epoch(epoch)) {
    for (const auto& sample : batch) out.push_back(sample.data);
  }
  return out;
}

}  // namespace images
