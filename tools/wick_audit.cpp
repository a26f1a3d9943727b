// Says from a training's delivery logs whether each sample came exactly once, on all ranks and through all
// restarts.

#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include <wick/tools/audit.hpp>

namespace {

constexpr const char* help =
    R"(Usage: wick-audit [--each-once] LOG…

Reads the files that loader_options::delivery_log_file has written, of all ranks of a training and all of its restarts, and
compares their hashes: each batch was handed to all of its ranks, none is missing, none came twice, and what was made again
after a restart is the same, on any number of ranks.

  LOG          a delivery log; ranks may share one
  --each-once  each complete epoch must have each sample of the source exactly once: for an order like shuffle(), without
               weights, and where no sample fails
  -h, --help   print this

Prints the attempts, the epochs with their fingerprints, and what is wrong. Exit code 0: nothing is wrong. 1: something is.
2: a file can't be read, or is no delivery log.
)";

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> logs;
  wick::audit_options options;
  bool named = false;  // only names from here on
  for (int i = 1; i < argc; ++i) {
    const std::string_view a = argv[i];
    if (named || !a.starts_with('-') || a == "-") {
      logs.emplace_back(a);
    } else if (a == "--") {
      named = true;
    } else if (a == "--each-once") {
      options.each_once = true;
    } else if (a == "-h" || a == "--help") {
      std::fputs(help, stdout);
      return 0;
    } else {
      std::fprintf(stderr, "wick-audit: unknown option %s; --help lists them\n", argv[i]);
      return 2;
    }
  }
  if (logs.empty()) {
    std::fputs("wick-audit: no log is named: wick-audit run/*.deliveries; --help says more\n", stderr);
    return 2;
  }
  try {
    const wick::audit_report found = wick::audit(logs, options);
    std::fputs(found.to_string().c_str(), stdout);
    if (std::fflush(stdout) != 0) {
      std::perror("wick-audit: the report can't be written");
      return 2;
    }
    return found.ok() ? 0 : 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "wick-audit: %s\n", e.what());
    return 2;
  }
}
