// examples/00_pictures.cpp with torch::data in place of wick: a data set of one's own that decodes by
// stb_image.
#include <cstdint>
#include <exception>
#include <filesystem>
#include <iostream>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <torch/torch.h>

extern "C" unsigned char* stbi_load(const char* path, int* width, int* height, int* channels, int wanted);
extern "C" void stbi_image_free(void* pixels);

namespace {

class image_folder : public torch::data::Dataset<image_folder> {
 public:
  explicit image_folder(const std::string& root) {
    for (const auto& folder : std::filesystem::directory_iterator(root)) {
      if (!folder.is_directory()) continue;
      for (const auto& file : std::filesystem::directory_iterator(folder.path())) {
        files_.emplace_back(file.path().string(), static_cast<std::int64_t>(classes_));
      }
      ++classes_;
    }
    if (files_.empty()) throw std::runtime_error(root + ": no pictures");
  }
  torch::data::Example<> get(std::size_t index) override {
    const auto& [path, label] = files_.at(index);
    int width = 0, height = 0, channels = 0;
    unsigned char* const pixels = stbi_load(path.c_str(), &width, &height, &channels, 3);
    if (pixels == nullptr) throw std::runtime_error(path + ": is no picture");
    torch::Tensor picture =
        torch::from_blob(pixels, {1, height, width, 3}, stbi_image_free, torch::kByte).permute({0, 3, 1, 2});
    picture = torch::nn::functional::interpolate(picture.to(torch::kFloat).div(255),
                                                 torch::nn::functional::InterpolateFuncOptions()
                                                     .size(std::vector<std::int64_t>{64, 64})
                                                     .mode(torch::kBilinear)
                                                     .align_corners(false));
    return {picture.squeeze(0), torch::full({}, label, torch::kLong)};
  }
  torch::optional<std::size_t> size() const override { return files_.size(); }
  std::size_t classes() const { return classes_; }

 private:
  std::vector<std::pair<std::string, std::int64_t>> files_;
  std::size_t classes_ = 0;
};

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2)
    throw std::runtime_error("usage: train FOLDER, where each class of pictures has a folder of its own");
  const auto device = torch::cuda::is_available() ? torch::kCUDA : torch::kCPU;

  const image_folder pictures(argv[1]);
  auto train = torch::data::make_data_loader<torch::data::samplers::RandomSampler>(
      image_folder(argv[1])
          .map(torch::data::transforms::Normalize<>({0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}))
          .map(torch::data::transforms::Stack<>()),
      torch::data::DataLoaderOptions().batch_size(32).workers(2));

  using namespace torch::nn;
  Sequential model(Conv2d(Conv2dOptions(3, 16, 3).stride(2)), ReLU(),
                   Conv2d(Conv2dOptions(16, 32, 3).stride(2)), ReLU(), AdaptiveAvgPool2d(1), Flatten(),
                   Linear(32, pictures.classes()));
  model->to(device);
  torch::optim::Adam optimizer(model->parameters());

  for (int epoch = 1; epoch <= 5; ++epoch) {
    double sum = 0;
    int batches = 0;
    for (auto& batch : *train) {
      optimizer.zero_grad();
      const auto loss =
          functional::cross_entropy(model->forward(batch.data.to(device)), batch.target.to(device));
      loss.backward();
      optimizer.step();
      sum += loss.item<double>();
      ++batches;
    }
    std::cout << "epoch " << epoch << ": loss " << sum / batches << std::endl;
  }
} catch (const std::exception& e) {
  std::cerr << e.what() << "\n";
  return 1;
}
