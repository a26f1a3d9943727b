// wick_random_pipelines --seed S [--rounds N] [--only NAME]: runs the pipelines that generate.py wrote, each
// with parameters drawn from S, and compares what loaders deliver with a plain loop.
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <string_view>

#define DOCTEST_CONFIG_IMPLEMENT
#include "reference.hpp"
#include "support/doctest.hpp"

int main(int argc, char** argv) {
  doctest::Context asserts;  // of the servers' helpers
  asserts.setAsDefaultForAssertsOutOfTestCases();
  std::uint64_t seed = 1;
  unsigned rounds = 6;
  std::string only;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view option = argv[i];
    if (option == "--seed")
      seed = std::strtoull(argv[i + 1], nullptr, 10);
    else if (option == "--rounds")
      rounds = static_cast<unsigned>(std::strtoul(argv[i + 1], nullptr, 10));
    else if (option == "--only")
      only = argv[i + 1];
  }
  unsigned bad = 0, run = 0;
  for (const random_pipelines::program& p : random_pipelines::programs()) {
    if (!only.empty() && p.name != only) continue;
    ++run;
    try {
      random_pipelines::trial t(p.name, seed, rounds);
      p.run(t);
    } catch (const std::exception& e) {
      ++bad;
      std::cout << e.what() << "\n  " << p.text << "\n  repeat: --seed " << seed << " --rounds " << rounds
                << " --only \"" << p.name << "\"" << std::endl;
    }
  }
  std::cout << "random pipelines: seed " << seed << ", " << run << " programs of " << rounds << " rounds, "
            << bad << " with a difference" << std::endl;
  return bad == 0 && run != 0 ? 0 : 1;
}
