// Models that are published for LibTorch take wick's batches as they come: each is written as its program has
// it, and trains a few steps on a loader in place of the program's own.
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <torch/torch.h>

#include "../support/doctest.hpp"
#include "../support/picture.hpp"
#include "../support/temp_dir.hpp"
#include <wick/wick.hpp>

namespace wick_test::published_models_tests {

namespace {

/// Two idx files of random digits of 28 x 28.
struct digits {
  explicit digits(std::uint32_t count) {
    const auto big = [](std::uint32_t n) {
      return std::string{static_cast<char>(n >> 24), static_cast<char>(n >> 16), static_cast<char>(n >> 8),
                         static_cast<char>(n)};
    };
    std::string pixels = big(0x803) + big(count) + big(28) + big(28), classes = big(0x801) + big(count);
    for (std::uint32_t i = 0; i < count; ++i) {
      const wick::image p = photo(28, 28, 1, i + 1);
      pixels.append(reinterpret_cast<const char*>(p.data()), 28 * 28);
      classes += static_cast<char>(i % 10);
    }
    write_file(images, pixels);
    write_file(labels, classes);
  }
  temp_dir dir;
  std::string images = dir.path().string() + "/images", labels = dir.path().string() + "/labels";
};

/// Trains on one epoch. The losses are numbers, and every parameter changes.
template <class Model, class Loader, class Loss>
void train(Model& model, Loader& loader, Loss&& loss_of) {
  torch::manual_seed(1);
  torch::optim::SGD optimizer(model.parameters(), torch::optim::SGDOptions(0.01).momentum(0.5));
  std::vector<torch::Tensor> before;
  for (const torch::Tensor& p : model.parameters()) before.push_back(p.detach().clone());
  model.train();
  int steps = 0;
  for (auto& batch : loader.epoch(0)) {
    optimizer.zero_grad();
    const torch::Tensor loss = loss_of(model, batch);
    CHECK(std::isfinite(loss.template item<float>()));
    loss.backward();
    optimizer.step();
    ++steps;
  }
  CHECK(steps > 1);
  const auto after = model.parameters();
  for (std::size_t i = 0; i < after.size(); ++i) CHECK(!torch::equal(after[i], before[i]));
}

// pytorch/examples, cpp/mnist
struct mnist_net : torch::nn::Module {
  mnist_net()
      : conv1(torch::nn::Conv2dOptions(1, 10, 5)),
        conv2(torch::nn::Conv2dOptions(10, 20, 5)),
        fc1(320, 50),
        fc2(50, 10) {
    register_module("conv1", conv1);
    register_module("conv2", conv2);
    register_module("drop", drop);
    register_module("fc1", fc1);
    register_module("fc2", fc2);
  }
  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(torch::max_pool2d(conv1->forward(x), 2));
    x = torch::relu(torch::max_pool2d(drop->forward(conv2->forward(x)), 2));
    x = x.view({-1, 320});
    x = torch::relu(fc1->forward(x));
    x = torch::dropout(x, 0.5, is_training());
    return torch::log_softmax(fc2->forward(x), 1);
  }
  torch::nn::Conv2d conv1, conv2;
  torch::nn::Dropout2d drop;
  torch::nn::Linear fc1, fc2;
};

// The tutorial "Training a classifier", for CIFAR-10.
struct tutorial_net : torch::nn::Module {
  tutorial_net()
      : conv1(register_module("conv1", torch::nn::Conv2d(3, 6, 5))),
        pool(register_module("pool", torch::nn::MaxPool2d(2))),
        conv2(register_module("conv2", torch::nn::Conv2d(6, 16, 5))),
        fc1(register_module("fc1", torch::nn::Linear(16 * 5 * 5, 120))),
        fc2(register_module("fc2", torch::nn::Linear(120, 84))),
        fc3(register_module("fc3", torch::nn::Linear(84, 10))) {}
  torch::Tensor forward(torch::Tensor x) {
    x = pool(torch::relu(conv1(x)));
    x = pool(torch::relu(conv2(x)));
    x = torch::flatten(x, 1);
    return fc3(torch::relu(fc2(torch::relu(fc1(x)))));
  }
  torch::nn::Conv2d conv1;
  torch::nn::MaxPool2d pool;
  torch::nn::Conv2d conv2;
  torch::nn::Linear fc1, fc2, fc3;
};

// pytorch/examples, cpp/custom-dataset: pictures that a list names, at 224 x 224.
struct listed_net : torch::nn::Module {
  explicit listed_net(int classes) {
    torch::nn::Sequential layers;
    for (const auto& [from, to] : {std::pair{3, 8}, {8, 16}, {16, 16}, {16, 32}, {32, 32}}) {
      layers->push_back(torch::nn::Conv2d(torch::nn::Conv2dOptions(from, to, 3).padding(1)));
      layers->push_back(torch::nn::Functional(torch::relu));
      layers->push_back(torch::nn::MaxPool2d(2));
    }
    features = register_module("features", layers);
    classifier = register_module("classifier", torch::nn::Linear(32 * 7 * 7, classes));
  }
  torch::Tensor forward(torch::Tensor x) {
    return torch::log_softmax(classifier->forward(features->forward(x).view({-1, 32 * 7 * 7})), 1);
  }
  torch::nn::Sequential features{nullptr};
  torch::nn::Linear classifier{nullptr};
};

struct cifar {
  std::uint8_t label;
  std::array<std::array<std::array<std::uint8_t, 32>, 32>, 3> planes;
};

}  // namespace

