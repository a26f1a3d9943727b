// The Parquet files of a source: their footers, and the columns of row groups in memory. Included in exactly
// one file of a program.
#pragma once

#include <cmath>

#include <wick/ext/file_stamp.hpp>
#include <wick/io/detail/file_io.hpp>
#include <wick/io/detail/file_kind.hpp>
#include <wick/io/detail/kept_file.hpp>
#include <wick/tables/impl/parquet_file.ipp>
#include <wick/tables/impl/parquet_groups.ipp>
#include <wick/tables/impl/parquet_memory.ipp>

namespace wick::inline v0_1::detail {

using namespace with_arrow;

/// The footers' content: the row groups, and how each becomes columns in memory.
struct parquet_files {
  struct file {
    std::shared_ptr<parquet::FileMetaData> footer;
    std::vector<int> leaves;  // indices of the wanted columns
  };
  struct field_plan {
    parquet_field field;
    std::size_t first = 0, count = 1;  // columns of the field
  };

  parquet_files(const files& of, const std::vector<std::string>& names,
                const std::vector<parquet_field>& fields, const parquet_options& how)
      : opened(of, "parquet"), columns(names), options(how) {
    memory.keep_at_most(how.kept_bytes / 4);
    if (options.null_number) check_null_number(fields);
    if (!how.where.column.empty() && !(how.where.min <= how.where.max)) {
      throw error("parquet: .where of column " + shown_name(how.where.column) +
                  " has a min above its max, or NaN; no row would be left");
    }
    std::vector<range_part> ends;
    for (std::size_t f = 0; f < opened.size(); ++f) {
      if (opened.on_servers() && f % files_at_once == 0) ends = ends_from(f);
      opened_files::look file = opened.open(f);
      try {
        as_errors([&] { look_into(f, file, fields, ends); });
      } catch (const error& e) {
        throw opened.fault(f, e.what());
      }
      opened.keep(std::move(file));
    }
  }

  // ---- the files ----

  static constexpr std::size_t files_at_once = 256;
  /// The ends of files on servers, which contain most footers; many at once, since each request waits.
  std::vector<range_part> ends_from(std::size_t first) const {
    constexpr std::uint64_t enough = std::uint64_t{128} << 10;  // twice Arrow's first read
    std::vector<range_part> out;
    std::vector<file_range> where;
    for (std::size_t f = first; f < std::min(first + files_at_once, opened.size()); ++f) {
      file_range end = opened.paths().at(f);
      if (end.remote == nullptr) continue;
      const std::uint64_t size = end.remote->size.load(std::memory_order_acquire);
      end.length = std::min(size, enough);
      end.offset = size - end.length;
      where.push_back(end);
    }
    std::vector<bytes> read = opened.read(where);
    for (std::size_t i = 0; i < where.size(); ++i) out.push_back({where[i], std::move(read[i])});
    return out;
  }

  void check_null_number(const std::vector<parquet_field>& fields) const {
    for (const parquet_field& field : fields) {
      if (field.kind == parquet_field::kinds::text) continue;
      with_number(arrow_type_of(field.number), [&]<class N>(N) {
        if constexpr (std::is_integral_v<N>) {
          const double d = *options.null_number;
          if (!(d >= static_cast<double>(std::numeric_limits<N>::lowest()) &&
                d < std::ldexp(1.0, std::numeric_limits<N>::digits) && d == std::trunc(d))) {
            throw error("parquet: .null_number is " + std::to_string(d) +
                        ", which a field of whole numbers can't hold; write one that it can, or make the "
                        "field a double");
          }
        }
      });
    }
  }

  /// Assigns columns to the fields.
  void plan_fields(const std::vector<column_type>& types, const std::vector<parquet_field>& fields) {
    std::size_t next = 0;
    for (const parquet_field& field : fields) {
      field_plan plan{field, next};
      if (field.kind == parquet_field::kinds::array && next < types.size() && types[next].lists == 0 &&
          !types[next].number.empty())
        plan.count = field.count();
      next += plan.count;
      plans.push_back(std::move(plan));
    }
    if (next != types.size()) {
      throw error("a row has " + std::to_string(fields.size()) + " fields, which take " +
                  std::to_string(next) + " columns, and " + std::to_string(types.size()) +
                  " are named; name one for each field, or N numbers for a std::array<number, N>");
    }
    for (const field_plan& plan : plans) {
      for (std::size_t c = plan.first; c < plan.first + plan.count; ++c) {
        if (fits(plan.field, types[c])) continue;
        throw error("column \"" + printable(columns[c]) + "\" is " + types[c].text + ", which field " +
                    std::to_string(&plan - plans.data() + 1) + " of the row does not take; " +
                    advice_for(types[c]));
      }
    }
  }

