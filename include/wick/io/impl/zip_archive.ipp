// Implements io/detail/zip_archive.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <zlib.h>

#include <wick/io/detail/endian.hpp>
#include <wick/io/detail/file_io.hpp>
#include <wick/io/detail/file_kind.hpp>
#include <wick/io/detail/zip_archive.hpp>
#include <wick/pipeline/detail/names.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

namespace {

constexpr std::uint32_t no_32 = 0xFFFFFFFF;  // the number is in the ZIP64 field

/// PKWARE: "APPNOTE.TXT", 4.4.5.
std::string name_of_method(unsigned method) {
  const char* const name = method == 9    ? "Deflate64"
                           : method == 12 ? "bzip2"
                           : method == 14 ? "lzma"
                           : method == 93 ? "zstd"
                           : method == 95 ? "xz"
                                          : nullptr;
  return std::string("compressed with ") + (name != nullptr ? name : "method " + std::to_string(method));
}

}  // namespace

zip_archive::zip_archive(const std::string& path) : path_(path), file_(open_regular(path, "npz")) {
  read_directory();
  require_unchanged(file_, path_, "npz");
}

void zip_archive::damaged(const std::string& what) const {
  throw source_error(path_, "npz", what + "; the archive is damaged or cut off: write or download it again");
}

std::string zip_archive::bytes(std::uint64_t offset, std::uint64_t size) const {
  if (size > file_.stamp.size || offset > file_.stamp.size - size) damaged("refers to bytes past its end");
  std::string out(static_cast<std::size_t>(size), '\0');
  const std::size_t got =
      read_up_to(file_.file.get(), reinterpret_cast<std::byte*>(out.data()), out.size(), offset);
  if (got != out.size()) damaged("ended while it was read");
  return out;
}

void zip_archive::read_directory() {
  constexpr std::size_t end_size = 22, locator_size = 20, end64_size = 56, entry_size = 46;
  const std::uint64_t all = file_.stamp.size;
  const std::string tail = bytes(all - std::min<std::uint64_t>(all, end_size + locator_size + 0xFFFF),
                                 std::min<std::uint64_t>(all, end_size + locator_size + 0xFFFF));
  const std::size_t at = tail.rfind("PK\x05\x06");
  if (at == std::string::npos || tail.size() - at < end_size) {
    const file_kind found =
        kind_of_file(bytes(0, std::min<std::uint64_t>(all, file_kind::looked_at)), certainty::likely);
    if (found && found.what.find("ZIP") == std::string_view::npos && found.what != "a NumPy archive (.npz)")
      throw source_error(path_, "npz", found.text());
    damaged("isn't a ZIP archive: it has no end record");
  }
  std::uint64_t count = load_little_endian(tail, at + 10, 2), size = load_little_endian(tail, at + 12, 4),
                offset = load_little_endian(tail, at + 16, 4);
  if (at >= locator_size && tail.compare(at - locator_size, 4, "PK\x06\x07") == 0) {
    const std::string end64 = bytes(load_little_endian(tail, at - locator_size + 8, 8), end64_size);
    if (!end64.starts_with("PK\x06\x06")) damaged("has no ZIP64 end record where it says");
    count = load_little_endian(end64, 32, 8);
    size = load_little_endian(end64, 40, 8);
    offset = load_little_endian(end64, 48, 8);
  }
  const std::string directory = bytes(offset, size);
  std::size_t next = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (directory.size() - next < entry_size || directory.compare(next, 4, "PK\x01\x02") != 0)
      damaged("has a directory that ends early");
    member m;
    m.flags = static_cast<unsigned>(load_little_endian(directory, next + 8, 2));
    m.method = static_cast<unsigned>(load_little_endian(directory, next + 10, 2));
    m.crc = static_cast<std::uint32_t>(load_little_endian(directory, next + 16, 4));
    m.packed = load_little_endian(directory, next + 20, 4);
    m.size = load_little_endian(directory, next + 24, 4);
    m.header = load_little_endian(directory, next + 42, 4);
    const std::size_t name = load_little_endian(directory, next + 28, 2),
                      extra = load_little_endian(directory, next + 30, 2),
                      comment = load_little_endian(directory, next + 32, 2);
    if (directory.size() - next - entry_size < name + extra + comment)
      damaged("has a directory that ends early");
    m.name = directory.substr(next + entry_size, name);
    read_zip64(std::string_view(directory).substr(next + entry_size + name, extra), m);
    members_.push_back(std::move(m));
    next += entry_size + name + extra + comment;
  }
}

