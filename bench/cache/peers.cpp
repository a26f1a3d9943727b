// All start from the same uint8 pictures, whose longer side is at most 320 px: wick decodes and resizes them
// once and writes them to a file, from which TurboLoader and FFCV make theirs. Each lap is a whole epoch of
// RandomResizedCrop 224 and a flip, with what an epoch costs at its beginning.
//
// What differs is the resize and the output. wick's is antialiased bilinear and has bytes or float32.
// TurboLoader has float32 or float16 only, and does not antialias. FFCV has bytes, by OpenCV's INTER_AREA,
// which repeats pixels instead of interpolating where a small crop is enlarged.
#include "cache/peers.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "support/python_peer.hpp"
#include "support/timing.hpp"
#include <wick/core.hpp>

namespace caches {

namespace {

namespace fs = std::filesystem;
using wick_bench::contestant;

constexpr std::size_t room = std::size_t{8} << 30, compared = 32;
constexpr int middle = 112;
// Mean difference in levels above which a peer does another work. The whole picture is made smaller, where
// antialiasing counts; its middle is enlarged twice.
constexpr double most_of_whole = 2, most_of_middle = 4;

struct peer {
  std::string name;
  std::unique_ptr<wick_bench::python_peer> process;
};

auto decoded(const fs::path& folder) {
  return wick::image_folder(folder.string()) | wick::read() | wick::decode() |
         wick::resize({.max_size = longer_side});
}

/// Writes what wick keeps, one picture after the other. Their height and width.
std::pair<int, int> write_pictures(const fs::path& folder, const fs::path& to, std::size_t workers) {
  wick::loader all(decoded(folder) | wick::array_batch(compared, {.layout = wick::layout::nhwc}),
                   {.workers = workers});
  std::ofstream out(to, std::ios::binary);
  std::pair<int, int> size;
  for (auto& batch : all.epoch(0)) {
    size = {static_cast<int>(batch.data.extents()[1]), static_cast<int>(batch.data.extents()[2])};
    out.write(reinterpret_cast<const char*>(batch.data.data()),
              static_cast<std::streamsize>(batch.data.bytes()));
  }
  if (!out.flush()) throw std::runtime_error("can't write " + to.string() + "; is the disk full?");
  return size;
}

/// The first pictures, out of the cache: as the second stage makes them of those.
template <class Stage>
void add_pictures(std::vector<std::uint8_t>& to, const fs::path& folder, const Stage& stage) {
  wick::loader loader(decoded(folder) | wick::cache_in_memory({.bytes = room}) | stage |
                          wick::array_batch(compared, {.layout = wick::layout::nhwc}),
                      {.workers = 1, .prefetch_next_epoch = false});
  for (auto& batch : loader.epoch(0)) {
    const auto* const data = reinterpret_cast<const std::uint8_t*>(batch.data.data());
    to.insert(to.end(), data, data + batch.data.bytes());
    break;
  }
}

double mean_difference(const std::vector<std::uint8_t>& a, const std::vector<std::uint8_t>& b,
                       std::size_t from, std::size_t to) {
  double sum = 0;
  for (std::size_t i = from; i < to; ++i) sum += std::abs(static_cast<int>(a[i]) - static_cast<int>(b[i]));
  return sum / static_cast<double>(to - from);
}

/// Compares the whole of some pictures, resized, and their middle, with what wick makes of them.
void compare(const peer& p, const fs::path& scratch, const std::vector<std::uint8_t>& ours) {
  const fs::path file = scratch / (p.name + ".pixels");
  (void)p.process->ask("pixels " + file.string(), 300'000);
  std::ifstream in(file, std::ios::binary);
  const std::vector<std::uint8_t> theirs{std::istreambuf_iterator<char>(in),
                                         std::istreambuf_iterator<char>()};
  if (theirs.size() != ours.size())
    throw std::runtime_error(p.name + " gave no pictures to compare; see its log in /tmp");
  const std::size_t half = ours.size() / 2;
  const double whole = mean_difference(ours, theirs, 0, half),
               enlarged = mean_difference(ours, theirs, half, ours.size());
  std::printf("  %s: %s; from wick's pixels %.2f levels made smaller, %.2f enlarged\n", p.name.c_str(),
              p.process->about().c_str(), whole, enlarged);
  std::fflush(stdout);
  if (whole > most_of_whole || enlarged > most_of_middle)
    throw std::runtime_error(p.name + " does not make the same pictures");
}

std::vector<peer> start_peers(const fs::path& scratch, const std::string& workload,
                              const std::string& environment, std::size_t workers) {
  std::vector<peer> out;
  for (const char* const name : {"turbo_loader", "turbo_loader_half", "ffcv_raw"}) {
    auto process = std::make_unique<wick_bench::python_peer>(
        environment + "/bin/python", WICK_BENCH_DIR "/cache/peers/" + std::string(name) + ".py",
        std::vector<std::string>{workload, scratch.string(), std::to_string(workers)});
    if (process->ready()) {
      out.push_back({name, std::move(process)});
    } else {
      std::printf("  without %s: %s\n", name, process->about().c_str());
    }
  }
  return out;
}

}  // namespace

void against_peers(const wick_bench::options& o, const fs::path& folder, const fs::path& scratch,
                   const fs::path& cache, const std::string& environment) {
  const std::string given = o.more_or_empty("--batch");
  const int batch_or_0 = given.empty() ? 256 : std::atoi(given.c_str());
  if (batch_or_0 < 1) throw std::runtime_error("--batch " + given + ": wanted a number from 1");
  const auto batch = static_cast<std::size_t>(batch_or_0);
  if (!fs::exists(environment + "/bin/python"))
    throw std::runtime_error("WICK_PEERS=" + environment +
                             " is no virtual environment (bash bench/peers.sh makes one)");
  const std::uint64_t total = wick::image_folder(folder.string()).size();
  const double count = static_cast<double>(total);
  if (total < compared)
    throw std::runtime_error("at least " + std::to_string(compared) + " pictures are wanted");
  const auto [height, width] = write_pictures(folder, scratch / "pictures.u8", o.workers);
  std::printf("\n%zu pictures of %d x %d, batches of %zu\n", static_cast<std::size_t>(total), width, height,
              batch);
  std::vector<peer> peers =
      start_peers(scratch, std::to_string(height) + "x" + std::to_string(width) + "x" + std::to_string(batch),
                  environment, o.workers);
  std::vector<std::uint8_t> ours;
  add_pictures(ours, folder, wick::resize(output, output));
  add_pictures(ours, folder, wick::center_crop(middle) | wick::resize(output, output));
  for (const peer& p : peers) compare(p, scratch, ours);

  const auto shuffled = wick::image_folder(folder.string()) | wick::shuffle() | wick::read() |
                        wick::decode() | wick::resize({.max_size = longer_side});
  const auto crop = wick::random_resized_crop(output) | wick::random_horizontal_flip();
  const auto collate = wick::array_batch(batch, {.layout = wick::layout::channels_last});
  const wick::loader_options options{.seed = 7, .workers = o.workers, .prefetch_next_epoch = false};
  const auto in_memory = wick::cache_in_memory({.bytes = room});
  const auto on_disk = wick::cache_on_disk(cache.string(), {.bytes = room});
  wick::loader memory(shuffled | in_memory | crop | collate, options);
  wick::loader disk(shuffled | on_disk | crop | collate, options);
  wick::loader memory_float(shuffled | in_memory | crop | wick::to_float() | collate, options);
  wick::loader disk_float(shuffled | on_disk | crop | wick::to_float() | collate, options);

  std::vector<contestant> sides;
  const auto add = [&](const char* name, auto& loader) {
    sides.push_back({name, count, [&loader, total, epoch = std::uint64_t{0}]() mutable {
                       const wick_bench::stopwatch watch;
                       std::uint64_t seen = 0;
                       for (auto& made : loader.epoch(epoch++))
                         seen += static_cast<std::uint64_t>(made.data.extents()[0]);
                       if (seen != total) throw std::runtime_error("not all pictures came");
                       return watch.read();
                     }});
    sides.back().run();  // the first epoch, which fills the cache
  };
  add("memory", memory);
  add("disk", disk);
  add("memory_float", memory_float);
  add("disk_float", disk_float);
  for (const peer& p : peers)
    sides.push_back({p.name, count, [&p, total] { return p.process->run(static_cast<std::size_t>(total)); }});
  wick_bench::run_in_turns(sides, o.rounds);
  print_table(sides, "pictures/s", 1, "cpu ms/picture", 1e3);
  for (const std::string& note : memory.report().notes) std::printf("%s\n", note.c_str());
  for (const std::string& note : disk.report().notes) std::printf("%s\n", note.c_str());

  std::printf("RESULT cache_peers");
  for (const contestant& side : sides)
    std::printf(" %s_pictures_s=%.0f", side.name.c_str(), side.units_per_second());
  for (std::size_t i = 4; i < sides.size(); ++i) {
    // Of the same output: float32 to float32, the smallest to the smallest.
    const bool as_float = sides[i].name == "turbo_loader";
    for (const std::size_t of : {as_float ? 2 : 0, as_float ? 3 : 1}) {
      std::printf(" %s_by_%s=%.3f cpu_%s_by_%s=%.3f", sides[of].name.c_str(), sides[i].name.c_str(),
                  ratio(sides[of], sides[i]), sides[of].name.c_str(), sides[i].name.c_str(),
                  cpu_ratio(sides[of], sides[i]));
    }
  }
  std::printf(" batch=%zu rounds=%d workers=%zu cores=%u\n", batch, o.rounds, o.workers,
              std::thread::hardware_concurrency());
}

}  // namespace caches
