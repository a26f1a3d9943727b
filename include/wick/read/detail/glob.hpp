/// \file
/// Patterns for many files: "shard-{000..009}.tar", "photos/*.jpg", "logs/**/*.json".
#pragma once

#include <cstddef>
#include <cstdint>
#include <fnmatch.h>
#include <string>
#include <string_view>
#include <vector>

#include <wick/read/detail/folder.hpp>

namespace wick::detail {

/// Numbers within names compare as numbers: "f2" before "f10". A total order.
bool natural_less(std::string_view a, std::string_view b) noexcept;

bool has_wildcard(std::string_view text) noexcept;

/// The bounds of "007..123".
struct brace_range {
  std::uint64_t first = 0, last = 0;
  std::size_t width = 0;  ///< digits to pad to; 0 for none

  static bool parse(std::string_view text, brace_range& out) noexcept;
};

/// As in a shell: "a{1..3}" → a1 a2 a3, "{01..10}" keeps its zeros, "{x,y}" → x y; braces may be nested.
/// \throws wick::error past a million names
std::vector<std::string> expand_braces(std::string_view pattern);

/// Collects the files that match `pattern` below `folder`.
void glob_into(const std::string& folder, std::string_view pattern, std::string_view who,
               std::vector<std::string>& out);

/// Regular files that match, in natural order, each once. `*`, `?`, `[…]` within a name, `**` for any number
/// of folders; hidden files match only what names them in full. \throws wick::error when a folder can't be
/// listed
std::vector<std::string> glob_files(std::string_view pattern, std::string_view who);

/// The files that `pattern` stands for: itself when such a file exists, else braces, then wildcards, are
/// expanded. A name without wildcards is kept whether it exists or not. \throws wick::error when a wildcard
/// matches nothing
std::vector<std::string> expand_pattern(const std::string& pattern, std::string_view who);

}  // namespace wick::detail
