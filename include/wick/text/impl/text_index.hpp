/// \file
/// The bodies of what text/detail/text_index.hpp declares. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wick/io/file_range.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/fingerprint.hpp>
#include <wick/sources/detail/look_into_each.hpp>
#include <wick/sources/detail/opened_files.hpp>
#include <wick/sources/files.hpp>
#include <wick/text/detail/kept_index.hpp>
#include <wick/text/detail/text_extents.hpp>
#include <wick/text/detail/text_index.hpp>
#include <wick/text/detail/text_scan.hpp>

namespace wick::detail {

text_index::text_index(const files& paths, const char* who, const text_rule& rule, const std::string& kept)
    : files_(paths, who), rule_(rule) {
  std::optional<kept_index> known;
  if (!kept.empty()) known.emplace(kept, rule.fingerprint());
  extents_.resize(files_.size());
  std::vector<char> scanned(files_.size());  // not bool: several threads write
  look_into_each(files_, [&](std::size_t f, const opened_files::look& file) {
    if (known && known->find(files_.paths().name(f), file.stamp(), extents_[f])) return;
    scanned[f] = 1;
    try {
      extents_[f] = scan_text(file, rule_);
    } catch (const error& e) {
      throw files_.fault(f, e.what());
    }
  });
  bool all_known = known && known->size() == files_.size();
  for (std::size_t f = 0; f < extents_.size(); ++f) {
    firsts_.push_back(firsts_.back() + extents_[f].size());
    if (scanned[f] == 0) continue;
    all_known = false;
    bytes_scanned_ += files_.stamp(f).size;
  }
  if (size() == 0) {
    throw files_.fault(0, "nothing in " + std::to_string(files_.size()) +
                              (files_.size() == 1 ? " file" : " files") + "; are these the right ones?");
  }
  if (known && !all_known) keep(kept);
}

void text_index::keep(const std::string& path) {
  std::vector<kept_index::entry> entries;
  for (std::size_t f = 0; f < extents_.size(); ++f) {
    if (files_.stamp(f).settled())
      entries.push_back({files_.paths().name(f), &files_.stamp(f), &extents_[f]});
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
  return files_.range(f, e.offset, e.length);
}

std::string text_index::key(std::uint64_t i) const {
  const std::size_t f = file_of(i);
  const std::string path = files_.paths().key(f);
  if (rule_.by == text_rule::line && rule_.keep_empty) return path + ":" + std::to_string(i - firsts_[f] + 1);
  return path + ": byte " + std::to_string(at(i).offset);
}

std::uint64_t text_index::fingerprint() const noexcept {
  fingerprint_hash h;
  for (std::size_t f = 0; f < extents_.size(); ++f) {
    const auto code = extents_[f].code();
    h.add(files_.paths().name(f))
        .add(files_.stamp(f).size)
        .add(extents_[f].size())
        .add(code.data(), code.size());
  }
  return h.add(size()).value();
}

}  // namespace wick::detail