void zip_archive::read_zip64(std::string_view extra, member& of) {
  while (extra.size() >= 4) {
    const std::uint64_t id = load_little_endian(extra, 0, 2),
                        size = std::min<std::uint64_t>(load_little_endian(extra, 2, 2), extra.size() - 4);
    std::string_view body = extra.substr(4, static_cast<std::size_t>(size));
    extra.remove_prefix(4 + static_cast<std::size_t>(size));
    if (id != 1) continue;
    for (std::uint64_t* const wanted : {&of.size, &of.packed, &of.header}) {
      if (*wanted != no_32 || body.size() < 8) continue;
      *wanted = load_little_endian(body, 0, 8);
      body.remove_prefix(8);
    }
  }
}

std::string zip_archive::read(const std::string& name) const {
  const auto found = std::find_if(members_.begin(), members_.end(),
                                  [&](const member& m) { return m.name == name || m.name == name + ".npy"; });
  if (found == members_.end()) {
    std::vector<std::string> all;
    for (const member& m : members_)
      all.push_back(m.name.ends_with(".npy") ? m.name.substr(0, m.name.size() - 4) : m.name);
    throw source_error(path_, "npz", no_such_name("array", name, all));
  }
  const member& m = *found;
  const auto not_of_numpy = [&](const std::string& what) {
    return source_error(path_, "npz",
                        shown_name(m.name) + " is " + what +
                            "; write the arrays by numpy.savez() or numpy.savez_compressed()");
  };
  if ((m.flags & 1) != 0) throw not_of_numpy("encrypted");
  constexpr std::size_t header_size = 30;
  const std::string header = bytes(m.header, header_size);
  if (!header.starts_with("PK\x03\x04")) damaged("has no member where its directory says");
  const std::uint64_t begin =
      m.header + header_size + load_little_endian(header, 26, 2) + load_little_endian(header, 28, 2);
  std::string out = bytes(begin, m.packed);
  if (m.method == 8)
    out = unpack(m, out);
  else if (m.method != 0)
    throw not_of_numpy(name_of_method(m.method));
  if (out.size() != m.size) damaged("has \"" + printable(m.name) + "\" in another size than it says");
  std::uint32_t crc = 0;
  for (std::size_t at = 0; at < out.size();) {
    const std::size_t n = std::min<std::size_t>(out.size() - at, std::size_t{1} << 30);
    crc = static_cast<std::uint32_t>(
        ::crc32(crc, reinterpret_cast<const unsigned char*>(out.data()) + at, static_cast<unsigned>(n)));
    at += n;
  }
  if (crc != m.crc) damaged("has \"" + printable(m.name) + "\" with a wrong checksum");
  require_unchanged(file_, path_, "npz");
  return out;
}

std::string zip_archive::unpack(const member& of, const std::string& packed) const {
  // A byte of deflate gives 1,032 at most: a member that claims more isn't an array, and gets no memory.
  if (of.size / 1032 > of.packed) damaged("has \"" + printable(of.name) + "\" in an impossible size");
  std::string out(static_cast<std::size_t>(of.size), '\0');
  ::z_stream z{};
  if (::inflateInit2(&z, -15) != Z_OK) throw error("npz: zlib has no memory");
  std::size_t read = 0, written = 0;
  int code = Z_OK;
  constexpr std::size_t piece = std::size_t{1} << 30;
  while (code == Z_OK) {
    z.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(packed.data())) + read;
    z.avail_in = static_cast<unsigned>(std::min(piece, packed.size() - read));
    z.next_out = reinterpret_cast<unsigned char*>(out.data()) + written;
    z.avail_out = static_cast<unsigned>(std::min(piece, out.size() - written));
    const unsigned had = z.avail_in, room = z.avail_out;
    code = ::inflate(&z, Z_NO_FLUSH);
    read += had - z.avail_in;
    written += room - z.avail_out;
    if (code == Z_OK && had == z.avail_in && room == z.avail_out) break;
  }
  ::inflateEnd(&z);
  if (code != Z_STREAM_END || written != out.size())
    damaged("has \"" + printable(of.name) + "\" with damaged data");
  return out;
}

}  // namespace wick::detail
