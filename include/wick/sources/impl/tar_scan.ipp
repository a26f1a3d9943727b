// Implements sources/detail/tar_scan.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <charconv>
#include <utility>

#include <wick/async/detail/interruption.hpp>
#include <wick/io/detail/file_kind.hpp>
#include <wick/io/detail/source_file.hpp>
#include <wick/sources/detail/tar_scan.hpp>

namespace wick::inline v0_1::detail {

const unsigned char* forward_window::get(std::uint64_t offset, std::size_t size) {
  if (offset < first_ || offset + size > first_ + filled_) {
    const bool close = offset >= first_ && offset <= first_ + filled_ + least_;
    ahead_ = close ? std::min(2 * ahead_, most_) : least_;
    const std::size_t wanted = static_cast<std::size_t>(
        std::min<std::uint64_t>(std::max(ahead_, size), file_size_ - std::min(offset, file_size_)));
    if (buffer_.size() < wanted) buffer_.resize(wanted);
    filled_ = 0;
    first_ = offset;
    filled_ = read(buffer_.data(), wanted, offset);
    bytes_read_ += filled_;
    if (filled_ < size) return nullptr;
  }
  return reinterpret_cast<const unsigned char*>(buffer_.data()) + (offset - first_);
}

std::size_t forward_window::read(std::byte* to, std::size_t size, std::uint64_t offset) {
  check_interruption();
  return object_ == nullptr ? read_up_to(fd_, to, size, offset)
                            : read_remote_up_to(url_, *object_, to, size, offset);
}

namespace {

constexpr std::size_t longest_name = 65'536;

}  // namespace

bool tar_scan::next(tar_entry& out) {
  extended own = global_;
  constexpr std::uint64_t none = ~std::uint64_t{0};
  std::uint64_t first = none;  // offset of the member's first header
  for (;;) {
    const std::uint64_t at = position_;
    if (ended_ && size_ - at < tar_block) {
      if (first != none) fail(first, "announces a member that never comes");
      return false;
    }
    const tar_header header(block(at));
    position_ += tar_block;
    if (header.all_zero()) {
      if (first != none) fail(first, "announces a member, and zeros follow");
      ended_ = true;
      continue;
    }
    check(header, at);
    ended_ = false;
    if (first == none) first = at;
    const std::optional<std::uint64_t> size = header.size();
    if (!size) fail(at, "has a size that isn't a number");
    switch (header.type()) {
      case 'x':
        read_pax(own, at, *size);
        continue;
      case 'g':
        read_pax(global_, at, *size);
        own = global_;
        first = none;
        continue;
      case 'L':
        own.name = std::string(read_text(at, *size));
        continue;
      case 'K':
        position_ = skip(at, *size, "a link's name");
        continue;
      default:
        break;
    }
    out.name = own.name ? std::move(*own.name) : header.name();
    out.header = first;
    finish(out, header, own, at, *size);
    return true;
  }
}

std::string_view tar_scan::data(const tar_entry& of) {
  return {reinterpret_cast<const char*>(bytes(of.offset, static_cast<std::size_t>(of.length))),
          static_cast<std::size_t>(of.length)};
}

void tar_scan::fail(std::uint64_t header, const std::string& what) const {
  throw source_error(path_, "tar",
                     "the header at offset " + std::to_string(header) + " " + what +
                         "; the archive is damaged, write or download it again");
}

void tar_scan::cut_off(const std::string& what, std::uint64_t needed) const {
  throw source_error(path_, "tar",
                     "cut off: " + what + " needs " + std::to_string(needed) +
                         " bytes of the file, which has " + std::to_string(size_) +
                         "; write or download it again");
}

const unsigned char* tar_scan::bytes(std::uint64_t offset, std::size_t size) {
  const unsigned char* p = nullptr;
  try {
    p = window_.get(offset, size);
  } catch (const error& e) {
    throw source_error(path_, "tar", std::string(e.what()) + " (at offset " + std::to_string(offset) + ")");
  }
  if (p == nullptr) cut_off("what lies at offset " + std::to_string(offset), offset + size);
  return p;
}

const unsigned char* tar_scan::block(std::uint64_t at) {
  if (at == size_ && at != 0) {
    throw source_error(path_, "tar",
                       "ends after " + std::to_string(at) +
                           " bytes without the blocks of zeros that end an archive, so it may be cut "
                           "off; if it is whole, add them: truncate -s +1024 FILE");
  }
  if (size_ == 0) throw source_error(path_, "tar", "is empty (0 bytes), not a tar archive");
  if (at > size_) cut_off("the member before offset " + std::to_string(at), at);
  if (size_ - at < tar_block && (at != 0 || size_ >= 4)) {
    if (at == 0) not_a_tar();
    cut_off("the header at offset " + std::to_string(at), at + tar_block);
  }
  return bytes(at, tar_block);
}

void tar_scan::check(const tar_header& header, std::uint64_t at) {
  if (header.checksum_holds()) return;
  if (at == 0) not_a_tar();
  if (ended_) {
    throw source_error(path_, "tar",
                       "has something at offset " + std::to_string(at) +
                           ", past the end of the archive, that isn't a header; cut it off, or write "
                           "or download it again");
  }
  const std::optional<std::uint64_t> said = header.checksum();
  fail(at, "has a wrong checksum (says " + (said ? std::to_string(*said) : "no number") + ", and it is " +
               std::to_string(header.sum()) + ")");
}

void tar_scan::not_a_tar() {
  static constexpr char digits[] = "0123456789abcdef";
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(size_, file_kind::looked_at));
  const std::string_view start(reinterpret_cast<const char*>(bytes(0, size)), size);
  const file_kind found = kind_of_file(start, certainty::likely);
  if (found.what.starts_with("compressed")) {
    throw source_error(path_, "tar",
                       "is " + std::string(found.what) +
                           ", and members of a compressed archive cannot be reached one by one; unpack it to "
                           "a plain .tar");
  }
  if (found && found.what != "a tar archive") throw source_error(path_, "tar", found.text());
  std::string hex;
  for (const char c : start.substr(0, 4)) {
    const auto u = static_cast<unsigned char>(c);
    hex += {' ', digits[u >> 4], digits[u & 15]};
  }
  throw source_error(path_, "tar", "is not a tar archive (starts with" + hex + ", and no header is there)");
}

