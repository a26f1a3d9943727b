// Records of one size in a file, shuffled, in batches of 256: wick, and threads that put each into its place.
//
// Records of 28 x 28 bytes and of 1,024 bytes; the file is in the page cache. By hand: the order is worked
// out beforehand, and each thread takes the next batch and puts its records into the batch's memory, by pread
// from the file (against records()), or by memcpy from memory (against in_memory()). Sums are compared first.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <fstream>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "support/options.hpp"
#include "support/temp_folder.hpp"
#include "support/timing.hpp"
#include <wick/core.hpp>

namespace {

constexpr std::size_t batch_size = 256;

/// The first and the last byte of each record: what shows whether it lies in its place.
std::uint64_t ends_of(const std::byte* batch, std::size_t records, std::size_t bytes) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < records; ++i)
    sum += std::to_integer<std::uint64_t>(batch[i * bytes]) +
           std::to_integer<std::uint64_t>(batch[(i + 1) * bytes - 1]);
  return sum;
}

/// By hand: an order that was worked out before, and a buffer a thread.
class bare {
 public:
  /// \param memory  what the file has; empty: it is read
  bare(const std::string& path, std::vector<char> memory, std::size_t bytes, std::size_t count,
       std::size_t threads)
      : memory_(std::move(memory)),
        file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)),
        bytes_(bytes),
        threads_(threads),
        order_(count) {
    if (file_ < 0) throw std::runtime_error("can't open " + path);
    std::iota(order_.begin(), order_.end(), std::size_t{0});
    std::shuffle(order_.begin(), order_.end(), std::mt19937_64(7));
  }
  bare(const bare&) = delete;
  bare& operator=(const bare&) = delete;
  ~bare() { ::close(file_); }

  wick_bench::lap run() {
    const wick_bench::stopwatch watch;
    std::atomic<std::size_t> next{0};
    std::atomic<std::uint64_t> sum{0};
    const auto work = [&] {
      std::vector<std::byte> batch(batch_size * bytes_);
      for (std::size_t from; (from = next.fetch_add(batch_size)) < order_.size();) {
        const std::size_t n = std::min(batch_size, order_.size() - from);
        for (std::size_t i = 0; i < n; ++i) {
          if (!memory_.empty()) {
            std::memcpy(batch.data() + i * bytes_, memory_.data() + order_[from + i] * bytes_, bytes_);
            continue;
          }
          const ssize_t got = ::pread(file_, batch.data() + i * bytes_, bytes_,
                                      static_cast<off_t>(order_[from + i] * bytes_));
          if (got != static_cast<ssize_t>(bytes_)) std::terminate();
        }
        sum += ends_of(batch.data(), n, bytes_);
      }
    };
    std::vector<std::thread> all;
    for (std::size_t t = 0; t < threads_; ++t) all.emplace_back(work);
    for (std::thread& t : all) t.join();
    this->sum = sum;
    return watch.read();
  }
  std::uint64_t sum = 0;

 private:
  const std::vector<char> memory_;
  int file_;
  std::size_t bytes_, threads_;
  std::vector<std::size_t> order_;
};

/// Both ratios: records() against preads, in_memory() against memcpys.
struct ratios {
  double read, in_memory;
};

/// An epoch of a loader of batches of records.
template <std::size_t Bytes, class Loader>
wick_bench::lap epoch_of(Loader& l, std::uint64_t epoch, std::uint64_t& sum) {
  const wick_bench::stopwatch watch;
  sum = 0;
  for (auto& batch : l.epoch(epoch))
    sum += ends_of(batch.data(), static_cast<std::size_t>(batch.extents()[0]), Bytes);
  return watch.read();
}

template <std::size_t Bytes>
ratios measure(const wick_bench::options& o, const std::string& folder) {
  const std::size_t count = o.quick ? 20'000 : 400'000;
  const std::string path = folder + "/" + std::to_string(Bytes) + ".bin";
  std::vector<char> all(count * Bytes);
  std::mt19937_64 random(Bytes);
  for (char& c : all) c = static_cast<char>(random());
  std::ofstream(path, std::ios::binary).write(all.data(), static_cast<std::streamsize>(all.size()));

  using record = std::array<std::uint8_t, Bytes>;
  const wick::loader_options options{.seed = 7, .workers = o.workers, .prefetch_next_epoch = false};
  wick::loader read(wick::records<record>(wick::files(path)) | wick::shuffle() | wick::read() |
                        wick::decode_raw<record>() | wick::array_batch(batch_size),
                    options);
  wick::loader kept(
      wick::in_memory<record>(wick::files(path)) | wick::shuffle() | wick::array_batch(batch_size), options);
  bare preads(path, {}, Bytes, count, o.workers), memcpys(path, std::move(all), Bytes, count, o.workers);
  std::uint64_t sums[2], epochs[2] = {};
  std::vector<wick_bench::contestant> sides;
  const auto units = static_cast<double>(count);
  const std::string size = ", " + std::to_string(Bytes) + " bytes";
  sides.push_back({"records()" + size, units, [&] { return epoch_of<Bytes>(read, epochs[0]++, sums[0]); }});
  sides.push_back({"preads", units, [&] { return preads.run(); }});
  sides.push_back({"in_memory()" + size, units, [&] { return epoch_of<Bytes>(kept, epochs[1]++, sums[1]); }});
  sides.push_back({"memcpys", units, [&] { return memcpys.run(); }});
  for (auto& side : sides) side.run();  // warm
  if (sums[0] != preads.sum || sums[1] != preads.sum || memcpys.sum != preads.sum)
    throw std::runtime_error("the sides read different bytes");
  wick_bench::run_in_turns(sides, o.rounds);
  print_table(sides, "Mrecords/s", 1e6, "cpu ns/record", 1e9);
  return {ratio(sides[0], sides[1]), ratio(sides[2], sides[3])};
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const auto o = wick_bench::options::parse(argc, argv, "Records of one size in a file, shuffled");
    const wick_bench::temp_folder folder;
    const ratios small = measure<784>(o, folder.path().string()),
                 large = measure<1024>(o, folder.path().string());
    std::printf(
        "RESULT records read_784=%.3f read_1024=%.3f in_memory_784=%.3f in_memory_1024=%.3f rounds=%d "
        "workers=%zu cores=%u\n",
        small.read, large.read, small.in_memory, large.in_memory, o.rounds, o.workers,
        std::thread::hardware_concurrency());
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "records: %s\n", e.what());
    return 1;
  }
}
