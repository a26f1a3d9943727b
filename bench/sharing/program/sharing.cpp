// The pipelines that are counted, each in a process of its own.
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <sys/personality.h>
#include <unistd.h>
#include <vector>

#include "machine.hpp"
#include <wick/core.hpp>
#ifdef WICK_SHARING_ARROW
#include "table.hpp"
#include <wick/tables/parquet.hpp>
#endif

namespace {

using sharing::counts;

struct result {
  counts c;
  std::uint64_t samples = 0, batches = 0;
};

template <class Batch>
std::uint64_t rows_in(const Batch& batch) {
  if constexpr (requires { batch.extents(); }) {
    return static_cast<std::uint64_t>(batch.extents()[0]);
  } else {
    const auto& [values, label] = batch;
    return rows_in(label);
  }
}

// Counts an epoch, after one that warms the caches.
template <class Pipeline>
result epoch_of(Pipeline pipeline, std::size_t workers, bool places) {
  wick::loader train(std::move(pipeline), {.seed = 7, .workers = workers});
  for (auto& batch : train.epoch(0)) static_cast<void>(batch);
  static_cast<void>(sharing::count(places));
  result out;
  for (auto& batch : train.epoch(1)) {
    out.samples += rows_in(batch);
    ++out.batches;
    sharing::work(500);
  }
  out.c = sharing::count();
  return out;
}

std::vector<std::int64_t> numbers(std::size_t n) {
  std::vector<std::int64_t> all(n);
  for (std::size_t i = 0; i < n; ++i) all[i] = static_cast<std::int64_t>(i);
  return all;
}
auto computed(std::uint64_t ns) {
  return wick::map("work", [ns](std::int64_t i) {
    sharing::work(ns);
    return i + 1;
  });
}

using record = std::array<std::uint8_t, 1024>;
std::string folder() {
  const char* const named = std::getenv("WICK_SHARING_FOLDER");
  if (named == nullptr) std::fprintf(stderr, "bench/sharing: run it by bench/run.sh sharing\n"), std::exit(2);
  return named;
}
// 64 files of 64 records of 1 KB.
std::string record_files() { return folder() + "/records-*.bin"; }
void make_record_files() {
  for (int f = 0; f < 64; ++f) {
    std::string all(64 * sizeof(record), static_cast<char>(f));
    std::ofstream(folder() + "/records-" + std::to_string(f) + ".bin", std::ios::binary) << all;
  }
}
auto reading() {
  return wick::records<record>(wick::files(record_files())) | wick::shuffle() | wick::read() |
         wick::decode_raw<record>();
}

#ifdef WICK_SHARING_ARROW
struct table_row {
  std::array<float, sharing::numbers_a_row> values;
  std::int64_t label;
};
void make_table() {
  const std::string path = folder() + "/rows.parquet";
  const std::string failed = sharing::write_table(path, 64 * 512, 512);
  if (!failed.empty())
    std::fprintf(stderr, "bench/sharing: %s: %s\n", path.c_str(), failed.c_str()), std::exit(2);
}
auto table_rows() {
  const std::string path = folder() + "/rows.parquet";
  const wick::parquet<table_row> rows(path, {"values", "label"});
  return rows | wick::block_shuffle(rows.groups(), 8) | wick::read();
}
#endif

struct pipeline {
  const char* name;
  const char* about;
  result (*run)(std::size_t workers, bool places);
};
constexpr pipeline pipelines[] = {
    {"tiny", "0.05 us a sample, batches of 16, which one worker takes whole",
     [](std::size_t w, bool p) {
       return epoch_of(
           wick::in_memory(numbers(64'000)) | wick::shuffle() | computed(50) | wick::array_batch(16), w, p);
     }},
    {"short", "3 us a sample, batches of 256",
     [](std::size_t w, bool p) {
       return epoch_of(
           wick::in_memory(numbers(128 * 256)) | wick::shuffle() | computed(3000) | wick::array_batch(256), w,
           p);
     }},
    {"fast", "0.25 us a sample, batches of 8192",
     [](std::size_t w, bool p) {
       return epoch_of(
           wick::in_memory(numbers(48 * 8192)) | wick::shuffle() | computed(250) | wick::array_batch(8192), w,
           p);
     }},
    {"rows", "rows of 784 bytes in memory, batches of 256",
     [](std::size_t w, bool p) {
       using row = std::array<std::uint8_t, 784>;
       return epoch_of(wick::in_memory(std::vector<row>(32 * 256)) | wick::shuffle() | wick::array_batch(256),
                       w, p);
     }},
    {"read", "records of 1 KB from the page cache, batches of 64",
     [](std::size_t w, bool p) { return epoch_of(reading() | wick::array_batch(64), w, p); }},
    {"read_io", "the same by I/O threads",
     [](std::size_t w, bool p) {
       sharing::refuse_cached_reads(true);
       return epoch_of(reading() | wick::array_batch(64), w, p);
     }},
#ifdef WICK_SHARING_ARROW
    {"parquet", "rows of 64 floats of a Parquet file, whose groups are in memory, batches of 64",
     [](std::size_t w, bool p) { return epoch_of(table_rows() | wick::array_batch(64), w, p); }},
#endif
    {"cache", "20 us a sample, kept in memory, batches of 64",
     [](std::size_t w, bool p) {
       return epoch_of(wick::in_memory(numbers(16'384)) | computed(20'000) | wick::cache_in_memory() |
                           wick::array_batch(64),
                       w, p);
     }},
};

}  // namespace

int main(int argc, char** argv) {
  // The same addresses in each run.
  const int before = ::personality(0xffffffff);
  if ((before & ADDR_NO_RANDOMIZE) == 0) {
    if (::personality(static_cast<unsigned long>(before) | ADDR_NO_RANDOMIZE) == -1)
      return std::fprintf(
                 stderr,
                 "bench/sharing: this container forbids personality(); see docker's --security-opt\n"),
             2;
    static char name[] = "wick_sharing";  // which lies on the stack, too
    argv[0] = name;
    ::execv("/proc/self/exe", argv);
    return std::perror("bench/sharing: /proc/self/exe"), 2;
  }
  if (argc == 2 && std::string_view(argv[1]) == "--list") {
    for (const pipeline& p : pipelines) std::printf("%s\t%s\n", p.name, p.about);
    return 0;
  }
  if (argc == 2 && std::string_view(argv[1]) == "--files") {
    make_record_files();
#ifdef WICK_SHARING_ARROW
    make_table();
#endif
    return 0;
  }
  if (argc < 4)
    return std::fprintf(
               stderr,
               "wick_sharing --list | --files | PIPELINE WORKERS NS [--where]: see bench/run.sh sharing\n"),
           2;
  sharing::set_move(std::strtoul(argv[3], nullptr, 10));
  const bool where = argc == 5;
  for (const pipeline& p : pipelines) {
    if (std::string_view(p.name) != argv[1]) continue;
    const result r = p.run(std::strtoul(argv[2], nullptr, 10), where);
    const auto per = [](std::uint64_t n, std::uint64_t of) {
      return static_cast<double>(n) / static_cast<double>(of);
    };
    std::printf(
        "%s %s samples=%lu batches=%lu moves=%lu atomics=%lu locks=%lu sleeps=%lu hottest=%lu ns=%lu\n",
        p.name, argv[2], r.samples, r.batches, r.c.moves, r.c.atomics, r.c.locks, r.c.sleeps, r.c.hottest,
        r.c.ns);
    const auto list = [&](const auto& places, const char* what) {
      for (const auto& place : places)
        std::printf("  %8.3f %s a sample at %s\n", per(place.count, r.samples), what, place.where.c_str());
    };
    list(r.c.places, "moves");
    if (!r.c.hottest_places.empty()) std::printf("  the hottest line:\n");
    list(r.c.hottest_places, "moves");
    list(r.c.atomic_places, "atomic operations");
    return 0;
  }
  return std::fprintf(stderr, "no pipeline %s\n", argv[1]), 2;
}
