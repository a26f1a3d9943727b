// A folder of JPEGs into batches of 64: wick by its own decoder, and stb_image in a bare loop on as many
// threads.
//
// All pictures have one size, so nothing is resized.
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
#include "support/epochs.hpp"
#include "support/jpeg_folder.hpp"
#include "support/options.hpp"
#include "support/temp_folder.hpp"
#include "support/timing.hpp"
#include <wick/wick.hpp>

namespace {

constexpr std::size_t batch_size = 64;

auto make_loader(const std::filesystem::path& folder, std::size_t workers) {
  return wick::loader(wick::image_folder(folder) | wick::read() | wick::decode() | wick::batch(batch_size),
                      {.workers = workers});
}

/// Every picture in its place, with its label.
bool same(const std::filesystem::path& folder, const std::vector<std::string>& files, std::size_t workers) {
  std::vector<std::vector<std::uint8_t>> wanted(files.size());
  wick_bench::bare_decode(
      files, workers, [&](std::size_t i, const std::uint8_t* pixels, int width, int height) {
        wanted[i].assign(pixels,
                         pixels + static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3);
      });
  const auto source = wick::image_folder(folder);
  auto loader = make_loader(folder, workers);
  std::size_t i = 0;
  for (auto& batch : loader.epoch(0)) {
    const at::Tensor rows = batch.data.permute({0, 2, 3, 1}).contiguous();  // [N, H, W, C], as stb_image's
    const auto each = static_cast<std::size_t>(rows.numel() / rows.size(0));
    for (std::int64_t k = 0; k < rows.size(0); ++k, ++i) {
      if (wanted[i].size() != each ||
          !wick_bench::alike(rows.data_ptr<std::uint8_t>() + static_cast<std::size_t>(k) * each,
                             wanted[i].data(), each))
        return false;
      if (batch.target.data_ptr<std::int64_t>()[k] != source.at(i).target) return false;
    }
  }
  return i == files.size();
}

int run(const wick_bench::options& o) {
  std::optional<wick_bench::temp_folder> own;
  std::filesystem::path folder = o.folder;
  if (o.folder.empty()) {
    folder = own.emplace().path();
    wick_bench::make_jpeg_folder(folder, o.quick ? 96 : 320);
  }
  const wick_bench::picture_list list = wick_bench::pictures_of(wick::image_folder(folder));
  const std::vector<std::string>& files = list.files;
  std::printf("%zu pictures, %.1f KB each\n", files.size(),
              static_cast<double>(list.bytes) / 1e3 / static_cast<double>(files.size()));
  if (!same(folder, files, o.workers)) {
    std::fprintf(stderr, "decode: wick's batches are not what stb_image gives\n");
    return 1;
  }
  std::printf("pixels differ by less than a level on average, and labels are equal\n");

  // As many epochs as last about a second.
  const wick_bench::stopwatch once;
  wick_bench::bare_decode(files, o.workers);
  const int epochs = o.quick ? 1 : std::max(2, static_cast<int>(1.0 / once.seconds() + 0.5));

  using wick_bench::contestant, wick_bench::lap, wick_bench::stopwatch;
  std::vector<contestant> all;
  const double units = static_cast<double>(files.size()) * epochs;
  const auto add = [&](std::string name, std::function<lap()> work) {
    if (name.starts_with(o.only)) all.push_back({std::move(name), units, std::move(work)});
  };
  std::string report;
  add("wick, " + std::to_string(o.workers) + " workers",
      [&] { return wick_bench::epochs_of([&] { return make_loader(folder, o.workers); }, epochs, &report); });
  add("bare stb_image, " + std::to_string(o.workers) + " threads", [&] {
    const stopwatch watch;
    for (int e = 0; e < epochs; ++e) wick_bench::bare_decode(files, o.workers);
    return watch.read();
  });

  wick_bench::run_in_turns(all, o.rounds);
  print_table(all, "pictures/s", 1, "cpu ms/picture", 1e3);
  std::printf("%s", report.c_str());
  if (!o.only.empty()) return 0;
  const contestant &ours = all[0], &bare = all[1];
  std::printf(
      "RESULT decode wick_images_s=%.1f stb_images_s=%.1f ratio=%.3f cpu_ratio=%.3f "
      "cpu_ms_per_image_wick=%.3f "
      "cpu_ms_per_image_stb=%.3f kb_per_image=%.1f rounds=%d workers=%zu cores=%u\n",
      ours.units_per_second(), bare.units_per_second(), ratio(ours, bare), cpu_ratio(ours, bare),
      ours.cpu_per_unit() * 1e3, bare.cpu_per_unit() * 1e3,
      static_cast<double>(list.bytes) / 1e3 / static_cast<double>(files.size()), o.rounds, o.workers,
      std::thread::hardware_concurrency());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(
        wick_bench::options::parse(argc, argv,
                                   "A folder of JPEGs into batches of 64 by stb_image: wick, and stb_image "
                                   "in a bare loop on as many threads",
                                   {wick_bench::options::folder_option, wick_bench::options::only_option}));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "decode: %s\n", e.what());
    return 1;
  }
}
