/// \file
/// The bodies of what sources/csv.hpp and sources/detail/csv_text.hpp declare. Included in exactly one file
/// of a program.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <wick/io/detail/file_io.hpp>
#include <wick/io/detail/source_file.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/sources/csv.hpp>
#include <wick/sources/detail/csv_text.hpp>
#include <wick/sources/detail/gzip_file.hpp>
#include <wick/sources/files.hpp>

namespace wick::detail {

// ---- the text ----

namespace {

std::string plain_text(const opened_file& from) {
  std::string out(static_cast<std::size_t>(from.stamp.size), '\0');
  out.resize(read_up_to(from.file.get(), reinterpret_cast<std::byte*>(out.data()), out.size(), 0));
  return out;
}

std::string unpacked_text(const opened_file& from, const std::string& path) {
  gzip_file in(from, path, "csv");
  std::string out;
  for (std::size_t size = 0;;) {
    const std::size_t room = std::max(std::size_t{4} << 20, size);
    out.resize(size + room);
    const std::size_t n = in.fill(out.data() + size, room);
    size += n;
    if (n == room) continue;
    out.resize(size);
    return out;
  }
}

}  // namespace

std::string csv_text::read(const std::string& path) {
  const opened_file opened = open_regular(path, "csv");
  std::string out = plain_text(opened);
  if (gzip_file::is_packed(out)) out = unpacked_text(opened, path);
  require_unchanged(opened, path, "csv");
  if (out.starts_with("\xEF\xBB\xBF")) out.erase(0, 3);
  if (const auto nul = out.find('\0'); nul != std::string::npos) {
    throw source_error(path, "csv",
                       "has a NUL at byte " + std::to_string(nul) +
                           ", so it is no text in UTF-8; convert it (iconv -f UTF-16 -t UTF-8)");
  }
  return out;
}

csv_text::csv_text(const std::string& path, char separator, bool header)
    : text_(read(path)), separator_(separator) {
  if (separator == '"' || separator == '\n' || separator == '\r')
    throw error("csv: a separator that ends rows or quotes fields can't part them; give ',', ';' or '\\t'");
  find_rows(path);
  if (begins_.empty()) throw source_error(path, "csv", "has no row");
  begins_.push_back(text_.size());
  std::vector<std::string_view> raw;
  split(row(0), raw);
  std::string scratch;
  for (const std::string_view one : raw) first_.emplace_back(unquoted(one, scratch));
  if (header) begins_.erase(begins_.begin());
  begins_.shrink_to_fit();
}

/// \throws wick::error when a row has another number of fields than the first
void csv_text::find_rows(const std::string& path) {
  const char* const all = text_.data();
  const std::size_t size = text_.size();
  std::size_t wanted = 0;
  for (std::size_t begin = 0; begin < size;) {
    std::size_t at = begin, fields = 1;
    bool field_begins = true, open = false, empty = true;
    for (; at < size; ++at) {
      const char c = all[at];
      if (open) {
        if (c == '"') open = at + 1 < size && all[at + 1] == '"' && ++at != 0;
        continue;
      }
      if (c == '\n') break;
      open = c == '"' && field_begins;
      field_begins = c == separator_;
      fields += field_begins ? 1u : 0u;
      empty = empty && c == '\r';
    }
    if (open) {
      throw source_error(path, "csv",
                         "line " + std::to_string(line_at(begin)) +
                             ": a quote is not closed; write a quote in a quoted field twice");
    }
    if (!empty) {
      if (wanted == 0) wanted = fields;
      if (fields != wanted) {
        throw source_error(path, "csv",
                           "line " + std::to_string(line_at(begin)) + " has " + std::to_string(fields) +
                               " fields, and line " +
                               std::to_string(line_at(static_cast<std::size_t>(begins_[0]))) + " has " +
                               std::to_string(wanted) +
                               "; quote fields that have a separator in them, or say .separator");
      }
      begins_.push_back(begin);
    }
    begin = at + 1;
  }
}

std::string_view csv_text::row(std::uint64_t r) const noexcept {
  const auto begin = static_cast<std::size_t>(begins_[static_cast<std::size_t>(r)]),
             end = static_cast<std::size_t>(begins_[static_cast<std::size_t>(r) + 1]);
  std::string_view out(text_.data() + begin, end - begin);
  while (out.ends_with('\n') || out.ends_with('\r')) out.remove_suffix(1);
  return out;
}

void csv_text::split(std::string_view row, std::vector<std::string_view>& to) const {
  to.clear();
  for (std::size_t begin = 0;;) {
    std::size_t end = begin;
    if (begin < row.size() && row[begin] == '"') {
      bool open = true;
      for (end = begin + 1; end < row.size() && (open || row[end] != separator_); ++end) {
        if (open && row[end] == '"') open = end + 1 < row.size() && row[end + 1] == '"' && ++end != 0;
      }
    } else {
      end = std::min(row.find(separator_, begin), row.size());
    }
    to.push_back(row.substr(begin, end - begin));
    if (end >= row.size()) return;
    begin = end + 1;
  }
}

std::string_view csv_text::field(std::string_view row, std::size_t column, std::string& scratch) const {
  if (row.find('"') == std::string_view::npos) {
    for (; column > 0; --column) row.remove_prefix(row.find(separator_) + 1);
    return row.substr(0, row.find(separator_));
  }
  std::vector<std::string_view> raw;
  split(row, raw);
  return unquoted(raw[column], scratch);
}

std::string_view csv_text::unquoted(std::string_view raw, std::string& scratch) {
  if (!raw.starts_with('"')) return raw;
  scratch.clear();
  raw.remove_prefix(1);
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] == '"') {
      if (i + 1 >= raw.size() || raw[i + 1] != '"') {
        scratch.append(raw.substr(i + 1));  // some writers go on behind the quote
        break;
      }
      ++i;
    }
    scratch += raw[i];
  }
  return scratch;
}