std::uint64_t tar_scan::skip(std::uint64_t header, std::uint64_t size, std::string_view what,
                             bool is_name) const {
  const std::uint64_t first = header + tar_block;
  if (first > size_ || size > size_ - first) {
    cut_off((is_name ? "\"" + printable(what) + "\"" : std::string(what)) + " (header at offset " +
                std::to_string(header) + ", " + std::to_string(size) + " bytes)",
            size > ~first ? ~std::uint64_t{0} : first + size);
  }
  return first + round_up_to_block(size);
}

std::string_view tar_scan::read_text(std::uint64_t header, std::uint64_t size) {
  if (size > 1 << 20) fail(header, "holds a name or attributes of more than 1 MiB");
  position_ = skip(header, size, "a long name");
  std::string_view text(
      reinterpret_cast<const char*>(bytes(header + tar_block, static_cast<std::size_t>(size))),
      static_cast<std::size_t>(size));
  while (text.ends_with('\0')) text.remove_suffix(1);
  return text;
}

void tar_scan::read_pax(extended& into, std::uint64_t header, std::uint64_t size) {
  std::string_view text = read_text(header, size);
  while (!text.empty()) {
    std::size_t length = 0;
    const auto [digits_end, code] = std::from_chars(text.data(), text.data() + text.size(), length);
    const std::size_t digits = static_cast<std::size_t>(digits_end - text.data());
    if (code != std::errc() || length > text.size() || length < digits + 4 || text[digits] != ' ' ||
        text[length - 1] != '\n') {
      fail(header, "has a pax record that is not \"LENGTH KEY=VALUE\" (found \"" +
                       printable(text.substr(0, 32)) + "\")");
    }
    const std::string_view entry = text.substr(digits + 1, length - digits - 2);
    text.remove_prefix(length);
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos) fail(header, "has a pax record without '='");
    const std::string_view key = entry.substr(0, equals), value = entry.substr(equals + 1);
    // The name in a global header is copied for each member.
    if (key.ends_with("name") || key == "path") {
      if (value.size() > longest_name)
        fail(header, "has a name of " + std::to_string(value.size()) + " bytes, and " +
                         std::to_string(longest_name) + " is the longest");
    }
    if (key == "path") {
      into.name = std::string(value);
      if (value.empty()) into.name.reset();  // an empty value revokes an earlier one
    } else if (key == "size" && value.empty()) {
      into.size.reset();
    } else if (key == "size") {
      std::uint64_t n = 0;
      const auto [end, wrong] = std::from_chars(value.data(), value.data() + value.size(), n);
      if (wrong != std::errc() || end != value.data() + value.size()) {
        fail(header, "has a pax size that isn't a number (\"" + printable(value.substr(0, 32)) + "\")");
      }
      into.size = n;
    } else if (key.starts_with("GNU.sparse.")) {
      into.sparse = true;
      if (key == "GNU.sparse.name") into.name = std::string(value);
    }
  }
}

void tar_scan::finish(tar_entry& out, const tar_header& header, const extended& own, std::uint64_t at,
                      std::uint64_t size) {
  if (own.size) size = *own.size;
  out.offset = at + tar_block;
  bool has_data = true;
  switch (header.type()) {
    case '\0':
    case '0':
    case '7':  // contiguous, the same as regular today
      out.what = out.name.ends_with('/') ? tar_entry::other
                 : own.sparse            ? tar_entry::sparse
                                         : tar_entry::file;
      break;
    case 'S': {
      out.what = tar_entry::sparse;
      bool more = header.sparse_map_goes_on();
      while (more) {
        more = tar_header::sparse_map_goes_on(block(out.offset));
        out.offset += tar_block;
      }
      break;
    }
    case '1':
    case '2':
      out.what = tar_entry::link;
      has_data = false;
      break;  // some writers give hard links a size anyway
    case '3':
    case '4':
    case '5':
    case '6':
      out.what = tar_entry::other;
      has_data = false;
      break;
    case 'M':
      throw source_error(path_, "tar",
                         "continues from another volume (\"" + printable(out.name) +
                             "\"), and volumes of one archive cannot be read by themselves; write it "
                             "without --multi-volume");
    default:
      out.what = tar_entry::other;
      break;
  }
  if (out.name.find('\0') != std::string::npos) fail(at, "has a name with a NUL in it");
  out.length = has_data ? size : 0;
  position_ = skip(out.offset - tar_block, out.length, out.name, true);
}

}  // namespace wick::detail
