// Lines of a file in random order, and chunks of 1024 tokens: wick, a plain loop, and PyTorch over a memory
// map.
//
// The plain loops are the bare work on one thread: pread() of each line at a known offset; for the chunks, a
// memory map and a conversion from 16 to 64 bits into buffers that are used again and again. wick takes the
// chunks from the file, and from memory. All files are in the page cache. With WICK_PEERS, a virtual
// environment that has torch and numpy, a DataLoader over np.memmap runs with as many workers, and nanoGPT's
// get_batch(), on one thread.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "support/options.hpp"
#include "support/temp_folder.hpp"
#include "support/timing.hpp"
#include <wick/core.hpp>

namespace {

constexpr std::size_t length = 1024, batch_size = 32;

std::uint64_t next_random(std::uint64_t& state) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return state >> 33;
}

/// Lines of 20 to 180 bytes.
std::vector<std::pair<std::uint64_t, std::uint32_t>> write_lines(const std::string& path, std::size_t count) {
  std::vector<std::pair<std::uint64_t, std::uint32_t>> places;
  std::string text;
  std::uint64_t random = 1;
  for (std::size_t i = 0; i < count; ++i) {
    const auto size = static_cast<std::uint32_t>(20 + next_random(random) % 161);
    places.emplace_back(text.size(), size);
    for (std::uint32_t c = 0; c < size; ++c) text += static_cast<char>('a' + next_random(random) % 26);
    text += '\n';
  }
  std::ofstream(path, std::ios::binary) << text;
  return places;
}

void write_tokens(const std::string& path, std::size_t count) {
  std::vector<std::uint16_t> tokens(count);
  std::uint64_t random = 2;
  for (std::uint16_t& t : tokens) t = static_cast<std::uint16_t>(next_random(random) % 50257);
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(tokens.data()), static_cast<std::streamsize>(2 * count));
}

/// Where things are, once: the same shuffled order for every plain loop.
std::vector<std::uint64_t> shuffled(std::uint64_t n) {
  const wick::detail::permutation at(n, 7, 0, 0);
  std::vector<std::uint64_t> out;
  for (std::uint64_t p = 0; p < n; ++p) out.push_back(at(p));
  return out;
}

/// Differs when any byte does; the order does not count.
std::uint64_t digest(const void* data, std::size_t size) {
  return wick::ext::fingerprint_hash().add(data, size).value();
}

int open_file(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) throw std::runtime_error("can't open " + path);
  return file;
}

void print(std::vector<wick_bench::contestant>& all, int rounds, const char* what, const char* unit,
           double scale) {
  wick_bench::run_in_turns(all, rounds);
  wick_bench::print_table(all, std::string("M ") + unit + "/s", scale, std::string("ns/") + unit, 1e9);
  std::printf("RESULT text_%s wick_M_per_s=%.3f loop_M_per_s=%.3f wick_by_loop=%.3f cpu_wick_by_loop=%.3f\n",
              what, all[0].units_per_second() / scale, all[1].units_per_second() / scale,
              wick_bench::ratio(all[0], all[1]), 1 / wick_bench::cpu_ratio(all[0], all[1]));
}

