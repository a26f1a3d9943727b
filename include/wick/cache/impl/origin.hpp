/// \file
/// The bodies of what cache/detail/origin.hpp declares. Included in exactly one file of a program.
#pragma once

#include <cstdint>
#include <string_view>
#include <sys/stat.h>

#include <wick/cache/detail/origin.hpp>
#include <wick/io/detail/object_store.hpp>
#include <wick/io/file_range.hpp>
#include <wick/io/file_stamp.hpp>
#include <wick/pipeline/fingerprint.hpp>

namespace wick::inline v0_1::detail {

void add_origin(fingerprint_hash& h, const file_range& where) {
  if (where.remote != nullptr) {
    h.add(shown_url(where.path)).add(where.offset).add(where.length);
    if (where.indexed != nullptr)
      where.indexed->add_to(h);
    else
      h.add(where.remote->indexed);
    return;
  }
  h.add(std::string_view(where.path)).add(where.offset).add(where.length);
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
