// A stream of tokens, in files or in memory, cut into chunks of one length: the training data of a language
// model.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wick/ext/cache_bytes.hpp>
#include <wick/ext/fingerprint.hpp>
#include <wick/ext/source.hpp>
#include <wick/io/read.hpp>
#include <wick/pipeline/pipeline.hpp>
#include <wick/pipeline/sample.hpp>
#include <wick/pipeline/shape.hpp>
#include <wick/sources/files.hpp>
#include <wick/text/detail/chunk_offsets.hpp>
#include <wick/text/detail/token_ids.hpp>
#include <wick/text/detail/token_store.hpp>

namespace wick::inline v0_1 {

/// Options of tokens().
struct tokens_options {
  /// Bytes before the first token of each file: 1024 in the files of llm.c.
  std::uint64_t header = 0;
  /// Also reads files that begin like a compressed file, an archive, or a web page: their bytes are tokens.
  bool raw = false;
};

/// Options of chunks().
struct chunks_options {
  /// Tokens from the beginning of one chunk to that of the next. Default: their length. With 1, a chunk
  /// begins at each token.
  std::optional<std::uint64_t> stride = {};
  /// The token that ends each document. No chunk crosses it, and the last chunk of a document is padded: the
  /// input with this token, the target with -100, which cross_entropy ignores. Default: chunks cross
  /// documents.
  std::optional<std::int64_t> within_documents = {};
};

/// Like chunks_options, for chunks that also mark the ends of documents.
struct segmented_chunks_options {
  /// The token that ends each document, for `.segments` of chunks(). It has no default, so that the compiler
  /// can distinguish chunks() with it from chunks() without it.
  struct document_end {
    std::int64_t token;
    constexpr document_end(std::int64_t number) noexcept : token(number) {}  // NOLINT: implicit on purpose
  };

  std::optional<std::uint64_t> stride = {};
  document_end segments;  ///< the token that ends each document
};

/// A chunk of tokens() with `.segments`, or a batch of them, where each field is [N, length]. Attention that
/// is masked where `segments` differ stays within documents.
template <class Tokens, class Numbers = Tokens>
struct segmented_chunk {
  Tokens data;        ///< int64
  Tokens target;      ///< int64: shifted by one token
  Numbers segments;   ///< int32: for each token of `data`, the number of its document in the chunk, from 1
  Numbers positions;  ///< int32: for each token, its number in that document's part of the chunk, from 0

  /// The type that batch() makes from its columns.
  template <class Data, class Target, class Segments, class Positions>
  using batch_of = segmented_chunk<Data, Segments>;
};

namespace detail {

/// An int32 for each token of a chunk.
class token_numbers {
 public:
  token_numbers() noexcept = default;
  explicit token_numbers(std::vector<std::int32_t> numbers) noexcept : numbers_(std::move(numbers)) {}
  std::size_t size() const noexcept { return numbers_.size(); }
  std::int32_t operator[](std::size_t i) const noexcept { return numbers_[i]; }
  shape extents() const { return {static_cast<std::int64_t>(numbers_.size())}; }
  dtype type() const noexcept { return dtype::int32; }
  void write_to(slot to) const noexcept;

  /// For caches.
  static constexpr std::string_view saved_as = "token_numbers";
  std::size_t kept_bytes() const noexcept { return numbers_.size() * sizeof(std::int32_t); }
  void save(cache_writer& out) const;
  static token_numbers load(cache_reader& in);

 private:
  std::vector<std::int32_t> numbers_;
};
/// The end token belongs to the document that it ends.
segmented_chunk<token_ids, token_numbers> in_segments(token_pair chunk, std::int64_t end);

/// The parameters of chunks(length, {.segments = end}).
struct segmented_plan {
  chunk_plan chunks;
  std::int64_t end;
};
/// A chunk of a file, and the token that ends documents.
struct segmented_window {
  token_window tokens;
  std::int64_t end;
};

/// The contents of a wick::token_files.
struct token_stream {
  std::shared_ptr<const token_store> store;
};

}  // namespace detail

/// A stream of tokens in files. It isn't a source yet; chunks() makes it one. Made by tokens(paths).
struct token_files : detail::token_stream {};

namespace detail {

/// The same in memory. Made by tokens(vector).
struct token_array {
  std::shared_ptr<const void> owner;
  const std::byte* data;
  std::uint64_t size;
  token_format format;
};

/// Made by tokens(paths) | chunks(length).
class token_chunks {
 public:
  token_chunks(token_files of, const chunk_plan& plan);
  std::uint64_t size() const noexcept { return places_->size(); }
  token_window at(std::uint64_t i) const noexcept { return {store_.get(), places_->at(i)}; }
  std::string key(std::uint64_t i) const { return store_->key(places_->at(i).first); }
  std::uint64_t fingerprint() const noexcept;