void lines(const wick_bench::options& o, const std::string& folder) {
  const std::size_t count = o.quick ? 20'000 : 400'000;
  const std::string path = folder + "/lines.txt";
  const auto places = write_lines(path, count);

  const wick_bench::stopwatch scanning;
  const auto source = wick::lines(path);
  std::printf("%zu lines: index made in %.1f ms\n", count, 1e3 * scanning.seconds());
  wick::loader loader(source | wick::shuffle() | wick::read() | wick::group(256),
                      {.seed = 7, .workers = o.workers});
  std::uint64_t epoch = 0, ours = 0, theirs = 0;
  for (auto& group : loader.epoch(epoch++)) {
    for (const wick::bytes& line : group) ours += digest(line.data(), line.size());
  }
  const std::vector<std::uint64_t> order = shuffled(count);
  const int file = open_file(path);
  const auto loop = [&](auto&& each) {
    for (const std::uint64_t i : order) {
      wick::bytes line(places[i].second);
      if (::pread(file, line.data(), line.size(), static_cast<::off_t>(places[i].first)) < 0)
        throw std::runtime_error("can't read " + path);
      each(line);
    }
  };
  loop([&](const wick::bytes& line) { theirs += digest(line.data(), line.size()); });
  if (ours != theirs) throw std::runtime_error("the lines are not the same");

  std::vector<wick_bench::contestant> all(2);
  all[0] = {"wick, " + std::to_string(o.workers) + " workers", static_cast<double>(count), [&] {
              const wick_bench::stopwatch watch;
              std::size_t n = 0;
              for (auto& group : loader.epoch(epoch++)) n += group.size();
              if (n != count) throw std::runtime_error("not all lines came");
              return watch.read();
            }};
  all[1] = {"pread in a loop, 1 thread", static_cast<double>(count), [&] {
              const wick_bench::stopwatch watch;
              std::size_t bytes = 0;
              loop([&](const wick::bytes& line) { bytes += line.size(); });
              if (bytes == 0) throw std::runtime_error("no line");
              return watch.read();
            }};
  print(all, o.rounds, "lines", "line", 1e6);
  ::close(file);
}

/// What Python says: tokens a second by the DataLoader, by get_batch(), and the sum of all that the former
/// gave.
struct python_result {
  double loader = 0, get_batch = 0;
  std::uint64_t sum = 0;
};
python_result python(const wick_bench::options& o, const std::string& environment, const std::string& path) {
  const std::string command = environment + "/bin/python " WICK_BENCH_TEXT "/memmap.py " + path + " " +
                              std::to_string(length) + " " + std::to_string(batch_size) + " " +
                              std::to_string(o.workers);
  python_result out;
  std::FILE* const from = ::popen(command.c_str(), "r");
  if (from == nullptr) throw std::runtime_error("can't run Python");
  unsigned long long sum = 0;
  const int found = std::fscanf(from, "%lf %lf %llu", &out.loader, &out.get_batch, &sum);
  out.sum = sum;
  if (::pclose(from) != 0 || found != 3)
    throw std::runtime_error("memmap.py failed; has " + environment + " torch?");
  return out;
}

