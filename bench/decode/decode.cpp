// A folder of JPEGs into batches of 64 by stb_image: wick, and stb_image in a bare loop on as many threads.
//
// All pictures have one size, so nothing is resized: what wick adds to the decoder is all that is measured.
// The bare loop has a copy of stb_image of its own, as a program without wick would. How the compiler happens
// to lay out its loops makes up to a fifth of its speed, so the loop also runs with the object code that wick
// uses.
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>
#include <span>
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
#include <wick/codec/detail/jpeg_layout.hpp>
#include <wick/codec/detail/stb.hpp>
#include <wick/wick.hpp>

namespace {

constexpr std::size_t batch_size = 64;

auto make_loader(const std::filesystem::path& folder, std::size_t workers) {
  return wick::loader(wick::image_folder(folder) | wick::read() | wick::decode() | wick::batch(batch_size),
                      {.workers = workers});
}

/// The object code that wick's decode() calls.
struct wicks_stb {
  static std::uint8_t* load(const std::uint8_t* encoded, int size, int& width, int& height) {
    const std::span bytes(reinterpret_cast<const std::byte*>(encoded), static_cast<std::size_t>(size));
    const wick::detail::jpeg_layout layout(bytes);
    wick::detail::stb_limit limit{std::uint64_t{1} << 30};
    const char* why = "";
    return wick::detail::stb_load_jpeg(bytes.data(), size, layout.colors(), 3, width, height, why, limit,
                                       false);
  }
  static void drop(std::uint8_t* pixels) { wick::detail::release_block(pixels); }
};

/// Every picture in its place, with its label.
bool same(const std::filesystem::path& folder, const std::vector<std::string>& files, std::size_t workers) {
  std::vector<std::uint64_t> wanted(files.size());
  wick_bench::bare_decode(
      files, workers, [&](std::size_t i, const std::uint8_t* pixels, int width, int height) {
        wanted[i] = wick_bench::hash_of(
            pixels, static_cast<std::size_t>(width) * static_cast<std::size_t>(height) * 3);
      });
  const auto source = wick::image_folder(folder);
  auto loader = make_loader(folder, workers);
  std::size_t i = 0;
  for (auto& batch : loader.epoch(0)) {
    const at::Tensor rows = batch.data.permute({0, 2, 3, 1});  // [N, H, W, C], as they lie in memory
    if (!rows.is_contiguous()) return false;
    const auto each = static_cast<std::size_t>(rows.numel() / rows.size(0));
    for (std::int64_t k = 0; k < rows.size(0); ++k, ++i) {
      if (wick_bench::hash_of(rows.data_ptr<std::uint8_t>() + static_cast<std::size_t>(k) * each, each) !=
          wanted[i])
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
  std::printf("results are equal: all pixels and labels\n");

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
  const auto bare_lap = [&](auto decode) {
    return [&, decode] {
      const stopwatch watch;
      for (int e = 0; e < epochs; ++e) decode();
      return watch.read();
    };
  };
  add("bare stb_image, " + std::to_string(o.workers) + " threads",
      bare_lap([&] { wick_bench::bare_decode(files, o.workers); }));
  add("bare with wick's object code",
      bare_lap([&] { wick_bench::bare_decode<wicks_stb>(files, o.workers); }));

  wick_bench::run_in_turns(all, o.rounds);
  print_table(all, "pictures/s", 1, "cpu ms/picture", 1e3);
  std::printf("%s", report.c_str());
  if (!o.only.empty()) return 0;
  const contestant &ours = all[0], &bare = all[1], &same_code = all[2];
  std::printf(
      "RESULT decode wick_images_s=%.1f stb_images_s=%.1f ratio=%.3f cpu_ratio=%.3f "
      "ratio_same_object_code=%.3f "
      "cpu_ratio_same_object_code=%.3f cpu_ms_per_image_wick=%.3f cpu_ms_per_image_stb=%.3f "
      "kb_per_image=%.1f rounds=%d "
      "workers=%zu cores=%u\n",
      ours.units_per_second(), bare.units_per_second(), ratio(ours, bare), cpu_ratio(ours, bare),
      ratio(ours, same_code), cpu_ratio(ours, same_code), ours.cpu_per_unit() * 1e3,
      bare.cpu_per_unit() * 1e3, static_cast<double>(list.bytes) / 1e3 / static_cast<double>(files.size()),
      o.rounds, o.workers, std::thread::hardware_concurrency());
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
