// Implements sources/memory.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>

#include <wick/sources/memory.hpp>

namespace wick::inline v0_1::detail {

array_rows::array_rows(std::shared_ptr<const void> owner, const std::byte* data, const row_format& format,
                       std::uint64_t count)
    : kept_(std::make_shared<const kept>(kept{std::move(owner), format})),
      data_(data),
      stride_(format.bytes),
      format_(&kept_->format),
      count_(count) {}

std::uint64_t array_rows::fingerprint() const noexcept {
  fingerprint_hash h;
  h.add(to_string(format_->type));
  for (const std::int64_t e : format_->extents) h.add(static_cast<std::uint64_t>(e));
  const std::uint64_t rows =
      std::min(size(), (std::uint64_t{16} << 20) / std::max<std::size_t>(stride_, 1) + 1);
  for (std::uint64_t r = 0; r < rows; ++r) h.add(data_ + r * size() / rows * stride_, stride_);
  return h.add(size()).value();
}

memory_rows::memory_rows(std::shared_ptr<const void> owner, const std::byte* data, const row_format& format,
                         std::vector<std::int64_t> targets)
    : rows_(std::move(owner), data, format, targets.size()),
      targets_(std::make_shared<const std::vector<std::int64_t>>(std::move(targets))),
      first_(targets_->data()) {
  if (targets_->empty()) throw error("in_memory: there are no targets, so no samples; give one a row");
}

std::uint64_t memory_rows::fingerprint() const noexcept {
  fingerprint_hash h;
  h.add(rows_.fingerprint());
  for (const std::int64_t t : targets()) h.add(static_cast<std::uint64_t>(t));
  return h.value();
}

}  // namespace wick::detail