void tokens(const wick_bench::options& o, const std::string& folder) {
  const std::size_t count = o.quick ? 2'000'000 : 40'000'000;
  const std::string path = folder + "/train.bin";
  write_tokens(path, count);
  const auto source = wick::tokens(path) | wick::chunks(length);
  const std::uint64_t chunks = source.size();
  wick::loader loader(source | wick::shuffle() | wick::read() | wick::array_batch(batch_size),
                      {.seed = 7, .workers = o.workers});

  wick::loader kept(wick::in_memory(wick::tokens(path)) | wick::chunks(length) | wick::shuffle() |
                        wick::array_batch(batch_size),
                    {.seed = 7, .workers = o.workers});

  const std::vector<std::uint64_t> order = shuffled(chunks);
  const int file = open_file(path);
  const auto* const map =
      static_cast<const std::uint16_t*>(::mmap(nullptr, 2 * count, PROT_READ, MAP_SHARED, file, 0));
  if (map == MAP_FAILED) throw std::runtime_error("can't map " + path);
  std::vector<std::int64_t> data(batch_size * length), target(batch_size * length);
  const auto loop = [&](auto&& each) {
    for (std::uint64_t p = 0; p < chunks; p += batch_size) {
      const std::size_t n = static_cast<std::size_t>(std::min<std::uint64_t>(batch_size, chunks - p));
      for (std::size_t i = 0; i < n; ++i) {
        const std::uint16_t* const from = map + order[p + i] * length;
        std::copy_n(from, length, data.data() + i * length);
        std::copy_n(from + 1, length, target.data() + i * length);
      }
      each(n);
    }
  };
  std::uint64_t epoch = 0, ours = 0, in_memory = 0, theirs = 0, sum = 0;
  for (auto& batch : loader.epoch(epoch)) {
    const auto n = static_cast<std::size_t>(batch.data.extents()[0]);
    ours += digest(batch.data.as<std::int64_t>(), 8 * n * length) +
            digest(batch.target.as<std::int64_t>(), 8 * n * length);
    for (std::size_t i = 0; i < n * length; ++i)
      sum +=
          static_cast<std::uint64_t>(batch.data.as<std::int64_t>()[i] + batch.target.as<std::int64_t>()[i]);
  }
  for (auto& batch : kept.epoch(epoch++)) {
    const auto n = static_cast<std::size_t>(batch.data.extents()[0]);
    in_memory += digest(batch.data.as<std::int64_t>(), 8 * n * length) +
                 digest(batch.target.as<std::int64_t>(), 8 * n * length);
  }
  loop([&](std::size_t n) {
    theirs += digest(data.data(), 8 * n * length) + digest(target.data(), 8 * n * length);
  });
  if (ours != theirs || in_memory != theirs) throw std::runtime_error("the batches are not the same");

  const double units = static_cast<double>(chunks * length);
  const auto epoch_of = [&](auto& some) {
    const wick_bench::stopwatch watch;
    std::uint64_t n = 0;
    for (auto& batch : some.epoch(epoch++)) n += static_cast<std::uint64_t>(batch.data.extents()[0]);
    if (n != chunks) throw std::runtime_error("not all chunks came");
    return watch.read();
  };
  const std::string workers = std::to_string(o.workers) + " workers";
  std::vector<wick_bench::contestant> all(3);
  all[0] = {"wick, " + workers, units, [&] { return epoch_of(loader); }};
  all[2] = {"wick, tokens in memory, " + workers, units, [&] { return epoch_of(kept); }};
  all[1] = {"memory map in a loop, 1 thread", units, [&] {
              const wick_bench::stopwatch watch;
              std::size_t n = 0;
              loop([&](std::size_t some) { n += some; });
              if (n != chunks) throw std::runtime_error("not all chunks");
              return watch.read();
            }};
  print(all, o.rounds, "tokens", "token", 1e6);
  std::printf("RESULT text_tokens_in_memory wick_by_loop=%.3f\n", wick_bench::ratio(all[2], all[1]));
  ::munmap(const_cast<std::uint16_t*>(map), 2 * count);
  ::close(file);

  const char* const environment = std::getenv("WICK_PEERS");
  if (environment == nullptr) {
    std::printf("no PyTorch: WICK_PEERS names no virtual environment\n");
    return;
  }
  const python_result theirs_too = python(o, environment, path);
  if (theirs_too.sum != sum) throw std::runtime_error("the DataLoader's tokens are not the same");
  std::printf("DataLoader over np.memmap, %zu workers: %.3f M tokens/s; get_batch(): %.3f M tokens/s\n",
              o.workers, theirs_too.loader / 1e6, theirs_too.get_batch / 1e6);
  std::printf("RESULT text_python wick_by_dataloader=%.2f wick_by_get_batch=%.2f\n",
              all[0].units_per_second() / theirs_too.loader,
              all[0].units_per_second() / theirs_too.get_batch);
}

}  // namespace

int main(int argc, char** argv) {
  const auto o = wick_bench::options::parse(
      argc, argv,
      "Lines in random order and chunks of tokens: wick, a plain loop, PyTorch over a memory map.",
      {wick_bench::options::case_option});
  try {
    const wick_bench::temp_folder folder;
    if (std::string("lines").starts_with(o.which)) lines(o, folder.path().string());
    if (std::string("tokens").starts_with(o.which)) tokens(o, folder.path().string());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "text: %s\n", e.what());
    return 1;
  }
}