 private:
  std::shared_ptr<const token_store> store_;
  std::shared_ptr<const chunk_offsets> places_;
};

/// Made by tokens(vector) | chunks(length).
class array_chunks {
 public:
  array_chunks(token_array of, const chunk_plan& plan);
  std::uint64_t size() const noexcept { return places_->size(); }
  token_pair at(std::uint64_t i) const noexcept {
    const token_span span = places_->at(i);
    return span.pair(array_.data + span.first * array_.format.size, array_.format);
  }
  void prefetch(std::uint64_t i, std::size_t most) const noexcept {
    const token_span span = places_->at(i);
    prefetch_bytes(array_.data + span.first * array_.format.size, span.count * array_.format.size, most);
  }
  std::uint64_t fingerprint() const noexcept;

 private:
  token_array array_;
  std::shared_ptr<const chunk_offsets> places_;
};

/// The chunks of `Chunks` with their segments.
template <class Chunks>
class segmented_chunks : public Chunks {
 public:
  template <class Stream>
  segmented_chunks(Stream of, const segmented_plan& plan)
      : Chunks(std::move(of), plan.chunks), end_(plan.end) {}
  auto at(std::uint64_t i) const {
    if constexpr (std::same_as<Chunks, array_chunks>)
      return in_segments(Chunks::at(i), end_);
    else
      return segmented_window{Chunks::at(i), end_};
  }
  std::uint64_t fingerprint() const noexcept {
    return fingerprint_hash::of(Chunks::fingerprint(), static_cast<std::uint64_t>(end_));
  }

