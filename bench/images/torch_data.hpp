// torch::data over the same pictures, with wick's decoder and resize in its data set: what differs is the
// loader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace images {

enum class work { train, validate, whole };

class torch_data {
 public:
  /// `files` with the label of each.
  torch_data(std::vector<std::string> files, std::vector<std::int64_t> targets, work what,
             std::size_t workers);
  ~torch_data();
  /// Samples of one epoch.
  std::size_t epoch();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace images
