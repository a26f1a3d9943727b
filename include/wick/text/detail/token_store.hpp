/// \file
/// Files of tokens as one stream: which file has which of them.
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
  /// \param raw     files that begin as another format does are tokens, too
  token_store(const files& paths, token_format format, std::uint64_t header, bool raw = false);

  token_format format() const noexcept { return format_; }
  /// In tokens.
  std::uint64_t size() const noexcept { return firsts_.back(); }
  /// Where `count` tokens from `first` on lie, or as many of them as the file has in which the first lies.
  file_range part(std::uint64_t first, std::uint64_t count) const noexcept;
  /// "train.bin: token 1234".
  std::string key(std::uint64_t token) const;
  /// Of how many tokens there are, and of 64 pieces of them; the same however they are cut into files.
  std::uint64_t fingerprint() const noexcept { return fingerprint_; }
  /// The first token of each document. Reads all files, and blocks. \throws wick::error, also when there is
  /// no token that ends one
  std::vector<std::uint64_t> documents(std::int64_t end) const;
  /// All tokens, side by side. Reads all files, and blocks. \throws wick::error when one can't be read, or
  /// has changed
  void read_into(std::byte* to) const;

 private:
  /// Calls f(const bytes&) with all tokens, some at a time.
  template <class F>
  void for_each_piece(F&& f) const;
  std::size_t file_of(std::uint64_t token) const noexcept;
  std::vector<file_range> parts(std::uint64_t first, std::uint64_t count) const;
  std::uint64_t make_fingerprint() const;

  opened_files files_;
  token_format format_;
  std::uint64_t header_;
  std::vector<std::uint64_t> firsts_{0};  // each file's first token; last, their number
  std::uint64_t fingerprint_ = 0;
};

/// Tokens that are still in their files: what chunks() gives and read() takes.
struct token_window {
  const token_store* from = nullptr;
  token_span span;
};

}  // namespace wick::detail
