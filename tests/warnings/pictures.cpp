// Every picture stage in one training program, as a user writes it.
#include <cstdio>
#include <utility>
#include <vector>

#include <wick/core.hpp>

int main(int argc, char** argv) {
  if (argc < 2) return 1;
  auto augment = wick::decode({.orient = true}) | wick::random_resized_crop(224) |
                 wick::random_horizontal_flip() | wick::random_vertical_flip() |
                 wick::color_jitter(0.4, 0.4, 0.4, 0.1) | wick::random_grayscale(0.1) |
                 wick::normalize({0.485, 0.456, 0.406}, {0.229, 0.224, 0.225});
  wick::loader train(wick::image_folder(argv[1]) | wick::shuffle() | wick::shard(0, 1) | wick::read() |
                         augment | wick::array_batch(256),
                     {.seed = 42, .on_error = wick::on_error::skip});
  for (auto& batch : train.epoch(0)) std::printf("%zu fields\n", sizeof batch);

  wick::loader padded(wick::image_folder(argv[1]) | wick::read() | wick::decode({.mode = wick::color::gray}) |
                      wick::resize(256) | wick::pad(4) | wick::random_crop(224, {.padding = 4}) |
                      wick::center_crop(200) | wick::grayscale(3) | wick::array_batch(32));
  for (auto& batch : padded.epoch(0)) std::printf("%zu fields\n", sizeof batch);

  wick::loader validate(wick::image_folder(argv[1]) | wick::read() | wick::decode() | wick::resize(256) |
                        wick::center_crop(224) | wick::horizontal_flip() | wick::vertical_flip() |
                        [](wick::image picture, wick::context&) { return picture; } | wick::group(8));
  while (auto samples = validate.next()) std::printf("%zu\n", samples->size());

  wick::loader turned(wick::zip(wick::files(argv[1]), wick::files(argv[1])) | wick::read() | wick::decode() |
                      wick::decode_mask() | wick::rand_augment() | wick::trivial_augment_wide() |
                      wick::auto_augment() | wick::random_affine(10, {.translate = {0.1, 0.1}}) |
                      wick::random_rotation(10) | wick::random_perspective() |
                      wick::resize({.max_size = 256}) | wick::letterbox(256) | wick::array_batch(32));
  for (auto& batch : turned.epoch(0)) std::printf("%zu fields\n", sizeof batch);

  wick::loader viewed(wick::image_folder(argv[1]) | wick::read() | wick::decode() |
                      wick::multi_crop<2, 3>(wick::random_resized_crop(224) | wick::color_jitter(0.4),
                                             wick::random_crop(96)) |
                      wick::array_batch(32));
  for (auto& batch : viewed.epoch(0)) std::printf("%zu fields\n", sizeof batch);

  wick::image picture(8, 8, 3);
  for (const auto what : {wick::detail::pixel_op::kind::hue, wick::detail::pixel_op::kind::saturation,
                          wick::detail::pixel_op::kind::contrast}) {
    wick::detail::apply({what, 0.5f}, wick::detail::picture_target::interleaved(picture.data(), 8, 8, 3));
  }
  wick::lazy_image lazy(std::move(picture));
  lazy.crop({1, 1, 6, 6});
  lazy.resize(4, 4);
  return std::move(lazy).pixels().empty();
}
