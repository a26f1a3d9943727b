// Reads at random places of a file, by threads that block and by io_uring: from the disk and from the page
// cache.
//
// wick reads by threads. This says what io_uring would give: reads a second, and processor time a read.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fcntl.h>
#include <filesystem>
#include <liburing.h>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "support/options.hpp"
#include "support/temp_folder.hpp"
#include "support/timing.hpp"
#include <wick/io/detail/plain_file.hpp>

namespace {

using wick::detail::file_handle;

/// A file of random bytes, on the disk.
file_handle make_file(const std::filesystem::path& path, std::uint64_t size) {
  file_handle file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  std::vector<std::uint64_t> block(std::size_t{1} << 17);
  std::mt19937_64 random(1);
  for (std::uint64_t done = 0; file && done < size; done += block.size() * 8) {
    for (auto& word : block) word = random();
    if (::write(file.get(), block.data(), block.size() * 8) != static_cast<::ssize_t>(block.size() * 8))
      throw std::runtime_error("reads: " + path.string() + " can't be written; is the disk full?");
  }
  if (!file || ::fsync(file.get()) != 0)
    throw std::runtime_error("reads: " + path.string() + " can't be written");
  ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_RANDOM);
  return file;
}

void require_whole(std::int64_t got, std::size_t wanted) {
  if (got != static_cast<std::int64_t>(wanted))
    throw std::runtime_error("reads: a read gave " + std::to_string(got) + " of " + std::to_string(wanted) +
                             " bytes");
}

void by_threads(int file, const std::vector<::off_t>& places, std::size_t size, std::size_t at_a_time) {
  std::atomic<std::size_t> next{0}, whole{0};
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < at_a_time; ++i) {
    threads.emplace_back([&] {
      std::vector<char> to(size);
      for (std::size_t k = next++; k < places.size(); k = next++)
        whole += ::pread(file, to.data(), size, places[k]) == static_cast<::ssize_t>(size);
    });
  }
  for (std::thread& t : threads) t.join();
  require_whole(static_cast<std::int64_t>(whole), places.size());
}

void by_uring(int file, const std::vector<::off_t>& places, std::size_t size, std::size_t at_a_time) {
  ::io_uring ring;
  if (::io_uring_queue_init(static_cast<unsigned>(std::max<std::size_t>(at_a_time, 8)), &ring, 0) != 0)
    throw std::runtime_error("reads: this system has no io_uring, or doesn't allow it");
  std::vector<std::vector<char>> to(at_a_time, std::vector<char>(size));
  std::vector<std::uint64_t> free(at_a_time);
  for (std::size_t i = 0; i < at_a_time; ++i) free[i] = i;
  for (std::size_t begun = 0, done = 0; done < places.size();) {
    while (begun < places.size() && !free.empty()) {
      ::io_uring_sqe* const entry = ::io_uring_get_sqe(&ring);
      if (entry == nullptr) break;
      ::io_uring_prep_read(entry, file, to[free.back()].data(), static_cast<unsigned>(size),
                           static_cast<std::uint64_t>(places[begun++]));
      ::io_uring_sqe_set_data64(entry, free.back());
      free.pop_back();
    }
    ::io_uring_submit_and_wait(&ring, 1);
    ::io_uring_cqe* entry = nullptr;
    while (::io_uring_peek_cqe(&ring, &entry) == 0) {
      require_whole(entry->res, size);
      free.push_back(::io_uring_cqe_get_data64(entry));
      ::io_uring_cqe_seen(&ring, entry);
      ++done;
    }
  }
  ::io_uring_queue_exit(&ring);
}

/// Of one side in one case: reads a second, microseconds of a processor a read.
struct figures {
  std::vector<double> rates, costs;
  void add(const wick_bench::lap& l, std::size_t reads) {
    rates.push_back(static_cast<double>(reads) / l.wall);
    costs.push_back(1e6 * l.cpu / static_cast<double>(reads));
  }
};

int run(const wick_bench::options& o) {
  const wick_bench::temp_folder folder;
  const std::uint64_t bytes = std::uint64_t{o.quick ? 64u : 2048u} << 20;
  const file_handle file = make_file(folder.path() / "random", bytes);
  std::mt19937_64 random(2);
  for (const bool cold : {true, false}) {
    std::vector<double> ratios;
    for (const std::size_t size : {std::size_t{4096}, std::size_t{100} << 10, std::size_t{1} << 20}) {
      for (const std::size_t at_a_time : {1u, 16u, 64u, 256u}) {
        const std::size_t count = (o.quick ? 100 : 1000) * (size == 4096 ? 6 : size < 1 << 20 ? 2 : 1) / 2;
        figures threads, uring;
        for (int r = 0; r < o.rounds; ++r) {
          std::vector<::off_t> places(count);
          for (auto& p : places) p = static_cast<::off_t>(random() % ((bytes - size) / 4096) * 4096);
          if (!cold) by_threads(file.get(), places, size, 4);
          for (const bool side : {r % 2 == 0, r % 2 != 0}) {
            if (cold) ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
            const wick_bench::stopwatch watch;
            (side ? by_threads : by_uring)(file.get(), places, size, at_a_time);
            (side ? threads : uring).add(watch.read(), count);
          }
        }
        using wick_bench::median;
        ratios.push_back(median(uring.rates) / median(threads.rates));
        std::printf(
            "%s, %7zu bytes, %3zu at a time: threads %8.0f/s, %6.1f us; io_uring %8.0f/s, %6.1f us: %.2f\n",
            cold ? "disk" : "page cache", size, at_a_time, median(threads.rates), median(threads.costs),
            median(uring.rates), median(uring.costs), ratios.back());
      }
    }
    std::printf("RESULT reads from=%s uring_of_threads=%.2f least=%.2f most=%.2f\n", cold ? "disk" : "cache",
                wick_bench::median(ratios), *std::min_element(ratios.begin(), ratios.end()),
                *std::max_element(ratios.begin(), ratios.end()));
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  return run(wick_bench::options::parse(
      argc, argv, "Reads at random places of a file, by threads that block and by io_uring."));
} catch (const std::exception& e) {
  std::fprintf(stderr, "reads: %s\n", e.what());
  return 1;
}
