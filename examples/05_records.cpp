// 05: samples of several members: KEY.jpg and KEY.json in tar shards, as WebDataset writes them.
//
// Teaches: tar() with a list of members reads those and no others; a record has its members' bytes by
// extension; a callable turns it into what the rest of the pipeline takes; any struct is a sample, and
// batches have its fields.
//
//   05_records "SHARDS/train-*.tar" [--batch N] [--size N] [--workers N]
//
// Expected: shapes and types of the first batch's fields, then the number of samples.
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include <torch/torch.h>

#include "arguments.hpp"
#include <wick/wick.hpp>

/// What the JSON of a sample says. A batch has a tensor for each number and a std::vector of the strings.
struct about {
  std::int64_t label;
  std::array<float, 4> box;  // left, top, right, bottom, as shares of the picture
  std::string caption;
};

/// What is thrown here is an error of this sample: the failure log has its key, and on_error says what
/// becomes of it.
static wick::sample<wick::bytes, about> parse(wick::record<wick::bytes> r) {
  const auto json = nlohmann::json::parse(r.at("json").text());
  return {std::move(r.at("jpg")), {json.at("label"), json.at("box"), json.at("caption")}};
}

int main(int argc, char** argv) try {
  const arguments args(argc, argv, "SHARDS", {{"batch", 8}, {"size", 64}, {"workers", {}}});
  const int size = static_cast<int>(args["size"]);

  wick::loader train(wick::tar(args.positional(), {"jpg;png", "json"}) | wick::shuffle() | wick::read() |
                         wick::map("parse", parse) | wick::decode() | wick::resize(size, size) |
                         wick::batch(static_cast<std::size_t>(args["batch"])),
                     {.seed = 42, .workers = args.count("workers")});
  std::size_t number = 0;
  for (auto& batch : train.epoch(0)) {
    const auto& [label, box, caption] = batch.target;
    if (number++ == 0) {
      std::cout << "pictures " << batch.data.sizes() << ", labels " << label.sizes() << " of "
                << label.dtype() << ", boxes " << box.sizes() << " of " << box.dtype()
                << ", captions: " << caption.size() << ", the first \"" << caption.front() << "\"\n";
    }
  }
  std::cout << train.samples() << " samples in " << number << " batches\n";
} catch (const std::exception& e) {
  std::cerr << "05_records: " << e.what() << "\n";
  return 1;
}
