// Two epochs of files through a cache on disk, as fingerprints with content. tests/kill/cache.py starts some,
// kills them, and compares what the next ones print with a run without a cache.
//
//   wick_cached_train DATA CACHE BYTES WORKERS SEED
//
// CACHE "-": none. Prints a line: the fingerprints of both epochs, and the report's line about the cache.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <utility>

#include <wick/core.hpp>

namespace {

std::string text_of(wick::bytes all) { return std::string(all.text()); }

template <class Pipeline>
void run(Pipeline pipeline, std::size_t workers, std::uint64_t seed) {
  wick::loader l(std::move(pipeline), {.seed = seed, .workers = workers, .content_fingerprint = true});
  std::string line;
  for (std::uint64_t e = 0; e < 2; ++e) {
    for (auto& batch : l.epoch(e)) static_cast<void>(batch);
    line += std::to_string(l.fingerprint(e).value) + ' ';
  }
  for (const std::string& note : l.report().notes) line += note;
  std::puts(line.c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) return 2;
  try {
    const std::string cache = argv[2];
    const auto files = wick::files(std::string(argv[1]) + "/*.bin") | wick::shuffle() | wick::read();
    const auto number = [&](int i) { return std::strtoull(argv[i], nullptr, 10); };
    if (cache == "-")
      run(files | text_of | wick::array_batch(16), number(4), number(5));
    else
      run(files |
              wick::cache_on_disk(cache, number(3) == 0 ? wick::cache_on_disk_options()
                                                        : wick::cache_on_disk_options{.bytes = number(3)}) |
              text_of | wick::array_batch(16),
          number(4), number(5));
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "cached: %s\n", e.what());
    return 1;
  }
}
