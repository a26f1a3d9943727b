// Batches of each kind, for to_python.py.
#include <array>
#include <cstdint>
#include <cstring>
#include <nanobind/nanobind.h>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "bridge.hpp"
#include <wick/core.hpp>
#include <wick/python/add_loader.hpp>

namespace nb = nanobind;
using namespace nb::literals;

namespace {

struct step {
  float reward;
  std::array<std::uint8_t, 2> observation;
};
struct steps {
  wick::array reward, observation;
};
/// An array that says which type its numbers have.
template <wick::dtype Type, class Bits>
struct typed {
  Bits bits;
  static wick::shape extents() { return wick::shape{}; }
  static wick::dtype type() { return Type; }
  void write_to(wick::ext::slot to) const { std::memcpy(to.data, &bits, sizeof(Bits)); }
};

auto indices(std::int64_t count) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < count; ++i) all.push_back(i);
  return wick::in_memory(std::move(all));
}
template <class T>
void add_numbers(nb::module_& m, const char* name) {
  wick::python::add_loader(m, name, [] {
    return indices(3) | wick::map("as", [](std::int64_t i) { return static_cast<T>(i); }) |
           wick::array_batch(3);
  });
}

/// 0, 1, 2 in 16 bits each.
template <wick::dtype Type>
void add_halves(nb::module_& m, const char* name, const std::array<std::uint16_t, 3>& halves) {
  wick::python::add_loader(m, name, [halves] {
    return indices(3) |
           wick::map("half",
                     [halves](std::int64_t i) {
                       return typed<Type, std::uint16_t>{halves[static_cast<std::size_t>(i)]};
                     }) |
           wick::array_batch(3);
  });
}

}  // namespace

template <>
inline constexpr std::array wick::python::names<steps>{"reward", "observation"};

void wick_bridge::add_conversions(nb::module_& m) {
  add_numbers<std::uint8_t>(m, "uint8");
  add_numbers<std::int8_t>(m, "int8");
  add_numbers<std::int16_t>(m, "int16");
  add_numbers<std::int32_t>(m, "int32");
  add_numbers<std::int64_t>(m, "int64");
  add_numbers<float>(m, "float32");
  add_numbers<double>(m, "float64");
  add_numbers<bool>(m, "bool");
  add_halves<wick::dtype::float16>(m, "float16", {0x0000, 0x3C00, 0x4000});
  add_halves<wick::dtype::bfloat16>(m, "bfloat16", {0x0000, 0x3F80, 0x4000});
  wick::python::add_loader(m, "sample", [] {
    return indices(5) |
           wick::map("pair",
                     [](std::int64_t i) {
                       return wick::sample<std::array<float, 2>, std::int64_t>{{float(i), float(2 * i)}, i};
                     }) |
           wick::array_batch(2);
  });
  wick::python::add_loader(m, "tuple", [] {
    return indices(4) |
           wick::map("three",
                     [](std::int64_t i) {
                       return std::tuple(i, float(i), std::string(i == 0 ? "\xff" : "n") + std::to_string(i));
                     }) |
           wick::array_batch(4);
  });
  wick::python::add_loader(m, "struct_", [] {
    return indices(4) |
           wick::map("step",
                     [](std::int64_t i) {
                       return step{0.5F * float(i), {std::uint8_t(i), std::uint8_t(i + 1)}};
                     }) |
           wick::array_batch<steps>(4);
  });
  wick::python::add_loader(m, "indexed", [] {
    return indices(4) | wick::map("pair", [](std::int64_t i) { return wick::sample(float(i), i); }) |
           wick::with_index() | wick::array_batch(4);
  });
  wick::python::add_loader(m, "ragged", [] {
    return indices(4) |
           wick::map(
               "row",
               [](std::int64_t i) { return std::vector<std::int64_t>(static_cast<std::size_t>(i), i); }) |
           wick::array_batch(4, {.ragged = wick::pad_with(-1)});
  });
  wick::python::add_loader(m, "packed", [] {
    return indices(4) |
           wick::map(
               "row",
               [](std::int64_t i) { return std::vector<std::int64_t>(static_cast<std::size_t>(i + 1), i); }) |
           wick::array_pack(2, 8, {.pad = wick::pad_with(-1), .lengths = {1, 2, 3, 4}});
  });
  wick::python::add_loader(m, "group", [] {
    return indices(3) | wick::map("two", [](std::int64_t i) { return std::pair(i, std::to_string(i)); }) |
           wick::group(2);
  });
  wick::python::add_loader(m, "bare",
                           [] { return indices(3) | wick::map("same", [](std::int64_t i) { return i; }); });
  wick::python::add_loader(
      m, "large",
      [](std::int64_t count) {
        return indices(count) | wick::shuffle() |
               wick::map("row",
                         [](std::int64_t i) {
                           std::array<std::int64_t, 1000> row{};
                           row.fill(i);
                           return row;
                         }) |
               wick::array_batch(16);
      },
      "count"_a);
}
