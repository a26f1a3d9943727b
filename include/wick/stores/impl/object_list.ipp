// Implements stores/detail/object_list.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cstddef>
#include <fnmatch.h>
#include <string_view>
#include <utility>

#include <wick/io/detail/source_file.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/sources/detail/glob.hpp>
#include <wick/stores/detail/http_answer.hpp>
#include <wick/stores/detail/object_list.hpp>
#include <wick/stores/detail/url_parts.hpp>

namespace wick::inline v0_1::detail {

namespace {

/// How a pattern matches an object: a name that contains brackets itself wins over a set of characters.
enum class match : unsigned char { none, by_pattern, by_name };

/// By the rules of glob_files() for paths.
match matches(std::string_view pattern, std::string_view key) {
  const std::size_t slash = pattern.find('/'), end = key.find('/');
  const bool last = slash == std::string_view::npos;
  const std::string part(pattern.substr(0, slash)), name(key.substr(0, end));
  if (part == "**" && !last) {
    for (;;) {  // in any folder below
      if (const match below = matches(pattern.substr(3), key); below != match::none) return below;
      const std::size_t next = key.find('/');
      if (next == std::string_view::npos || key.starts_with('.')) return match::none;
      key.remove_prefix(next + 1);
    }
  }
  if (part.find("**") != std::string::npos) {  // the last part: in any folder
    const bool hidden = key.starts_with('.') || key.find("/.") != std::string_view::npos;
    return !hidden && ::fnmatch(part.c_str(), std::string(key).c_str(), 0) == 0 ? match::by_pattern
                                                                                : match::none;
  }
  if (last != (end == std::string_view::npos)) return match::none;
  const bool by_name = part == name;
  if (!by_name &&
      (!has_wildcard(part) || name.starts_with('.') || ::fnmatch(part.c_str(), name.c_str(), 0) != 0))
    return match::none;
  const match own = by_name && has_wildcard(part) ? match::by_name : match::by_pattern;
  if (last) return own;
  const match below = matches(pattern.substr(slash + 1), key.substr(end + 1));
  return below == match::none ? match::none : std::max(own, below);
}

}  // namespace

object_list::object_list(std::string pattern, std::string base, std::string key, bool sizes_only)
    : pattern_(std::move(pattern)),
      base_(std::move(base)),
      key_(std::move(key)),
      sizes_only_(sizes_only),
      all_(key_.ends_with('/') || !has_wildcard(key_)) {
  prefix_ = all_ ? key_ : key_.substr(0, key_.find_first_of("*?["));
  for (std::size_t at = key_.find("**"); at != std::string::npos; at = key_.find("**", at + 2)) {
    const std::size_t slash = key_.find('/', at);
    if (slash != std::string::npos && (slash != at + 2 || (at != 0 && key_[at - 1] != '/')))
      throw source_error(pattern_, scheme_of(base_), "has ** within the name of a folder; write /**/");
  }
}

std::string object_list::add(object_page page, const std::string& asked) {
  constexpr std::uint64_t most_listed = std::uint64_t{4} << 30;  // bytes of keys
  constexpr unsigned most_empty = 1000;  // pages in a row; a store may list only deleted objects
  empty_ = page.objects.empty() ? empty_ + 1 : 0;
  listed_ += 1024;  // so that the list ends, whatever its pages hold
  for (listed_object& o : page.objects) {
    listed_ += o.key.size();
    if (o.key.ends_with('/')) continue;  // a folder's placeholder, made by consoles
    const match how = all_ ? match::by_pattern : matches(key_, o.key);
    if (how == match::none) continue;
    (how == match::by_name ? by_name_ : by_pattern_)
        .push_back({base_ + o.key, o.size, sizes_only_ ? version_of_size(o.size) : version_of(o.etag)});
  }
  const auto refuse = [&](const char* what) {
    return source_error(pattern_, scheme_of(base_), std::string("the list of the bucket: ") + what);
  };
  if (!asked.empty() && page.next == asked)
    throw refuse(
        "the server says after each page that the same one follows; check that it speaks ListObjectsV2");
  if (empty_ == most_empty || listed_ > most_listed)
    throw refuse(empty_ == most_empty
                     ? "1,000 pages in a row name no object; name a longer prefix, and check "
                       "that the server speaks ListObjectsV2"
                     : "the keys take more than 4 GiB; name a longer prefix, and check that "
                       "the server speaks ListObjectsV2");
  return std::move(page.next);
}

std::vector<remote_name> object_list::names() && {
  std::vector<remote_name> out = std::move(by_name_.empty() ? by_pattern_ : by_name_);
  if (out.empty())
    throw source_error(pattern_, scheme_of(base_), "matches no object; check the bucket and the prefix");
  std::sort(out.begin(), out.end(),
            [](const remote_name& a, const remote_name& b) { return natural_less(a.url, b.url); });
  return out;
}

}  // namespace wick::detail
