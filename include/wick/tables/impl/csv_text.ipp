// Implements tables/detail/csv_text.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <bit>
#include <mutex>

#include <wick/async/detail/at_once.hpp>
#include <wick/base/detail/cpus.hpp>
#include <wick/io/detail/file_io.hpp>
#include <wick/io/detail/file_kind.hpp>
#include <wick/io/detail/gzip_file.hpp>
#include <wick/io/detail/large_pages.hpp>
#include <wick/io/detail/source_file.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/tables/detail/csv_marks.hpp>
#include <wick/tables/detail/csv_text.hpp>

namespace wick::inline v0_1::detail {

namespace {

/// Fills `out` from a file of its size. Several threads allocate and read a piece each, which takes longer
/// than looking at it. One of them at a time calls `look(end)` while others read, once the bytes before `end`
/// are there; the last call is for all of them. If the file is truncated meanwhile, which soon becomes an
/// error, the rest isn't looked at.
template <class Look>
void read_in_pieces(const opened_file& from, bytes& out, Look&& look) {
  constexpr std::size_t piece = std::size_t{2} << 20, most_threads = 4;
  const std::size_t pieces = (out.size() + piece - 1) / piece;
  std::mutex mutex;
  std::vector<bool> read(pieces);
  std::size_t next = 0;  // the first piece that isn't read
  bool looking = false;  // or look() has thrown
  at_once(pieces, pieces < 2 ? 1 : std::min(most_threads, available_cpus()), [&](std::size_t p) {
    const std::size_t begin = p * piece, size = std::min(piece, out.size() - begin);
    const bool whole = read_up_to(from.file.get(), out.data() + begin, size, begin) == size;
    std::unique_lock lock(mutex);
    read[p] = whole;
    if (std::exchange(looking, true)) return;  // the looking thread handles this piece, too
    while (next < pieces && read[next]) {
      while (next < pieces && read[next]) ++next;
      const std::size_t end = std::min(next * piece, out.size());
      lock.unlock();
      look(end);
      lock.lock();
    }
    looking = false;
  });
}

bytes unpacked_text(const opened_file& from, const std::string& path) {
  gzip_file in(from, path, "csv");
  std::string out;
  for (std::size_t size = 0;;) {
    const std::size_t room = std::max(std::size_t{4} << 20, size);
    out.resize(size + room);
    const std::size_t n = in.fill(out.data() + size, room);
    size += n;
    if (n != room) return {out.data(), size};
  }
}

}  // namespace

/// Scans the text once: 64 characters at a time, and one at a time around quotes.
class csv_text::row_finder {
 public:
  row_finder(csv_text& of, const std::string& path) noexcept : of_(of), path_(path) {}

  /// Continues up to `end`; only the text before it is known. \throws wick::error for a NUL, or a row with a
  /// different number of fields from the first
  void run_to(std::size_t end) {
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx2")) return run_avx2(end);
#endif
    run_by<plain_csv_marks>(end);
  }
  /// Finishes at the end of the text. \throws wick::error, also for an open quote
  void finish() {
    const std::size_t size = of_.text_.size();
    run_to(size);
    refuse_nul(at_, size);
    one_by_one(at_, size);
    if (open_) {
      throw source_error(path_, "csv",
                         "line " + std::to_string(of_.line_at(begin_)) +
                             ": a quote is not closed; write a quote in a quoted field twice");
    }
    if (begin_ < size) row_ends(size);
  }

 private:
#ifdef __x86_64__
  [[gnu::target("avx2")]] void run_avx2(std::size_t end) { run_by<avx2_csv_marks>(end); }
#endif
  template <class Marks>
  [[gnu::always_inline]] void run_by(std::size_t end) {
    const std::string_view text = of_.text_;
    constexpr std::size_t step = 64;
    std::size_t at = at_;
    while (at + step < end) {  // not to the end, since the character after a quote is looked at, too
      const csv_marks here = Marks::of(text.data() + at, of_.separator_);
      if (here.others != 0 || open_) {
        refuse_nul(at, at + step);
        at = one_by_one(at, at + step);
      } else {
        take(here, at);
        at += step;
        field_begins_ = ((here.lines | here.separators) >> (step - 1) & 1) != 0;
      }
    }
    at_ = at;
  }
  /// Handles 64 characters without quotes: the rows that end in them, and the fields.
  void take(const csv_marks& here, std::size_t at) {
    std::uint64_t parts = here.separators;
    for (std::uint64_t lines = here.lines; lines != 0; lines &= lines - 1) {
      const std::uint64_t before = (lines & -lines) - 1;
      for (; (parts & before) != 0; parts &= parts - 1) ++fields_;
      row_ends(at + static_cast<std::size_t>(std::countr_zero(lines)));
    }
    for (; parts != 0; parts &= parts - 1) ++fields_;
  }
  /// Returns the position reached: a doubled quote may extend past `end`.
  std::size_t one_by_one(std::size_t at, std::size_t end) {
    const std::string_view text = of_.text_;
    for (; at < end; ++at) {
      const char c = text[at];
      if (open_) {
        if (c == '"') open_ = at + 1 < text.size() && text[at + 1] == '"' && ++at != 0;
        continue;
      }
      if (c == '\n') {
        row_ends(at);
        field_begins_ = true;
        continue;
      }
      open_ = c == '"' && field_begins_;
      field_begins_ = c == of_.separator_;
      fields_ += field_begins_ ? 1u : 0u;
    }
    return at;
  }
  void row_ends(std::size_t at) {
    if (!is_empty(at)) {
      if (fields_ != wanted_) {
        if (wanted_ != 0) refuse_fields();
        wanted_ = fields_;
      }
      if (of_.begins_.size() == of_.begins_.capacity()) make_room();
      of_.begins_.push_back(begin_);
    }
    begin_ = at + 1;
    fields_ = 1;
  }
  bool is_empty(std::size_t end) const noexcept {
    const std::string_view row(of_.text_.data() + begin_, end - begin_);
    return row.empty() || (row.front() == '\r' && row.find_first_not_of('\r') == std::string_view::npos);
  }
  /// Reserves memory for the expected number of rows, if the rest are as long as those so far.
  [[gnu::noinline]] void make_room() {
    std::vector<std::uint64_t>& begins = of_.begins_;
    const std::size_t rows = begins.size();
    begins.reserve(rows < 1024 ? 1024 : std::max(of_.text_.size() / (begin_ / rows), rows) * 17 / 16);
    in_large_pages(begins.data(), begins.capacity() * sizeof(std::uint64_t));
  }
  [[noreturn]] void refuse_fields() const {
    throw source_error(path_, "csv",
                       "line " + std::to_string(of_.line_at(begin_)) + " has " + std::to_string(fields_) +
                           " fields, and line " +
                           std::to_string(of_.line_at(static_cast<std::size_t>(of_.begins_[0]))) + " has " +
                           std::to_string(wanted_) +
                           "; quote fields that have a separator in them, or say .separator");
  }
  void refuse_nul(std::size_t begin, std::size_t end) const {
    const std::size_t at = of_.text_.substr(begin, end - begin).find('\0');
    if (at == std::string_view::npos) return;
    throw source_error(path_, "csv",
                       "has a NUL at byte " + std::to_string(begin + at) +
                           ", so it isn't UTF-8 text; convert it (iconv -f UTF-16 -t UTF-8)");
  }

