/// \file
/// The bodies of what text/detail/text_index.hpp declares. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

#include <wick/io/detail/file_io.hpp>
#include <wick/io/detail/source_file.hpp>
#include <wick/io/file_range.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/fingerprint.hpp>
#include <wick/sources/files.hpp>
#include <wick/text/detail/kept_index.hpp>
#include <wick/text/detail/text_extents.hpp>
#include <wick/text/detail/text_index.hpp>
#include <wick/text/detail/text_scan.hpp>

namespace wick::detail {

/// How far the paths are the same, up to a slash.
inline std::size_t shared_folder(const files& paths) noexcept {
  const std::string_view first = paths.path(0);
  std::size_t shared = first.rfind('/') + 1;
  for (std::uint64_t f = 1; f < paths.size(); ++f) {
    const std::string_view other = paths.path(f);
    while (shared > 0 && other.substr(0, shared) != first.substr(0, shared))
      shared = shared == 1 ? 0 : first.rfind('/', shared - 2) + 1;
  }
  return shared;
}

/// Lines of what is compressed can't be reached one by one.
inline void refuse_compressed(const std::string& path, const char* who, int file) {
  std::byte start[6] = {};
  static_cast<void>(read_up_to(file, start, sizeof(start), 0));
  const std::string_view p(reinterpret_cast<const char*>(start), sizeof(start));
  const char* const packer = p.starts_with("\x1F\x8B")           ? "gzip"
                             : p.starts_with("\x28\xB5\x2F\xFD") ? "zstd"
                             : p.starts_with(
                                   "\xFD"
                                   "7zXZ")
                                 ? "xz"
                                 : nullptr;
  if (packer == nullptr) return;
  throw source_error(path, who,
                     std::string("is compressed with ") + packer +
                         ", and what lies in a compressed file cannot be reached line by line; unpack it");
}

text_index::text_index(files paths, const char* who, const text_rule& rule, const std::string& kept)
    : paths_(std::move(paths)),
      rule_(rule),
      shared_(shared_folder(paths_)),
      open_(static_cast<std::size_t>(paths_.size())) {
  std::optional<kept_index> known;
  if (!kept.empty()) known.emplace(kept, rule.fingerprint());
  bool all_known = known && known->size() == paths_.size();
  stamps_.reserve(static_cast<std::size_t>(paths_.size()));
  extents_.resize(static_cast<std::size_t>(paths_.size()));
  for (std::size_t f = 0; f < extents_.size(); ++f) {
    const std::string path = paths_.path(f);
    opened_file opened = open_regular(path, who);
    stamps_.push_back(opened.stamp);
    if (!known || !known->find(name(f), opened.stamp, extents_[f])) {
      all_known = false;
      try {
        refuse_compressed(path, who, opened.file.get());
        extents_[f] = scan_text(opened.file.get(), rule_);
      } catch (const error& e) {
        const std::string_view text = e.what();
        throw text.starts_with(printable(path)) ? e : source_error(path, who, e.what());
      }
      bytes_scanned_ += opened.stamp.size;
      require_unchanged(opened, path, who);
    }
    firsts_.push_back(firsts_.back() + extents_[f].size());
    open_.keep(std::move(opened.file));
  }
  if (size() == 0) {
    throw source_error(paths_.path(0), who,
                       "nothing in " + std::to_string(paths_.size()) +
                           (paths_.size() == 1 ? " file" : " files") + "; are these the right ones?");
  }
  if (known && !all_known) keep(kept);
}

void text_index::keep(const std::string& path) {
  std::vector<kept_index::entry> entries;
  for (std::size_t f = 0; f < extents_.size(); ++f) {
    if (stamps_[f].settled()) entries.push_back({name(f), &stamps_[f], &extents_[f]});
  }
  if (entries.empty()) return;
  try {
    kept_index::write(path, rule_.fingerprint(), entries);
  } catch (const error& e) {
    note_ = std::string(e.what()) + ". Without it the text is read through at each start";
  }
}

std::size_t text_index::file_of(std::uint64_t i) const noexcept {
  if (extents_.size() == 1) return 0;
  return static_cast<std::size_t>(std::upper_bound(firsts_.begin(), firsts_.end(), i) - firsts_.begin()) - 1;
}

file_range text_index::at(std::uint64_t i) const noexcept {
  const std::size_t f = file_of(i);
  const text_extents::extent e = extents_[f].at(i - firsts_[f]);
  return {paths_.path(f), open_[f], e.offset, e.length, &stamps_[f]};
}

std::string text_index::key(std::uint64_t i) const {
  const std::size_t f = file_of(i);
  const std::string path = printable(paths_.path(f));
  if (rule_.by == text_rule::line && rule_.keep_empty) return path + ":" + std::to_string(i - firsts_[f] + 1);
  return path + ": byte " + std::to_string(at(i).offset);
}

std::uint64_t text_index::fingerprint() const noexcept {
  fingerprint_hash h;
  for (std::size_t f = 0; f < extents_.size(); ++f) {
    const auto code = extents_[f].code();
    h.add(name(f)).add(stamps_[f].size).add(extents_[f].size()).add(code.data(), code.size());
  }
  return h.add(size()).value();
}

}  // namespace wick::detail
