// Implements io/detail/file_kind.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <array>
#include <zlib.h>

#include <wick/io/detail/endian.hpp>
#include <wick/io/detail/file_kind.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

namespace {

unsigned byte_at(std::string_view start, std::size_t i) noexcept {
  return i < start.size() ? static_cast<unsigned char>(start[i]) : 0;
}
std::uint64_t little_endian_at(std::string_view start, std::size_t at, std::size_t bytes) noexcept {
  return start.size() < at + bytes ? 0 : load_little_endian(start, at, bytes);
}

/// Whether zlib unpacks these first bytes of a file. \param bits  as for inflateInit2()
bool inflates(std::string_view start, int bits) noexcept {
  std::array<unsigned char, 4096> out{};
  ::z_stream z{};
  if (::inflateInit2(&z, bits) != Z_OK) return false;
  z.next_in = reinterpret_cast<unsigned char*>(const_cast<char*>(start.data()));
  z.avail_in = static_cast<unsigned>(start.size());
  int code = Z_OK;
  bool any = false;
  while (code == Z_OK && z.avail_in != 0) {
    z.next_out = out.data();
    z.avail_out = static_cast<unsigned>(out.size());
    code = ::inflate(&z, Z_NO_FLUSH);
    any = any || z.avail_out != out.size();
  }
  ::inflateEnd(&z);
  constexpr std::size_t enough = 64;  // fewer bytes may unpack by accident, unless their checksum holds
  return code == Z_STREAM_END || ((code == Z_OK || code == Z_BUF_ERROR) && any && start.size() >= enough);
}

// RFC 1952: no reserved flag is set.
bool is_gzip(std::string_view s) noexcept { return (byte_at(s, 3) & 0xE0) == 0 && inflates(s, 15 + 16); }
bool is_zlib(std::string_view s) noexcept {
  return (byte_at(s, 1) & 0x20) == 0 && (byte_at(s, 0) * 256 + byte_at(s, 1)) % 31 == 0 && inflates(s, 15);
}
/// RFC 8878: a frame's header has no reserved bit set, and its first block's type isn't reserved.
bool is_zstd(std::string_view s) noexcept {
  const unsigned flags = byte_at(s, 4);
  if ((flags & 8) != 0) return false;
  const bool single = (flags & 32) != 0;
  const std::array<std::size_t, 4> dictionary{0, 1, 2, 4}, content{single ? 1u : 0u, 2, 4, 8};
  const std::size_t block = 5 + (single ? 0 : 1) + dictionary[flags & 3] + content[flags >> 6];
  const std::uint64_t header = little_endian_at(s, block, 3);
  return s.size() >= block + 3 && (header >> 1 & 3) != 3 && header >> 3 <= std::uint64_t{1} << 17;
}
/// The frame that pzstd and seekable writers put before a frame of zstd or LZ4.
bool is_skippable(std::string_view s) noexcept {
  const std::uint64_t size = little_endian_at(s, 4, 4);
  return size < s.size() && s.substr(8).size() >= size + 4 &&
         s.substr(8 + static_cast<std::size_t>(size)).starts_with("\x28\xB5\x2F\xFD");
}
bool is_bzip2(std::string_view s) noexcept {
  return byte_at(s, 3) >= '1' && byte_at(s, 3) <= '9' &&
         (s.substr(4).starts_with("1AY&SY") || s.substr(4).starts_with("\x17\x72\x45\x38\x50\x90"));
}
bool is_lz4(std::string_view s) noexcept {
  return byte_at(s, 4) >> 6 == 1 && (byte_at(s, 4) & 2) == 0 && (byte_at(s, 5) & 0x8F) == 0 &&
         byte_at(s, 5) >> 4 >= 4;
}
bool is_lz4_legacy(std::string_view s) noexcept {  // blocks hold 8 MiB before compression
  const std::uint64_t block = little_endian_at(s, 4, 4);
  return block != 0 && block <= std::uint64_t{9} << 20;
}
/// A dictionary size that encoders choose, and a length that is unknown or plausible.
bool is_lzma(std::string_view s) noexcept {
  const std::uint64_t length = little_endian_at(s, 5, 8);
  return s.size() >= 13 && byte_at(s, 1) == 0 && byte_at(s, 2) == 0 && byte_at(s, 13) == 0 &&
         (length == ~std::uint64_t{0} || (length != 0 && length >> 40 == 0 && byte_at(s, 4) < 16));
}
bool is_compress(std::string_view s) noexcept {  // it always declares its 16 bits, and text begins with ASCII
  return (byte_at(s, 2) == 0x90 || byte_at(s, 2) == 0x8C) && byte_at(s, 3) >= 9 && byte_at(s, 3) < 0x7F &&
         (byte_at(s, 4) & 1) == 0;
}
bool is_zip(std::string_view s) noexcept {
  const std::uint64_t method = little_endian_at(s, 8, 2), name = little_endian_at(s, 26, 2);
  return byte_at(s, 5) == 0 && byte_at(s, 4) <= 63 && method < 100 && name != 0 && name < 4096;
}
bool zip_of_numpy(std::string_view s) noexcept {
  const std::size_t name = static_cast<std::size_t>(little_endian_at(s, 26, 2));
  return is_zip(s) && s.size() > 30 && s.substr(30, name).ends_with(".npy");
}
bool zip_of_torch(std::string_view s) noexcept {
  const std::size_t name = static_cast<std::size_t>(little_endian_at(s, 26, 2));
  return is_zip(s) && s.size() > 30 && s.substr(30, name).ends_with("/data.pkl");
}
bool is_empty_zip(std::string_view s) noexcept { return s.size() == 22 || byte_at(s, 4) == 0; }

bool is_numpy(std::string_view s) noexcept { return byte_at(s, 6) >= 1 && byte_at(s, 6) <= 3; }
/// Protocols 4 and 5 have frames; older ones begin with a list, a dict, or NumPy's module.
bool is_pickle(std::string_view s) noexcept {
  if (byte_at(s, 1) >= 4)
    return byte_at(s, 1) <= 5 && byte_at(s, 2) == 0x95 && little_endian_at(s, 8, 3) == 0;
  if (byte_at(s, 1) < 2) return false;
  s.remove_prefix(2);
  return s.starts_with("cnumpy") || ((s.starts_with("]q") || s.starts_with("}q")) && byte_at(s, 2) < 2);
}
bool is_torch_legacy(std::string_view s) noexcept {
  return s.substr(2).starts_with("\x8A\x0A\x6C\xFC\x9C\x46\xF9\x20\x6A\xA8\x50\x19");
}
bool is_arrow_stream(std::string_view s) noexcept {
  return little_endian_at(s, 4, 4) % 8 == 0 && byte_at(s, 7) == 0 && byte_at(s, 8) == 16 &&
         little_endian_at(s, 9, 5) == 0 && byte_at(s, 14) == 10;
}
bool is_safetensors(std::string_view s) noexcept {
  const std::uint64_t length = little_endian_at(s, 0, 8);
  return length > 2 && length <= 100'000'000;
}
bool is_lmdb(std::string_view s) noexcept { return little_endian_at(s, 20, 4) <= 1; }
bool is_jpeg(std::string_view s) noexcept {
  const unsigned marker = byte_at(s, 3);
  const bool known = marker == 0xDB || marker == 0xC0 || marker == 0xC4 || marker == 0xFE ||
                     (marker >= 0xE0 && marker <= 0xEF);
  return known && byte_at(s, 4) * 256 + byte_at(s, 5) >= 2;
}
bool is_bmp(std::string_view s) noexcept {
  const std::uint64_t header = little_endian_at(s, 14, 4);
  const std::uint64_t planes = little_endian_at(s, header == 12 ? 22 : 26, 2);
  return planes == 1 && header <= 124 && little_endian_at(s, 6, 4) == 0 && byte_at(s, 2) % 2 == 0;
}
bool is_tiff(std::string_view s) noexcept {  // its directory follows these 8 bytes, at an even offset
  const bool big_endian = byte_at(s, 0) == 'M';
  return byte_at(s, big_endian ? 7 : 4) % 2 == 0 && byte_at(s, big_endian ? 4 : 7) < 0x80;
}
bool is_chunked(std::string_view s) noexcept {
  return s.starts_with("RIFF") || s.starts_with("RF64") || s.starts_with("FORM");
}
bool is_box(std::string_view s) noexcept { return little_endian_at(s, 0, 3) == 0 && byte_at(s, 3) >= 8; }
bool is_mpeg_audio(std::string_view s) noexcept { return byte_at(s, 3) <= 4 && byte_at(s, 4) == 0; }
bool is_elf(std::string_view s) noexcept { return byte_at(s, 4) >= 1 && byte_at(s, 4) <= 2; }

struct signature {
  std::string_view magic;
  std::string_view what, remedy;
  file_kind::family is = file_kind::family::other;
  bool (*sure)(std::string_view) noexcept = nullptr;  // null if the magic is enough
  std::size_t at = 0;
  bool always = false;  // `sure` tells two kinds apart, and is also called for a likely one
};

constexpr std::string_view by_images = "read it as an image: files(…) | read() | decode()",
                           by_hand = "convert it to what this source reads", again = "download it again";

using namespace std::string_view_literals;
using enum file_kind::family;

// The first match wins: more specific ones come first.
constexpr signature signatures[] = {
    {"\x1F\x8B"sv, "compressed with gzip", "unpack it (gunzip FILE)", compressed, is_gzip},
    {"\x28\xB5\x2F\xFD"sv, "compressed with zstd", "unpack it (unzstd FILE)", compressed, is_zstd},
    {"\x2A\x4D\x18"sv, "compressed with zstd", "unpack it (unzstd FILE)", compressed, is_skippable, 1, true},
    {"BZh"sv, "compressed with bzip2", "unpack it (bunzip2 FILE)", compressed, is_bzip2},
    {"\xFD\x37zXZ"sv, "compressed with xz", "unpack it (unxz FILE)", compressed},
    {"\x04\x22\x4D\x18"sv, "compressed with lz4", "unpack it (lz4 -d FILE)", compressed, is_lz4},
    {"\x02\x21\x4C\x18"sv, "compressed with lz4", "unpack it (lz4 -d FILE)", compressed, is_lz4_legacy},
    {"\x5D\0\0"sv, "compressed with lzma", "unpack it (unlzma FILE)", compressed, is_lzma, 0, true},
    {"LZIP\x01"sv, "compressed with lzip", "unpack it (lzip -d FILE)", compressed},
    {"\x89LZO\0\r\n\x1A\n"sv, "compressed with lzop", "unpack it (lzop -d FILE)", compressed},
    {"\xFF\x06\0\0sNaPpY"sv, "compressed with snappy", "unpack it", compressed},
    {"\x1F\x9D"sv, "compressed with compress (.Z)", "unpack it (uncompress FILE)", compressed, is_compress},
    {"Salted__"sv, "encrypted with openssl", "decrypt it", compressed},
    {"age-encryption.org/"sv, "encrypted with age", "decrypt it", compressed},
    {"-----BEGIN PGP MESSAGE-----"sv, "encrypted with PGP", "decrypt it", compressed},

    {"version https://git-lfs.github.com/spec/"sv, "a Git LFS pointer, not the file", "run git lfs pull",
     placeholder},
    {"/annex/objects/"sv, "a git-annex pointer, not the file", "run git annex get", placeholder},
    {"outs:\n- md5: "sv, "a DVC pointer, not the file", "run dvc pull", placeholder},
    {"404: Not Found"sv, "a server's answer, not the file", "check its address, and download it again",
     placeholder},
    {"Entry not found"sv, "a server's answer, not the file", "check its address, and download it again",
     placeholder},

    {"\x93NUMPY"sv, "a NumPy array (.npy)", "read it by npy(path)", other, is_numpy},
    {"PK\x03\x04"sv, "a NumPy archive (.npz)", "read an array of it by npy(path, \"name\")", other,
     zip_of_numpy, 0, true},
    {"PK\x03\x04"sv, "a file of torch.save()", "save its tensors by safetensors or numpy.save()", other,
     zip_of_torch, 0, true},
    {"PK\x03\x04"sv, "a ZIP archive", "unpack it (unzip FILE)", compressed, is_zip},
    {"PK\x05\x06\0\0"sv, "an empty ZIP archive", again, compressed, is_empty_zip},
    {"7z\xBC\xAF\x27\x1C"sv, "a 7z archive", "unpack it (7z x FILE)", compressed},
    {"Rar!\x1A\x07"sv, "a RAR archive", "unpack it (unrar x FILE)", compressed},
    {"ustar"sv, "a tar archive",
     "read its members by tar(path, {\"EXTENSION\"}), or unpack it (tar -xf FILE)", other, nullptr, 257},
    {"\x80"sv, "a file of torch.save()", "save its tensors by safetensors or numpy.save()", other,
     is_torch_legacy, 0, true},
    {"\x80"sv, "a pickle of Python", "save its arrays by numpy.save() or array.tofile()", other, is_pickle, 0,
     true},
    {"\x89HDF\r\n\x1A\n"sv, "an HDF5 file", "save its arrays by numpy.save()"},
    {"MATLAB 5.0 MAT-file"sv, "a MATLAB file", "save its arrays by numpy.save()"},
    {"MATLAB 7.3 MAT-file"sv, "a MATLAB file", "save its arrays by numpy.save()"},
    {"PAR1"sv, "a Parquet file", "read it by parquet<…>(path, …)"},
    {"PARE"sv, "an encrypted Parquet file", "write it without encryption", compressed},
    {"ARROW1\0\0"sv, "an Arrow IPC file", "write it as Parquet"},
    {"\xFF\xFF\xFF\xFF"sv, "an Arrow IPC stream", "write it as Parquet", other, is_arrow_stream, 0, true},
    {"FEA1"sv, "a Feather file", "write it as Parquet"},
    {"Obj\x01"sv, "an Avro file", "write it as Parquet"},
    {"SQLite format 3\0"sv, "an SQLite database", "write its rows as CSV or Parquet"},
    {"\xDE\xC0\xEF\xBE"sv, "an LMDB database", "read it by lmdb(path)", other, is_lmdb, 16},
    {"{\""sv, "a safetensors file", "read it by safetensors(path, \"name\")", other, is_safetensors, 8, true},
    {"GGUF"sv, "a GGUF file", by_hand},

    {"\xFF\xD8\xFF"sv, "a JPEG", by_images, other, is_jpeg},
    {"\x89PNG\r\n\x1A\n"sv, "a PNG", by_images},
    {"GIF87a"sv, "a GIF", by_images},
    {"GIF89a"sv, "a GIF", by_images},
    {"BM"sv, "a BMP", by_images, other, is_bmp, 0, true},
    {"WEBP"sv, "a WebP image", "convert it to JPEG or PNG", other, is_chunked, 8, true},
    {"II*\0"sv, "a TIFF", "convert it to PNG", other, is_tiff},
    {"MM\0*"sv, "a TIFF", "convert it to PNG", other, is_tiff},
    {"II+\0\x08\0"sv, "a TIFF", "convert it to PNG"},
    {"ftypavi"sv, "an AVIF image", "convert it to JPEG or PNG", other, is_box, 4, true},
    {"ftyphei"sv, "a HEIF image", "convert it to JPEG or PNG", other, is_box, 4, true},
    {"ftyphev"sv, "a HEIF image", "convert it to JPEG or PNG", other, is_box, 4, true},
    {"ftypmif1"sv, "a HEIF image", "convert it to JPEG or PNG", other, is_box, 4, true},
    {"ftyp"sv, "an MP4 or QuickTime file", by_hand, other, is_box, 4, true},
    {"\0\0\0\x0CJXL \r\n\x87\n"sv, "a JPEG XL image", "convert it to JPEG or PNG"},
    {"\0\0\0\x0CjP  \r\n\x87\n"sv, "a JPEG 2000 image", "convert it to PNG"},
    {"8BPS\0\x01"sv, "a Photoshop file", "convert it to PNG"},
    {"WAVE"sv, "a WAV file", by_hand, other, is_chunked, 8, true},
    {"AVI LIST"sv, "an AVI video", by_hand, other, is_chunked, 8, true},
    {"AIFF"sv, "an AIFF file", by_hand, other, is_chunked, 8, true},
    {"fLaC"sv, "a FLAC file", by_hand},
    {"OggS\0"sv, "an Ogg file", by_hand},
    {"ID3"sv, "an MP3 file", by_hand, other, is_mpeg_audio},
    {"\x1A\x45\xDF\xA3"sv, "a Matroska or WebM video", by_hand},
    {"%PDF-"sv, "a PDF", by_hand},
    {"\x7F"
     "ELF"sv,
     "a program", "check the path", other, is_elf},
};

/// Whether a compressed file or a placeholder may begin with a byte: the only check that most samples need.
constexpr std::array<bool, 256> first_bytes = [] {
  std::array<bool, 256> out{};
  for (const signature& s : signatures) {
    if (s.at == 0 && s.is != other) out[static_cast<unsigned char>(s.magic[0])] = true;
  }
  return out;
}();

/// Pages may begin with a byte order mark and blanks; case doesn't matter.
file_kind kind_of_text(std::string_view start) noexcept {
  if (start.starts_with("\xEF\xBB\xBF")) start.remove_prefix(3);
  const std::size_t first = start.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || start[first] != '<') return {};
  start.remove_prefix(first);
  const auto begins = [&](std::string_view lower) {
    return start.size() > lower.size() &&
           std::equal(lower.begin(), lower.end(), start.begin(),
                      [](char l, char c) { return l == (c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); });
  };
  constexpr std::string_view retry =
      "a server sent it in place of the file: check the address and the access "
      "rights, and download it again";
  if (begins("<!doctype html") || begins("<html")) return {page, "an HTML page", retry};
  const bool of_store = start.find("<Error>") != std::string_view::npos;
  if (begins("<?xml") || of_store)
    return {page, of_store ? "an XML error document" : "an XML document", retry};
  return {};
}

}  // namespace

