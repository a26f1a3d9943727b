// Photographs into batches of 64: wick, libjpeg-turbo alone, torch::data, and the Python loaders that there
// are.
//
// Six workloads: rrc (500 x 375 px, RandomResizedCrop 224 and a flip), val (Resize 256, CenterCrop 224),
// large (2000 x 1500 px, as rrc), full (only decoded), and crops and crops_large (96 px, of 5 to 32 % of the
// picture, as self-supervised learning has them; by wick alone). wick_no_index is wick without the index of
// places in JPEGs, which the first epoch fills before the clock runs. The limit decodes just the rectangle
// that is needed, at the cheapest scale that covers the output, and resizes nothing. wick_libjpeg is wick
// with libjpeg-turbo, which decodes the limit, in the place of its own decoder.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "images/bare_jpeg.hpp"
#include "images/torch_data.hpp"
#include "images/workloads.hpp"
#include "support/bare_decode.hpp"
#include "support/epochs.hpp"
#include "support/options.hpp"
#include "support/python_peer.hpp"
#include "support/timing.hpp"
#include <wick/codec/detail/jpeg.hpp>
#include <wick/codec/detail/libjpeg_turbo.hpp>
#include <wick/core.hpp>

namespace {

namespace fs = std::filesystem;
using images::job, images::settings, wick_bench::contestant, wick_bench::epochs_of, wick_bench::lap,
    wick_bench::stopwatch;

bool by_libjpeg_turbo = false;
/// wick's decoder, or libjpeg-turbo in its place.
const wick::ext::codec decoder{
    "wick", wick::detail::jpeg_codec.probe, wick::detail::jpeg_codec.check_complete,
    wick::detail::jpeg_codec.decode,
    [](std::span<const std::byte> encoded, const wick::ext::picture_info& info,
       const wick::ext::decode_request& request, wick::ext::row_sink& sink) {
      (by_libjpeg_turbo ? wick::detail::libjpeg_turbo_codec : wick::detail::jpeg_codec)
          .decode_rows(encoded, info, request, sink);
    }};

struct pictures {
  std::vector<std::string> files;
  std::vector<std::int64_t> targets;
  double kb = 0;
};

pictures list(const fs::path& folder) {
  const auto source = wick::image_folder(folder);
  pictures out;
  for (std::uint64_t i = 0; i < source.size(); ++i) {
    const auto s = source.at(i);
    out.files.emplace_back(s.data.path);
    out.targets.push_back(s.target);
    out.kb += static_cast<double>(fs::file_size(out.files.back())) / 1e3;
  }
  out.kb /= static_cast<double>(out.files.size());
  return out;
}

struct workload {
  std::string name;
  images::work work;
  settings set;
  std::vector<job> jobs;  // of an epoch
  bool by_wick_alone = false;
};

/// Calls `f` with a function that makes the workload's loader.
template <class F>
auto with_loader(const workload& w, F f) {
  const auto loader = [&w](auto pipeline) {
    return [&w, pipeline] {
      return wick::loader(
          pipeline | wick::array_batch(images::batch_size, {.layout = wick::layout::channels_last}),
          options(w.set));
    };
  };
  switch (w.work) {
    case images::work::train:
      return f(loader(images::train(w.set, wick::decode(w.set.decode))));
    case images::work::validate:
      return f(loader(images::validate(w.set)));
    default:
      return f(loader(images::whole(w.set)));
  }
}

std::vector<job> jobs_of(const workload& w, std::uint64_t epoch) {
  switch (w.work) {
    case images::work::train:
      return images::jobs_of(images::train(w.set, wick::decode(w.set.decode)), w.set, epoch);
    case images::work::validate:
      return images::jobs_of(images::validate(w.set), w.set, epoch);
    default:
      return images::jobs_of(images::whole(w.set), w.set, epoch);
  }
}

/// For pillow.py: what wick makes of each picture, decoded exactly and as usual, and of which part of it.
void write_pixels(const workload& w, const pictures& from, const fs::path& to) {
  std::ofstream about(to / (w.name + ".txt"));
  const std::vector<job> jobs = jobs_of(w, 0);
  for (const job& j : jobs) {
    const wick::detail::plan& p = j.plan;
    about << from.files[j.index] << '\t' << p.source.x << ' ' << p.source.y << ' ' << p.source.width << ' '
          << p.source.height << ' ' << p.width << ' ' << p.height << ' ' << p.window.x << ' ' << p.window.y
          << ' ' << p.window.width << ' ' << p.window.height << ' ' << p.mirror_x << '\n';
  }
  for (const bool exact : {true, false}) {
    workload as = w;
    as.set.decode.exact = exact;
    std::ofstream out(to / (w.name + (exact ? ".exact" : ".draft")), std::ios::binary);
    with_loader(as, [&](const auto& make) {
      auto loader = make();
      for (auto& batch : loader.epoch(0)) {
        out.write(reinterpret_cast<const char*>(batch.data.data()),
                  static_cast<std::streamsize>(batch.data.bytes()));
      }
    });
  }
}

struct peer {
  std::string name;
  std::unique_ptr<wick_bench::python_peer> process;
};

/// Starts what bench/images/peers/*.py can run in the virtual environment; says what it can't.
std::vector<peer> start_peers(const std::string& venv, const fs::path& scripts, const workload& w,
                              const wick_bench::options& o) {
  std::vector<peer> out;
  if (venv.empty()) return out;
  const std::string only = o.more_or_empty("--peer");
  std::vector<fs::path> files;
  for (const auto& e : fs::directory_iterator(scripts)) {
    if (e.path().extension() == ".py" && e.path().stem() != "peer") files.push_back(e.path());
  }
  std::sort(files.begin(), files.end());
  for (const fs::path& file : files) {
    const std::string name = file.stem();
    if (!name.starts_with(only)) continue;
    auto process = std::make_unique<wick_bench::python_peer>(
        venv + "/bin/python", file.string(),
        std::vector<std::string>{w.name, w.set.folder.string(), std::to_string(o.workers)});
    if (process->ready()) {
      std::printf("  %s: %s\n", name.c_str(), process->about().c_str());
      out.push_back({name, std::move(process)});
    } else {
      std::printf("  without %s: %s\n", name.c_str(), process->about().c_str());
    }
    std::fflush(stdout);
  }
  return out;
}

std::string key_of(std::string name) {
  for (char& c : name) {
    if (c == '-' || c == ' ') c = '_';
  }
  return name;
}

void measure(workload& w, const pictures& from, const wick_bench::options& o, const fs::path& scripts) {
  std::printf("\n%s: %zu pictures, %.1f KB each\n", w.name.c_str(), from.files.size(), from.kb);
  w.jobs = jobs_of(w, 1);
  std::vector<peer> peers = start_peers(w.by_wick_alone ? "" : o.more_or_empty("--peers"), scripts, w, o);

  const stopwatch once;
  images::bare_jpeg(from.files, w.jobs, o.workers);
  const int epochs = o.quick ? 1 : std::max(1, static_cast<int>(1.0 / once.seconds() + 0.5));
  const double count = static_cast<double>(from.files.size()) * epochs;

  std::vector<contestant> all;
  const auto add = [&](std::string name, std::function<lap()> work) {
    if (name.starts_with(o.only)) all.push_back({std::move(name), count, std::move(work)});
  };
  std::string report;
  std::unique_ptr<unsigned char[]> batches;
  if (w.work == images::work::whole) batches.reset(new unsigned char[images::batch_bytes()]());
  add("wick",
      [&] { return with_loader(w, [&](const auto& make) { return epochs_of(make, epochs, &report); }); });
  add("wick_libjpeg", [&] {
    by_libjpeg_turbo = true;
    const lap out = with_loader(w, [&](const auto& make) { return epochs_of(make, epochs, nullptr); });
    by_libjpeg_turbo = false;
    return out;
  });
  if (w.work == images::work::train) {
    add("wick_no_index", [&] {
      workload without = w;
      without.set.decode.crop_index_bytes = 0;
      return with_loader(without, [&](const auto& make) { return epochs_of(make, epochs, nullptr); });
    });
  }
  add("limit", [&] {
    std::vector<std::vector<job>> jobs;
    for (int e = 1; e <= epochs; ++e)
      jobs.push_back(w.work == images::work::train ? jobs_of(w, static_cast<std::uint64_t>(e)) : w.jobs);
    const stopwatch watch;
    for (const auto& of_epoch : jobs) images::bare_jpeg(from.files, of_epoch, o.workers);
    return watch.read();
  });
  if (w.work == images::work::whole) {
    add("limit_batches", [&] {
      const stopwatch watch;
      for (int e = 0; e < epochs; ++e) images::bare_jpeg(from.files, w.jobs, o.workers, batches.get());
      return watch.read();
    });
  }
  if (!w.by_wick_alone) {
    add("torch_data", [&] {
      images::torch_data loader(from.files, from.targets, w.work, o.workers);
      const stopwatch watch;
      for (int e = 0; e < epochs; ++e) (void)loader.epoch();
      return watch.read();
    });
  }
  if (w.name == "rrc") {
    add("wick_stb", [&] {
      return epochs_of(
          [&] {
            return wick::loader(
                images::train(w.set, images::stb_decode{}) |
                    wick::array_batch(images::batch_size, {.layout = wick::layout::channels_last}),
                options(w.set));
          },
          epochs, nullptr);
    });
    add("stb", [&] {
      const stopwatch watch;
      for (int e = 0; e < epochs; ++e) wick_bench::bare_decode(from.files, o.workers);
      return watch.read();
    });
  }
  // They are slower: a third of the pictures takes them long enough.
  const double fewer = std::max<double>(4 * images::batch_size, count / 3);
  for (peer& p : peers) {
    add(p.name, [&p, fewer] { return p.process->run(static_cast<std::size_t>(fewer)); });
    if (!all.empty() && all.back().name == p.name)
      all.back().units = static_cast<double>(static_cast<std::size_t>(fewer));
  }

  wick_bench::run_in_turns(all, o.rounds);
  print_table(all, "pictures/s", 1, "cpu s/1000", 1e3);
  if (!o.only.empty()) {
    std::printf("%s", report.c_str());
    return;
  }
  const contestant& ours = all[0];
  const auto find = [&](std::string_view name) -> const contestant& {
    return *std::find_if(all.begin(), all.end(), [&](const contestant& c) { return c.name == name; });
  };
  std::string line = "RESULT images_" + w.name;
  char text[128];
  for (const contestant& c : all) {
    std::snprintf(text, sizeof text, " %s_images_s=%.1f %s_cpu_s_1000=%.3f", key_of(c.name).c_str(),
                  c.units_per_second(), key_of(c.name).c_str(), c.cpu_per_unit() * 1e3);
    line += text;
  }
  std::snprintf(text, sizeof text, " libjpeg_ratio_limit=%.3f", ratio(find("wick_libjpeg"), find("limit")));
  line += text;
  for (const contestant& c : all) {
    if (&c == &ours) continue;
    const contestant& side = c.name == "stb" ? find("wick_stb") : ours;
    if (c.name == "wick_stb") continue;
    std::snprintf(text, sizeof text, " ratio_%s=%.3f cpu_ratio_%s=%.3f", key_of(c.name).c_str(),
                  ratio(side, c), key_of(c.name).c_str(), cpu_ratio(side, c));
    line += text;
  }
  std::snprintf(text, sizeof text, " kb_per_image=%.1f rounds=%d workers=%zu cores=%u", from.kb, o.rounds,
                o.workers, std::thread::hardware_concurrency());
  std::printf("%s%s\n", line.c_str(), text);
  std::fflush(stdout);
}

int run(const wick_bench::options& o, const fs::path& scripts) {
  if (o.folder.empty()) {
    std::fprintf(stderr,
                 "images: --folder DIR with small/ and large/, as bench/images/make_set.py makes it\n");
    return 2;
  }
  wick::ext::codecs().add(decoder);
  const fs::path root = o.folder, pixels = o.more_or_empty("--pixels");
  const auto at = [&](const char* name) { return settings{root / name, o.workers, {}}; };
  std::vector<workload> all;
  all.push_back({"rrc", images::work::train, at("small"), {}});
  all.push_back({"val", images::work::validate, at("small"), {}});
  all.push_back({"large", images::work::train, at("large"), {}});
  all.push_back({"full", images::work::whole, at("small"), {}});
  const auto crops = [](settings s) {
    s.side = 96;
    s.scale = {0.05, 0.32};
    return s;
  };
  all.push_back({"crops", images::work::train, crops(at("small")), {}, true});
  all.push_back({"crops_large", images::work::train, crops(at("large")), {}, true});
  for (workload& w : all) {
    if (!w.name.starts_with(o.which)) continue;
    const pictures from = list(w.set.folder);
    if (pixels.empty()) {
      measure(w, from, o, scripts);
    } else if (w.work != images::work::whole && !w.by_wick_alone) {
      write_pixels(w, from, pixels);
      if (w.name != "val") continue;
      for (peer& p : start_peers(o.more_or_empty("--peers"), scripts, w, o)) {
        (void)p.process->ask("pixels " + (pixels / ("val." + p.name)).string(), 300'000);
      }
    }
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(wick_bench::options::parse(
                   argc, argv,
                   "Photographs into batches of 64: wick, libjpeg-turbo alone, torch::data, Python's loaders",
                   {{"--folder", "DIR", "with small/ and large/, as make_set.py makes it"},
                    {"--peers", "VENV", "virtual environment with the Python loaders"},
                    {"--peer", "TEXT", "of these, only those whose name begins with TEXT"},
                    {"--pixels", "DIR", "measure nothing: write the pixels there, for pillow.py"},
                    wick_bench::options::only_option,
                    wick_bench::options::case_option}),
               fs::path(WICK_BENCH_DIR) / "images" / "peers");
  } catch (const std::exception& e) {
    std::fprintf(stderr, "images: %s\n", e.what());
    return 1;
  }
}