  /// Whether the field of a column can hold this type instead, such as int32 instead of int64.
  bool is_held(std::size_t column, const column_type& type) const {
    return std::any_of(plans.begin(), plans.end(), [&](const field_plan& plan) {
      return column >= plan.first && column < plan.first + plan.count && fits(plan.field, type) &&
             (plan.field.kind != parquet_field::kinds::array || type.lists == (plan.count == 1 ? 1u : 0u));
    });
  }

  void look_into(std::size_t f, const opened_files::look& at, const std::vector<parquet_field>& fields,
                 std::vector<range_part>& ends) {
    const auto from = std::make_shared<counted_file>(at.where(), at.size(), bytes_read, memory);
    for (range_part& end : ends) {
      if (end.where.remote == at.where().remote) from->know(std::move(end));
    }
    const auto reader = [&] {
      try {
        return as_errors([&] { return reader_of(from, nullptr); });
      } catch (const error&) {
        const file_kind other = at.kind(certainty::likely);
        if (!other || from->failed() || other.what.ends_with("Parquet file")) throw;
        throw error(other.text());
      }
    }();
    file here{reader->parquet_reader()->metadata(), {}};
    const parquet::FileMetaData& footer = *here.footer;
    std::vector<column_type> types;
    for (const std::string& name : columns) {
      const found_column found = column_of(reader->manifest(), name);
      types.push_back(found.type);
      here.leaves.push_back(found.leaf);
    }
    if (f == 0) {
      plan_fields(types, fields);
      for (const column_type& type : types) first_types.push_back(type.text);
    }
    for (std::size_t c = 0; c < types.size(); ++c) {
      if (types[c].text == first_types[c] || is_held(c, types[c])) continue;
      throw error("column \"" + printable(columns[c]) + "\" is " + types[c].text + ", and " + first_types[c] +
                  " in " + opened.paths().key(0) + "; give all files of a source one type");
    }
    std::optional<found_column> range;
    if (!options.where.column.empty()) {
      range = column_of(reader->manifest(), options.where.column);
      if (range->type.lists != 0 || range->type.number.empty())
        throw error("column \"" + printable(options.where.column) + "\" of .where is " + range->type.text +
                    ", no number");
    }
    std::uint64_t row = 0;
    for (int g = 0; g < footer.num_row_groups(); ++g) {
      const auto about = footer.RowGroup(g);
      if (about->num_rows() < 0 || about->num_rows() > footer.num_rows())
        throw error("row group " + std::to_string(g) + " has " + std::to_string(about->num_rows()) +
                    " rows; the file is damaged");
      const auto rows = static_cast<std::uint64_t>(about->num_rows());
      if (rows != 0 && (!range || !excludes(*about, range->leaf, options.where))) {
        groups.push_back(std::make_unique<row_group>(f, g, row, size_of_group(*about, here), groups.size()));
        begins.push_back(begins.back() + rows);
      }
      row += rows;
    }
    if (row != static_cast<std::uint64_t>(footer.num_rows())) {
      throw error("its row groups have " + std::to_string(row) + " rows, and the file says " +
                  std::to_string(footer.num_rows()) + "; it is damaged");
    }
    all_files.push_back(std::move(here));
  }

  /// The memory needed to decode a group: its bytes in the file, and the decoded columns. Repeated texts may
  /// take more, which the footer doesn't say.
  std::size_t size_of_group(const parquet::RowGroupMetaData& about, const file& of) const {
    std::uint64_t sum = 0;
    for (const field_plan& plan : plans) {
      std::uint64_t bytes = 0, values = static_cast<std::uint64_t>(about.num_rows()) * plan.field.count();
      for (std::size_t c = plan.first; c < plan.first + plan.count; ++c) {
        const auto chunk = about.ColumnChunk(of.leaves[c]);
        bytes += static_cast<std::uint64_t>(std::max<std::int64_t>(0, chunk->total_uncompressed_size()));
        sum += static_cast<std::uint64_t>(std::max<std::int64_t>(0, chunk->total_compressed_size())) *
               (opened.on_servers() ? 2 : 1);
        if (plan.field.kind == parquet_field::kinds::list)
          values = static_cast<std::uint64_t>(std::max<std::int64_t>(0, chunk->num_values()));
      }
      if (plan.field.kind != parquet_field::kinds::text)
        bytes = std::max(bytes, values * size_of(plan.field.number));
      sum += bytes;
    }
    return static_cast<std::size_t>(std::min<std::uint64_t>(sum, std::uint64_t{1} << 40));
  }

