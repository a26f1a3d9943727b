// Stages that count, pictures to keep, and the fingerprints of epochs: what the tests of caches share.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "support/numbers.hpp"
#include "support/picture.hpp"
#include "support/temp_dir.hpp"
#include <wick/core.hpp>

namespace wick_test {

inline constexpr std::size_t nothing = 1;  // bytes: there is room for no sample

/// Counts how often it runs.
struct counted {
  std::shared_ptr<std::atomic<std::uint64_t>> runs = std::make_shared<std::atomic<std::uint64_t>>(0);
  template <class Item>
  Item operator()(Item item) const {
    runs->fetch_add(1);
    return item;
  }
};
/// The same as a coroutine that suspends.
struct counted_slowly {
  std::shared_ptr<std::atomic<std::uint64_t>> runs = std::make_shared<std::atomic<std::uint64_t>>(0);
  wick::task<cell> operator()(cell c, wick::context& context) const {
    runs->fetch_add(1);
    const std::shared_ptr<std::atomic<std::uint64_t>> mine = runs;
    co_await wick::sleep_for(std::chrono::microseconds(10), context);
    co_return c;
  }
};
inline cell add_random(cell c, wick::context& context) {
  c.target = 1000 * c.target + static_cast<std::int64_t>(context.random().below(1000));
  return c;
}

/// A folder of pictures, each of another size.
struct folder {
  explicit folder(int count) {
    for (int i = 0; i < count; ++i)
      write_file(dir.path().string() + "/a/" + std::to_string(100 + i) + ".png",
                 encode_png(photo(40 + i % 9, 30 + i % 7, 3, static_cast<std::uint64_t>(i) + 1)));
  }
  auto source() const { return wick::image_folder(dir.path().string()); }
  temp_dir dir;
};

/// All batches of some epochs, as fingerprints with content.
template <class Pipeline>
std::vector<std::uint64_t> prints(const Pipeline& p, wick::loader_options options, std::uint64_t epochs = 3) {
  options.content_fingerprint = true;
  options.seed = 5;
  wick::loader l(p, options);
  std::vector<std::uint64_t> out;
  for (std::uint64_t e = 0; e < epochs; ++e) {
    for (auto& batch : l.epoch(e)) static_cast<void>(batch);
    out.push_back(l.fingerprint(e).value);
  }
  return out;
}

}  // namespace wick_test