TEST_CASE("the digits of pytorch/examples, from MNIST's files") {
  const digits of(64);
  wick::loader loader(wick::idx(of.images, of.labels) | wick::shuffle() | wick::to_image() |
                          wick::normalize(0.1307, 0.3081) | wick::batch(16),
                      {.seed = 1});
  mnist_net model;
  train(model, loader,
        [](mnist_net& m, auto& batch) { return torch::nll_loss(m.forward(batch.data), batch.target); });
}

TEST_CASE("the discriminator of pytorch/examples' DCGAN, from MNIST's files in [-1, 1]") {
  const digits of(32);
  wick::loader loader(wick::idx(of.images, of.labels) | wick::shuffle() | wick::to_image() |
                          wick::normalize(0.5, 0.5) | wick::batch(8),
                      {.seed = 1});
  const auto halving = [](int from, int to) {
    return torch::nn::Conv2d(torch::nn::Conv2dOptions(from, to, 4).stride(2).padding(1).bias(false));
  };
  const auto leaky = [] { return torch::nn::LeakyReLU(torch::nn::LeakyReLUOptions().negative_slope(0.2)); };
  torch::nn::Sequential model(halving(1, 64), leaky(), halving(64, 128), torch::nn::BatchNorm2d(128), leaky(),
                              halving(128, 256), torch::nn::BatchNorm2d(256), leaky(),
                              torch::nn::Conv2d(torch::nn::Conv2dOptions(256, 1, 3).bias(false)),
                              torch::nn::Sigmoid());
  train(*model, loader, [](torch::nn::SequentialImpl& m, auto& batch) {
    CHECK(batch.data.min().template item<float>() >= -1);
    CHECK(batch.data.max().template item<float>() <= 1);
    const torch::Tensor real = m.forward(batch.data).view({-1});
    return torch::binary_cross_entropy(real, torch::full_like(real, 0.9));
  });
}

TEST_CASE("the tutorial's classifier, from CIFAR-10's files") {
  const temp_dir dir;
  std::string file;
  for (int i = 0; i < 40; ++i) {
    const wick::image p = photo(32, 32, 3, static_cast<std::uint64_t>(i) + 1);
    file += static_cast<char>(i % 10);
    for (int c = 0; c < 3; ++c) {
      for (int at = c; at < 3 * 32 * 32; at += 3) file += static_cast<char>(p.data()[at]);
    }
  }
  const std::string path = dir.path().string() + "/data_batch_1.bin";
  write_file(path, file);
  wick::loader loader(
      wick::records<cifar>(wick::files({path})) | wick::shuffle() | wick::read() | wick::decode_raw<cifar>() |
          [](const cifar& c) {
            return wick::sample{c.planes, std::int64_t{c.label}};
          } |
          wick::to_image() | wick::normalize({0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}) | wick::batch(4),
      {.seed = 1});
  tutorial_net model;
  train(model, loader, [](tutorial_net& m, auto& batch) {
    return torch::nn::functional::cross_entropy(m.forward(batch.data), batch.target);
  });
}

TEST_CASE("pytorch/examples' own data set: pictures that a list names") {
  const temp_dir dir;
  const std::string at = dir.path().string() + "/";
  std::string list = "path,class\n";
  for (int i = 0; i < 12; ++i) {
    const std::string name = "img/" + std::to_string(i) + ".png";
    write_file(at + name, encode_png(photo(90 + i, 70, 3, static_cast<std::uint64_t>(i) + 1)));
    list += name + (i % 3 == 0 ? ",cat\n" : ",dog\n");
  }
  write_file(at + "info.csv", list);
  const wick::csv info(at + "info.csv");
  wick::loader loader(wick::zip(info.files("path"), wick::in_memory(info.classes("class").labels)) |
                          wick::shuffle() | wick::read() | wick::decode() | wick::resize(224, 224) |
                          wick::to_float() | wick::batch(4),
                      {.seed = 1});
  listed_net model(2);
  train(model, loader, [](listed_net& m, auto& batch) {
    CHECK(batch.data.sizes() == torch::IntArrayRef({4, 3, 224, 224}));
    return torch::nll_loss(m.forward(batch.data), batch.target);
  });
}

}  // namespace wick_test::published_models_tests
