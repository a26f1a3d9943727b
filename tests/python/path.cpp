// A function that gives its paths back, for path.py.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <string>
#include <vector>

#include "bridge.hpp"
#include <wick/python/path.hpp>

namespace nb = nanobind;
using namespace nb::literals;

void wick_bridge::add_paths(nb::module_& m) {
  m.def(
      "path_bytes", [](const wick::python::path& of) { return nb::bytes(of.text.data(), of.text.size()); },
      "of"_a);
  m.def(
      "path_count", [](const std::vector<wick::python::path>& of) { return of.size(); }, "of"_a);
  m.def(
      "path_default", [](const wick::python::path& of) { return of.text; },
      "of"_a = wick::python::path("here"));
}
