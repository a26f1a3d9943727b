// How long sources take to start: tar shards whose indexes are kept, and a list in CSV beside `wc -l`.
//
// 1,000 shards have 1,280,000 samples, each a picture and a class; the first start walks them and keeps the
// indexes, the laps are later starts. The CSV has 10 million rows of a path and a class. All files are in the
// page cache. Memory is what the process holds more while the source is there, without the CSV's own bytes.
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "../tests/support/tar_writer.hpp"
#include "support/options.hpp"
#include "support/temp_folder.hpp"
#include "support/timing.hpp"
#include <wick/core.hpp>

namespace {

void write(const std::string& path, const std::string& all) {
  std::ofstream out(path, std::ios::binary);
  if (!out.write(all.data(), static_cast<std::streamsize>(all.size())).flush())
    throw std::runtime_error("can't write " + path + "; is the disk full?");
}

/// Bytes of this process in memory.
double resident() {
  std::size_t all = 0, here = 0;
  std::ifstream("/proc/self/statm") >> all >> here;
  return static_cast<double>(here) * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

struct start {
  double seconds, bytes_each;
};

/// The median of some starts, and what the last one takes, `own` bytes apart.
template <class Open>
start measure(int rounds, std::uint64_t expected, double own, const Open& open) {
  std::vector<double> times;
  double bytes = 0;
  for (int r = 0; r < rounds; ++r) {
    const double before = resident();
    const wick_bench::stopwatch watch;
    const auto source = open();
    times.push_back(watch.seconds());
    bytes = resident() - before - own;
    if (source.size() != expected) throw std::runtime_error("another number of samples");
  }
  return {wick_bench::median(times), bytes / static_cast<double>(expected)};
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto o = wick_bench::options::parse(argc, argv, "How long sources take to start");
    const wick_bench::temp_folder folder;
    const std::string at = folder.path().string() + "/";

    const int shards = o.quick ? 10 : 1000, each = 1280;
    for (int s = 0; s < shards; ++s) {
      wick_test::tar_writer tar;
      for (int i = 0; i < each; ++i) {
        char key[32];
        std::snprintf(key, sizeof key, "%09d", s * each + i);
        tar.add(std::string(key) + ".jpg", "a picture")
            .add(std::string(key) + ".cls", std::to_string(i % 1000));
      }
      write(at + "train-" + std::to_string(s) + ".tar", tar.done());
    }
    std::this_thread::sleep_for(std::chrono::seconds(3));  // the index of a file that is new is not kept
    const std::string pattern = at + "train-{0.." + std::to_string(shards - 1) + "}.tar";
    const auto samples = static_cast<std::uint64_t>(shards) * each;
    const auto open_tar = [&] { return wick::tar(pattern, {.keep_index = true}); };
    const start first = measure(1, samples, 0, open_tar), again = measure(o.rounds, samples, 0, open_tar);
    std::printf("tar: first start %.3f s, with the indexes %.3f s, %.1f bytes a sample\n", first.seconds,
                again.seconds, again.bytes_each);

    const std::uint64_t rows = o.quick ? 100'000 : 10'000'000;
    const std::string list = at + "train.csv";
    std::string text = "path,label\n";
    for (std::uint64_t i = 0; i < rows; ++i)
      text += "train/class" + std::to_string(i % 1000) + "/" + std::to_string(i) + ".jpg," +
              std::to_string(i % 1000) + "\n";
    write(list, text);
    const double size = static_cast<double>(text.size());
    text = {};
    const std::string count = "wc -l < " + list + " > /dev/null";
    std::vector<double> counts, tables;
    start csv{};
    for (int r = 0; r < o.rounds; ++r) {
      csv = measure(1, rows, size, [&] { return wick::csv(list); });
      tables.push_back(csv.seconds);
      const wick_bench::stopwatch watch;
      if (std::system(count.c_str()) != 0) throw std::runtime_error("wc failed");
      counts.push_back(watch.seconds());
    }
    const double table = wick_bench::median(tables), lines = wick_bench::median(counts);
    std::printf("csv: %.0f MB in %.3f s, wc -l %.3f s, %.1f bytes a row beside the text\n", size / 1e6, table,
                lines, csv.bytes_each);
    std::printf(
        "RESULT startup tar_first_s=%.3f tar_s=%.3f tar_bytes_a_sample=%.1f csv_s=%.3f csv_to_wc=%.2f "
        "csv_bytes_a_row=%.1f rounds=%d cores=%u\n",
        first.seconds, again.seconds, again.bytes_each, table, lines / table, csv.bytes_each, o.rounds,
        std::thread::hardware_concurrency());
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "startup: %s\n", e.what());
    return 1;
  }
}
