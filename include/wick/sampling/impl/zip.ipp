// Implements sampling/zip.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <unordered_map>

#include <wick/pipeline/detail/names.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/sampling/zip.hpp>

namespace wick::inline v0_1::detail {

namespace zipping {

/// "a, b, c and 4 more".
inline std::string list(const std::vector<std::string>& keys) {
  constexpr std::size_t most = 3;
  std::string text;
  for (std::size_t i = 0; i < std::min(keys.size(), most); ++i) text += (i == 0 ? "" : ", ") + keys[i];
  if (keys.size() > most) text += " and " + std::to_string(keys.size() - most) + " more";
  return text;
}

inline std::string without(const std::vector<std::string>& keys, std::size_t of, std::size_t in) {
  return std::to_string(keys.size()) + (keys.size() == 1 ? " sample" : " samples") + " of the " +
         ordinal(of) + " source without one of the same name in the " + ordinal(in) + ": " + list(keys);
}

using table = std::unordered_map<std::string_view, std::uint64_t>;

inline table by_name(const zip_names& of) {
  table out;
  out.reserve(of.names.size());
  for (std::uint64_t i = 0; i < of.names.size(); ++i) {
    const auto [at, is_new] = out.try_emplace(of.names[i], i);
    if (!is_new) {
      throw error("zip: two samples of the " + ordinal(of.source) + " source have the name " +
                  shown_name(of.names[i]) + ": " + of.keys[at->second] + " and " + of.keys[i] +
                  "; leave one out, or write zip(wick::pair_by::position, …)");
    }
  }
  return out;
}

/// What to do if a name without a partner is nearly the same as one of the other source.
inline std::string near(const zip_names& first, const zip_names& other, const table& there) {
  for (const std::string& name : first.names) {
    if (there.contains(name)) continue;
    if (const std::string found = near_name(name, other.names); !found.empty()) {
      return ": of the names " + shown_name(name) + found.substr(1) +
             "; rename the files (convmv -r -f utf8 -t utf8 --nfc --notest FOLDER writes all names in one "
             "form), or "
             "give zip a function that makes the names";
    }
    break;  // each search goes through all names
  }
  return {};
}

}  // namespace zipping

void zip_names::take_stems() {
  names = keys;
  if (names.empty()) return;
  // The folder that all share.
  const std::string first = names.front();
  std::size_t shared = first.rfind('/') + 1;
  for (const std::string& name : names) {
    while (shared > 0 && name.compare(0, shared, first, 0, shared) != 0)
      shared = shared == 1 ? 0 : first.rfind('/', shared - 2) + 1;
  }
  for (std::string& name : names) {
    const std::size_t dot = name.rfind('.'), file = name.rfind('/') + 1;
    if (dot != std::string::npos && dot > file) name.resize(dot);
    name.erase(0, shared);
  }
}

std::vector<std::uint64_t> pair_names(const zip_names& first, const zip_names& other) {
  const zipping::table there = zipping::by_name(other), here = zipping::by_name(first);
  std::vector<std::uint64_t> out;
  std::vector<std::string> alone, left_over;
  bool same = true;
  out.reserve(first.names.size());
  for (std::uint64_t i = 0; i < first.names.size(); ++i) {
    const auto found = there.find(first.names[i]);
    if (found == there.end()) {
      alone.push_back(first.keys[i]);
      continue;
    }
    same = same && found->second == i;
    out.push_back(found->second);
  }
  for (std::uint64_t i = 0; i < other.names.size(); ++i) {
    if (!here.contains(other.names[i])) left_over.push_back(other.keys[i]);
  }
  if (!alone.empty() || !left_over.empty()) {
    std::string text = "zip: ";
    if (!alone.empty()) text += zipping::without(alone, first.source, other.source);
    if (!left_over.empty())
      text += (alone.empty() ? "" : "; ") + zipping::without(left_over, other.source, first.source);
    const std::string near = zipping::near(first, other, there);
    if (!near.empty()) throw error(text + near);
    // One compared name from each source.
    const std::string a = first.names.empty() ? "" : first.names.front(),
                      b = other.names.empty() ? "" : other.names.front();
    throw error(text + " (the first names are " + shown_name(a) + " and " + shown_name(b) +
                "); add or leave out files, give zip a function that makes the names, or write "
                "zip(wick::pair_by::position, …)");
  }
  if (same) out.clear();
  return out;
}

void refuse_counts(std::size_t source, std::uint64_t count, std::uint64_t wanted) {
  throw error("zip: the " + ordinal(source) + " source has " + std::to_string(count) +
              " samples, and the first has " + std::to_string(wanted) + "; give each as many as the others");
}

void refuse_new_names(std::uint64_t before, std::uint64_t now) {
  throw error("zip: the sources had " + std::to_string(before) +
              " samples when they were paired by their names, and have " + std::to_string(now) +
              " now; make a new zip() and a new loader, or pair them by position");
}

}  // namespace wick::detail
