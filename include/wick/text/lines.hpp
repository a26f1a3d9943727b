// Sources of text: each line or each document in files is a sample.
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
  /// A file of its own that keeps the index between runs. Empty: each start makes the index again.
  std::string index = {};
  /// Leaves out empty lines; otherwise they are samples of 0 bytes.
  bool skip_empty = false;
};

/// Options of documents().
struct documents_options {
  /// The separator between two documents: "<|endoftext|>". Empty: one or more empty lines.
  std::string separator = {};
  /// A file of its own that keeps the index between runs. Empty: each start makes the index again.
  std::string index = {};
};

namespace detail {

struct text_rule;

/// The file ranges of lines or documents in text files. Made by lines() and documents().
class text_samples {
 public:
  text_samples(const files& paths, const lines_options& options);
  text_samples(const files& paths, const documents_options& options);

  std::uint64_t size() const noexcept { return index_->size(); }
  file_range at(std::uint64_t i) const noexcept { return index_->at(i); }
  /// "corpus/a.txt:17" for lines(); "corpus/a.txt: byte 1234" for documents(), and for lines() with
  /// `.skip_empty`.
  std::string key(std::uint64_t i) const;
  std::uint64_t fingerprint() const noexcept { return index_->fingerprint(); }
  /// A problem, such as an index that couldn't be written; empty if there is none.
  const std::string& note() const noexcept { return index_->note(); }
  /// The number of bytes read to make the index; 0 if a kept index was used.
  std::uint64_t bytes_scanned() const noexcept { return index_->bytes_scanned(); }

 private:
  text_samples(const files& paths, const char* who, const text_rule& rule, const std::string& index);

  std::shared_ptr<const file_index> index_;
  bool numbered_;  // each line is a sample, empty ones included
};

template <class Paths>
concept paths_of_files = requires(const Paths& p) { files(p); };

}  // namespace detail

/// Each line of the files is a sample, in order: `lines("corpus/*.txt") | shuffle() | read()`. `paths` is a
/// pattern or a list, as for files(). `at(i)` is the file range of line i, without its "\n" or "\r\n". Bytes
/// are passed unchanged, whether they are UTF-8 or not. lines() reads the files once and keeps the beginnings
/// of lines in memory, in about 2 bytes a line. With `.index = "corpus.index"` it keeps them on disk, too,
/// and doesn't read files of the same size and modification time again. A damaged index is made again; an
/// index that can't be written is a note in the report. A file that changes later is an error of each sample
/// that is read from it. \throws wick::error when a file is missing, is compressed, or changes meanwhile,
/// when there is no line, or when the file at `.index` isn't an index
template <detail::paths_of_files Paths>
detail::text_samples lines(const Paths& paths, const lines_options& options = {}) {
  return {files(paths), options};
}
inline detail::text_samples lines(std::initializer_list<std::string> paths,
                                  const lines_options& options = {}) {
  return {files(paths), options};
}

/// Each document of the files is a sample, of any length. Empty lines or a separator divide documents:
/// `documents("corpus.txt", {.separator = "<|endoftext|>"})`. Line breaks around a document aren't part of
/// it, and line breaks alone aren't a document. (If each file is a document, use files().) For the rest, see
/// lines().
template <detail::paths_of_files Paths>
detail::text_samples documents(const Paths& paths, const documents_options& options = {}) {
  return {files(paths), options};
}
inline detail::text_samples documents(std::initializer_list<std::string> paths,
                                      const documents_options& options = {}) {
  return {files(paths), options};
}

}  // namespace wick
