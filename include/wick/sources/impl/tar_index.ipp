// Implements sources/detail/tar_index.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include <wick/async/detail/at_once.hpp>
#include <wick/async/detail/interruption.hpp>
#include <wick/ext/fingerprint.hpp>
#include <wick/io/detail/numbers.hpp>
#include <wick/io/detail/replace_file.hpp>
#include <wick/io/detail/user_cache.hpp>
#include <wick/pipeline/detail/names.hpp>
#include <wick/sources/detail/kept_tar.hpp>
#include <wick/sources/detail/tar_index.hpp>

namespace wick::inline v0_1::detail {

tar_index::tar_index(std::vector<std::string> shards, std::shared_ptr<object_store> store,
                     record_fields fields, bool labels, bool skip_incomplete, bool keep, bool last_dot)
    : fields_(std::move(fields)),
      labels_(labels),
      skip_incomplete_(skip_incomplete),
      keep_(keep),
      last_dot_(last_dot),
      open_(shards.size()),
      paths_(std::move(shards)),
      shards_(paths_),
      store_(std::move(store)) {
  keys_.resize(shards_.size());
  if (store_ != nullptr) fetch_remote();
  stamps_.resize(shards_.size());
  for (std::size_t s = 0; s < shards_.size(); ++s) {
    check_interruption();
    try {
      object_of(s) == nullptr ? add_shard(s) : add_remote_shard(s);
    } catch (const error& e) {
      throw error(std::string(e.what()) + (shards_.size() < 2 ? std::string()
                                                              : " (shard " + std::to_string(s + 1) + " of " +
                                                                    std::to_string(shards_.size()) + ")"));
    }
  }
  making_.release();
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
  if (const std::optional<std::string> kept = load(kept_at, opened.stamp)) {
    kept_tar_reader members(*kept, path);
    walk(shard, members, [](const tar_entry&) {});
    require_unchanged(opened, path, "tar");
  } else {
    tar_scan members(path, opened.file.get(), opened.stamp.size);
    kept_tar_writer out;
    walk(shard, members, [&](const tar_entry& entry) {
      if (!keep_) return;
      out.add(entry, members);
    });
    require_unchanged(opened, path, "tar");
    bytes_scanned_ += members.bytes_read();
    // A shard that was changed just now may change again without a new time.
    if (keep_ && opened.stamp.settled()) keep(kept_at, out.finish(opened.stamp));
  }
  keys_[shard].shrink_to_fit();
  open_.keep(std::move(opened.file));
}

void tar_index::fetch_remote() {
  constexpr std::size_t most_threads = 16;
  objects_ = owned<remote_object[]>(paths_.size());
  fetched_.resize(paths_.size());
  std::size_t remote = 0;
  for (std::size_t s = 0; s < paths_.size(); ++s) {
    if (!is_url(paths_[s])) continue;
    objects_[s].store = store_.get();
    shards_[s] = shown_url(paths_[s]);
    ++remote;
  }
  at_once(paths_.size(), std::min(remote, most_threads), [this](std::size_t s) {
    if (object_of(s) != nullptr) fetched_[s] = fetch(s);
  });
}

std::string tar_index::fetch(std::size_t shard) {
  const std::string& url = paths_[shard];
  remote_object& object = objects_[shard];
  const std::string& name = shards_[shard];
  const std::size_t query = is_in_bucket(url) ? url.size() : std::min(url.find('?'), url.size());
  const std::string beside = std::string(url).insert(query, ".wickidx");
  try {
    remote_object index;
    index.store = object.store;
    std::vector<range_part> all(1);
    all[0].where = {.path = beside.c_str(), .remote = &index};
    read_remote_now(all, std::uint64_t{1} << 30);
    std::string kept(all[0].content.text());
    if (const std::optional<std::uint64_t> size = kept_tar_reader::shard_size(kept)) {
      object.size.store(*size, std::memory_order_release);
      object.indexed = fingerprint_hash().add(kept).value();
      return kept;
    }
  } catch (const store_refusal&) {  // there is none
  } catch (const error& e) {
    throw source_error(name + ".wickidx", "tar", e.what());
  }
  try {
    std::byte first{};
    read_remote_up_to(url.c_str(), object, &first, 1, 0);
    file_stamp stamp;
    stamp.size = object.size.load(std::memory_order_acquire);
    object.indexed = object.version.load(std::memory_order_acquire);
    stamp.seconds = static_cast<std::int64_t>(object.indexed);
    // Without an ETag or a date, two states of the object look the same.
    const bool known = object.indexed != 0;
    const std::string kept_at = keep_ && known ? user_cache_path(name, "wickidx") : std::string();
    if (keep_ && kept_at.empty()) {
      note_that((known ? "HOME is not set, and wick's folder in /tmp is not this user's alone"
                       : "the server sends neither ETag nor Last-Modified of " + name) +
                ", so no index of it is kept. Without one the shard is walked at each start");
    } else if (std::optional<std::string> kept = load(kept_at, stamp)) {
      return std::move(*kept);
    }
    tar_scan members(name, url.c_str(), object, stamp.size);
    kept_tar_writer out;
    for (tar_entry entry; members.next(entry);) out.add(entry, members);
    bytes_scanned_.fetch_add(members.bytes_read(), std::memory_order_relaxed);
    std::string all = out.finish(stamp);
    if (!kept_at.empty()) keep(kept_at, all);
    return all;
  } catch (const error& e) {
    if (std::string_view(e.what()).starts_with(printable(name))) throw;
    throw source_error(name, "tar", e.what());
  }
}

void tar_index::add_remote_shard(std::size_t shard) {
  kept_tar_reader members(fetched_[shard], shards_[shard]);
  walk(shard, members, [](const tar_entry&) {});
  keys_[shard].shrink_to_fit();
  std::string().swap(fetched_[shard]);
  open_.keep(file_handle());
}

std::optional<std::string> tar_index::load(const std::string& at, const file_stamp& shard) {
  if (!keep_) return std::nullopt;
  if (std::optional<std::string> kept = kept_tar_reader::load(at, shard)) return kept;
  making_.take(is_url(paths_.front()) ? user_cache_path(shards_.front(), "wickidx")
                                      : paths_.front() + ".wickidx");
  return kept_tar_reader::load(at, shard);
}

void tar_index::keep(const std::string& at, const std::string& all) {
  try {
    replace_file(at, std::as_bytes(std::span(all)), "index");
  } catch (const error& e) {
    note_that(std::string(e.what()) + ". Without it the shard is walked at each start");
  }
}

void tar_index::note_that(std::string what) {
  const std::lock_guard lock(noting_);
  note_ = std::move(what);
}

std::string tar_index::note() const {
  if (store_ == nullptr) return note_;
  return note_.empty() ? store_->note() : note_ + "; " + store_->note();
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
    const std::size_t base = name.rfind('/') + 1, dot = last_dot_ ? name.rfind('.') : name.find('.', base);
    // As in WebDataset, a name without an extension, a hidden one, or __meta__ isn't a member of a sample.
    if (dot == std::string_view::npos || dot < base || name[base] == '.') continue;
    const std::string_view stem = name.substr(base, dot - base);
    if (stem.size() >= 4 && stem.starts_with("__") && stem.ends_with("__")) continue;
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
  if (now.all.size() < 200) now.all += (now.all.empty() ? "" : ", ") + shown_name(lower);
  now.dotted = now.dotted || lower.find('.') != std::string::npos;
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
                         "two members are named " + shown_name(entry.name) + " (data at offsets " +
                             std::to_string(f.where.offset) + " and " + std::to_string(entry.offset) + "); " +
                             (now.dotted && !last_dot_
                                  ? "a key ends at the first dot of a name: where keys have dots, set .key = "
                                    "wick::tar_key::to_last_dot"
                                  : "leave one out"));
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
  const std::optional<std::int64_t> value = whole_number(text);
  if (!value) {
    throw sample_problem(path, key,
                         "\"" + printable(entry.name) + "\" holds " + shown +
                             ", not a whole number; for other targets ask for the members by name: "
                             "wick::tar(shards, {\"jpg\", \"cls\"})");
  }
  return *value;
}

void tar_index::close(std::size_t shard, const gathered& sample) {
  for (std::size_t f = 0; f < fields_.size(); ++f) {
    if (sample.wanted[f].there) continue;
    if (skip_incomplete_) {
      ++skipped_;
      return;
    }
    const std::string advice =
        sample.dotted
            ? "a key ends at the first dot of a name: where keys have dots, set .key = "
              "wick::tar_key::to_last_dot"
            : "members of a sample must lie side by side (tar --sort=name); to leave such samples out, set "
              ".missing_member = wick::missing_member::leave_out";
    throw sample_problem(
        shards_[shard], sample.key,
        "has no member " + shown_name(fields_.name(f)) + ", only " + sample.all + "; " + advice);
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
