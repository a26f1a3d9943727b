// LMDB's databases, by the target wick::lmdb alone.
#include <cstdint>
#include <cstdio>
#include <exception>

#include <wick/core.hpp>
#include <wick/sources/lmdb.hpp>

int main(int argc, char** argv) try {
  std::uint64_t bytes = 0;
  wick::loader l(wick::lmdb(argc > 1 ? argv[1] : "train.lmdb") | wick::read());
  for (auto& value : l.epoch(0)) bytes += value.size();
  std::printf("%llu bytes\n", static_cast<unsigned long long>(bytes));
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
