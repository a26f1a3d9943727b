// Patterns for many files: "shard-{000..009}.tar", "photos/*.jpg", "logs/**/*.json".
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <fnmatch.h>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include <wick/io/detail/object_store.hpp>
#include <wick/sources/detail/folder.hpp>
#include <wick/sources/detail/walk.hpp>

namespace wick::inline v0_1::detail {

/// Numbers within names compare as numbers: "f2" before "f10". A total order.
inline bool natural_less(std::string_view a, std::string_view b) noexcept {
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  std::size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (digit(a[i]) && digit(b[j])) {
      while (i < a.size() && a[i] == '0') ++i;
      while (j < b.size() && b[j] == '0') ++j;
      const std::size_t first_a = i, first_b = j;
      while (i < a.size() && digit(a[i])) ++i;
      while (j < b.size() && digit(b[j])) ++j;
      if (i - first_a != j - first_b) return i - first_a < j - first_b;
      const int order = a.compare(first_a, i - first_a, b, first_b, j - first_b);
      if (order != 0) return order < 0;
    } else if (a[i] != b[j]) {
      return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[j]);
    } else {
      ++i, ++j;
    }
  }
  const std::size_t left_a = a.size() - i, left_b = b.size() - j;
  return left_a != left_b ? left_a < left_b : a < b;
}

inline bool has_wildcard(std::string_view text) noexcept {
  return text.find_first_of("*?[") != std::string_view::npos;
}

/// The bounds of "007..123".
struct brace_range {
  std::uint64_t first = 0, last = 0;
  std::size_t width = 0;  ///< digits to pad to; 0 for none

  static bool parse(std::string_view text, brace_range& out) noexcept {
    const std::size_t dots = text.find("..");
    if (dots == std::string_view::npos) return false;
    const std::string_view a = text.substr(0, dots), b = text.substr(dots + 2);
    const auto number = [](std::string_view digits, std::uint64_t& to) {
      const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), to);
      return code == std::errc() && end == digits.data() + digits.size();
    };
    if (!number(a, out.first) || !number(b, out.last)) return false;
    const bool padded = (a.size() > 1 && a[0] == '0') || (b.size() > 1 && b[0] == '0');
    out.width = padded ? std::max(a.size(), b.size()) : 0;
    return true;
  }
};

/// As in a shell: "a{1..3}" → a1 a2 a3, "{01..10}" keeps its zeros, "{x,y}" → x y; braces may be nested.
/// \throws wick::error past a million names
inline std::vector<std::string> expand_braces(std::string_view pattern) {
  constexpr std::size_t limit = 1'000'000;
  const auto refuse = [pattern] {
    throw error(printable(is_url(pattern) ? shown_url(pattern) : std::string(pattern)) +
                ": stands for more than a million names");
  };
  std::vector<std::string> done,
      open{std::string(pattern)};  // `open` is a stack: the next pattern is the last
  while (!open.empty()) {
    const std::string text = std::move(open.back());
    open.pop_back();
    std::size_t first = std::string::npos, last = 0;
    std::vector<std::string> choices;
    for (std::size_t at = text.find('{'); at != std::string::npos && first == std::string::npos;
         at = text.find('{', at + 1)) {
      std::vector<std::size_t> cuts{at};
      std::size_t depth = 0;
      for (last = at; last < text.size(); ++last) {
        if (text[last] == '{') ++depth;
        if (text[last] == ',' && depth == 1) cuts.push_back(last);
        if (text[last] == '}' && --depth == 0) break;
      }
      if (last == text.size()) continue;  // never closed: an ordinary character
      cuts.push_back(last);
      brace_range range;
      if (cuts.size() > 2) {
        for (std::size_t c = 1; c < cuts.size(); ++c)
          choices.push_back(text.substr(cuts[c - 1] + 1, cuts[c] - cuts[c - 1] - 1));
        first = at;
      } else if (brace_range::parse(std::string_view(text).substr(at + 1, last - at - 1), range)) {
        const bool up = range.first <= range.last;
        const std::uint64_t steps = up ? range.last - range.first : range.first - range.last;
        if (steps >= limit) refuse();
        for (std::uint64_t k = 0; k <= steps; ++k) {
          std::string number = std::to_string(up ? range.first + k : range.first - k);
          if (number.size() < range.width) number.insert(0, range.width - number.size(), '0');
          choices.push_back(std::move(number));
        }
        first = at;
      }
    }
    if (first == std::string::npos) {
      done.push_back(text);
    } else {
      for (std::size_t c = choices.size(); c-- > 0;) {
        open.push_back(text.substr(0, first) + choices[c] + text.substr(last + 1));
      }
    }
    if (done.size() + open.size() > limit) refuse();
  }
  return done;
}

