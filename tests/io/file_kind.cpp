// What a file is by its first bytes: what other programs write is named, and plain data are left alone.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/python.hpp"
#include "../support/temp_dir.hpp"
#include <wick/io/detail/file_kind.hpp>

namespace wick_test::file_kind_tests {

using namespace std::string_literals;
using wick::detail::certainty;
using wick::detail::file_kind;
using wick::detail::kind_of_file;

namespace {

std::string sure(std::string_view start) { return std::string(kind_of_file(start, certainty::sure).what); }

}  // namespace

TEST_CASE("what Python's standard library packs is named") {
  const temp_dir dir;
  if (!run_python("gzip, bz2, lzma, zlib, zipfile, tarfile, pickle, io, sqlite3, wave", dir, R"(
import os
data = os.urandom(3000) + b'abc' * 3000
write = lambda name, text: open(name, 'wb').write(text)
for level in (0, 1, 6, 9):
    write(f'compressed with gzip.{level}', gzip.compress(data, level))
    write(f'compressed with zlib.{level}', zlib.compress(data, level))
write('compressed with gzip.short', gzip.compress(b'a'))
write('compressed with gzip.empty', gzip.compress(b''))
write('compressed with zlib.short', zlib.compress(b'a'))
with gzip.GzipFile('a long name ' * 10, 'wb', fileobj=open('compressed with gzip.named', 'wb')) as f: f.write(data)
write('compressed with bzip2.1', bz2.compress(data, 1))
write('compressed with bzip2.empty', bz2.compress(b''))
write('compressed with xz.1', lzma.compress(data))
write('compressed with lzma.1', lzma.compress(data, lzma.FORMAT_ALONE))
for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
    with zipfile.ZipFile(f'a ZIP archive.{method}', 'w', method) as z: z.writestr('a/b.txt', data)
zipfile.ZipFile('an empty ZIP archive.1', 'w').close()
for form in (tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
    with tarfile.open(f'a tar archive.{form}', 'w', format=form) as t:
        t.addfile(tarfile.TarInfo('x'), io.BytesIO())
for protocol in (2, 3, 4, 5):
    write(f'a pickle of Python.{protocol}', pickle.dumps({'data': [data]}, protocol))
    write(f'a pickle of Python.list.{protocol}', pickle.dumps([data], protocol))
c = sqlite3.connect('an SQLite database.1'); c.execute('create table t (x)'); c.commit()
with wave.open('a WAV file.1', 'wb') as w: w.setparams((1, 2, 8000, 0, 'NONE', None)); w.writeframes(data)
)"))
    return;
  std::size_t seen = 0;
  for (const auto& entry : fs::directory_iterator(dir.path())) {
    const std::string name = entry.path().filename().string();
    if (name == "script.py") continue;
    CAPTURE(name);
    CHECK(sure(read_file(entry.path())) == name.substr(0, name.find('.')));
    ++seen;
  }
  CHECK(seen == 34);
}

TEST_CASE("what zstd, lz4, xz, and bzip2 pack is named at any level, also of a pipe") {
  const temp_dir dir;
  dir.write("data", std::string(5000, 'x') + "and more");
  for (const auto& [tool, options] :
       std::vector<std::pair<std::string, std::string>>{{"zstd", "-1 --no-check"},
                                                        {"zstd", "-19"},
                                                        {"zstd", "--ultra -22 --long"},
                                                        {"lz4", "-1"},
                                                        {"lz4", "-9 -B4 -BD"},
                                                        {"lz4", "-l"},
                                                        {"xz", "-9e"},
                                                        {"bzip2", "-1"}}) {
    if (std::system(("which " + tool + " >/dev/null").c_str()) != 0) continue;
    for (const char* input : {"'/data' ", "/data' | cat | "}) {
      const std::string in = dir.path().string();
      const std::string command =
          std::string(input).find('|') == std::string::npos
              ? tool + " " + options + " -c '" + in + "/data' > '" + in + "/out' 2>/dev/null"
              : "cat '" + in + "/data' | " + tool + " " + options + " -c > '" + in + "/out' 2>/dev/null";
      CAPTURE(command);
      REQUIRE(std::system(command.c_str()) == 0);
      CHECK(sure(read_file(dir / "out")) == "compressed with " + tool);
    }
  }
}

TEST_CASE("placeholders, pages, and other formats are named by their first bytes") {
  const std::pair<std::string, std::string_view> known[] = {
      {"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 12345\n",
       "a Git LFS pointer, not the file"},
      {"/annex/objects/MD5E-s12--0", "a git-annex pointer, not the file"},
      {"<!DOCTYPE html><html>", "an HTML page"},
      {"\xEF\xBB\xBF\r\n <HTML lang='de'>", "an HTML page"},
      {"<?xml version=\"1.0\"?>\n<Error><Code>NoSuchKey</Code>", "an XML error document"},
      {"<Error><Code>AccessDenied</Code>", "an XML error document"},
      {"404: Not Found", "a server's answer, not the file"},
      {"\x93NUMPY\1\0\x76\0{'descr': '<u2'"s, "a NumPy array (.npy)"},
      {"\x89HDF\r\n\x1a\n", "an HDF5 file"},
      {"PAR1\x15\4", "a Parquet file"},
      {"ARROW1\0\0\xff\xff\xff\xff"s, "an Arrow IPC file"},
      {"\x40\0\0\0\0\0\0\0{\"a\":{\"dtype\":"s, "a safetensors file"},
      {"\xff\xd8\xff\xe0\0\x10JFIF"s, "a JPEG"},
      {"\x89PNG\r\n\x1a\n\0\0\0\rIHDR"s, "a PNG"},
      {"GIF89a", "a GIF"},
      {"RIFF\x24\0\0\0WEBPVP8 "s, "a WebP image"},
      {"II*\0\x08\0\0\0"s, "a TIFF"},
      {"\0\0\0\x20"s + "ftypavif", "an AVIF image"},
      {"\0\0\0\x18"s + "ftypheic", "a HEIF image"},
      {"%PDF-1.7\n", "a PDF"},
      {"7z\xBC\xAF\x27\x1C\0\4"s, "a 7z archive"},
  };
  for (const auto& [start, what] : known) CHECK(sure(start) == what);
  CHECK(kind_of_file(known[7].first, certainty::sure).header == 128);
}

TEST_CASE("plain numbers and text are no other format, even when they begin with two bytes of one") {
  std::mt19937_64 random(7);
  const std::string starts[] = {"\x1F\x8B"s, "\x1F\x8B\x08\0"s, "\x78\x9C"s, "\x78\x01"s, "\x78\xDA"s, "PK"s,
                                "BM"s,       "BZh9"s,           "\x80\x02"s, "\x80\x04"s, "\xFF\xD8"s, "II*"s,
                                "\x28\xB5"s, "\x5D\0\0"s,       "\x1F\x9D"s, "ID3"s,      "\xFF\x0A"s, "x^"s};
  for (int i = 0; i < 4000; ++i) {
    std::string data(600, '\0');
    for (char& c : data) c = static_cast<char>(random() >> 17);
    for (const std::string& start : starts) {
      data.replace(0, start.size(), start);
      CAPTURE(start);
      REQUIRE(sure(data) == "");
      REQUIRE(sure(std::string_view(data).substr(0, 16)) == "");
    }
  }
  for (const char* text : {"", "a", "x^2 + y", "PKzip is a program", "BMW", "path,label\na.jpg,3\n", "<b>",
                           "< 3", "{\"error\": 1}", "RIFF raff"})
    CHECK(sure(text) == "");
  CHECK(sure(std::string(600, '\0')) == "");
}

}  // namespace wick_test::file_kind_tests
