// Implements codec/detail/crop_index.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cstring>
#include <new>

#include <wick/codec/detail/crop_index.hpp>
#include <wick/ext/cache_bytes.hpp>
#include <wick/ext/fingerprint.hpp>

namespace wick::inline v0_1::detail {

std::uint64_t crop_index::key_of(std::span<const std::byte> encoded) noexcept {
  std::array<fingerprint_hash, 8> lanes;  // in parallel: a single one would wait for its multiplications
  std::array<std::uint64_t, 8> words;
  std::size_t at = 0;
  for (; encoded.size() - at >= sizeof words; at += sizeof words) {
    std::memcpy(words.data(), encoded.data() + at, sizeof words);
    for (std::size_t i = 0; i < lanes.size(); ++i) lanes[i].add(words[i]);
  }
  fingerprint_hash all;
  for (const fingerprint_hash& lane : lanes) all.add(lane.value());
  return all.add(encoded.data() + at, encoded.size() - at).add(std::uint64_t{encoded.size()}).value();
}

std::uint64_t crop_index::checksum(std::uint64_t key, const packed_places& places) noexcept {
  const std::span<const std::uint8_t> all = places.bytes();
  return fingerprint_hash().add(key).add(std::uint64_t{places.size()}).add(all.data(), all.size()).value();
}

std::size_t crop_index::size_of(std::size_t places) noexcept {
  constexpr std::size_t of_map = 64;  // a node, a bucket, and malloc's overhead for each block
  return places * packed_places::expected + sizeof(entry) + of_map;
}

std::atomic<std::uint64_t>& crop_index::seen_bit(std::span<const std::byte> encoded,
                                                 std::uint64_t& bit) noexcept {
  const std::size_t some = std::min<std::size_t>(encoded.size(), 64);
  const std::uint64_t h = fingerprint_hash()
                              .add(std::uint64_t{encoded.size()})
                              .add(encoded.data() + (encoded.size() - some) / 2, some)
                              .value();
  bit = std::uint64_t{1} << h % 64;
  return seen_[h / 64 % seen_.size()];
}

bool crop_index::may_have(std::span<const std::byte> encoded) noexcept {
  if (loaded_.load(std::memory_order_relaxed)) return true;  // may include files not seen here
  std::uint64_t bit = 0;
  std::atomic<std::uint64_t>& word = seen_bit(encoded, bit);
  if ((word.load(std::memory_order_relaxed) & bit) != 0) return true;
  if (full()) return false;
  word.fetch_or(bit, std::memory_order_relaxed);
  return true;
}

void crop_index::begin(std::uint64_t key, jpeg_walk& walk) {
  if (walk.total() == 0) return;
  shard& s = shard_of(key);
  const std::lock_guard lock(s.lock);
  const auto found = s.entries.find(key);
  if (found == s.entries.end()) {
    if (!full()) (void)walk.use([](std::vector<jpeg_place>&) {});
    return;
  }
  const entry& e = found->second;
  const bool whole = checksum(key, e.places) == e.checksum;
  if (!whole || !walk.use([&e](std::vector<jpeg_place>& known) { e.places.unpack(known); }))
    throw wrong_jpeg_place();
}

void crop_index::end(std::uint64_t key, const jpeg_walk& walk) noexcept {
  try {
    if (!walk.places().empty()) keep(key, walk.places(), walk.total());
  } catch (const std::bad_alloc&) {  // the image was decoded anyway
  }
}

void crop_index::keep(std::uint64_t key, std::span<const jpeg_place> places, std::size_t total) {
  shard& s = shard_of(key);
  const std::lock_guard lock(s.lock);
  auto found = s.entries.find(key);
  if (found != s.entries.end() && places.size() <= found->second.places.size()) return;
  const bool is_new = found == s.entries.end();
  const std::size_t more = is_new ? size_of(total) : 0;
  if (is_new && bytes_.fetch_add(more, std::memory_order_relaxed) + more > budget_) {
    bytes_.fetch_sub(more, std::memory_order_relaxed);
    full_.store(true, std::memory_order_relaxed);
    return;
  }
  try {
    entry made;
    made.places.assign(places, total);
    made.checksum = checksum(key, made.places);
    if (is_new) found = s.entries.try_emplace(key).first;
    found->second = std::move(made);
  } catch (...) {
    bytes_.fetch_sub(more, std::memory_order_relaxed);
    throw;
  }
  if (is_new) pictures_.fetch_add(1, std::memory_order_relaxed);
  changed_.store(true, std::memory_order_relaxed);
}

void crop_index::drop(std::uint64_t key) noexcept {
  shard& s = shard_of(key);
  const std::lock_guard lock(s.lock);
  dropped_.fetch_add(1, std::memory_order_relaxed);
  const auto found = s.entries.find(key);
  if (found == s.entries.end()) return;  // another worker dropped it first
  bytes_.fetch_sub(size_of(found->second.places.total()), std::memory_order_relaxed);
  pictures_.fetch_sub(1, std::memory_order_relaxed);
  s.entries.erase(found);
  changed_.store(true, std::memory_order_relaxed);
}

namespace {
/// The header of an entry in the saved bytes, before its places.
struct saved_places {
  std::uint64_t key;
  std::uint32_t count, total;
};
/// A magic number, which also shows the byte order; the version of this layout; and the distance between
/// places.
using saved_header = std::array<std::uint64_t, 3>;
constexpr saved_header saved_as{0x7769'636B'6372'6F70u, 1, jpeg_walk::stride};
}  // namespace

std::vector<std::byte> crop_index::saved() {
  cache_writer out;
  std::vector<jpeg_place> places;
  out.number(saved_as);
  changed_.store(false, std::memory_order_relaxed);
  for (shard& s : shards_) {
    const std::lock_guard lock(s.lock);
    for (const auto& [key, e] : s.entries) {
      places.clear();
      e.places.unpack(places);
      out.number(saved_places{key, static_cast<std::uint32_t>(places.size()),
                              static_cast<std::uint32_t>(e.places.total())});
      out.put(places.data(), places.size() * sizeof(jpeg_place));
    }
  }
  out.number(key_of(out.written()));
  return {out.written().begin(), out.written().end()};
}

bool crop_index::load(std::span<const std::byte> saved) {
  const bool had_changed = changed();
  if (saved.size() < sizeof saved_as + sizeof(std::uint64_t)) return false;
  const std::span<const std::byte> all = saved.first(saved.size() - sizeof(std::uint64_t));
  cache_reader in(all), sum(saved.subspan(all.size()));
  if (sum.number<std::uint64_t>() != key_of(all) || in.number<saved_header>() != saved_as) return false;
  std::vector<jpeg_place> places;
  while (in.left() != 0) {
    if (in.left() < sizeof(saved_places)) return false;
    const auto about = in.number<saved_places>();
    if (about.count == 0 || about.count > about.total || about.total > jpeg_walk::most_places + 1 ||
        in.left() < about.count * sizeof(jpeg_place))
      return false;
    places.resize(about.count);
    in.take(places.data(), places.size() * sizeof(jpeg_place));
    keep(about.key, places, about.total);
    loaded_.store(true, std::memory_order_relaxed);
  }
  changed_.store(had_changed, std::memory_order_relaxed);
  return true;
}

std::string crop_index::note() const {
  std::string text = of_file_;
  if (const std::size_t n = dropped(); n != 0) {
    text += (text.empty() ? "" : "; ") + std::string("the crop index was wrong at ") + std::to_string(n) +
            " pictures, which were decoded again without it: memory or the index's file was damaged";
  }
  if (full()) {
    text += (text.empty() ? "" : "; ") + std::string("the crop index is full with ") +
            std::to_string(pictures()) +
            " pictures, and crops of others are decoded from the top: give it more, "
            "wick::decode({.crop_index_bytes = ...})";
  }
  return text;
}

}  // namespace wick::detail