inline bool is_folder(const std::string& path) noexcept {
  struct ::stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

/// The length of the beginning of a pattern that names existing folders despite its wildcard characters: an
/// existing path wins.
inline std::size_t existing_folders(const std::string& pattern) {
  std::size_t out = 0, begin = 0;
  for (std::size_t slash = pattern.find('/'); slash != std::string::npos; slash = pattern.find('/', begin)) {
    if (pattern.substr(begin, slash - begin).find_first_of("*?[{") != std::string::npos) {
      if (!is_folder(pattern.substr(0, slash))) break;
      out = slash + 1;
    }
    begin = slash + 1;
  }
  return out;
}

/// Collects the files that match `pattern` below `folder`.
inline void glob_into(const std::string& folder, std::string_view pattern, std::string_view who,
                      std::vector<std::string>& out) {
  std::string base = folder;
  std::string_view part;
  for (;;) {  // parts without a wildcard need no listing
    const std::size_t slash = pattern.find('/');
    part = pattern.substr(0, slash);
    const bool last = slash == std::string_view::npos;
    if (last || (has_wildcard(part) && !is_folder(join_path(base, part)))) break;
    base = slash == 0 && base.empty() ? "/" : part.empty() ? base : join_path(base, part);
    pattern.remove_prefix(slash + 1);
  }
  const bool last = part.size() == pattern.size();
  std::string_view rest = last ? std::string_view() : pattern.substr(part.size() + 1);
  if (last) {
    struct ::stat status {};
    std::string path = join_path(base, part);
    const bool there = ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode);
    if (there) out.push_back(std::move(path));
    if (there || !has_wildcard(part)) return;
  }
  struct ::stat status {};
  if (::stat(base.empty() ? "." : base.c_str(), &status) != 0 || !S_ISDIR(status.st_mode))
    return;  // matches nothing
  const std::string glob(part);
  if (part == "**") {
    if (last) rest = "*";
    while (rest.starts_with("**/")) rest.remove_prefix(3);  // several in a row match the same as one
    for (const std::string& f : walk_folders(base, who)) glob_into(f, rest, who, out);
    return;
  }
  if (part.find("**") != std::string_view::npos) {
    if (!last)
      throw source_error(join_path(base, pattern), who, "has ** within the name of a folder; write /**/");
    const std::size_t below = join_path(base, "x").size() - 1;
    for (const std::string& f : walk_folders(base, who)) {
      list_folder(f.empty() ? "." : f, who, [&](std::string_view name, entry_kind kind) {
        if (kind != entry_kind::file) return;
        std::string path = join_path(f, name);
        if (::fnmatch(glob.c_str(), path.c_str() + below, 0) == 0) out.push_back(std::move(path));
      });
    }
    return;
  }
  std::vector<std::string> folders;
  list_folder(base.empty() ? "." : base, who, [&](std::string_view name, entry_kind kind) {
    if (::fnmatch(glob.c_str(), name.data(), 0) != 0) return;
    if (is_folder(kind) && !last) folders.push_back(join_path(base, name));
    if (kind == entry_kind::file && last) out.push_back(join_path(base, name));
  });
  for (const std::string& f : folders) glob_into(f, rest, who, out);
}

/// Regular files that match, in natural order, each once. `*`, `?`, and `[…]` match within a name, `**` any
/// number of folders: `**/*.jpg`, or at the end `**.jpg`, as in S3. Hidden files and folders match only their
/// full names, not wildcards.
/// \throws wick::error when a folder can't be listed
/// \param folder  where to begin; empty for the working folder, or "/"
inline std::vector<std::string> glob_files(const std::string& folder, std::string_view pattern,
                                           std::string_view who) {
  std::vector<std::string> out;
  glob_into(folder, pattern, who, out);
  std::sort(out.begin(), out.end(),
            [](const std::string& a, const std::string& b) { return natural_less(a, b); });
  out.erase(std::unique(out.begin(), out.end()), out.end());
  return out;
}

/// The files that `pattern` matches: itself if such a file exists, else braces, then wildcards, are expanded.
/// A name without wildcards is kept whether it exists or not. \throws wick::error when a wildcard matches
/// nothing
inline std::vector<std::string> expand_pattern(const std::string& pattern, std::string_view who) {
  if (pattern.empty()) throw error(std::string(who) + ": the path is empty");
  if (pattern.find("://") != std::string::npos) {
    throw source_error(pattern, who,
                       "is a URL, and this source reads local files only; download it, or mount it");
  }
  struct ::stat status {};
  if (::stat(pattern.c_str(), &status) == 0) return {pattern};
  const std::size_t known = existing_folders(pattern);
  const std::string folder = pattern.substr(0, known);
  std::vector<std::string> out;
  for (std::string& name : expand_braces(std::string_view(pattern).substr(known))) {
    if (!has_wildcard(name)) {
      out.push_back(folder + name);
      continue;
    }
    std::vector<std::string> found = glob_files(folder, name, who);
    if (found.empty()) {
      const bool set = name.find('[') != std::string::npos;
      throw source_error(folder + name, who,
                         std::string("matches no file; check the path, and that the pattern is not one for "
                                     "folders") +
                             (set ? "; […] is any of these characters, and a bracket itself is \\[" : ""));
    }
    out.insert(out.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
  }
  return out;
}

}  // namespace wick::detail