  csv_text& of_;
  const std::string& path_;
  std::size_t at_ = 0;  // the position reached
  std::size_t begin_ = 0, fields_ = 1, wanted_ = 0;
  bool open_ = false, field_begins_ = true;
};

void csv_text::read(const std::string& path) {
  const opened_file opened = open_regular(path, "csv");
  bytes out(static_cast<std::size_t>(opened.stamp.size));
  in_large_pages(out.data(), out.size());
  row_finder rows(*this, path);
  bool packed = false, begun = false;
  std::size_t mark = 0;  // size of the byte order mark, which isn't text
  const auto begin = [&] {
    // An HTML page may be the first field of a table, in quotes.
    const file_kind other = kind_of_file(out.text(), certainty::sure);
    if (other) throw source_error(path, "csv", other.text());
    mark = out.text().starts_with("\xEF\xBB\xBF") ? 3 : 0;
    text_ = out.text().substr(mark);
  };
  try {
    read_in_pieces(opened, out, [&](std::size_t end) {
      if (!std::exchange(begun, true)) {
        packed = gzip_file::is_packed(out.text());
        if (!packed) begin();
      }
      if (!packed) rows.run_to(end - std::min(mark, end));
    });
    if (packed) {
      out = unpacked_text(opened, path);
      begin();
    }
    require_unchanged(opened, path, "csv");
  } catch (const error&) {  // maybe the file was being written
    require_unchanged(opened, path, "csv");
    throw;
  }
  file_ = std::make_shared<const bytes>(std::move(out));
  text_ = file_->text().substr(mark);
  rows.finish();
}

csv_text::csv_text(const std::string& path, char separator, bool header) : separator_(separator) {
  if (separator == '"' || separator == '\n' || separator == '\r')
    throw error("csv: the separator can't be a quote or a line break; give ',', ';', or '\\t'");
  read(path);
  if (begins_.empty()) throw source_error(path, "csv", "has no row");
  const std::size_t lone = text_.find('\r');
  if (begins_.size() == 1 && lone < text_.find_last_not_of("\r\n") &&
      text_.find('\n') == std::string_view::npos && text_.find('"') == std::string_view::npos)
    throw source_error(path, "csv", "its lines end in CR alone; write LF (tr '\\r' '\\n' < FILE)");
  begins_.push_back(text_.size());
  std::vector<std::string_view> raw;
  split(row(0), raw);
  std::string scratch;
  for (const std::string_view one : raw) first_.emplace_back(unquoted(one, scratch));
  if (header) begins_.erase(begins_.begin());
  if (begins_.capacity() > begins_.size() / 2 * 3) begins_.shrink_to_fit();
}

void csv_text::pick(std::vector<std::uint64_t> rows) {
  for (std::uint64_t& row : rows) row = in_file(row);
  picked_ = std::move(rows);
  is_picked_ = true;
}

std::string_view csv_text::row_in_file(std::size_t r) const noexcept {
  const auto begin = static_cast<std::size_t>(begins_[r]), end = static_cast<std::size_t>(begins_[r + 1]);
  std::string_view out(text_.data() + begin, end - begin);
  while (out.ends_with('\n') || out.ends_with('\r')) out.remove_suffix(1);
  return out;
}

void csv_text::split(std::string_view row, std::vector<std::string_view>& to) const {
  to.clear();
  for (std::size_t begin = 0;;) {
    std::size_t end;
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
        scratch.append(raw.substr(i + 1));  // some writers put text after the closing quote
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

}  // namespace wick::detail
