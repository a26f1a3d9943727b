/// \file
/// The bodies of what codec/detail/crop_index.hpp declares. Included in exactly one file of a program.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <span>
#include <string>

#include <wick/codec/detail/crop_index.hpp>
#include <wick/codec/detail/jpeg_place.hpp>
#include <wick/codec/detail/jpeg_walk.hpp>
#include <wick/pipeline/fingerprint.hpp>

namespace wick::detail {

std::uint64_t crop_index::key_of(std::span<const std::byte> encoded) noexcept {
  std::array<fingerprint_hash, 8> lanes;  // side by side, since one waits for its multiplications
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

std::uint64_t crop_index::checksum(std::uint64_t key, std::span<const jpeg_place> places) noexcept {
  return fingerprint_hash().add(key).add(places.data(), places.size_bytes()).value();
}

std::size_t crop_index::size_of(std::size_t places) noexcept {
  constexpr std::size_t of_map = 64;  // a node, a bucket, and what malloc has in front of each block
  return places * sizeof(jpeg_place) + sizeof(entry) + of_map;
}

void crop_index::begin(std::uint64_t key, jpeg_walk& walk) {
  if (walk.total() == 0) return;
  shard& s = shard_of(key);
  const std::lock_guard lock(s.lock);
  const auto found = s.entries.find(key);
  if (found == s.entries.end()) {
    if (!full()) (void)walk.use({});
    return;
  }
  const entry& e = found->second;
  if (checksum(key, e.places) != e.checksum || !walk.use(e.places)) throw wrong_jpeg_place();
}

void crop_index::end(std::uint64_t key, const jpeg_walk& walk) {
  if (!walk.places().empty()) keep(key, walk.places(), walk.total());
}

void crop_index::keep(std::uint64_t key, std::span<const jpeg_place> places, std::size_t total) {
  shard& s = shard_of(key);
  const std::lock_guard lock(s.lock);
  auto found = s.entries.find(key);
  if (found == s.entries.end()) {
    const std::size_t more = size_of(total);
    if (bytes_.fetch_add(more, std::memory_order_relaxed) + more > budget_) {
      bytes_.fetch_sub(more, std::memory_order_relaxed);
      full_.store(true, std::memory_order_relaxed);
      return;
    }
    found = s.entries.try_emplace(key).first;
    found->second.places.reserve(total);  // so that later epochs take no memory
    pictures_.fetch_add(1, std::memory_order_relaxed);
  }
  entry& e = found->second;
  if (places.size() <= e.places.size()) return;
  e.places.assign(places.begin(), places.end());
  e.checksum = checksum(key, e.places);
}

void crop_index::drop(std::uint64_t key) noexcept {
  shard& s = shard_of(key);
  const std::lock_guard lock(s.lock);
  dropped_.fetch_add(1, std::memory_order_relaxed);
  const auto found = s.entries.find(key);
  if (found == s.entries.end()) return;  // another worker was first
  bytes_.fetch_sub(size_of(found->second.places.capacity()), std::memory_order_relaxed);
  pictures_.fetch_sub(1, std::memory_order_relaxed);
  s.entries.erase(found);
}

std::string crop_index::note() const {
  std::string text;
  if (const std::size_t n = dropped(); n != 0) {
    text = "the crop index was wrong at " + std::to_string(n) +
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
