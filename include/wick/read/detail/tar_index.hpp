/// \file
/// Which samples a set of tar shards holds, and where the wanted members of each lie. Built once, from
/// headers alone.
#pragma once

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wick/read/detail/open_shards.hpp>
#include <wick/read/detail/tar_scan.hpp>
#include <wick/read/record.hpp>
#include <wick/sample/error.hpp>
#include <wick/sample/fingerprint.hpp>

namespace wick {

/// What becomes of a sample that lacks a wanted member.
enum class incomplete : unsigned char {
  refuse,  ///< an error when the shards are indexed
  skip,    ///< it is left out, and counted in skipped()
};

namespace detail {

class tar_index {
 public:
  struct member {
    std::uint64_t offset, length;
  };

  /// With `labels` the last field is an integer in decimal digits, which is read at once and not kept as a
  /// member.
  tar_index(std::vector<std::string> shards, record_fields fields, bool labels, incomplete policy)
      : fields_(std::move(fields)),
        labels_(labels),
        policy_(policy),
        open_(shards.size()),
        shards_(std::move(shards)) {
    keys_.resize(shards_.size());
    stamps_.resize(shards_.size());
    for (std::size_t s = 0; s < shards_.size(); ++s) {
      try {
        add_shard(s);
      } catch (const error& e) {
        throw error(std::string(e.what()) + (shards_.size() < 2
                                                 ? std::string()
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

  const record_fields& fields() const noexcept { return fields_; }
  std::uint64_t size() const noexcept { return samples_.size(); }
  std::uint64_t bytes_scanned() const noexcept { return bytes_scanned_; }
  std::uint64_t skipped() const noexcept { return skipped_; }
  const std::vector<std::string>& shards() const noexcept { return shards_; }

  const char* path(std::uint64_t i) const noexcept { return shards_[samples_[i].shard].c_str(); }
  int file(std::uint64_t i) const noexcept { return open_[samples_[i].shard]; }
  /// What the shard was when it was indexed.
  const file_stamp* stamp(std::uint64_t i) const noexcept { return &stamps_[samples_[i].shard]; }
  std::string_view key(std::uint64_t i) const noexcept {
    return keys_[samples_[i].shard].data() + samples_[i].key;
  }
  std::int64_t target(std::uint64_t i) const noexcept { return targets_[i]; }
  /// Its members() many members.
  const member* at(std::uint64_t i) const noexcept { return members_.data() + i * members(); }
  std::size_t members() const noexcept { return fields_.size() - (labels_ ? 1 : 0); }

  /// Of keys, sizes and targets, and of the wanted extensions; not of where the shards lie.
  std::uint64_t fingerprint() const noexcept {
    fingerprint_hash h;
    for (std::size_t f = 0; f < fields_.size(); ++f) h.add(fields_.name(f));
    for (std::uint64_t i = 0; i < size(); ++i) {
      h.add(key(i));
      for (std::size_t m = 0; m < members(); ++m) h.add(at(i)[m].length);
    }
    for (const std::int64_t t : targets_) h.add(static_cast<std::uint64_t>(t));
    return h.add(size()).value();
  }

 private:
  struct place {
    std::uint32_t shard;
    std::uint32_t key;  // within the shard's keys
  };
  struct found {
    member where{};
    std::size_t alternative = 0;
    bool there = false;
  };
  /// The sample whose members are passing by.
  struct gathered {
    std::string key;
    std::string all;  // its extensions, for messages
    std::array<found, record_fields::max_fields> wanted{};
    std::int64_t target = 0;
  };

  void add_shard(std::size_t shard) {
    const std::string& path = shards_[shard];
    opened_file opened = open_regular(path, "tar");
    stamps_[shard] = opened.stamp;
    tar_scan scan(path, opened.file.get(), opened.stamp.size);
    tar_entry entry;
    gathered now;
    bool any = false;
    while (scan.next(entry)) {
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
      take(scan, entry, now, name.substr(dot + 1), path);
    }
    if (any) close(shard, now);
    require_unchanged(opened, path, "tar");
    keys_[shard].shrink_to_fit();
    bytes_scanned_ += scan.bytes_read();
    open_.keep(std::move(opened.file));
  }

  void take(tar_scan& scan, const tar_entry& entry, gathered& now, std::string_view extension,
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
    if (labels_ && field + 1 == fields_.size()) now.target = label(scan, entry, now.key, path);
  }

  std::int64_t label(tar_scan& scan, const tar_entry& entry, const std::string& key,
                     const std::string& path) {
    std::string_view text;
    if (entry.length <= 256) text = scan.data(entry);
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

  void close(std::size_t shard, const gathered& sample) {
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      if (sample.wanted[f].there) continue;
      if (policy_ == incomplete::skip) {
        ++skipped_;
        return;
      }
      throw sample_problem(
          shards_[shard], sample.key,
          "has no member \"" + fields_.name(f) + "\", only " + printable(sample.all) +
              "; members of a sample must lie side by side (tar --sort=name); to leave such samples "
              "out, set .incomplete = wick::incomplete::skip");
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

  static error sample_problem(const std::string& path, const std::string& key, const std::string& what) {
    return error(printable(path) + ": " + printable(key) + ": tar: " + what);
  }
  std::string wanted() const {
    std::string out;
    for (std::size_t f = 0; f < fields_.size(); ++f) out += " \"" + fields_.name(f) + '"';
    return out;
  }

  record_fields fields_;
  bool labels_;
  incomplete policy_;
  open_shards open_;
  std::vector<std::string> shards_;
  std::vector<file_stamp> stamps_;
  std::vector<std::string> keys_;  // a shard's keys, NUL after each
  std::vector<place> samples_;
  std::vector<member> members_;
  std::vector<std::int64_t> targets_;
  std::uint64_t bytes_scanned_ = 0;
  std::uint64_t skipped_ = 0;
};

}  // namespace detail
}  // namespace wick
