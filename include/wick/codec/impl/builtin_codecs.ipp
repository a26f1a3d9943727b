// The built-in decoders. Included in exactly one file of a program, after the decoders it names.
#pragma once

#include <array>
#include <span>

#include <wick/codec/detail/jpeg.hpp>
#include <wick/codec/detail/stb.hpp>
#include <wick/ext/codec.hpp>

namespace wick::inline v0_1::detail {

#ifdef WICK_HAS_LIBJPEG_TURBO
extern const codec libjpeg_turbo_codec;
#endif

std::span<const codec* const> builtin_codecs() noexcept {
  static constexpr std::array all{
      &stb_codec,
#ifdef WICK_HAS_LIBJPEG_TURBO
      &libjpeg_turbo_codec,
#endif
      &jpeg_codec,  // the last one is asked first
  };
  return all;
}

}  // namespace wick::detail
