// Files by other programs' hands: scripts that a Python runs which has the packages they want.
#pragma once

#include <cstdlib>
#include <string>

#include "doctest.hpp"
#include "temp_dir.hpp"

namespace wick_test {

/// A Python that has these packages ("numpy, pandas"); empty: none. $WICK_FILES_VENV is asked first, a
/// virtual environment.
inline std::string python_with(const std::string& packages) {
  const char* const venv = std::getenv("WICK_FILES_VENV");
  const std::string own = venv == nullptr ? std::string() : std::string(venv) + "/bin/python";
#ifdef WICK_TEST_ARROW_PYTHON
  const std::string with_arrow = WICK_TEST_ARROW_PYTHON;  // whose Arrow wick::arrow links
#else
  const std::string with_arrow;
#endif
  for (const std::string& python :
       {own, with_arrow, std::string("python3"), std::string("/usr/bin/python3")}) {
    if (!python.empty() && std::system((python + " -c 'import " + packages + "' 2>/dev/null").c_str()) == 0)
      return python;
  }
  return {};
}

/// Runs a script in a folder. False: no Python here has the packages, which is said.
inline bool run_python(const std::string& packages, const temp_dir& in, const std::string& script) {
  const std::string python = python_with(packages);
  if (python.empty()) {
    MESSAGE("skipped: no python3 here has ", packages);
    return false;
  }
  const std::string file = in.path().string() + "/script.py";
  write_file(file, "import os, " + packages + "\nos.chdir('" + in.path().string() + "')\n" + script);
  REQUIRE(std::system((python + " " + file).c_str()) == 0);
  return true;
}

}  // namespace wick_test
