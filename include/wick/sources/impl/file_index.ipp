// Implements sources/detail/file_index.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string_view>
#include <system_error>

#include <wick/ext/file_stamp.hpp>
#include <wick/ext/fingerprint.hpp>
#include <wick/io/detail/index_lock.hpp>
#include <wick/io/detail/kept_index.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/sources/detail/file_index.hpp>
#include <wick/sources/detail/look_into_each.hpp>

namespace wick::inline v0_1::detail {

file_index::file_index(const files& paths, const char* who, const extent_finder& by, const std::string& kept)
    : files_(paths, who) {
  const bool keeps = !kept.empty();
  const std::string name = std::filesystem::path(kept).filename().string();
  std::optional<kept_index> known, now_known;
  if (keeps) known.emplace(kept, by.fingerprint());
  for (std::size_t f = 0; keeps && f < files_.size(); ++f) {
    const std::string_view path = files_.paths().at(f).path;
    std::error_code fault;
    if (path.ends_with(name) && (path == kept || std::filesystem::equivalent(path, kept, fault)))
      throw files_.fault(
          f, "is the index itself, which the pattern matches, too; keep .index in another folder");
  }
  index_lock making;
  std::mutex looking;
  const auto is_known = [&](std::size_t f, const file_stamp& stamp) {
    if (!keeps) return false;
    const std::string_view name = files_.paths().name(f);
    if (known->find(name, stamp, extents_[f])) return true;
    making.take(kept);
    {
      const std::lock_guard lock(looking);
      if (!now_known) now_known.emplace(kept, by.fingerprint());
    }
    return now_known->find(name, stamp, extents_[f]);
  };
  extents_.resize(files_.size());
  std::vector<char> scanned(files_.size());  // not bool, since several threads write
  look_into_each(files_, [&](std::size_t f, const opened_files::look& file) {
    if (is_known(f, file.stamp())) return;
    scanned[f] = 1;
    try {
      extents_[f] = by.find(file);
    } catch (const error& e) {
      throw files_.fault(f, e.what());
    }
    extents_[f].shrink();
  });
  const std::optional<kept_index>& newest = now_known ? now_known : known;
  bool all_known = keeps && newest->size() == files_.size();
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
  if (keeps && !all_known) keep(kept, by.fingerprint());
}

void file_index::keep(const std::string& path, std::uint64_t rule) {
  std::vector<kept_index::entry> entries;
  for (std::size_t f = 0; f < extents_.size(); ++f) {
    if (files_.stamp(f).settled())
      entries.push_back({files_.paths().name(f), &files_.stamp(f), &extents_[f]});
  }
  if (entries.empty()) return;
  try {
    kept_index::write(path, rule, entries);
  } catch (const error& e) {
    note_ = std::string(e.what()) + ". Without it the files are read through at each start";
  }
}

file_index::place file_index::find(std::uint64_t i) const noexcept {
  if (extents_.size() == 1) return {0, i};
  const auto behind = std::upper_bound(firsts_.begin(), firsts_.end(), i);
  const auto file = static_cast<std::size_t>(behind - firsts_.begin()) - 1;
  return {file, i - firsts_[file]};
}

file_range file_index::at(std::uint64_t i) const noexcept {
  const place p = find(i);
  const file_extents::extent e = extents_[p.file].at(p.number);
  return files_.range(p.file, e.offset, e.length);
}

std::uint64_t file_index::fingerprint() const noexcept {
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
