// The places of chunks in a stream of tokens.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <wick/text/detail/token_ids.hpp>

namespace wick::inline v0_1::detail {

/// The options of chunks(length).
struct chunk_plan {
  std::size_t length = 0;
  std::uint64_t stride = 0;
  std::optional<std::int64_t> within_documents = {};
};

class chunk_offsets {
 public:
  /// For `tokens` in one stream.
  chunk_offsets(std::uint64_t tokens, const chunk_plan& plan) noexcept;
  /// For documents that begin at `begins`; the last one ends at `tokens`.
  chunk_offsets(const std::vector<std::uint64_t>& begins, std::uint64_t tokens, const chunk_plan& plan);

  std::uint64_t size() const noexcept { return size_; }
  token_span at(std::uint64_t i) const noexcept;
  const chunk_plan& plan() const noexcept { return plan_; }

 private:
  struct document {
    std::uint64_t chunk, begin, end;  // its first chunk; its tokens
  };

  chunk_plan plan_;
  std::uint64_t size_ = 0;
  std::vector<document> documents_;  // empty: chunks may cross documents
};

/// Finds the first token of each document, in tokens that are given piece by piece.
class document_borders {
 public:
  document_borders(token_format format, std::int64_t end) noexcept : format_(format), end_(end) {}
  void take(const std::byte* tokens, std::size_t count);
  /// Documents that end with the token; one more may follow.
  std::size_t ended() const noexcept { return begins_.size() - 1; }
  const std::vector<std::uint64_t>& begins() const noexcept { return begins_; }

 private:
  template <class T>
  void find(const std::byte* tokens, std::size_t count);

  token_format format_;
  std::int64_t end_;
  std::uint64_t at_ = 0;
  std::vector<std::uint64_t> begins_{0};
};

}  // namespace wick::detail
