// A length for each sample, of samples of which some are left out.
#include <vector>

#include <wick/core.hpp>
#include <wick/tools/measure_lengths.hpp>

// expect: wick: measure_lengths() gives a length for each sample of the source, and filter() leaves some out
int main() {
  return static_cast<int>(
      wick::measure_lengths(wick::from(std::vector<std::vector<int>>(10)) |
                            wick::filter([](const std::vector<int>& s) { return !s.empty(); }))
          .size());
}
