/// \file
/// A BMP or GIF without decoding it: the header, and whether the (first) picture is all there.
#pragma once

#include <cstddef>
#include <span>

#include <wick/codec/codec.hpp>

namespace wick::detail {

/// \throws wick::error when the file ends inside the header
bool probe_bmp(std::span<const std::byte> encoded, picture_info& info);

/// \throws wick::error when there are fewer bytes than rows need. Run-length coded ones are left to the
/// decoder.
void check_bmp_complete(std::span<const std::byte> encoded, const picture_info& info);

/// \throws wick::error when the file ends inside the header
bool probe_gif(std::span<const std::byte> encoded, picture_info& info);

/// \throws wick::error when the file ends before its first frame does
void check_gif_complete(std::span<const std::byte> encoded);

}  // namespace wick::detail
