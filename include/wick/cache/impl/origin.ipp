// Implements cache/detail/origin.hpp. Included in exactly one file of a program.
#pragma once

#include <filesystem>
#include <sys/stat.h>
#include <system_error>

#include <wick/cache/detail/origin.hpp>
#include <wick/ext/file_stamp.hpp>
#include <wick/io/detail/object_store.hpp>

namespace wick::inline v0_1::detail {

void add_origin(origin_hash& h, const file_range& where) {
  if (where.remote != nullptr) {
    h.add(shown_url(where.path)).add(where.offset).add(where.length);
    add_query(h, where.path);
    if (where.indexed != nullptr)
      where.indexed->add_to(h);
    else
      h.add(where.remote->indexed);
    return;
  }
  if (where.indexed == nullptr && !h.may_block) {
    h.complete = false;
    return;
  }
  // Independent of how the program spells the path.
  std::error_code fault;
  const std::filesystem::path whole = std::filesystem::absolute(where.path, fault);
  const std::string path = fault ? where.path : whole.lexically_normal().string();
  h.add(std::string_view(path)).add(where.offset).add(where.length);
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
