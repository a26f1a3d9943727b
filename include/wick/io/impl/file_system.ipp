// Implements io/detail/file_system.hpp. Included in exactly one file of a program.
#pragma once

#include <wick/io/detail/file_system.hpp>

namespace wick::inline v0_1::detail {

bool is_local(int file) noexcept {
#ifdef __linux__
  struct ::statfs about;
  return ::fstatfs(file, &about) == 0 && is_local_type(static_cast<std::uint32_t>(about.f_type));
#else
  (void)file;
  return false;
#endif
}

}  // namespace wick::detail
