// Pictures with masks, and with boxes, against the pictures alone, the masks alone, and torchvision's
// transforms v2 in PyTorch's DataLoader.
//
// Two workloads, of photographs of 500 x 375 px in batches of 64: segmentation (a palette PNG a picture) and
// detection (1 to 12 boxes a picture), both with RandomResizedCrop 224, a flip, jitter of brightness and
// contrast, normalized to floats. ratio_alone is the speed against what picture and mask take when each is
// worked on alone: the picture through the same stages, the mask through those of its geometry.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/epochs.hpp"
#include "support/options.hpp"
#include "support/python_peer.hpp"
#include "support/timing.hpp"
#include <wick/core.hpp>

namespace {

namespace fs = std::filesystem;
using wick_bench::contestant, wick_bench::epochs_of, wick_bench::lap, wick_bench::median;

constexpr std::size_t batch_size = 64;
constexpr int output = 224;

struct set {
  std::string pictures, masks;  // patterns
  std::vector<wick::boxes> annotations;
};

set load(const fs::path& folder) {
  set out{folder / "img/*.jpg", folder / "mask/*.png", {}};
  std::ifstream file(folder / "boxes.txt");
  std::size_t i = 0;
  std::array<float, 4> box{};
  for (std::int64_t label = 0; file >> i >> box[0] >> box[1] >> box[2] >> box[3] >> label;) {
    out.annotations.resize(std::max(out.annotations.size(), i + 1));
    out.annotations[i].xyxy.push_back(box);
    out.annotations[i].labels.push_back(label);
  }
  return out;
}

template <class Pipeline>
auto maker(Pipeline pipeline, const wick_bench::options& o) {
  return [pipeline = std::move(pipeline), workers = o.workers] {
    return wick::loader(pipeline, {.seed = 7, .workers = workers});
  };
}

/// What a batch can hold of boxes: numbers, padded.
struct found {
  wick::lazy_image picture;
  std::vector<std::array<float, 4>> boxes;
  std::vector<std::int64_t> labels;
};

struct workload {
  std::string name;
  std::function<lap(int epochs)> whole, alone, masks;  // the last only where there are any
};

std::vector<workload> workloads(const set& s, const wick_bench::options& o) {
  const auto crop = wick::random_resized_crop(output);
  const auto flip = wick::random_horizontal_flip();
  const auto jitter = wick::color_jitter(0.2, 0.2);
  const auto normalize = wick::normalize(0.5, 0.25);
  const auto laps = [](auto make) { return [make](int epochs) { return epochs_of(make, epochs); }; };
  const auto alone = laps(maker(wick::files(s.pictures) | wick::shuffle() | wick::read() | wick::decode() |
                                    crop | flip | jitter | normalize | wick::array_batch(batch_size),
                                o));
  std::vector<workload> out;
  out.push_back({"segmentation",
                 laps(maker(wick::zip(wick::files(s.pictures), wick::files(s.masks)) | wick::shuffle() |
                                wick::read() | wick::decode() | wick::decode_mask() | crop | flip | jitter |
                                normalize | wick::array_batch(batch_size),
                            o)),
                 alone,
                 laps(maker(wick::files(s.masks) | wick::shuffle() | wick::read() | wick::decode_mask() |
                                crop | flip | wick::array_batch(batch_size),
                            o))});
  out.push_back(
      {"detection",
       laps(maker(
           wick::zip(wick::files(s.pictures), wick::in_memory(s.annotations)) | wick::shuffle() |
               wick::read() | wick::decode() | crop | flip | jitter | normalize |
               wick::sanitize_boxes({.min_size = 4}) |
               [](wick::sample<wick::lazy_image, wick::boxes> in) {
                 return found{std::move(in.data), std::move(in.target.xyxy), std::move(in.target.labels)};
               } |
               wick::array_batch(batch_size, {.ragged = wick::pad_with(0)}),
           o)),
       alone, nullptr});
  return out;
}

void measure(const workload& w, const set& s, const wick_bench::options& o, const fs::path& scripts) {
  const auto count = static_cast<double>(s.annotations.size());
  std::printf("\n%s: %.0f pictures\n", w.name.c_str(), count);
  const int epochs = o.quick ? 1 : std::max(1, static_cast<int>(1.0 / w.whole(1).wall + 0.5));
  std::vector<contestant> all;
  const auto add = [&](std::string name, std::function<lap(int)> run) {
    if (name.starts_with(o.only))
      all.push_back({std::move(name), count * epochs, [run, epochs] { return run(epochs); }});
  };
  add("wick", w.whole);
  add("picture_alone", w.alone);
  if (w.masks) add("masks_alone", w.masks);
  std::vector<std::unique_ptr<wick_bench::python_peer>> peers;
  const std::string venv = o.more_or_empty("--peers");
  for (const char* const name : {"torchvision_v2", "torchvision_v2_pil"}) {
    if (venv.empty()) break;
    auto peer = std::make_unique<wick_bench::python_peer>(
        venv + "/bin/python", (scripts / (std::string(name) + ".py")).string(),
        std::vector<std::string>{w.name, o.folder, std::to_string(o.workers)});
    std::printf("  %s%s: %s\n", peer->ready() ? "" : "without ", name, peer->about().c_str());
    if (!peer->ready()) continue;
    const double fewer = std::max<double>(4 * batch_size, count * epochs / 4);  // it is slower
    all.push_back({name, fewer, [&p = *peer, fewer] { return p.run(static_cast<std::size_t>(fewer)); }});
    peers.push_back(std::move(peer));
  }
  wick_bench::run_in_turns(all, o.rounds);
  print_table(all, "pictures/s", 1, "cpu s/1000", 1e3);
  if (!o.only.empty()) return;
  // Of each round: the seconds of the parts alone by those of both together.
  const std::size_t alone = w.masks ? 2 : 1;
  std::vector<double> wall, cpu;
  for (std::size_t r = 0; r < all[0].laps.size(); ++r) {
    lap sum;
    for (std::size_t i = 1; i <= alone; ++i) {
      sum.wall += all[i].laps[r].wall;
      sum.cpu += all[i].laps[r].cpu;
    }
    wall.push_back(sum.wall / all[0].laps[r].wall);
    cpu.push_back(sum.cpu / all[0].laps[r].cpu);
  }
  std::printf("RESULT parts_%s images_s=%.1f cpu_s_1000=%.3f ratio_alone=%.3f cpu_ratio_alone=%.3f",
              w.name.c_str(), all[0].units_per_second(), all[0].cpu_per_unit() * 1e3, median(wall),
              median(cpu));
  for (std::size_t i = 1 + alone; i < all.size(); ++i) {
    std::printf(" ratio_%s=%.3f cpu_ratio_%s=%.3f", all[i].name.c_str(), ratio(all[0], all[i]),
                all[i].name.c_str(), cpu_ratio(all[0], all[i]));
  }
  std::printf(" rounds=%d workers=%zu cores=%u\n", o.rounds, o.workers, std::thread::hardware_concurrency());
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto o = wick_bench::options::parse(
        argc, argv, "Pictures with masks and boxes into batches of 64: wick, each alone, torchvision's v2",
        {{"--folder", "DIR", "with img/, mask/ and boxes.txt, as make_parts.py makes it"},
         {"--peers", "VENV", "virtual environment with torchvision"},
         wick_bench::options::only_option,
         wick_bench::options::case_option});
    if (o.folder.empty()) {
      std::fprintf(stderr,
                   "parts: --folder DIR with img/, mask/ and boxes.txt; bash bench/run.sh parts makes it\n");
      return 2;
    }
    const set s = load(o.folder);
    for (const workload& w : workloads(s, o)) {
      if (w.name.starts_with(o.which)) measure(w, s, o, fs::path(WICK_BENCH_DIR) / "parts" / "peers");
    }
  } catch (const std::exception& e) {
    std::fprintf(stderr, "parts: %s\n", e.what());
    return 1;
  }
}
