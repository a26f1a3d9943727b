// Files on servers, by the target wick::curl alone.
#include <cstdint>
#include <cstdio>
#include <exception>

#include <wick/core.hpp>
#include <wick/stores/remote.hpp>

int main(int argc, char** argv) try {
  std::uint64_t bytes = 0;
  wick::loader l(wick::files(argc > 1 ? argv[1] : "https://localhost/{0..9}.bin") | wick::read());
  for (auto& value : l.epoch(0)) bytes += value.size();
  std::printf("%llu bytes\n", static_cast<unsigned long long>(bytes));
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
