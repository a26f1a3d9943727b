// The mask of a picture lies in a struct of nine fields: it would not be flipped.
#include <utility>

#include <wick/core.hpp>

struct annotations {
  wick::mask classes;
  int a, b, c, d, e, f, g, h;
};

wick::sample<wick::lazy_image, annotations> annotate(wick::sample<wick::lazy_image, wick::mask> s) {
  annotations out;
  out.classes = std::move(s.target);
  return {std::move(s.data), std::move(out)};
}

// expect: wick: this stage looks for pictures, masks, boxes and keypoints in all of a sample, and can't look
// into expect: annotations
int main() {
  wick::loader train(wick::zip(wick::files("img/*.png"), wick::files("mask/*.png")) | wick::read() |
                     wick::decode() | wick::decode_mask() | wick::map("annotate", annotate) |
                     wick::random_horizontal_flip() | wick::group(4));
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
}
