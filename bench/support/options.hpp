// The command line of all benchmarks.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace wick_bench {

struct options {
  int rounds = 9;
  bool quick = false;       // a smoke test: does it run, are the results equal; the figures mean little
  std::size_t workers = 2;  // threads of each side
  std::string folder;       // pictures of the user's, for those that want any
  std::string only;         // for a profiler: the one side that is run
  std::string which;        // the cases of one that has several
  std::map<std::string, std::string, std::less<>> more;  // those of the extras that only one benchmark has

  std::string more_or_empty(std::string_view name) const {
    const auto it = more.find(name);
    return it == more.end() ? std::string() : it->second;
  }

  struct extra {
    std::string_view name;  // "--folder"
    std::string_view value, about;
  };
  static constexpr extra only_option{"--only", "TEXT",
                                     "only sides whose name begins with TEXT, and no RESULT: for a profiler"};
  static constexpr extra case_option{"--case", "TEXT", "only cases whose name begins with TEXT"};
  static constexpr extra folder_option{"--folder", "DIR",
                                       "pictures of yours, all of one size, a class a sub-folder"};

  /// Reads the command line; --help and mistakes end the program. `extras` are the options beyond the common
  /// ones.
  static options parse(int argc, char** argv, std::string_view about, const std::vector<extra>& extras = {}) {
    options o;
    bool rounds_given = false;
    const auto has = [&](std::string_view name) {
      for (const extra& e : extras) {
        if (e.name == name) return true;
      }
      return false;
    };
    for (int i = 1; i < argc; ++i) {
      const std::string_view name = argv[i];
      const auto value = [&]() -> const char* {
        if (i + 1 < argc) return argv[++i];
        std::fprintf(stderr, "%s: %s wants a value\n", argv[0], argv[i]);
        std::exit(2);
      };
      const auto count = [&] {
        const char* const text = value();
        char* end = nullptr;
        const long n = std::strtol(text, &end, 10);
        if (*end == '\0' && n >= 1 && n <= 10'000) return static_cast<int>(n);
        std::fprintf(stderr, "%s: %s %s: wanted a number from 1 to 10000\n", argv[0], argv[i - 1], text);
        std::exit(2);
      };
      if (name == "--help" || name == "-h") {
        std::printf("%.*s\n\n", static_cast<int>(about.size()), about.data());
        std::printf("  --rounds N    rounds, of which medians are taken (9)\n");
        std::printf(
            "  --quick       few and short rounds: only to see that it runs and that results are equal\n");
        std::printf("  --workers N   threads of each side (2)\n");
        for (const extra& e : extras) {
          const std::string left = std::string(e.name) + " " + std::string(e.value);
          std::printf("  %-12s  %.*s\n", left.c_str(), static_cast<int>(e.about.size()), e.about.data());
        }
        std::exit(0);
      } else if (name == "--rounds") {
        o.rounds = count();
        rounds_given = true;
      } else if (name == "--quick") {
        o.quick = true;
      } else if (name == "--workers") {
        o.workers = static_cast<std::size_t>(count());
      } else if (name == "--only" && has(name)) {
        o.only = value();
      } else if (name == "--case" && has(name)) {
        o.which = value();
      } else if (name == "--folder" && has(name)) {
        o.folder = value();
      } else if (has(name)) {
        const char* const given = value();
        o.more.insert_or_assign(std::string(name), given);
      } else {
        std::fprintf(stderr, "%s: no option %s; --help says which there are\n", argv[0], argv[i]);
        std::exit(2);
      }
    }
    if (o.quick && !rounds_given) o.rounds = 2;
    return o;
  }
};

}  // namespace wick_bench
