// Mixes two pictures as tests/torchvision/mixing.py asks: a line "mixup SHARE CLASSES OWN OTHER WIDTH HEIGHT
// CHANNELS" or "cutmix SHARE X Y CLASSES …" and both pictures' pixels come in, the pixels and the shares of
// the classes (float) go out.
#include <cstddef>
#include <cstdint>
#include <iostream>
#include <sstream>
#include <string>

#include <wick/core.hpp>

namespace {

using labeled = wick::sample<wick::image, wick::soft_label>;

labeled read(int width, int height, int channels, std::int64_t label, std::size_t classes) {
  labeled out{wick::image(width, height, channels), wick::detail::soften(label, classes)};
  std::cin.read(reinterpret_cast<char*>(out.data.data()),
                static_cast<std::streamsize>(out.data.pixels().size()));
  return out;
}

void answer(const std::string& line) {
  std::istringstream in(line);
  std::string what;
  double share = 0;
  int x = 0, y = 0, width = 0, height = 0, channels = 0;
  std::size_t classes = 0;
  std::int64_t own = 0, other = 0;
  in >> what >> share;
  if (what == "cutmix") in >> x >> y;
  in >> classes >> own >> other >> width >> height >> channels;
  labeled into = read(width, height, channels, own, classes);
  const labeled from = read(width, height, channels, other, classes);
  if (what == "cutmix")
    wick::detail::cutmix_by(into, from, share, x, y);
  else
    wick::detail::mixup_by(into, from, share);
  std::cout.write(reinterpret_cast<const char*>(into.data.data()),
                  static_cast<std::streamsize>(into.data.pixels().size()));
  std::cout.write(reinterpret_cast<const char*>(into.target.shares.data()),
                  static_cast<std::streamsize>(classes * sizeof(float)));
  std::cout.flush();
}

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  for (std::string line; std::getline(std::cin, line);) answer(line);
}
