// Implements text/detail/chunk_offsets.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cstring>

#include <wick/text/detail/chunk_offsets.hpp>

namespace wick::inline v0_1::detail {

chunk_offsets::chunk_offsets(std::uint64_t tokens, const chunk_plan& plan) noexcept
    : plan_(plan), size_(tokens <= plan.length ? 0 : (tokens - plan.length - 1) / plan.stride + 1) {}

chunk_offsets::chunk_offsets(const std::vector<std::uint64_t>& begins, std::uint64_t tokens,
                             const chunk_plan& plan)
    : plan_(plan) {
  for (std::size_t d = 0; d < begins.size(); ++d) {
    const std::uint64_t end = d + 1 < begins.size() ? begins[d + 1] : tokens;
    if (end - begins[d] < 2) continue;  // no token has a successor
    documents_.push_back({size_, begins[d], end});
    const std::uint64_t pairs = end - begins[d] - 1;
    // Chunks up to the one with the last pair; none begins after that.
    const std::uint64_t to_the_last =
        pairs <= plan.length ? 1 : (pairs - plan.length + plan.stride - 1) / plan.stride + 1;
    size_ += std::min(to_the_last, (pairs + plan.stride - 1) / plan.stride);
  }
  documents_.shrink_to_fit();
}

token_span chunk_offsets::at(std::uint64_t i) const noexcept {
  if (documents_.empty()) return {i * plan_.stride, plan_.length + 1, plan_.length, 0};
  const auto behind = std::upper_bound(documents_.begin(), documents_.end(), i,
                                       [](std::uint64_t c, const document& d) { return c < d.chunk; });
  const document& in = *(behind - 1);
  const std::uint64_t first = in.begin + (i - in.chunk) * plan_.stride;
  return {first, static_cast<std::size_t>(std::min<std::uint64_t>(plan_.length + 1, in.end - first)),
          plan_.length, *plan_.within_documents};
}

template <class T>
void document_borders::find(const std::byte* tokens, std::size_t count) {
  const T wanted = static_cast<T>(end_);
  if (static_cast<std::int64_t>(wanted) != end_) return;  // no token of this type has this value
  for (std::size_t i = 0; i < count; ++i) {
    T one;
    std::memcpy(&one, tokens + i * sizeof(T), sizeof(T));
    if (one == wanted) begins_.push_back(at_ + i + 1);
  }
}

void document_borders::take(const std::byte* tokens, std::size_t count) {
  switch (format_.size) {
    case 1:
      format_.has_sign ? find<std::int8_t>(tokens, count) : find<std::uint8_t>(tokens, count);
      break;
    case 2:
      format_.has_sign ? find<std::int16_t>(tokens, count) : find<std::uint16_t>(tokens, count);
      break;
    case 4:
      format_.has_sign ? find<std::int32_t>(tokens, count) : find<std::uint32_t>(tokens, count);
      break;
    default:
      find<std::int64_t>(tokens, count);
  }
  at_ += count;
}

}  // namespace wick::detail