std::string file_kind::text() const { return "is " + std::string(what) + "; " + std::string(remedy); }

file_kind kind_of_file(std::string_view start, certainty how) noexcept {
  start = start.substr(0, file_kind::looked_at);
  for (const signature& s : signatures) {
    if (start.size() < s.at || !start.substr(s.at).starts_with(s.magic)) continue;
    if (s.sure != nullptr && (how == certainty::sure || s.always) && !s.sure(start)) continue;
    file_kind out{s.is, s.what, s.remedy};
    if (s.sure == is_numpy) {
      out.header =
          byte_at(start, 6) == 1 ? 10 + little_endian_at(start, 8, 2) : 12 + little_endian_at(start, 8, 4);
    }
    return out;
  }
  // Two bytes aren't a signature: it must also unpack.
  if ((byte_at(start, 0) & 0x8F) == 8 && byte_at(start, 0) <= 0x78 && is_zlib(start))
    return {compressed, "compressed with zlib", "unpack it (zlib.decompress() in Python)"};
  return kind_of_text(start);
}

void refuse_packed(std::string_view data) {
  if (data.empty() || !first_bytes[static_cast<unsigned char>(data[0])]) return;
  const file_kind found = kind_of_file(data, certainty::sure);
  if (found.is != file_kind::family::compressed && found.is != file_kind::family::placeholder) return;
  throw error(found.text() + ". If these bytes are the data, take them by a callable of your own");
}

std::string or_another_kind(std::string_view data) {
  const file_kind found = kind_of_file(data, certainty::sure);
  return found ? ". The data " + found.text() : std::string();
}

}  // namespace wick::detail
