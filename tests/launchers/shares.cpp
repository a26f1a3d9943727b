// wick_shares FOLDER: writes the batches of two epochs that this rank gets, a line each, into
// FOLDER/RANK-of-WORLD.txt.
#include <cstdint>
#include <exception>
#include <fstream>
#include <iostream>
#include <string>

#include <wick/core.hpp>

namespace {

struct numbers {
  std::uint64_t size() const { return 1000; }
  std::int64_t at(std::uint64_t i) const { return static_cast<std::int64_t>(i); }
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: wick_shares FOLDER\n";
    return 2;
  }
  try {
    const wick::process_ranks here = wick::ranks();
    wick::loader train(wick::from(numbers()) | wick::shuffle() | wick::shard() | wick::array_batch(24),
                       {.seed = 5, .workers = 1});
    std::ofstream to(std::string(argv[1]) + "/" + std::to_string(here.rank) + "-of-" +
                     std::to_string(here.world) + ".txt");
    for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
      for (const wick::array& batch : train.epoch(epoch)) {
        for (std::int64_t i = 0; i < batch.extents()[0]; ++i) to << batch.as<std::int64_t>()[i] << ' ';
        to << '\n';
      }
    }
    to.close();
    std::cerr << "rank " << here.rank << " of " << here.world << ", " << here.local_rank << " of "
              << here.local_world << " here, by " << (here.launcher.empty() ? "no launcher" : here.launcher)
              << '\n';
    return to ? 0 : 1;
  } catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
  }
}