std::uint64_t csv_text::line_at(std::size_t begin) const noexcept {
  return 1 + static_cast<std::uint64_t>(
                 std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(begin), '\n'));
}

// ---- columns ----

namespace {

/// "PATH: csv: line 7, column \"label\": …"
error field_error(const std::string& path, const csv_text& text, std::uint64_t row, const std::string& column,
                  std::string_view field, const std::string& what) {
  return source_error(path, "csv",
                      "line " + std::to_string(text.line_of(row)) + ", column \"" + printable(column) +
                          "\": \"" + printable(field.substr(0, 64)) + "\" " + what);
}

std::string_view trimmed(std::string_view field) noexcept {
  while (field.starts_with(' ') || field.starts_with('\t')) field.remove_prefix(1);
  while (field.ends_with(' ') || field.ends_with('\t')) field.remove_suffix(1);
  return field;
}

}  // namespace

}  // namespace wick::detail

namespace wick {

csv::csv(const std::string& path, const detail::csv_options& options)
    : path_(path), options_(options), text_(path, options.separator, options.header) {
  for (std::size_t i = 0; i < text_.first().size(); ++i)
    columns_.push_back(options.header ? text_.first()[i] : std::to_string(i));
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    if (std::find(columns_.begin(), columns_.begin() + static_cast<std::ptrdiff_t>(i), columns_[i]) !=
        columns_.begin() + static_cast<std::ptrdiff_t>(i)) {
      throw detail::source_error(path, "csv",
                                 "two columns are called \"" + detail::printable(columns_[i]) +
                                     "\"; rename one, or say .header = false where there is none");
    }
  }
}

std::size_t csv::number_of(std::string_view column) const {
  const auto found = std::find(columns_.begin(), columns_.end(), column);
  if (found == columns_.end()) {
    std::string all;
    for (const std::string& one : columns_) all += (all.empty() ? "" : ", ") + detail::printable(one);
    throw detail::source_error(path_, "csv",
                               "no column is called \"" + detail::printable(column) + "\"; there are " + all);
  }
  return static_cast<std::size_t>(found - columns_.begin());
}

