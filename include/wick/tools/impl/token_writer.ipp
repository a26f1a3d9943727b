// Implements tools/detail/token_writer.hpp. Included in exactly one file of a program.
#pragma once

#include <wick/io/detail/replace_file.hpp>
#include <wick/io/detail/source_file.hpp>
#include <wick/tools/detail/token_writer.hpp>

namespace wick::inline v0_1::detail {

token_writer::token_writer(const std::string& path)
    : path_(path), file_(std::make_shared<file_replacement>(path, "tokens")) {
  buffer_.reserve(piece + sizeof(std::int64_t));
}

void token_writer::flush() {
  file_->write(buffer_);
  buffer_.clear();
}

std::uint64_t token_writer::finish() {
  if (count_ == 0) throw source_error(path_, "write_tokens", "there is no token to write");
  flush();
  file_->commit();
  return count_;
}

namespace {

std::string too_narrow_text(std::int64_t id, std::size_t size) {
  const std::string wider = std::in_range<std::uint32_t>(id)  ? "uint32_t"
                            : std::in_range<std::int32_t>(id) ? "int32_t"
                                                              : "int64_t";
  return std::to_string(id) + " doesn't fit into a token of " + std::to_string(size) +
         " bytes; write write_tokens<std::" + wider + ">(…), and read it with tokens<std::" + wider + ">(…)";
}

}  // namespace

void token_writer::refuse(std::int64_t id, std::size_t size) const {
  throw source_error(path_, "write_tokens", "token " + too_narrow_text(id, size));
}

void token_writer::refuse_end(std::int64_t id, std::size_t size) {
  throw error("write_tokens: .end_of_text = " + too_narrow_text(id, size));
}

}  // namespace wick::detail
