// Implements text/detail/token_store.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cstring>
#include <utility>

#include <wick/ext/fingerprint.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/sample.hpp>
#include <wick/text/detail/chunk_offsets.hpp>
#include <wick/text/detail/token_store.hpp>

namespace wick::inline v0_1::detail {

token_store::token_store(const files& paths, token_format format, std::uint64_t header, bool raw)
    : files_(paths, "tokens"), format_(format), header_(header) {
  for (std::size_t f = 0; f < files_.size(); ++f) {
    opened_files::look file = files_.open(f);
    if (!raw) files_.require_plain(f, file, header, ".header");
    const std::uint64_t size = file.size();
    if (size < header || (size - header) % format.size != 0) {
      throw files_.fault(f, "has " + std::to_string(size) + " bytes, and tokens take " +
                                std::to_string(format.size) + " each after a header of " +
                                std::to_string(header) +
                                "; is it whole, and of this type? tokens<std::uint32_t>(…) has 4 bytes");
    }
    files_.keep(std::move(file));
    firsts_.push_back(firsts_.back() + (size - header) / format.size);
  }
  fingerprint_ = make_fingerprint();
}

std::size_t token_store::file_of(std::uint64_t token) const noexcept {
  return static_cast<std::size_t>(std::upper_bound(firsts_.begin(), firsts_.end(), token) - firsts_.begin()) -
         1;
}

file_range token_store::part(std::uint64_t first, std::uint64_t count) const noexcept {
  const std::size_t f = firsts_.size() == 2 ? 0 : file_of(first);
  return files_.range(f, header_ + (first - firsts_[f]) * format_.size,
                      std::min(count, firsts_[f + 1] - first) * format_.size);
}

std::string token_store::key(std::uint64_t token) const {
  const std::size_t f = file_of(token);
  return files_.paths().key(f) + ": token " + std::to_string(token - firsts_[f]);
}

std::vector<file_range> token_store::parts(std::uint64_t first, std::uint64_t count) const {
  std::vector<file_range> out;
  for (const std::uint64_t end = first + count; first < end;) {
    out.push_back(part(first, end - first));
    first += out.back().length / format_.size;
  }
  return out;
}

std::uint64_t token_store::make_fingerprint() const {
  constexpr std::uint64_t pieces = 64, piece = 1024;
  fingerprint_hash h;
  h.add(size()).add(std::uint64_t{format_.size});
  const std::uint64_t step = std::max(piece, size() / pieces);
  std::vector<file_range> where;
  std::vector<std::size_t> parts_of;  // the number of parts in each piece
  for (std::uint64_t first = 0; first < size(); first += step) {
    const std::vector<file_range> one = parts(first, std::min(piece, size() - first));
    where.insert(where.end(), one.begin(), one.end());
    parts_of.push_back(one.size());
  }
  const std::vector<bytes> all = files_.read(where);
  std::size_t next = 0;
  for (const std::size_t n : parts_of) {
    std::string whole;
    for (std::size_t i = 0; i < n; ++i) whole += all[next++].text();
    h.add(whole.data(), whole.size());
  }
  return h.value();
}

template <class F>
void token_store::for_each_piece(F&& f) const {
  const std::uint64_t piece = std::uint64_t{1} << (files_.on_servers() ? 23 : 19);
  for (std::uint64_t first = 0; first < size(); first += piece) {
    for (const bytes& some : files_.read(parts(first, std::min(piece, size() - first)))) f(some);
  }
}

void token_store::read_into(std::byte* to) const {
  for_each_piece([&](const bytes& some) {
    std::memcpy(to, some.data(), some.size());
    to += some.size();
  });
}

std::vector<std::uint64_t> token_store::documents(std::int64_t end) const {
  document_borders borders(format_, end);
  for_each_piece([&](const bytes& some) { borders.take(some.data(), some.size() / format_.size); });
  if (borders.ended() == 0) {
    throw error(files_.paths().key(0) + ": chunks: has no token " + std::to_string(end) +
                ", which .within_documents says to be the end of each document; give the number that this "
                "tokenizer has for it");
  }
  return borders.begins();
}

}  // namespace wick::detail