  // ---- decoding ----

  /// The memory to reserve for decoding a group: the footer's size, scaled by the largest growth so far.
  std::size_t room_for(const row_group& of) const noexcept {
    const double room = static_cast<double>(of.bytes) * growth.load(std::memory_order_relaxed);
    return static_cast<std::size_t>(std::min(room, 0x1p60));
  }

  /// The locations of a group's wanted columns.
  std::vector<range_part> parts_of(const row_group& of, const file& in) const {
    std::vector<range_part> out;
    const auto about = in.footer->RowGroup(of.number);
    for (const int leaf : in.leaves) {
      const auto chunk = about->ColumnChunk(leaf);
      std::int64_t first = chunk->data_page_offset();
      if (chunk->has_dictionary_page() && chunk->dictionary_page_offset() > 0)
        first = std::min(first, chunk->dictionary_page_offset());
      const std::int64_t size = chunk->total_compressed_size();
      const auto end = static_cast<std::int64_t>(opened.stamp(of.file).size);
      if (first < 0 || size <= 0 || size > end || first > end - size) continue;  // Arrow reports the fault
      out.push_back(
          {opened.range(of.file, static_cast<std::uint64_t>(first), static_cast<std::uint64_t>(size)), {}});
    }
    return out;
  }

  /// Blocks. Null when `stop` is requested.
  group_ptr decode(const row_group& of, const stop_token& stop) {
    const file& in = all_files[of.file];
    file_handle own;
    const file_stamp& stamp = opened.stamp(of.file);
    file_range where = opened.range(of.file, 0, stamp.size);
    const bool local = where.remote == nullptr;
    if (local && where.file < 0) {
      own = open_file(where.path);
      where.file = own.get();
    }
    std::optional<file_watch> watch;
    if (local) watch = on_kept_file(where, [&] { return file_watch::begin(where.file, &stamp); });
    const auto from = std::make_shared<counted_file>(where, stamp.size, bytes_read, memory);
    try {
      if (!local) from->read_before(parts_of(of, in), stop);
    } catch (const cancelled&) {
      return nullptr;
    }
    auto out = std::make_shared<parquet_group>();
    std::string column;
    try {
      const bool whole = as_errors([&] {
        const auto rows = static_cast<std::size_t>(in.footer->RowGroup(of.number)->num_rows());
        const auto reader = reader_of(from, in.footer);
        for (const field_plan& plan : plans) {
          std::vector<std::shared_ptr<arrow::ChunkedArray>> parts;
          for (std::size_t c = plan.first; c < plan.first + plan.count; ++c) {
            if (stop.stop_requested()) return false;
            column = columns[c];
            parts.push_back(with_type(plan.field, read_column(*reader, of.number, in.leaves[c])));
          }
          column_maker(*out, rows, options.null_number, memory).make(plan.field, parts);
        }
        return true;
      });
      if (!whole) return nullptr;
    } catch (const error& e) {
      if (watch) watch->end(where.file, &stamp);
      const std::string what =
          "row group " + std::to_string(of.number) + ", column \"" + printable(column) + "\": " + e.what();
      if (from->failed_for_now()) throw passing_error(what);
      if (from->failed()) throw error(what);
      throw damaged_group(what);
    }
    if (watch) watch->end(where.file, &stamp);
    const double grown =
        static_cast<double>(out->bytes) / static_cast<double>(std::max<std::size_t>(of.bytes, 1));
    double most = growth.load(std::memory_order_relaxed);
    while (grown > most && !growth.compare_exchange_weak(most, grown, std::memory_order_relaxed)) {
    }
    return out;
  }

  spare_memory memory{*arrow::default_memory_pool()};  // outlives the groups in it
  opened_files opened;
  std::vector<std::string> columns;
  parquet_options options;
  std::vector<file> all_files;
  std::vector<std::string> first_types;
  std::vector<field_plan> plans;
  std::vector<std::unique_ptr<row_group>> groups;
  std::vector<std::uint64_t> begins{0};  // each group's first row, and the end
  std::atomic<std::uint64_t> bytes_read{0};
  std::atomic<double> growth{1};  // the largest ratio of a group's size to the footer's
};

}  // namespace wick::detail
