// An epoch of RandomResizedCrop from JPEGs, and from what caches keep of them: files, pictures, pictures of
// 320 pixels in memory and on disk; and from pictures of 320 pixels by bare threads. And how fast a cache on
// disk fills.
//
// With WICK_PEERS, a virtual environment that bench/peers.sh makes, then also wick's caches beside
// TurboLoader's and FFCV's files of decoded pictures: see peers.cpp.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "cache/peers.hpp"
#include "support/jpeg_folder.hpp"
#include "support/options.hpp"
#include "support/temp_folder.hpp"
#include "support/timing.hpp"
#include <wick/core.hpp>

namespace {

constexpr std::size_t batch_size = 32;
using caches::output, caches::longer_side;

wick::loader_options options(const wick_bench::options& o) {
  return {.seed = 7, .workers = o.workers, .prefetch_next_epoch = false};
}

/// Crops of pictures that lie in memory, decoded, into one buffer a thread.
class bare {
 public:
  bare(const std::filesystem::path& folder, std::size_t threads) : threads_(threads) {
    wick::loader l(
        wick::image_folder(folder) | wick::read() | wick::decode() | wick::resize({.max_size = longer_side}),
        {.workers = threads});
    while (auto item = l.next()) {
      pictures_.emplace_back(std::move(item->data));
      static_cast<void>(pictures_.back().share());
    }
  }
  std::size_t size() const noexcept { return pictures_.size(); }
  wick_bench::lap run() {
    const std::uint64_t epoch = epoch_++;
    const wick_bench::stopwatch watch;
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
      const auto crop = wick::random_resized_crop(output);
      std::vector<std::byte> place(std::size_t{output} * output * 3);
      for (std::size_t i; (i = next.fetch_add(1)) < pictures_.size();) {
        wick::context c({.seed = 7, .epoch = epoch, .position = i, .index = i});
        crop(pictures_[i].clone(), c).write_to({place.data(), true});
      }
    };
    std::vector<std::thread> all;
    for (std::size_t t = 0; t < threads_; ++t) all.emplace_back(work);
    for (std::thread& t : all) t.join();
    return watch.read();
  }

 private:
  std::size_t threads_;
  std::vector<wick::lazy_image> pictures_;
  std::uint64_t epoch_ = 0;
};

/// The user's pictures, or generated ones.
std::filesystem::path folder_of(const wick_bench::options& o, const wick_bench::temp_folder& own,
                                std::size_t count) {
  if (!o.folder.empty()) return o.folder;
  wick_bench::make_jpeg_folder(own.path(), count);
  return own.path();
}

void kept(const wick_bench::options& o, const std::filesystem::path& folder,
          const std::filesystem::path& at) {
  const wick::image_folder pictures(folder.string());
  const auto count = static_cast<double>(pictures.size());
  const auto crop =
      wick::random_resized_crop(output) | wick::random_horizontal_flip() | wick::array_batch(batch_size);
  const auto decoded = pictures | wick::shuffle() | wick::read() | wick::decode();
  constexpr std::size_t room = std::size_t{8} << 30;

  wick::loader none(decoded | crop, options(o));
  wick::loader none_of_size(
      decoded | wick::resize({.max_size = longer_side}) | wick::cache_in_memory({.bytes = 1}) | crop,
      options(o));
  wick::loader files(pictures | wick::shuffle() | wick::read() | wick::cache_in_memory({.bytes = room}) |
                         wick::decode() | crop,
                     options(o));
  wick::loader whole(decoded | wick::cache_in_memory({.bytes = room}) | crop, options(o));
  wick::loader of_size(
      decoded | wick::resize({.max_size = longer_side}) | wick::cache_in_memory({.bytes = room}) | crop,
      options(o));
  wick::loader on_disk(decoded | wick::resize({.max_size = longer_side}) |
                           wick::cache_on_disk(at.string(), {.bytes = room}) | crop,
                       options(o));
  bare limit(folder, o.workers);

  std::vector<wick_bench::contestant> sides;
  const auto add = [&](const char* name, auto& loader) {
    sides.push_back({name, count, [&loader, epoch = std::uint64_t{0}]() mutable {
                       const wick_bench::stopwatch watch;
                       for (auto& batch : loader.epoch(epoch++)) static_cast<void>(batch);
                       return watch.read();
                     }});
    sides.back().run();  // the first epoch, which fills the cache
  };
  add("JPEGs", none);
  add("JPEGs to 320, nothing kept", none_of_size);
  add("files kept", files);
  add("pictures kept", whole);
  add("pictures of 320 kept", of_size);
  add("pictures of 320 on disk", on_disk);
  sides.push_back({"bare, pictures of 320", count, [&limit] { return limit.run(); }});
  sides.back().run();
  wick_bench::run_in_turns(sides, o.rounds);
  print_table(sides, "pictures/s", 1, "cpu ms/picture", 1e3);
  for (const std::string& note : of_size.report().notes) std::printf("%s\n", note.c_str());
  for (const std::string& note : on_disk.report().notes) std::printf("%s\n", note.c_str());
  std::printf(
      "RESULT cache ratio_files=%.3f ratio_pictures=%.3f ratio_of_320=%.3f ratio_to_epoch_1=%.3f "
      "ratio_to_bare=%.3f cpu_ratio_to_bare=%.3f disk_to_epoch_1=%.3f disk_to_memory=%.3f "
      "disk_cpu_to_memory=%.3f rounds=%d workers=%zu cores=%u\n",
      ratio(sides[2], sides[0]), ratio(sides[3], sides[0]), ratio(sides[4], sides[0]),
      ratio(sides[4], sides[1]), ratio(sides[4], sides[6]), cpu_ratio(sides[4], sides[6]),
      ratio(sides[5], sides[1]), ratio(sides[5], sides[4]), cpu_ratio(sides[5], sides[4]), o.rounds,
      o.workers, std::thread::hardware_concurrency());
}

