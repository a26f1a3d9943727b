// Implements io/detail/kept_index.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <span>
#include <system_error>

#include <wick/ext/fingerprint.hpp>
#include <wick/io/detail/endian.hpp>
#include <wick/io/detail/file_io.hpp>
#include <wick/io/detail/kept_index.hpp>
#include <wick/io/detail/plain_file.hpp>
#include <wick/io/detail/replace_file.hpp>
#include <wick/io/detail/source_file.hpp>

namespace wick::inline v0_1::detail {

namespace kept_form {

inline constexpr std::string_view magic = "wicktext";
inline constexpr std::uint64_t version = 1;

inline std::uint64_t get(std::string_view from) noexcept { return load_little_endian(from, 0, 8); }
inline std::uint64_t checksum(std::string_view of) noexcept { return fingerprint_hash().add(of).value(); }

}  // namespace kept_form

kept_index::kept_index(const std::string& path, std::uint64_t rule) {
  plain_file opened = open_plain(path.c_str());
  if (opened.other != nullptr) throw source_error(path, "index", not_a_file(opened.other));
  if (!opened.file && opened.fault == ENOENT) return;
  if (!opened.file) {
    throw source_error(path, "index",
                       "can't be opened: " + std::generic_category().message(opened.fault) +
                           ", and is left as it is; give .index a path of your own, or make it readable");
  }
  const auto read = [&](std::size_t bytes) {
    try {
      all_.resize(bytes);
      all_.resize(read_up_to(opened.file.get(), reinterpret_cast<std::byte*>(all_.data()), bytes, 0));
      return true;
    } catch (const error&) {
      all_.clear();
      return false;
    }
  };
  const auto size = static_cast<std::size_t>(opened.about.st_size);
  if (!read(std::min(size, kept_form::magic.size()))) return;
  if (all_ != kept_form::magic.substr(0, all_.size())) {
    throw source_error(path, "index",
                       "is not an index (starts with \"" + printable(all_) +
                           "\"), and is left as it is; give .index a path of its own, or remove that file");
  }
  if (!read(size)) return;
  if (!parse(rule)) files_.clear();
}

bool kept_index::parse(std::uint64_t rule) {
  std::string_view left = all_;
  constexpr std::size_t number = 8, least_entry = 7 * number;
  if (left.size() < kept_form::magic.size() + 4 * number) return false;
  const std::string_view sum = left.substr(left.size() - number);
  left.remove_suffix(number);
  if (kept_form::checksum(left) != kept_form::get(sum)) return false;
  left.remove_prefix(kept_form::magic.size());
  const auto next = [&] {
    const std::uint64_t value = kept_form::get(left);
    left.remove_prefix(number);
    return value;
  };
  const auto text = [&](std::string_view& out) {
    if (left.size() < number) return false;
    const std::uint64_t length = next();
    if (length > left.size()) return false;
    out = left.substr(0, static_cast<std::size_t>(length));
    left.remove_prefix(out.size());
    return true;
  };
  if (next() != kept_form::version || next() != rule) return false;
  const std::uint64_t count = next();
  if (count > left.size() / (least_entry - number)) return false;
  files_.reserve(static_cast<std::size_t>(count));
  for (std::uint64_t i = 0; i < count; ++i) {
    kept f{};
    if (!text(f.name) || left.size() < 4 * number) return false;
    f.size = next();
    f.seconds = static_cast<std::int64_t>(next());
    f.nanoseconds = static_cast<std::int64_t>(next());
    f.samples = next();
    if (!text(f.code)) return false;
    files_.push_back(f);
  }
  std::sort(files_.begin(), files_.end(), [](const kept& a, const kept& b) { return a.name < b.name; });
  return left.empty();
}

bool kept_index::find(std::string_view name, const file_stamp& now, file_extents& out) const {
  const auto found = std::lower_bound(files_.begin(), files_.end(), name,
                                      [](const kept& a, std::string_view b) { return a.name < b; });
  if (found == files_.end() || found->name != name || found->size != now.size ||
      found->seconds != now.seconds || found->nanoseconds != now.nanoseconds) {
    return false;
  }
  const auto* code = reinterpret_cast<const std::uint8_t*>(found->code.data());
  return out.decode({code, found->code.size()}, found->samples, found->size);
}

void kept_index::write(const std::string& path, std::uint64_t rule, const std::vector<entry>& files) {
  std::string all(kept_form::magic);
  for (const std::uint64_t n : {kept_form::version, rule, std::uint64_t{files.size()}})
    append_little_endian(all, n);
  for (const entry& f : files) {
    append_little_endian(all, f.name.size());
    all += f.name;
    for (const std::uint64_t n : {f.stamp->size, static_cast<std::uint64_t>(f.stamp->seconds),
                                  static_cast<std::uint64_t>(f.stamp->nanoseconds), f.extents->size(),
                                  std::uint64_t{f.extents->code().size()}}) {
      append_little_endian(all, n);
    }
    const auto code = f.extents->code();
    all.append(reinterpret_cast<const char*>(code.data()), code.size());
  }
  append_little_endian(all, kept_form::checksum(all));
  replace_file(path, std::as_bytes(std::span(all)), "index");
}

}  // namespace wick::detail
