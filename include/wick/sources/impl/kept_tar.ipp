// Implements sources/detail/kept_tar.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>

#include <wick/ext/fingerprint.hpp>
#include <wick/io/detail/endian.hpp>
#include <wick/io/detail/file_io.hpp>
#include <wick/io/detail/plain_file.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/sources/detail/kept_tar.hpp>

namespace wick::inline v0_1::detail {

namespace kept_tar {

inline constexpr std::string_view magic = "wicktar1";
inline constexpr std::size_t word = 8, header_size = 5 * word;

void put_number(std::string& out, std::uint64_t value) {
  for (; value >= 128; value >>= 7) out += static_cast<char>(value & 0x7F | 0x80);
  out += static_cast<char>(value);
}
std::uint64_t checksum(std::string_view of) noexcept { return fingerprint_hash().add(of).value(); }

/// Everything before the members: the magic, size, time, and number of members.
std::string header(const file_stamp& shard, std::uint64_t members) {
  std::string out(magic);
  for (const std::uint64_t n : {shard.size, static_cast<std::uint64_t>(shard.seconds),
                                static_cast<std::uint64_t>(shard.nanoseconds), members})
    append_little_endian(out, n);
  return out;
}

}  // namespace kept_tar

bool kept_tar_writer::keeps_data(const tar_entry& member) noexcept {
  constexpr std::string_view label = ".cls";
  const std::string& name = member.name;
  return member.what == tar_entry::file && member.length <= 256 && name.size() > label.size() &&
         std::equal(label.begin(), label.end(), name.end() - label.size(),
                    [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b - 'A' + 'a' : b); });
}

void kept_tar_writer::add(const tar_entry& member, tar_scan& from) {
  const std::string& name = member.name;
  const auto differs = std::mismatch(name.begin(), name.end(), last_.begin(), last_.end());
  const auto shared = static_cast<std::size_t>(differs.first - name.begin());
  kept_tar::put_number(members_, shared);
  kept_tar::put_number(members_, name.size() - shared);
  members_.append(name, shared);
  members_ += static_cast<char>(member.what);
  kept_tar::put_number(members_, member.offset - end_);
  kept_tar::put_number(members_, member.length);
  if (keeps_data(member)) members_ += from.data(member);
  last_ = name;
  end_ = member.offset;
  ++count_;
}

std::string kept_tar_writer::finish(const file_stamp& shard) const {
  std::string out = kept_tar::header(shard, count_) + members_;
  append_little_endian(out, kept_tar::checksum(out));
  return out;
}

std::optional<std::string> kept_tar_reader::load(const std::string& path, const file_stamp& shard) {
  const plain_file opened = open_plain(path.c_str());
  if (!opened.file) return std::nullopt;
  std::string all(kept_tar::header_size - kept_tar::word, '\0');  // without the number of members
  const auto fill = [&](std::size_t from) {
    auto* const to = reinterpret_cast<std::byte*>(all.data()) + from;
    return read_up_to(opened.file.get(), to, all.size() - from, from) == all.size() - from;
  };
  try {
    if (!fill(0) || !kept_tar::header(shard, 0).starts_with(all)) return std::nullopt;
    const std::size_t looked_at = all.size();
    all.resize(std::max(looked_at, static_cast<std::size_t>(opened.about.st_size)));
    if (!fill(looked_at) || !shard_size(all)) return std::nullopt;
  } catch (const error&) {
    return std::nullopt;
  }
  return all;
}

std::optional<std::uint64_t> kept_tar_reader::shard_size(std::string_view all) {
  if (all.size() < kept_tar::header_size + kept_tar::word || !all.starts_with(kept_tar::magic))
    return std::nullopt;
  const std::string_view rest = all.substr(0, all.size() - kept_tar::word);
  if (kept_tar::checksum(rest) != load_little_endian(all, rest.size(), kept_tar::word)) return std::nullopt;
  return load_little_endian(all, kept_tar::magic.size(), kept_tar::word);
}

kept_tar_reader::kept_tar_reader(std::string_view all, std::string shard)
    : left_(all.substr(kept_tar::header_size, all.size() - kept_tar::header_size - kept_tar::word)),
      shard_(std::move(shard)),
      size_(load_little_endian(all, kept_tar::magic.size(), kept_tar::word)),
      count_(load_little_endian(all, kept_tar::header_size - kept_tar::word, kept_tar::word)),
      names_left_(all.size() * most_of_names) {}

std::uint64_t kept_tar_reader::number() noexcept {
  std::uint64_t out = 0;
  for (unsigned shift = 0; shift < 64 && !left_.empty(); shift += 7) {
    const auto byte = static_cast<unsigned char>(left_.front());
    left_.remove_prefix(1);
    out |= std::uint64_t{byte & 0x7Fu} << shift;
    if (byte < 128) break;
  }
  return out;
}

std::string_view kept_tar_reader::text(std::uint64_t size) noexcept {
  const std::string_view out = left_.substr(0, static_cast<std::size_t>(size));
  left_.remove_prefix(out.size());
  return out;
}

bool kept_tar_reader::next(tar_entry& out) {
  if (count_ == 0 || left_.empty()) return false;
  --count_;
  out.name.resize(static_cast<std::size_t>(std::min<std::uint64_t>(number(), out.name.size())));
  out.name += text(number());
  const std::string_view what = text(1);
  out.what = what.empty() ? tar_entry::other : static_cast<tar_entry::kind>(what.front());
  out.offset = end_ += number();
  out.length = number();
  if (out.offset > size_ || out.length > size_ - out.offset || out.name.size() > names_left_) {
    throw source_error(shard_ + ".wickidx", "tar",
                       "its members don't lie in the shard, or have names without an end; remove it");
  }
  names_left_ -= out.name.size();
  out.header = out.offset;
  data_ = kept_tar_writer::keeps_data(out) ? text(out.length) : std::string_view();
  return true;
}

}  // namespace wick::detail
