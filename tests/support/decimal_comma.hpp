// A locale that writes 0,5, for what must not depend on it.
#pragma once

#include <clocale>
#include <cstdlib>
#include <string>

#include "temp_dir.hpp"

namespace wick_test {

/// The process has such a locale as long as this lives; `there` is false where the machine can't make one.
class decimal_comma {
 public:
  decimal_comma() {
    const std::string make =
        "localedef -i de_DE -f UTF-8 '" + (dir_ / "de_DE.UTF-8").string() + "' 2>/dev/null";
    there = std::system(make.c_str()) == 0 && ::setenv("LOCPATH", dir_.path().c_str(), 1) == 0 &&
            std::setlocale(LC_ALL, "de_DE.UTF-8") != nullptr && std::localeconv()->decimal_point[0] == ',';
  }
  decimal_comma(const decimal_comma&) = delete;
  decimal_comma& operator=(const decimal_comma&) = delete;
  ~decimal_comma() {
    std::setlocale(LC_ALL, "C");
    ::unsetenv("LOCPATH");
  }
  bool there = false;

 private:
  temp_dir dir_;
};

}  // namespace wick_test
