// Tokens in the binary format of a file or of memory, which become 64-bit numbers in their slot of a batch.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include <wick/ext/cache_bytes.hpp>
#include <wick/pipeline/sample.hpp>
#include <wick/pipeline/shape.hpp>

namespace wick::inline v0_1::detail {

template <class T>
concept token_number = std::integral<T> && !std::same_as<T, bool> && (sizeof(T) < 8 || std::is_signed_v<T>);

/// The binary format of a token: little-endian, like every machine that wick runs on.
struct token_format {
  std::uint8_t size;
  bool has_sign;

  template <token_number T>
  static constexpr token_format of() noexcept {
    static_assert(std::endian::native == std::endian::little, "wick: tokens are little-endian");
    return {sizeof(T), std::is_signed_v<T>};
  }
  friend bool operator==(token_format, token_format) = default;
};

/// Neither pointer needs to be aligned.
void widen_tokens(const std::byte* from, token_format format, std::size_t count, std::byte* to) noexcept;

/// A row of tokens: int64 [size()] in a batch, converted there from the original bytes, once. Filler follows
/// the tokens.
class token_ids {
 public:
  static constexpr std::int64_t ignored = -100;  ///< cross_entropy's ignore_index

  token_ids() noexcept = default;
  /// The first `count` tokens from `own`; then `filler`, up to `length`.
  token_ids(bytes own, token_format format, std::size_t count, std::size_t length,
            std::int64_t filler) noexcept
      : token_ids(own.data(), format, count, length, filler) {
    own_ = std::move(own);
  }
  /// The same from memory that outlives it.
  token_ids(const std::byte* from, token_format format, std::size_t count, std::size_t length,
            std::int64_t filler) noexcept
      : from_(from), count_(count), length_(length), filler_(filler), format_(format) {}

  std::size_t size() const noexcept { return length_; }
  std::int64_t operator[](std::size_t i) const noexcept {
    if (i >= count_) return filler_;
    std::int64_t out = 0;
    widen_tokens(from_ + i * format_.size, format_, 1, reinterpret_cast<std::byte*>(&out));
    return out;
  }

  shape extents() const { return {static_cast<std::int64_t>(length_)}; }
  dtype type() const noexcept { return dtype::int64; }
  void write_to(slot to) const noexcept;

  /// For caches.
  static constexpr std::string_view saved_as = "token_ids";
  token_ids clone() const;
  std::size_t kept_bytes() const noexcept { return own_.size(); }
  void save(cache_writer& out) const;
  static token_ids load(cache_reader& in);

 private:
  bytes own_;
  const std::byte* from_ = nullptr;
  std::size_t count_ = 0, length_ = 0;
  std::int64_t filler_ = 0;
  token_format format_{sizeof(std::int64_t), true};
};

/// A model's input and target: tokens, and the token that follows each.
using token_pair = sample<token_ids, token_ids>;

/// `count` tokens as input and target. The target is one token ahead; both are filled up to `length`.
struct token_span {
  std::uint64_t first = 0;  ///< in the stream
  std::size_t count = 0, length = 0;
  std::int64_t filler = 0;  ///< of the input

  /// `from`: the tokens, in memory that outlives the pair.
  token_pair pair(const std::byte* from, token_format format) const noexcept {
    return {{from, format, count - 1, length, filler},
            {from + format.size, format, count - 1, length, token_ids::ignored}};
  }
  /// The same, but the pair owns its bytes.
  token_pair pair(bytes own, token_format format) const;
};

}  // namespace wick::detail