 private:
  std::int64_t end_;
};
/// \throws wick::error when no token of this type can be `end`
void require_token(token_format format, const char* option, std::int64_t end);

/// \throws wick::error when there are too few tokens for one chunk
inline token_chunks operator|(token_files of, const chunk_plan& plan) { return {std::move(of), plan}; }
inline array_chunks operator|(token_array of, const chunk_plan& plan) { return {std::move(of), plan}; }
/// \throws wick::error also when no token of this type can be the one that ends documents
inline segmented_chunks<token_chunks> operator|(token_files of, const segmented_plan& plan) {
  require_token(of.store->format(), "segments", plan.end);
  return {std::move(of), plan};
}
inline segmented_chunks<array_chunks> operator|(token_array of, const segmented_plan& plan) {
  require_token(of.format, "segments", plan.end);
  return {std::move(of), plan};
}

/// A stream without chunks has no samples: reports it in one error.
template <class Stream, class R>
  requires(std::same_as<std::remove_cvref_t<Stream>, token_files> ||
           std::same_as<std::remove_cvref_t<Stream>, token_array>)
auto operator|(Stream&&, const R&) {
  constexpr bool is_cut = std::same_as<R, chunk_plan> || std::same_as<R, segmented_plan>;
  static_assert(is_cut,
                "wick: tokens() is one long stream, not samples; write chunks(length) directly after it");
  return misfit_pipeline{};
}

/// How read() gets the tokens of a chunk, which may span two files or more.
template <>
struct read_shape<token_window> {
  static constexpr std::size_t usual = 1;
  template <class F>
  static void split(const token_window& where, F&& f) {
    for (std::uint64_t done = 0; done < where.span.count;) {
      const file_range part = where.from->part(where.span.first + done, where.span.count - done);
      f(part);
      done += part.length / where.from->format().size;
    }
  }
  static token_pair join(const token_window& where, std::span<range_part> parts) {
    if (parts.size() == 1) return where.span.pair(std::move(parts[0].content), where.from->format());
    bytes whole(where.span.count * where.from->format().size);
    std::size_t done = 0;
    for (range_part& part : parts) {
      const bytes some = std::move(part.content);  // freed once it is copied
      std::memcpy(whole.data() + done, some.data(), some.size());
      done += some.size();
    }
    return where.span.pair(std::move(whole), where.from->format());
  }
};
template <>
struct once_read<token_window> {
  using type = token_pair;
};
/// The same with segments.
template <>
struct read_shape<segmented_window> {
  using whole = read_shape<token_window>;
  static constexpr std::size_t usual = whole::usual;
  template <class F>
  static void split(const segmented_window& where, F&& f) {
    whole::split(where.tokens, f);
  }
  static segmented_chunk<token_ids, token_numbers> join(const segmented_window& where,
                                                        std::span<range_part> parts) {
    return in_segments(whole::join(where.tokens, parts), where.end);
  }
};
template <>
struct once_read<segmented_window> {
  using type = segmented_chunk<token_ids, token_numbers>;
};

}  // namespace detail

/// A stream of tokens in files that contain nothing else, as np.tofile() writes them (nanoGPT's train.bin):
/// `tokens("train.bin") | chunks(1024) | shuffle() | read() | batch(32)`. `T` is the type of the tokens in
/// the files: std::uint16_t unless you say otherwise, as in tokens<std::uint32_t>("train.bin"). Several files
/// are one stream, in order, and may split it at any token. They may be on servers, by URL. \throws
/// wick::error when a file is missing, is compressed, is in another format (.npy, a Git LFS pointer, …), or
/// isn't a whole number of tokens
template <detail::token_number T = std::uint16_t, class Paths>
  requires requires(const Paths& p) { files(p); }
token_files tokens(const Paths& paths, const tokens_options& options = {}) {
  return {std::make_shared<const detail::token_store>(files(paths), detail::token_format::of<T>(),
                                                      options.header, options.raw)};
}
template <detail::token_number T = std::uint16_t>
token_files tokens(std::initializer_list<std::string> paths, const tokens_options& options = {}) {
  return tokens<T>(files(paths), options);
}
/// The same for tokens in memory, which it takes ownership of. Its chunks need no read().
template <detail::token_number T>
detail::token_array tokens(std::vector<T> all) {
  auto owner = std::make_shared<const std::vector<T>>(std::move(all));
  const auto* data = reinterpret_cast<const std::byte*>(owner->data());
  const std::uint64_t size = owner->size();
  return {std::move(owner), data, size, detail::token_format::of<T>()};
}

/// Reads all tokens of the files into memory:
/// `in_memory(tokens("train.bin")) | chunks(1024) | shuffle() | batch(32)` needs no read(), and takes chunks
/// about as fast as memory delivers them. Each process has its own copy. Blocks. \throws wick::error when a
/// file can't be read or changes meanwhile
detail::token_array in_memory(const token_files& of);

/// Cuts tokens() into samples of one length: sample i has tokens [i · stride, i · stride + length) as its
/// `data`, and the same shifted by one token as its `target`, both int64 [N, length] in a batch. By default,
/// each token is in `data` once, and chunks cross the borders of documents, whose end is a token like any
/// other. With `.stride = 1`, a chunk begins at each token, as nanoGPT draws them. Tokens left at the end are
/// dropped.
inline detail::chunk_plan chunks(std::size_t length, const chunks_options& options = {}) {
  if (length == 0) throw error("chunks: a length of 0 tokens; give at least 1");
  if (options.stride == 0u) throw error("chunks: a stride of 0 tokens; give at least 1, or leave it out");
  return {length, options.stride.value_or(length), options.within_documents};
}
/// The same chunks as segmented_chunk<>, which also gives the document of each token:
/// `chunks(1024, {.segments = 50256})`, where 50256 ends each document. A document that begins in an earlier
/// chunk has its own segment in this one, with positions from 0, like the pieces of a sample in pack().
inline detail::segmented_plan chunks(std::size_t length, const segmented_chunks_options& options) {
  return {chunks(length, {.stride = options.stride}), options.segments.token};
}

}  // namespace wick
