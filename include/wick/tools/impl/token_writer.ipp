/// \file
/// The bodies of what tools/detail/token_writer.hpp declares. Included in exactly one file of a program.
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

void token_writer::refuse(std::int64_t id, std::size_t size) const {
  throw source_error(path_, "write_tokens",
                     "token " + std::to_string(id) + " does not fit into " + std::to_string(size) +
                         " bytes of this type; write write_tokens<std::uint32_t>(…), and read it with "
                         "tokens<std::uint32_t>(…)");
}

void token_writer::refuse_end(std::int64_t id, std::size_t size) {
  throw error("write_tokens: .end_of_text is " + std::to_string(id) + ", which does not fit into " +
              std::to_string(size) +
              " bytes of this type; write write_tokens<std::uint32_t>(…), and read it with "
              "tokens<std::uint32_t>(…)");
}

}  // namespace wick::detail
