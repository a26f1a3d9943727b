// Implements sources/decode_raw.hpp. Included in exactly one file of a program.
#pragma once

#include <string>

#include <wick/io/detail/file_kind.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/sources/decode_raw.hpp>

namespace wick::inline v0_1::detail {

decode_raw_stage::decode_raw_stage(const shape& of, dtype type)
    : format_(std::make_shared<const row_format>(of, type)) {}

raw_array decode_raw_stage::operator()(bytes data, context&) const {
  if (data.size() != format_->bytes) {
    throw error(std::to_string(data.size()) + " bytes aren't an array " + to_string(format_->extents) +
                " of " + std::string(to_string(format_->type)) + ", which has " +
                std::to_string(format_->bytes) + "; check the shape, the type and the bytes that were read" +
                or_another_kind(data.text()));
  }
  refuse_packed(data.text());
  return {std::move(data), format_};
}

std::uint64_t decode_raw_stage::fingerprint() const noexcept {
  fingerprint_hash h;
  h.add(static_cast<std::uint64_t>(format_->type));
  for (const std::int64_t e : format_->extents) h.add(static_cast<std::uint64_t>(e));
  return h.value();
}

void check_struct(const bytes& data, std::size_t wanted) {
  if (data.size() != wanted) {
    throw error(std::to_string(data.size()) + " bytes were read, and the struct has " +
                std::to_string(wanted) +
                "; check the struct's padding (#pragma pack), and the bytes that were read" +
                or_another_kind(data.text()));
  }
  refuse_packed(data.text());
}

}  // namespace wick::detail