files csv::files(std::string_view column, const detail::csv_files_options& options) const {
  const std::size_t slash = path_.rfind('/');
  std::string root = !options.root.empty()        ? options.root
                     : slash == std::string::npos ? std::string()
                                                  : path_.substr(0, slash + 1);
  if (!root.empty() && !root.ends_with('/')) root += '/';
  const std::size_t number = number_of(column);
  std::vector<std::string> paths;
  paths.reserve(static_cast<std::size_t>(size()));
  text_.each(number, [&](std::uint64_t row, std::string_view field) {
    if (field.empty())
      throw detail::field_error(path_, text_, row, columns_[number], field,
                                "names no file; leave the row out");
    std::string path = options.prefix + std::string(field) + options.suffix;
    paths.push_back(path.starts_with('/') ? std::move(path) : root + path);
  });
  return wick::files(paths);
}

std::vector<std::int64_t> csv::integers(std::string_view column) const {
  const std::size_t number = number_of(column);
  std::vector<std::int64_t> out(static_cast<std::size_t>(size()));
  text_.each(number, [&](std::uint64_t row, std::string_view field) {
    const std::string_view digits = detail::trimmed(field);
    const auto [end, fault] =
        std::from_chars(digits.data(), digits.data() + digits.size(), out[static_cast<std::size_t>(row)]);
    if (fault != std::errc() || end != digits.data() + digits.size()) {
      throw detail::field_error(
          path_, text_, row, columns_[number], field,
          "is no whole number; for names of classes write classes(), for fractions numbers()");
    }
  });
  return out;
}

detail::csv_classes csv::classes(std::string_view column) const {
  const std::size_t number = number_of(column);
  detail::csv_classes out;
  text_.each(number, [&](std::uint64_t, std::string_view field) {
    const auto at = std::lower_bound(out.names.begin(), out.names.end(), field);
    if (at == out.names.end() || *at != field) out.names.insert(at, std::string(field));
  });
  out.labels.reserve(static_cast<std::size_t>(size()));
  text_.each(number, [&](std::uint64_t, std::string_view field) {
    const auto at = std::lower_bound(out.names.begin(), out.names.end(), field);
    out.labels.push_back(at - out.names.begin());
  });
  return out;
}

std::vector<std::string> csv::texts(std::string_view column) const {
  std::vector<std::string> out;
  out.reserve(static_cast<std::size_t>(size()));
  text_.each(number_of(column), [&](std::uint64_t, std::string_view field) { out.emplace_back(field); });
  return out;
}

detail::array_rows csv::numbers(const std::vector<std::string>& columns) const {
  if (columns.empty()) throw error("csv: numbers() of no column; name at least one");
  std::vector<std::size_t> which;
  for (const std::string& column : columns) which.push_back(number_of(column));
  auto kept = std::make_shared<std::vector<float>>();
  std::vector<float>& out = *kept;
  out.reserve(static_cast<std::size_t>(size()) * which.size());
  text_.each(which, [&](std::uint64_t row, std::size_t c, std::string_view field) {
    std::string_view digits = detail::trimmed(field);
    if (digits.starts_with('+')) digits.remove_prefix(1);
    float n = 0;
    if (digits.empty() && options_.empty_number) {
      n = static_cast<float>(*options_.empty_number);
    } else {
      const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
      if (digits.empty() || fault != std::errc() || end != digits.data() + digits.size()) {
        throw detail::field_error(path_, text_, row, columns[c], field,
                                  digits.empty() ? "is no number; say {.empty_number = NAN} for gaps"
                                                 : "is no number, or one that a float can't hold");
      }
    }
    out.push_back(n);
  });
  const auto* const first = reinterpret_cast<const std::byte*>(out.data());
  return {std::move(kept), first, {shape{static_cast<std::int64_t>(which.size())}, dtype::float32}, size()};
}

}  // namespace wick
