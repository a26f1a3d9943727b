// 00: the program of the README. tests/examples checks that the two are the same.
#include <iostream>
#include <wick/wick.hpp>

int main(int, char** argv) {
  wick::loader train(wick::image_folder(argv[1])  // a class a sub-folder
                         | wick::shuffle() | wick::read() | wick::decode()
                         | wick::random_resized_crop(224) | wick::random_horizontal_flip()
                         | wick::batch(64) | wick::pin() | wick::transfer(c10::kCUDA),
                     {.seed = 42});
  for (int epoch = 0; epoch < 3; ++epoch) {
    for (auto& batch : train.epoch(epoch)) {
      if (epoch == 0) std::cout << batch.data.sizes() << " " << batch.target.sizes() << "\n";
      // model->forward(batch.data) …
    }
  }
  std::cout << train.report();
}
