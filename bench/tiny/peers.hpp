// The data of this benchmark, and those that wick is compared with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include <ATen/core/Tensor.h>

namespace tiny {

inline constexpr std::uint64_t samples = 60'000, batch_size = 256, row = 28 * 28, seed = 7;
inline constexpr std::uint64_t batches = (samples + batch_size - 1) / batch_size;

struct data_set {
  at::Tensor pixels;    // uint8 [60000, 28, 28]
  at::Tensor targets;   // int64 [60000], 0 … 9
  at::Tensor remapped;  // what the per-sample callable makes of them
};

/// The per-sample work: classes are put together.
inline std::int64_t remap(std::int64_t target) noexcept {
  static constexpr std::int64_t to[] = {10, 11, 12, 13, 14, 15, 16, 17, 18, 19};
  return to[target];
}

/// What a training loop sees of the batches, cheaply: all targets and a byte a batch.
struct seen {
  std::int64_t targets = 0;
  std::uint64_t bytes = 0, samples = 0;
  void batch(const std::uint8_t* data, const std::int64_t* target, std::uint64_t n) noexcept {
    for (std::uint64_t i = 0; i < n; ++i) targets += target[i];
    bytes += data[0];
    samples += n;
  }
  void add(const seen& other) noexcept {
    targets += other.targets;
    bytes += other.bytes;
    samples += other.samples;
  }
};

/// All of the batches: `each` is the same for the same samples in any order, `ordered` only for the same
/// batches.
struct digest {
  std::uint64_t each = 0, ordered = 0, samples = 0;
  void batch(const std::uint8_t* data, const std::int64_t* target, std::uint64_t n) noexcept;
};

/// torch::data: the data set and its own collation, with RandomSampler. Labels are mapped beforehand: it has
/// less to do.
class torch_data {
 public:
  torch_data(const data_set& data, std::size_t workers);
  ~torch_data();
  seen epoch();
  digest check();

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace tiny
