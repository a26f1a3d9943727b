/// \file
/// Where the first frame of a GIF is, in the file and in the picture. CompuServe, "Graphics Interchange
/// Format", 89a.
#pragma once

#include <cstddef>
#include <span>

namespace wick::detail {

/// Where the first frame lies in the file, and in the picture.
struct gif_frame {
  int left = 0, top = 0, width = 0, height = 0;
  bool interlaced = false;
  int transparent = -1;     // a number that no color stands for
  std::size_t palette = 0;  // where it starts; 0: levels of gray
  std::size_t colors = 0;   // in the palette
  std::size_t codes = 0;    // where the length of the first codes is said
};

/// False when the file ends before it.
bool find_gif_frame(std::span<const std::byte> encoded, gif_frame& out);

}  // namespace wick::detail
