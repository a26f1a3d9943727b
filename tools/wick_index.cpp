// Writes the index of tar shards beside them, so that a training on a server's shards need not read them
// whole.

#include <cinttypes>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include <wick/sources/tar.hpp>

namespace {

constexpr const char* help =
    R"(Usage: wick-index SHARD…

Writes SHARD.wickidx for each tar shard: the names, offsets and lengths of its members, about 1 % of the shard or less. Store
it beside the shard on the server, and wick::tar() reads it instead of the shard's headers.

  SHARD        a tar archive, or a pattern: train-{000..146}.tar, "train-*.tar"
  -h, --help   print this

Exit code 0: all are written. 1: a shard can't be read, or an index can't be written. 2: the arguments are wrong.
)";

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> patterns;
  bool named = false;  // only names from here on
  for (int i = 1; i < argc; ++i) {
    const std::string_view a = argv[i];
    if (named || !a.starts_with('-')) {
      patterns.emplace_back(a);
    } else if (a == "--") {
      named = true;
    } else if (a == "-h" || a == "--help") {
      std::fputs(help, stdout);
      return 0;
    } else {
      std::fprintf(stderr, "wick-index: unknown option %s; --help lists them\n", argv[i]);
      return 2;
    }
  }
  if (patterns.empty()) {
    std::fputs("wick-index: no shard is named: wick-index train-*.tar; --help says more\n", stderr);
    return 2;
  }
  try {
    for (const std::string& shard : wick::shard_list(patterns).paths) {
      const std::uint64_t members = wick::write_tar_index(shard);
      std::printf("%s.wickidx: %" PRIu64 " members\n", shard.c_str(), members);
    }
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "wick-index: %s\n", e.what());
    return 1;
  }
}
