// Implements ext/file_stamp.hpp. Included in exactly one file of a program.
#pragma once

#include <cerrno>
#include <ctime>
#include <string>

#include <wick/ext/file_stamp.hpp>
#include <wick/ext/fingerprint.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::ext {

file_stamp file_stamp::of(int file) {
  struct ::stat about {};
  if (::fstat(file, &about) != 0) detail::throw_io("look at", errno);
  detail::regular_size(about);
  file_stamp out = of(about);
  out.local = detail::is_local(file);
  return out;
}

file_stamp file_stamp::of(const struct ::stat& about) noexcept {
#ifdef __APPLE__
  const ::timespec& changed = about.st_mtimespec;
#else
  const ::timespec& changed = about.st_mtim;
#endif
  return {.device = static_cast<std::uint64_t>(about.st_dev),
          .inode = static_cast<std::uint64_t>(about.st_ino),
          .size = static_cast<std::uint64_t>(about.st_size),
          .seconds = changed.tv_sec,
          .nanoseconds = changed.tv_nsec,
          .linked = about.st_nlink != 0};
}

bool file_stamp::settled() const noexcept { return seconds + 3 < static_cast<std::int64_t>(::time(nullptr)); }

void file_stamp::add_to(fingerprint_hash& h) const noexcept {
  h.add(size).add(static_cast<std::uint64_t>(seconds)).add(static_cast<std::uint64_t>(nanoseconds));
}

const char* file_stamp::change(const file_stamp& now) const noexcept {
  if (local && (now.device != device || now.inode != inode)) return "was replaced";
  if (now.size != size || now.seconds != seconds || now.nanoseconds != nanoseconds) return "was changed";
  if (linked && !now.linked) return "was deleted or replaced";
  return nullptr;
}

}  // namespace wick::ext

namespace wick::inline v0_1::detail {

void require_same(const file_stamp& then, const file_stamp& now, const char* since, const char* advice) {
  const char* const what = then.change(now);
  if (what == nullptr) return;
  std::string sizes;
  if (then.size != now.size)
    sizes = " (it had " + std::to_string(then.size) + " bytes, and has " + std::to_string(now.size) + ")";
  throw error(std::string("the file ") + what + " since it was " + since + sizes + "; " + advice);
}

file_watch file_watch::begin(int file, const file_stamp* indexed) {
  struct ::stat about {};
  if (::fstat(file, &about) != 0) throw_io("look at", errno);
  regular_size(about);
  const file_watch out{file_stamp::of(about)};
  if (indexed != nullptr) {
    require_same(*indexed, out.before, "indexed",
                 "make the source and the loader again, and give a changed file a new name while the old "
                 "one is read");
  }
  return out;
}

void file_watch::end(int file, const file_stamp* indexed) {
  const file_watch after = begin(file, indexed);
  before.linked = false;  // an open file may be read even if its name is gone
  require_same(before, after.before, "opened",
               "let its writer end before it is read, or write under another name and rename it");
}

}  // namespace wick::detail
