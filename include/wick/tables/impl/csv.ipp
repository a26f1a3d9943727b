// Implements tables/csv.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include <wick/io/detail/numbers.hpp>
#include <wick/io/detail/object_store.hpp>
#include <wick/io/detail/percent_encoding.hpp>
#include <wick/io/detail/source_file.hpp>
#include <wick/pipeline/detail/names.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/tables/csv.hpp>

namespace wick::inline v0_1::detail {

namespace {

/// "PATH: csv: line 7, column \"label\": …"
error field_error(const std::string& path, const csv_text& text, std::uint64_t row, const std::string& column,
                  std::string_view field, const std::string& what) {
  return source_error(path, "csv",
                      "line " + std::to_string(text.line_of(row)) + ", column " + shown_name(column) + ": " +
                          shown_name(field.substr(0, 64)) + " " + what);
}

/// The end of a message: describes a field that isn't a number.
std::string no_number(std::string_view field, char separator) {
  const std::string_view text = bare_number(field);
  const std::size_t comma = text.find(',');
  float n = 0;
  if (is_missing(text)) return "isn't a number; set .empty_number = NAN for gaps";
  if (comma != std::string_view::npos && separator != ',' &&
      parse_float(std::string(text).replace(comma, 1, "."), n) == float_fault::none)
    return "isn't a number: it has a decimal comma; set .decimal = ','";
  return "isn't a number";
}

}  // namespace

}  // namespace wick::detail

namespace wick::inline v0_1 {

csv::csv(const std::string& path, const csv_options& options)
    : path_(path), options_(options), text_(path, options.separator, options.header) {
  for (std::size_t i = 0; i < text_.first().size(); ++i)
    columns_.push_back(options.header ? text_.first()[i] : std::to_string(i));
  std::vector<std::string_view> sorted(columns_.begin(), columns_.end());
  std::sort(sorted.begin(), sorted.end());
  if (const auto twice = std::adjacent_find(sorted.begin(), sorted.end()); twice != sorted.end()) {
    throw detail::source_error(path, "csv",
                               "two columns are called \"" + detail::printable(*twice) +
                                   "\"; rename one, or say .header = false where there is none");
  }
}

std::size_t csv::number_of(std::string_view column) const {
  const auto found = std::find(columns_.begin(), columns_.end(), column);
  if (found == columns_.end()) {
    throw detail::source_error(path_, "csv",
                               detail::no_such_name("column", column, columns_) +
                                   (options_.header ? "; say .header = false where the first row has values, "
                                                      "and .separator where it is another one"
                                                    : ""));
  }
  return static_cast<std::size_t>(found - columns_.begin());
}

csv csv::where(std::string_view column, std::string_view text) const {
  const std::size_t number = number_of(column);
  std::vector<std::uint64_t> rows;
  std::vector<std::string> others;  // a few, for the message
  text_.each(number, [&](std::uint64_t row, std::string_view field) {
    if (field == text)
      rows.push_back(row);
    else if (rows.empty() && others.size() < 8 &&
             std::find(others.begin(), others.end(), field) == others.end())
      others.emplace_back(field);
  });
  if (rows.empty()) {
    throw detail::source_error(path_, "csv",
                               "no row has " + detail::shown_name(text) + " in column " +
                                   detail::shown_name(column) + "; there are " + detail::shown_names(others) +
                                   (others.size() == 8 ? ", …" : "") + detail::near_name(text, others));
  }
  csv out = *this;
  out.text_.pick(std::move(rows));
  return out;
}

files csv::files(std::string_view column, const csv_files_options& options) const {
  const std::size_t slash = path_.rfind('/');
  std::string root = !options.root.empty()        ? options.root
                     : slash == std::string::npos ? std::string()
                                                  : path_.substr(0, slash + 1);
  if (!root.empty() && !root.ends_with('/')) root += '/';
  // Names aren't URLs: characters with a meaning in URLs are encoded.
  const bool on_web = root.starts_with("http://") || root.starts_with("https://");
  const std::size_t number = number_of(column);
  std::vector<std::string> paths;
  paths.reserve(static_cast<std::size_t>(size()));
  text_.each(number, [&](std::uint64_t row, std::string_view field) {
    if (field.empty())
      throw detail::field_error(path_, text_, row, columns_[number], field,
                                "names no file; leave the row out");
    std::string path = options.prefix + std::string(field) + options.suffix;
    if (!path.starts_with('/') && !detail::is_url(path))
      path = root + (on_web ? detail::percent_encoded(path, detail::slashes::kept) : path);
    paths.push_back(std::move(path));
  });
  return wick::files(paths);
}

std::vector<std::int64_t> csv::integers(std::string_view column) const {
  const std::size_t number = number_of(column);
  std::vector<std::int64_t> out(static_cast<std::size_t>(size()));
  text_.each(number, [&](std::uint64_t row, std::string_view field) {
    const std::optional<std::int64_t> found = detail::whole_number(field);
    if (!found) {
      throw detail::field_error(
          path_, text_, row, columns_[number], field,
          detail::is_missing(field)
              ? "isn't a whole number; leave the row out, or read the column by numbers() with .empty_number"
              : "isn't a whole number; for names of classes write classes(), for fractions numbers()");
    }
    out[static_cast<std::size_t>(row)] = *found;
  });
  return out;
}

csv::class_column csv::classes(std::string_view column) const {
  const std::size_t number = number_of(column);
  std::set<std::string, std::less<>> names;
  text_.each_in_file(number, [&](std::string_view field) {
    if (!names.contains(field)) names.emplace(field);
  });
  class_column out;
  out.names.assign(names.begin(), names.end());
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
  std::string with_point;
  text_.each(which, [&](std::uint64_t row, std::size_t c, std::string_view field) {
    float n = 0;
    if (options_.empty_number && detail::is_missing(field)) {
      out.push_back(static_cast<float>(*options_.empty_number));
      return;
    }
    if (options_.decimal != '.') {
      with_point = field;
      std::replace(with_point.begin(), with_point.end(), options_.decimal, '.');
    }
    const auto fault = detail::parse_float(options_.decimal == '.' ? field : with_point, n);
    if (fault != detail::float_fault::none) {
      throw detail::field_error(path_, text_, row, columns[c], field,
                                fault == detail::float_fault::too_large
                                    ? "is too large for a float"
                                    : detail::no_number(field, options_.separator));
    }
    out.push_back(n);
  });
  const auto* const first = reinterpret_cast<const std::byte*>(out.data());
  return {std::move(kept), first, {shape{static_cast<std::int64_t>(which.size())}, dtype::float32}, size()};
}

}  // namespace wick
