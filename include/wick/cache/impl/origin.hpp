/// \file
/// The bodies of what cache/detail/origin.hpp declares. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <array>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>

#include <wick/cache/detail/origin.hpp>
#include <wick/io/detail/object_store.hpp>
#include <wick/io/file_range.hpp>
#include <wick/io/file_stamp.hpp>
#include <wick/pipeline/fingerprint.hpp>

namespace wick::inline v0_1::detail {

namespace {

/// However a program spells it: from the working directory on, without "." and "//". A ".." behind a name
/// stays, since that may be a symbolic link.
std::string absolute(std::string_view path) {
  std::string out;
  std::array<char, PATH_MAX> folder{};
  if (!path.starts_with('/') && ::getcwd(folder.data(), folder.size()) != nullptr) out = folder.data();
  if (out == "/") out.clear();
  bool named = false;
  for (std::size_t at = 0; at < path.size();) {
    const std::size_t end = std::min(path.find('/', at), path.size());
    const std::string_view name = path.substr(at, end - at);
    if (name == ".." && !named) {
      out.resize(std::min(out.rfind('/'), out.size()));
    } else if (!name.empty() && name != ".") {
      out.append("/").append(name);
      named = true;
    }
    at = end + 1;
  }
  return out;
}

}  // namespace

void add_origin(fingerprint_hash& h, const file_range& where) {
  if (where.remote != nullptr) {
    h.add(shown_url(where.path)).add(where.offset).add(where.length);
    if (where.indexed != nullptr)
      where.indexed->add_to(h);
    else
      h.add(where.remote->indexed);
    return;
  }
  h.add(std::string_view(absolute(where.path))).add(where.offset).add(where.length);
  file_stamp now;
  if (where.indexed != nullptr) {
    now = *where.indexed;
  } else {
    struct ::stat about {};
    if (::stat(where.path, &about) != 0) return;
    now = file_stamp::of(about);
  }
  now.add_to(h);
}

}  // namespace wick::detail
