/// \file
/// Sources of text: each line or each document of some files is a sample.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>

#include <wick/ext/file_range.hpp>
#include <wick/sources/detail/file_index.hpp>
#include <wick/sources/files.hpp>

namespace wick::inline v0_1 {

/// Options of lines().
struct lines_options {
  /// Where the index is kept between runs, a file of its own; empty: it is made at each start.
  std::string index = {};
  /// Lines without a character are left out; else they are samples of no bytes.
  bool skip_empty = false;
};

/// Options of documents().
struct documents_options {
  /// What stands between two documents: "<|endoftext|>". Empty: one or more empty lines.
  std::string separator = {};
  /// Where the index is kept between runs, a file of its own; empty: it is made at each start.
  std::string index = {};
};

namespace detail {

struct text_rule;

/// Lines or documents of text files: where each lies. Made by lines() and documents().
class text_samples {
 public:
  text_samples(const files& paths, const lines_options& options);
  text_samples(const files& paths, const documents_options& options);

  std::uint64_t size() const noexcept { return index_->size(); }
  file_range at(std::uint64_t i) const noexcept { return index_->at(i); }
  /// "corpus/a.txt:17", or "corpus/a.txt: byte 1234" of what is no line's number.
  std::string key(std::uint64_t i) const;
  std::uint64_t fingerprint() const noexcept { return index_->fingerprint(); }
  /// What went wrong, such as writing the index; empty: nothing.
  const std::string& note() const noexcept { return index_->note(); }
  /// Bytes that were read to make the index; 0 when it had been kept.
  std::uint64_t bytes_scanned() const noexcept { return index_->bytes_scanned(); }

 private:
  text_samples(const files& paths, const char* who, const text_rule& rule, const std::string& index);

  std::shared_ptr<const file_index> index_;
  bool numbered_;  // each line is a sample
};

template <class Paths>
concept paths_of_files = requires(const Paths& p) { files(p); };

}  // namespace detail

/// Each line of some files is a sample, in their order: `lines("corpus/*.txt") | shuffle() | read()`.
/// `paths`: a pattern or a list, as files() takes them. `at(i)` says where line i lies, without its "\n" or
/// "\r\n"; bytes are passed as they are, whether they are UTF-8 or not. The files are read through once,
/// here. The beginnings of lines are kept in memory, about 2 bytes a line. With `.index = "corpus.index"`
/// they are kept on disk, too, and files of the same size and time of change are not read again. A damaged
/// index is made again; one that can't be written is a note in the report. A file that changes later is an
/// error of each sample that is read from it. \throws wick::error when a file is missing, compressed or
/// changes meanwhile, there is no line, or the file at `.index` is no index
template <detail::paths_of_files Paths>
detail::text_samples lines(const Paths& paths, const lines_options& options = {}) {
  return {files(paths), options};
}
inline detail::text_samples lines(std::initializer_list<std::string> paths,
                                  const lines_options& options = {}) {
  return {files(paths), options};
}

/// Documents of some files, which are samples of any length: what lies between empty lines, or between
/// separators, `documents("corpus.txt", {.separator = "<|endoftext|>"})`. Line breaks around a document are
/// not part of it, and a document of nothing else is none. (Where each file is a document: files().) For the
/// rest see lines().
template <detail::paths_of_files Paths>
detail::text_samples documents(const Paths& paths, const documents_options& options = {}) {
  return {files(paths), options};
}
inline detail::text_samples documents(std::initializer_list<std::string> paths,
                                      const documents_options& options = {}) {
  return {files(paths), options};
}

}  // namespace wick
