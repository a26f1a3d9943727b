// From the last batch of an epoch to the first of the next, and to the first batch of a fresh loader, on
// JPEGs.
//
// Twice: with a loop that only takes batches, so that it always waits for them, and with one whose step takes
// as long as a batch takes to make.
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/bare_decode.hpp"
#include "support/jpeg_folder.hpp"
#include "support/options.hpp"
#include "support/temp_folder.hpp"
#include "support/timing.hpp"
#include <wick/wick.hpp>

namespace {

constexpr std::size_t batch_size = 32;

auto make_loader(const std::filesystem::path& folder, std::size_t workers) {
  return wick::loader(wick::image_folder(folder) | wick::shuffle() | wick::read() | wick::decode() |
                          wick::batch(batch_size, {.drop_last = true}),
                      {.seed = 7, .workers = workers});
}

/// Seconds.
struct waits {
  std::vector<double> within;    // from one batch to the next in an epoch
  std::vector<double> boundary;  // from the last of an epoch to the first of the next
};

/// Some epochs by one loader; every batch is followed by a step. Times are those between the end of a step
/// and the next batch: what the loop waits, and without a step what a batch takes.
waits run_epochs(const std::filesystem::path& folder, std::size_t workers, int epochs, double step) {
  auto loader = make_loader(folder, workers);
  waits w;
  using clock = std::chrono::steady_clock;
  std::optional<clock::time_point> free;
  for (int e = 0; e < epochs; ++e) {
    bool first = true;
    auto range = loader.epoch(static_cast<std::uint64_t>(e));
    for (auto& batch : range) {
      const auto got = clock::now();
      (void)batch;
      // The first epoch has the start of everything in it.
      if (free && e != 0) {
        auto& to = first ? w.boundary : w.within;
        to.push_back(std::chrono::duration<double>(got - *free).count());
      }
      first = false;
      if (step > 0) std::this_thread::sleep_for(std::chrono::duration<double>(step));
      free = clock::now();
    }
  }
  return w;
}

/// From the first line of a program to its first batch.
double first_batch(const std::filesystem::path& folder, std::size_t workers) {
  const wick_bench::stopwatch watch;
  auto loader = make_loader(folder, workers);
  if (!loader.next()) return -1;
  return watch.seconds();
}

int run(const wick_bench::options& o) {
  std::optional<wick_bench::temp_folder> own;
  std::filesystem::path folder = o.folder;
  if (o.folder.empty()) {
    folder = own.emplace().path();
    wick_bench::make_jpeg_folder(folder, o.quick ? 96 : 320);
  }
  const wick::image_folder source(folder);
  const wick_bench::picture_list list = wick_bench::pictures_of(source);
  if (list.files.size() < 2 * batch_size) {
    std::fprintf(stderr, "epoch: %zu pictures are too few; give at least %zu\n", list.files.size(),
                 2 * batch_size);
    return 1;
  }
  // Those of the first batch, for the bare decoder.
  const wick::detail::permutation order(list.files.size(), 7, 0, 0);
  std::vector<std::string> first;
  for (std::uint64_t p = 0; p < batch_size; ++p) first.push_back(list.files[order(p)]);

  // The same pixels first.
  {
    std::vector<std::vector<std::uint8_t>> wanted(batch_size);
    wick_bench::bare_decode(
        first, o.workers, [&](std::size_t i, const std::uint8_t* pixels, int width, int height) {
          wanted[i].assign(pixels,
                           pixels + static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3);
        });
    auto loader = make_loader(folder, o.workers);
    const at::Tensor rows = loader.next()->data.permute({0, 2, 3, 1}).contiguous();
    const auto each = static_cast<std::size_t>(rows.numel()) / batch_size;
    for (std::size_t i = 0; i < batch_size; ++i) {
      if (wanted[i].size() == each &&
          wick_bench::alike(rows.data_ptr<std::uint8_t>() + i * each, wanted[i].data(), each))
        continue;
      std::fprintf(stderr, "epoch: picture %zu of the first batch is not what stb_image gives\n", i);
      return 1;
    }
  }
  std::printf("%zu pictures, %zu batches an epoch; the first batch is what stb_image gives\n",
              list.files.size(), list.files.size() / batch_size);

  const int epochs = o.quick ? 3 : 6;
  waits taking, stepping;
  std::vector<double> fresh, bare, steps, alone, waited;
  const auto append = [](waits& to, const waits& w) {
    to.within.insert(to.within.end(), w.within.begin(), w.within.end());
    to.boundary.insert(to.boundary.end(), w.boundary.begin(), w.boundary.end());
  };
  for (int r = 0; r < o.rounds; ++r) {
    const waits w = run_epochs(folder, o.workers, epochs, 0);
    append(taking, w);
    // Against the mean batch of the same round: a machine that is slower for a while does not count.
    steps.push_back(wick_bench::mean(w.within));
    alone.push_back(wick_bench::mean(w.boundary) / steps.back());
    const waits s = run_epochs(folder, o.workers, epochs, steps.back());
    append(stepping, s);
    waited.push_back(wick_bench::mean(s.boundary) / steps.back());
    for (int k = 0; k < 3; ++k) {
      fresh.push_back(first_batch(folder, o.workers));
      const wick_bench::stopwatch watch;
      wick_bench::bare_decode(first, o.workers);
      bare.push_back(watch.seconds());
    }
  }
  using wick_bench::mean, wick_bench::median;
  std::vector<double> over;
  for (std::size_t i = 0; i < fresh.size(); ++i) over.push_back(fresh[i] - bare[i]);
  std::printf("%-46s %10s %10s\n", "ms", "mean", "median");
  const auto line = [](const char* what, const std::vector<double>& v) {
    std::printf("%-46s %10.3f %10.3f\n", what, mean(v) * 1e3, median(v) * 1e3);
  };
  line("loop that only takes: from batch to batch", taking.within);
  line("  from the last to the next epoch's first", taking.boundary);
  line("loop with a step of that length: waits for a batch", stepping.within);
  line("  for the first of the next epoch", stepping.boundary);
  line("fresh loader: until its first batch", fresh);
  line("  stb_image alone on the same pictures", bare);
  std::printf(
      "RESULT epoch batch_ms=%.3f boundary_ms=%.3f ratio=%.3f ratio_with_step=%.3f wait_with_step_ms=%.3f "
      "boundary_wait_with_step_ms=%.3f first_batch_ms=%.2f bare_decode_ms=%.2f first_batch_over_ms=%.2f "
      "rounds=%d "
      "workers=%zu cores=%u\n",
      mean(taking.within) * 1e3, mean(taking.boundary) * 1e3, median(alone), median(waited),
      mean(stepping.within) * 1e3, mean(stepping.boundary) * 1e3, median(fresh) * 1e3, median(bare) * 1e3,
      median(over) * 1e3, o.rounds, o.workers, std::thread::hardware_concurrency());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(wick_bench::options::parse(
        argc, argv,
        "From the last batch of an epoch to the first of the next, and to the first batch of a fresh loader",
        {wick_bench::options::folder_option}));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "epoch: %s\n", e.what());
    return 1;
  }
}
