// Functions that give loaders: their arguments, keywords and pipelines. add_loader.py calls them.
#include <cstdint>
#include <nanobind/nanobind.h>
#include <string>
#include <variant>
#include <vector>

#include "bridge.hpp"
#include <wick/core.hpp>
#include <wick/python/add_loader.hpp>

namespace nb = nanobind;
using namespace nb::literals;

namespace {

auto numbers(std::int64_t count) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < count; ++i) all.push_back(i);
  return wick::in_memory(std::move(all));
}

auto a_function(std::int64_t count) { return numbers(count) | wick::array_batch(4); }

}  // namespace

NB_MODULE(wick_bridge, m) {
  wick::python::add_loader(m, "none", [] { return numbers(10) | wick::array_batch(4); });
  wick::python::add_loader(m, "function", &a_function, "count"_a);
  wick::python::add_loader(
      m, "shuffled",
      [](std::int64_t count, std::size_t batch) {
        return numbers(count) | wick::shuffle() | wick::array_batch(batch);
      },
      "count"_a, "batch"_a = 4, "Numbers from 0 on, shuffled.");
  wick::python::add_loader(
      m, "either",
      [](bool shuffle) {
        using shuffled = decltype(numbers(1) | wick::shuffle() | wick::array_batch(4));
        using in_order = decltype(numbers(1) | wick::array_batch(4));
        std::variant<shuffled, in_order> one(numbers(10) | wick::array_batch(4));
        if (shuffle) one.emplace<0>(numbers(10) | wick::shuffle() | wick::array_batch(4));
        return one;
      },
      "shuffle"_a);
  wick_bridge::add_conversions(m);
  wick_bridge::add_paths(m);
  wick_bridge::add_running(m);
}
