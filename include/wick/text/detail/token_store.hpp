// Files of tokens as one stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <wick/ext/file_range.hpp>
#include <wick/sources/detail/opened_files.hpp>
#include <wick/sources/files.hpp>
#include <wick/text/detail/token_ids.hpp>

namespace wick::inline v0_1::detail {

class token_store {
 public:
  /// \param header  bytes before a file's first token
  /// \param raw     accepts files that look like another format as tokens
  token_store(const files& paths, token_format format, std::uint64_t header, bool raw = false);

  token_format format() const noexcept { return format_; }
  /// The number of tokens.
  std::uint64_t size() const noexcept { return firsts_.back(); }
  /// The range of `count` tokens from `first` on, or of as many as the first one's file has.
  file_range part(std::uint64_t first, std::uint64_t count) const noexcept;
  /// "train.bin: token 1234".
  std::string key(std::uint64_t token) const;
  /// Of the number of tokens, and of 64 pieces of them; independent of how they are split into files.
  std::uint64_t fingerprint() const noexcept { return fingerprint_; }
  /// The first token of each document. Reads all files, and blocks. \throws wick::error, also when no token
  /// ends a document
  std::vector<std::uint64_t> documents(std::int64_t end) const;
  /// Copies all tokens, in order. Reads all files, and blocks. \throws wick::error when a file can't be read,
  /// or has changed
  void read_into(std::byte* to) const;

 private:
  /// Calls f(const bytes&) with all tokens, piece by piece.
  template <class F>
  void for_each_piece(F&& f) const;
  std::size_t file_of(std::uint64_t token) const noexcept;
  std::vector<file_range> parts(std::uint64_t first, std::uint64_t count) const;
  std::uint64_t make_fingerprint() const;

  opened_files files_;
  token_format format_;
  std::uint64_t header_;
  std::vector<std::uint64_t> firsts_{0};  // each file's first token; then the number of tokens
  std::uint64_t fingerprint_ = 0;
};

/// Tokens that are still in their files: chunks() returns them, and read() reads them.
struct token_window {
  const token_store* from = nullptr;
  token_span span;
};

}  // namespace wick::detail
