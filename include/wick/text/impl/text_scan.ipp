// Implements text/detail/text_scan.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cstring>
#include <iterator>
#include <string_view>
#include <vector>

#include <wick/ext/fingerprint.hpp>
#include <wick/io/detail/file_kind.hpp>
#include <wick/io/detail/object_store.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/text/detail/text_scan.hpp>

namespace wick::inline v0_1::detail {

std::uint64_t text_rule::fingerprint() const noexcept {
  fingerprint_hash h;
  return h.add(std::uint64_t{by}).add(std::uint64_t{keep_empty}).add(separator).value();
}

std::size_t text_scan::take(const char* from, std::size_t size, bool last) {
  return rule_->by == text_rule::separated ? take_separated(from, size, last) : take_lines(from, size, last);
}

std::size_t text_scan::take_lines(const char* from, std::size_t size, bool last) {
  const char* p = from;
  const char* const behind = from + size;
  while (p != behind) {
    const auto* const end =
        static_cast<const char*>(std::memchr(p, '\n', static_cast<std::size_t>(behind - p)));
    if (end == nullptr) break;
    const bool two = end != from ? end[-1] == '\r' : carriage_return_;
    const std::uint64_t offset = at_ + static_cast<std::uint64_t>(end - from);
    line(begin_, offset - begin_ - (two ? 1 : 0));
    begin_ = offset + 1;
    p = end + 1;
  }
  at_ += size;
  if (size != 0) carriage_return_ = behind[-1] == '\r';
  if (last) {
    if (begin_ != at_) line(begin_, at_ - begin_);
    end_paragraph();
  }
  return size;
}

void text_scan::line(std::uint64_t offset, std::uint64_t length) {
  if (rule_->by == text_rule::line) {
    if (length != 0 || rule_->keep_empty) out_->add({offset, length});
  } else if (length == 0) {
    end_paragraph();
  } else {
    if (!open_) paragraph_ = offset;
    open_ = true;
    end_ = offset + length;
  }
}

void text_scan::end_paragraph() {
  if (open_) out_->add({paragraph_, end_ - paragraph_});
  open_ = false;
}

std::size_t text_scan::take_separated(const char* from, std::size_t size, bool last) {
  const std::string_view text(from, size), separator = rule_->separator;
  const auto is_break = [](char c) { return c == '\n' || c == '\r'; };
  // Moves end_ after the last byte of text[low, high) that isn't a line break, if there is one.
  const auto content_end = [&](std::size_t low, std::size_t high) {
    while (high != low && is_break(text[high - 1])) --high;
    if (high != low) end_ = at_ + high;
  };
  const auto find_begin = [&](std::size_t low, std::size_t high) {
    if (open_) return;
    while (low != high && is_break(text[low])) ++low;
    begin_ = at_ + low;
    open_ = low != high;
  };
  const auto close = [&] {
    if (open_ && end_ > begin_) out_->add({begin_, end_ - begin_});
    open_ = false;
  };
  std::size_t p = 0;
  for (;;) {
    const std::size_t found = text.find(separator, p);
    // A separator may begin in the remaining bytes.
    const std::size_t kept = last ? 0 : std::min(separator.size() - 1, size - p);
    const std::size_t to = found != std::string_view::npos ? found : size - kept;
    find_begin(p, to);
    content_end(p, to);
    p = to;
    if (found == std::string_view::npos) break;
    close();
    p += separator.size();
  }
  if (last) close();
  at_ += p;
  return p;
}

/// \throws wick::error for a compressed or binary file, and for a web page without a matching extension
inline void require_text(std::string_view start, std::string_view path) {
  const bool is_ascii = !start.empty() && start[0] >= ' ' && start[0] <= '~';
  const file_kind found = kind_of_file(start, is_ascii ? certainty::sure : certainty::likely);
  if (!found) return;
  const std::string_view name = without_query(path), stem = name.substr(name.rfind('/') + 1);
  const std::string_view extension = stem.substr(std::min(stem.rfind('.'), stem.size()));
  constexpr std::string_view pages[] = {".html", ".htm", ".xhtml", ".xml", ".svg"};
  const bool meant = std::find(std::begin(pages), std::end(pages), extension) != std::end(pages);
  if (found.is != file_kind::family::page) throw error(found.text());
  if (!meant) throw error(found.text() + ". If it is the text to train on, name it .html or .xml");
}

file_extents scan_text(const opened_files::look& file, const text_rule& rule) {
  file_extents out;
  text_scan scan(rule, out);
  const auto piece = static_cast<std::size_t>(std::min<std::uint64_t>(file.piece(), file.size() + 1));
  std::vector<std::byte> buffer(piece + rule.separator.size());
  file.read_ahead(true);
  std::size_t kept = 0;
  for (std::uint64_t offset = 0;;) {
    const std::size_t n = file.read(buffer.data() + kept, piece, offset);
    if (offset == 0) require_text({reinterpret_cast<const char*>(buffer.data()), n}, file.where().path);
    offset += n;
    const std::size_t there = kept + n,
                      done = scan.take(reinterpret_cast<const char*>(buffer.data()), there, n < piece);
    if (n < piece) break;
    kept = there - done;
    std::memmove(buffer.data(), buffer.data() + done, kept);
  }
  file.read_ahead(false);
  return out;
}

}  // namespace wick::detail
