// What the files of the module wick_bridge add to it: each the pipelines that its .py runs.
#pragma once

#include <nanobind/nanobind.h>

namespace wick_bridge {

void add_conversions(nanobind::module_& m);
void add_paths(nanobind::module_& m);
void add_running(nanobind::module_& m);

}  // namespace wick_bridge
