// A folder of JPEGs of which one in a hundred is damaged: what skip and replace cost against the same folder
// without those.
//
// The peer is wick itself on the good pictures alone. A damaged one is read, and most are decoded in part, so
// the cost has a floor that no policy can go below; what is measured is pictures delivered a second.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/jpeg_folder.hpp"
#include "support/options.hpp"
#include "support/temp_folder.hpp"
#include "support/timing.hpp"
#include <wick/core.hpp>

namespace {

namespace fs = std::filesystem;

constexpr std::size_t every = 100;

std::string content_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// One in a hundred is damaged, in five ways by turns.
void damage(const fs::path& file, std::size_t way) {
  std::string jpeg = content_of(file);
  switch (way % 5) {
    case 0:
      jpeg.clear();
      break;
    case 1:
      jpeg.resize(jpeg.size() / 2);
      break;
    case 2:
      jpeg.assign(jpeg.size(), '\0');
      break;
    case 3:
      jpeg.replace(0, 6, "GIF89a");
      break;
    default:
      jpeg = "<!DOCTYPE html><title>404 Not Found</title>";
      break;
  }
  std::ofstream(file, std::ios::binary | std::ios::trunc) << jpeg;
}

auto make_loader(std::vector<fs::path> files, std::size_t workers, wick::on_error policy) {
  return wick::loader(
      wick::files(std::move(files)) | wick::shuffle() | wick::read() | wick::decode() | wick::array_batch(64),
      {.seed = 1, .workers = workers, .prefetch_next_epoch = false, .on_error = std::move(policy)});
}

int run(const wick_bench::options& o) {
  const wick_bench::temp_folder folder;
  const std::size_t count = o.quick ? 200 : 1000;
  wick_bench::make_jpeg_folder(folder.path(), count);
  std::vector<fs::path> all, good;
  for (std::size_t i = 0; i < count; ++i) {
    all.push_back(folder.path() / ("class_" + std::to_string(i % 10)) /
                  (std::to_string(10'000 + i) + ".jpg"));
    if (i % every == every / 3)
      damage(all.back(), i / every);
    else
      good.push_back(all.back());
  }
  auto clean = make_loader(good, o.workers, {});
  auto skipping = make_loader(all, o.workers, wick::on_error(wick::on_error::skip));
  auto replacing = make_loader(all, o.workers, wick::on_error(wick::on_error::replace));

  using wick_bench::contestant;
  std::vector<contestant> sides;
  bool right = true;
  const auto add = [&](const char* name, auto& loader, std::size_t wanted) {
    sides.push_back({name, static_cast<double>(wanted),
                     [&loader, &right, wanted, name, epoch = std::uint64_t{0}]() mutable {
                       const wick_bench::stopwatch watch;
                       std::size_t n = 0;
                       for (auto& batch : loader.epoch(epoch++))
                         n += static_cast<std::size_t>(batch.extents()[0]);
                       if (n != wanted) {
                         std::fprintf(stderr, "damaged: %s gave %zu pictures, wanted were %zu\n", name, n,
                                      wanted);
                         right = false;
                       }
                       return watch.read();
                     }});
    sides.back().run();  // warm
  };
  add("the good ones alone", clean, good.size());
  add("skip", skipping, good.size());
  add("replace", replacing, all.size());
  wick_bench::run_in_turns(sides, o.rounds);
  if (!right) return 1;
  print_table(sides, "pictures/s", 1, "cpu ms/picture", 1e3);
  std::printf(
      "RESULT damaged share=%.4f ratio_skip=%.4f ratio_replace=%.4f cpu_skip=%.4f cpu_replace=%.4f rounds=%d "
      "workers=%zu cores=%u\n",
      1.0 / every, ratio(sides[1], sides[0]), ratio(sides[2], sides[0]), cpu_ratio(sides[1], sides[0]),
      cpu_ratio(sides[2], sides[0]), o.rounds, o.workers, std::thread::hardware_concurrency());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(wick_bench::options::parse(argc, argv, "What skipping and replacing damaged JPEGs costs"));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "damaged: %s\n", e.what());
    return 1;
  }
}
