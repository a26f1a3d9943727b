/// \file
/// The bodies of what sources/detail/tar_index.hpp declares. Included in exactly one file of a program.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wick/io/detail/replace_file.hpp>
#include <wick/io/record.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/fingerprint.hpp>
#include <wick/sources/detail/kept_tar.hpp>
#include <wick/sources/detail/open_shards.hpp>
#include <wick/sources/detail/tar_index.hpp>
#include <wick/sources/detail/tar_scan.hpp>

namespace wick::detail {

tar_index::tar_index(std::vector<std::string> shards, record_fields fields, bool labels, bool skip_incomplete,
                     bool keep)
    : fields_(std::move(fields)),
      labels_(labels),
      skip_incomplete_(skip_incomplete),
      keep_(keep),
      open_(shards.size()),
      shards_(std::move(shards)) {
  keys_.resize(shards_.size());
  stamps_.resize(shards_.size());
  for (std::size_t s = 0; s < shards_.size(); ++s) {
    try {
      add_shard(s);
    } catch (const error& e) {
      throw error(std::string(e.what()) + (shards_.size() < 2 ? std::string()
                                                              : " (shard " + std::to_string(s + 1) + " of " +
                                                                    std::to_string(shards_.size()) + ")"));
    }
  }
  if (samples_.empty()) {
    throw source_error(shards_.front(), "tar",
                       "no sample in " + std::to_string(shards_.size()) + " shards (" +
                           std::to_string(skipped_) +
                           " incomplete ones left out); members are "
                           "named KEY.EXTENSION, and the wanted ones are" +
                           wanted());
  }
  samples_.shrink_to_fit();
  members_.shrink_to_fit();
  targets_.shrink_to_fit();
}

std::string_view tar_index::key(std::uint64_t i) const noexcept {
  return keys_[samples_[i].shard].data() + samples_[i].key;
}

std::uint64_t tar_index::fingerprint() const noexcept {
  fingerprint_hash h;
  for (std::size_t f = 0; f < fields_.size(); ++f) h.add(fields_.name(f));
  for (std::uint64_t i = 0; i < size(); ++i) {
    h.add(key(i));
    for (std::size_t m = 0; m < members(); ++m) h.add(at(i)[m].length);
  }
  for (const std::int64_t t : targets_) h.add(static_cast<std::uint64_t>(t));
  return h.add(size()).value();
}

void tar_index::add_shard(std::size_t shard) {
  const std::string& path = shards_[shard];
  opened_file opened = open_regular(path, "tar");
  stamps_[shard] = opened.stamp;
  const std::string kept_at = path + ".wickidx";
  const std::optional<std::string> kept = keep_ ? kept_tar_reader::load(kept_at, opened.stamp) : std::nullopt;
  if (kept) {
    kept_tar_reader members(*kept);
    walk(shard, members, [](const tar_entry&) {});
    require_unchanged(opened, path, "tar");
  } else {
    tar_scan members(path, opened.file.get(), opened.stamp.size);
    kept_tar_writer out;
    walk(shard, members, [&](const tar_entry& entry) {
      if (!keep_) return;
      out.add(entry, kept_tar_writer::keeps_data(entry) ? members.data(entry) : std::string_view());
    });
    require_unchanged(opened, path, "tar");
    bytes_scanned_ += members.bytes_read();
    // A shard that was changed just now may change again without a sign.
    if (keep_ && opened.stamp.settled()) {
      try {
        const std::string all = out.finish(opened.stamp);
        replace_file(kept_at, std::as_bytes(std::span(all)), "index");
      } catch (const error& e) {
        note_ = std::string(e.what()) + ". Without it the shard is walked at each start";
      }
    }
  }
  keys_[shard].shrink_to_fit();
  open_.keep(std::move(opened.file));
}

template <class Members, class Seen>
void tar_index::walk(std::size_t shard, Members& members, Seen&& seen) {
  const std::string& path = shards_[shard];
  tar_entry entry;
  gathered now;
  bool any = false;
  while (members.next(entry)) {
    seen(entry);
    if (entry.what == tar_entry::other) continue;
    std::string_view name = entry.name;
    while (name.starts_with("./")) name.remove_prefix(2);
    const std::size_t base = name.rfind('/') + 1, dot = name.find('.', base);
    // As in WebDataset: no extension, hidden, or __meta__: not a member of a sample.
    if (dot == std::string_view::npos || dot == base || name.substr(base).starts_with("__")) continue;
    const std::string_view key = name.substr(0, dot);
    if (!any || key != now.key) {
      if (any) close(shard, now);
      now = {};
      now.key = key;
      any = true;
    }
    take(members, entry, now, name.substr(dot + 1), path);
  }
  if (any) close(shard, now);
}

template <class Members>
void tar_index::take(Members& members, const tar_entry& entry, gathered& now, std::string_view extension,
                     const std::string& path) {
  std::string lower(extension);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  if (now.all.size() < 200) now.all += (now.all.empty() ? "" : ", ") + lower;
  const auto [field, alternative] = fields_.find_alternative(lower);
  if (field == fields_.size()) return;
  if (entry.what == tar_entry::link) {
    now.all += " (a link: write the archive with tar --dereference --hard-dereference)";
    return;
  }
  if (entry.what == tar_entry::sparse) {
    throw sample_problem(path, now.key,
                         "the member \"" + printable(entry.name) +
                             "\" is stored as a sparse file, whose holes are left out; write the "
                             "archive without --sparse");
  }
  found& f = now.wanted[field];
  if (f.there && f.alternative == alternative) {
    throw sample_problem(path, now.key,
                         "two members are named \"" + printable(entry.name) + "\" (data at offsets " +
                             std::to_string(f.where.offset) + " and " + std::to_string(entry.offset) +
                             "); leave one out");
  }
  if (f.there && f.alternative < alternative) return;
  f = {{entry.offset, entry.length}, alternative, true};
  if (labels_ && field + 1 == fields_.size())
    now.target = label(entry.length <= 256 ? members.data(entry) : std::string_view(), entry, now.key, path);
}

std::int64_t tar_index::label(std::string_view text, const tar_entry& entry, const std::string& key,
                              const std::string& path) {
  const std::string shown =
      "\"" + printable(text.substr(0, 40)) + "\" (" + std::to_string(entry.length) + " bytes)";
  const auto blank = [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  if (text.starts_with('+')) text.remove_prefix(1);
  std::int64_t value = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || code != std::errc() || end != text.data() + text.size()) {
    throw sample_problem(path, key,
                         "\"" + printable(entry.name) + "\" holds " + shown +
                             ", not a whole number; for other targets ask for the members by name: "
                             "wick::tar(shards, {\"jpg\", \"cls\"})");
  }
  return value;
}

void tar_index::close(std::size_t shard, const gathered& sample) {
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    if (sample.wanted[f].there) continue;
    if (skip_incomplete_) {
      ++skipped_;
      return;
    }
    throw sample_problem(
        shards_[shard], sample.key,
        "has no member \"" + fields_.name(f) + "\", only " + printable(sample.all) +
            "; members of a sample must lie side by side (tar --sort=name); to leave such samples "
            "out, set .missing_member = wick::missing_member::leave_out");
  }
  std::string& keys = keys_[shard];
  if (keys.size() > std::numeric_limits<std::uint32_t>::max()) {
    throw source_error(shards_[shard], "tar", "its keys take more than 4 GiB; split the shard");
  }
  samples_.push_back({static_cast<std::uint32_t>(shard), static_cast<std::uint32_t>(keys.size())});
  keys.append(sample.key).push_back('\0');
  for (std::size_t m = 0; m < members(); ++m) members_.push_back(sample.wanted[m].where);
  if (labels_) targets_.push_back(sample.target);
}

error tar_index::sample_problem(const std::string& path, const std::string& key, const std::string& what) {
  return error(printable(path) + ": " + printable(key) + ": tar: " + what);
}

std::string tar_index::wanted() const {
  std::string out;
  for (std::size_t f = 0; f < fields_.size(); ++f) out += " \"" + fields_.name(f) + '"';
  return out;
}

}  // namespace wick::detail
