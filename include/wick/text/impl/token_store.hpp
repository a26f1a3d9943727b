/// \file
/// The bodies of what text/detail/token_store.hpp declares. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wick/io/detail/file_io.hpp>
#include <wick/io/detail/source_file.hpp>
#include <wick/io/file_range.hpp>
#include <wick/io/read.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/fingerprint.hpp>
#include <wick/sources/files.hpp>
#include <wick/text/detail/chunk_offsets.hpp>
#include <wick/text/detail/token_ids.hpp>
#include <wick/text/detail/token_store.hpp>

namespace wick::detail {

/// What the header of a NumPy array takes, or 0 when there is none.
inline std::uint64_t numpy_header(int file) {
  std::byte start[10] = {};
  static_cast<void>(read_up_to(file, start, sizeof(start), 0));
  const std::string_view p(reinterpret_cast<const char*>(start), sizeof(start));
  if (!p.starts_with("\x93NUMPY\x01")) return 0;
  return 10 + std::to_integer<std::uint64_t>(start[8]) + 256 * std::to_integer<std::uint64_t>(start[9]);
}

token_store::token_store(files paths, token_format format, std::uint64_t header)
    : paths_(std::move(paths)),
      format_(format),
      header_(header),
      open_(static_cast<std::size_t>(paths_.size())) {
  stamps_.reserve(static_cast<std::size_t>(paths_.size()));
  for (std::size_t f = 0; f < paths_.size(); ++f) {
    const std::string path = paths_.path(f);
    opened_file opened = open_regular(path, "tokens");
    const std::uint64_t numpy = numpy_header(opened.file.get()), size = opened.stamp.size;
    if (numpy != 0 && header == 0) {
      throw source_error(path, "tokens",
                         "is a NumPy array, whose first " + std::to_string(numpy) +
                             " bytes are no tokens; set .header = " + std::to_string(numpy) +
                             ", or write it with array.tofile()");
    }
    if (size < header || (size - header) % format.size != 0) {
      throw source_error(path, "tokens",
                         "has " + std::to_string(size) + " bytes, and tokens take " +
                             std::to_string(format.size) + " each behind a header of " +
                             std::to_string(header) +
                             "; is it whole, and of this type? tokens<std::uint32_t>(…) has 4 bytes");
    }
    stamps_.push_back(opened.stamp);
    firsts_.push_back(firsts_.back() + (size - header) / format.size);
    open_.keep(std::move(opened.file));
  }
  fingerprint_ = make_fingerprint();
}

std::size_t token_store::file_of(std::uint64_t token) const noexcept {
  return static_cast<std::size_t>(std::upper_bound(firsts_.begin(), firsts_.end(), token) - firsts_.begin()) -
         1;
}

file_range token_store::part(std::uint64_t first, std::uint64_t count) const noexcept {
  const std::size_t f = firsts_.size() == 2 ? 0 : file_of(first);
  return {paths_.path(f), open_[f], header_ + (first - firsts_[f]) * format_.size,
          std::min(count, firsts_[f + 1] - first) * format_.size, &stamps_[f]};
}

std::string token_store::key(std::uint64_t token) const {
  const std::size_t f = file_of(token);
  return printable(paths_.path(f)) + ": token " + std::to_string(token - firsts_[f]);
}

void token_store::read(std::uint64_t first, std::size_t count, std::byte* to) const {
  while (count > 0) {
    const file_range where = part(first, count);
    try {
      file_range_reader reader;
      const bytes some = reader.read(where, where.length);
      std::copy_n(some.data(), some.size(), to);
    } catch (const error& e) {
      throw source_error(where.path, "tokens", e.what());
    }
    to += where.length;
    first += where.length / format_.size;
    count -= static_cast<std::size_t>(where.length / format_.size);
  }
}

std::uint64_t token_store::make_fingerprint() const {
  constexpr std::uint64_t pieces = 64, piece = 1024;
  fingerprint_hash h;
  h.add(size()).add(std::uint64_t{format_.size});
  std::vector<std::byte> buffer(piece * format_.size);
  const std::uint64_t step = std::max(piece, size() / pieces);
  for (std::uint64_t first = 0; first < size(); first += step) {
    const auto count = static_cast<std::size_t>(std::min(piece, size() - first));
    read(first, count, buffer.data());
    h.add(buffer.data(), count * format_.size);
  }
  return h.value();
}

std::vector<std::uint64_t> token_store::documents(std::int64_t end) const {
  constexpr std::uint64_t piece = std::uint64_t{1} << 19;
  std::vector<std::byte> buffer(static_cast<std::size_t>(std::min(piece, size())) * format_.size);
  document_borders borders(format_, end);
  for (std::uint64_t first = 0; first < size(); first += piece) {
    const auto count = static_cast<std::size_t>(std::min(piece, size() - first));
    read(first, count, buffer.data());
    borders.take(buffer.data(), count);
  }
  if (borders.ended() == 0) {
    throw source_error(paths_.path(0), "chunks",
                       "has no token " + std::to_string(end) +
                           ", which .within_documents says to be the end of each document; give the number "
                           "that this tokenizer has for it");
  }
  return borders.begins();
}

}  // namespace wick::detail