/// Filling a cache on disk with samples of 1 KB, and the same bytes written by one thread in blocks.
void filled(const wick_bench::options& o, const std::filesystem::path& at) {
  using sample = std::array<std::uint8_t, 1024>;
  const std::size_t count = o.quick ? 20'000 : 200'000;
  std::vector<std::uint32_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0u);
  std::vector<wick_bench::contestant> sides;
  int folders = 0;
  const auto made = [](std::uint32_t i) {
    sample s;
    s.fill(static_cast<std::uint8_t>(i));
    return s;
  };
  sides.push_back({"cache_on_disk(), filled", static_cast<double>(count), [&] {
                     const std::filesystem::path folder = at / std::to_string(folders++);
                     const wick_bench::stopwatch watch;
                     {
                       wick::loader l(
                           wick::in_memory(numbers) | wick::map("make", made) |
                               wick::cache_on_disk(folder.string(), {.bytes = std::size_t{1} << 40}) |
                               wick::array_batch(batch_size),
                           options(o));
                       for (auto& batch : l.epoch(0)) static_cast<void>(batch);
                     }
                     const auto lap = watch.read();
                     std::filesystem::remove_all(folder);
                     return lap;
                   }});
  sides.push_back({"one thread that writes blocks", static_cast<double>(count), [&] {
                     const std::filesystem::path file = at / "bare";
                     const wick_bench::stopwatch watch;
                     {
                       std::ofstream to(file, std::ios::binary);
                       std::vector<char> block;
                       for (std::size_t i = 0; i < count; ++i) {
                         const sample s = made(numbers[i]);
                         block.insert(block.end(), s.begin(), s.end());
                         if (block.size() < (std::size_t{256} << 10) && i + 1 != count) continue;
                         to.write(block.data(), static_cast<std::streamsize>(block.size()));
                         block.clear();
                       }
                     }
                     const auto lap = watch.read();
                     std::filesystem::remove(file);
                     return lap;
                   }});
  wick_bench::run_in_turns(sides, o.rounds);
  print_table(sides, "samples/s", 0, "cpu us/sample", 1e6);
  std::printf("RESULT cache_fill samples_per_s=%.0f ratio_to_blocks=%.3f rounds=%d workers=%zu cores=%u\n",
              sides[0].units_per_second(), ratio(sides[0], sides[1]), o.rounds, o.workers,
              std::thread::hardware_concurrency());
}

void run(const wick_bench::options& o) {
  const wick_bench::temp_folder own, at, own_of_peers, at_of_peers, scratch;
  const char* const environment = std::getenv("WICK_PEERS");
  const bool peers = std::string("peers").starts_with(o.which);
  if (peers && environment == nullptr)
    std::printf("no peers: WICK_PEERS names no virtual environment (bash bench/peers.sh makes one)\n");
  if (std::string("kept").starts_with(o.which)) kept(o, folder_of(o, own, o.quick ? 96 : 1024), at.path());
  if (std::string("filled").starts_with(o.which)) filled(o, at.path() / "filled");
  if (peers && environment != nullptr) {
    // More pictures, so that what a peer does at the beginning of an epoch counts for little.
    caches::against_peers(o, folder_of(o, own_of_peers, o.quick ? 512 : 4096), scratch.path(),
                          at_of_peers.path(), environment);
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    run(wick_bench::options::parse(argc, argv, "Epochs from what caches keep",
                                   {wick_bench::options::folder_option,
                                    {"--batch", "N", "pictures a batch where peers are compared (256)"},
                                    wick_bench::options::case_option}));
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "cache: %s\n", e.what());
    return 1;
  }
}
