// The only file here that includes <torch/torch.h>: it takes half a minute to compile.
#include "images/torch_data.hpp"

#include <fcntl.h>
#include <stdexcept>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#include <torch/torch.h>

#include <wick/core.hpp>

namespace images {

namespace {

wick::bytes contents(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat about {};
  if (file < 0 || ::fstat(file, &about) != 0) throw std::runtime_error("can't read " + path);
  wick::bytes out(static_cast<std::size_t>(about.st_size));
  const bool good = ::read(file, out.data(), out.size()) == about.st_size;
  ::close(file);
  if (!good) throw std::runtime_error("can't read " + path);
  return out;
}

class pictures : public torch::data::datasets::Dataset<pictures> {
 public:
  pictures(std::vector<std::string> files, std::vector<std::int64_t> targets, work what)
      : files_(std::move(files)), targets_(std::move(targets)), what_(what) {}
  torch::data::Example<> get(std::size_t index) override {
    wick::context random({.seed = 7, .position = index, .index = index});
    wick::lazy_image picture = wick::decode()(contents(files_[index]), random);
    if (what_ == work::train) {
      picture = wick::random_resized_crop(224)(std::move(picture), random);
      if (random.random().bernoulli(0.5)) picture.mirror_x();
    } else if (what_ == work::validate) {
      picture = wick::center_crop(224)(wick::resize(256)(std::move(picture), random), random);
    }
    const torch::Tensor pixels =
        torch::empty({picture.height(), picture.width(), picture.channels()}, torch::kUInt8);
    picture.write_to({static_cast<std::byte*>(pixels.data_ptr()), false});
    return {pixels, torch::tensor(targets_[index])};
  }
  torch::optional<std::size_t> size() const override { return files_.size(); }

 private:
  std::vector<std::string> files_;
  std::vector<std::int64_t> targets_;
  work what_;
};

auto make_loader(pictures&& from, std::size_t workers) {
  return torch::data::make_data_loader<torch::data::samplers::RandomSampler>(
      std::move(from).map(torch::data::transforms::Stack<>()),
      torch::data::DataLoaderOptions().batch_size(64).workers(workers));
}

}  // namespace

struct torch_data::state {
  decltype(make_loader(std::declval<pictures&&>(), 0)) loader;
};

torch_data::torch_data(std::vector<std::string> files, std::vector<std::int64_t> targets, work what,
                       std::size_t workers)
    : state_(std::make_unique<state>(
          state{make_loader(pictures(std::move(files), std::move(targets), what), workers)})) {}
torch_data::~torch_data() = default;

std::size_t torch_data::epoch() {
  std::size_t seen = 0;
  for (auto& batch : *state_->loader) seen += static_cast<std::size_t>(batch.data.size(0));
  return seen;
}

}  // namespace images
