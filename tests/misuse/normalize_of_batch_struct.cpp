// normalize() on a batch that is a struct of the user's.
#include <cstdint>

#include <wick/wick.hpp>

// expect first: wick: normalize() takes a tensor, and this batch is a struct
// expect: [f = normalize(mean, std, torch::kFloat32)]
struct sample {
  wick::image picture;
  std::int64_t label;
};
struct batch {
  at::Tensor picture, label;
};

int main() {
  wick::loader train(wick::image_folder("photos") | wick::read() | wick::decode() | wick::resize(224) |
                     [](wick::sample<wick::image> s) {
                       return sample{std::move(s.data), s.target};
                     } |
                     wick::batch<batch>(32) | wick::normalize(0.5, 0.5));
  for (auto& b : train.epoch(0)) static_cast<void>(b);
}
