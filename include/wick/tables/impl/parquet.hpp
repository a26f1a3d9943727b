/// \file
/// The bodies of what tables/detail/parquet_table.hpp declares. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <arrow/api.h>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <limits>
#include <memory>
#include <optional>
#include <parquet/arrow/reader.h>
#include <parquet/metadata.h>
#include <string>
#include <utility>
#include <vector>

#include <wick/async/executor.hpp>
#include <wick/async/io_pool.hpp>
#include <wick/async/stop_token.hpp>
#include <wick/async/task.hpp>
#include <wick/io/detail/file_io.hpp>
#include <wick/io/detail/source_file.hpp>
#include <wick/io/file_stamp.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/fingerprint.hpp>
#include <wick/sources/detail/open_shards.hpp>
#include <wick/sources/files.hpp>
#include <wick/tables/detail/parquet_table.hpp>
#include <wick/tables/impl/parquet_columns.hpp>
#include <wick/tables/impl/parquet_file.hpp>
#include <wick/tables/impl/parquet_groups.hpp>
#include <wick/tables/impl/parquet_types.hpp>

namespace wick::detail {

using namespace with_arrow;

struct parquet_table::state {
  struct file {
    std::shared_ptr<parquet::FileMetaData> footer;
    std::vector<int> leaves;  // of the wanted columns
  };
  struct field_plan {
    parquet_field field;
    std::size_t first = 0, count = 1;  // of the columns
  };

  state(const files& of, const std::vector<std::string>& names, const std::vector<parquet_field>& fields,
        const parquet_options& how)
      : paths(of),
        open(static_cast<std::size_t>(of.size())),
        columns(names),
        options(how),
        kept(how.kept_bytes) {
    if (options.null_number) check_null_number(fields);
    for (std::size_t f = 0; f < of.size(); ++f) {
      opened_file opened = open_regular(of.path(f), "parquet");
      try {
        as_errors([&] { look_into(f, opened, fields); });
      } catch (const error& e) {
        throw source_error(of.path(f), "parquet", e.what());
      }
      require_unchanged(opened, of.path(f), "parquet");
      stamps.push_back(opened.stamp);
      open.keep(std::move(opened.file));
    }
  }

  // ---- the files ----

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

  /// Which columns each field takes.
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

  void look_into(std::size_t f, const opened_file& opened, const std::vector<parquet_field>& fields) {
    const auto reader =
        reader_of(std::make_shared<counted_file>(opened.file.get(), opened.stamp.size, bytes_read), nullptr);
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
      if (types[c].text == first_types[c]) continue;
      throw error("column \"" + printable(columns[c]) + "\" is " + types[c].text + ", and " + first_types[c] +
                  " in " + paths.key(0) + "; give all files of a source one type");
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
        groups.push_back(std::make_unique<row_group>(f, g, row, size_of_group(*about, here)));
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

  std::size_t size_of_group(const parquet::RowGroupMetaData& about, const file& of) const {
    std::uint64_t sum = 0;
    for (const field_plan& plan : plans) {
      std::uint64_t bytes = 0;
      for (std::size_t c = plan.first; c < plan.first + plan.count; ++c)
        bytes += static_cast<std::uint64_t>(
            std::max<std::int64_t>(0, about.ColumnChunk(of.leaves[c])->total_uncompressed_size()));
      if (plan.field.kind == parquet_field::kinds::array || plan.field.kind == parquet_field::kinds::number)
        bytes = std::max(bytes, static_cast<std::uint64_t>(about.num_rows()) * plan.field.count() *
                                    size_of(plan.field.number));
      sum += bytes;
    }
    return static_cast<std::size_t>(std::min<std::uint64_t>(sum, std::uint64_t{1} << 40));
  }

  // ---- decoding ----

  /// Blocks. Null: told to stop.
  group_ptr decode(const row_group& of, const stop_token& stop) {
    const file& in = all_files[of.file];
    file_handle own;
    int opened = open[of.file];
    if (opened < 0) {
      own = open_file(paths.path(of.file));
      opened = own.get();
    }
    const file_stamp& stamp = stamps[of.file];
    file_watch watch = file_watch::begin(opened, &stamp);
    const auto from = std::make_shared<counted_file>(opened, stamp.size, bytes_read);
    auto out = std::make_shared<parquet_group>();
    std::string column;
    try {
      const bool all = as_errors([&] {
        const auto rows = static_cast<std::size_t>(in.footer->RowGroup(of.number)->num_rows());
        const auto reader = reader_of(from, in.footer);
        for (const field_plan& plan : plans) {
          std::vector<std::shared_ptr<arrow::ChunkedArray>> parts;
          for (std::size_t c = plan.first; c < plan.first + plan.count; ++c) {
            if (stop.stop_requested()) return false;
            column = columns[c];
            parts.push_back(read_column(*reader, of.number, in.leaves[c]));
          }
          make_column(*out, plan.field, parts, rows, options.null_number);
        }
        return true;
      });
      if (!all) return nullptr;
    } catch (const error& e) {
      watch.end(opened, &stamp);
      const std::string what =
          "row group " + std::to_string(of.number) + ", column \"" + printable(column) + "\": " + e.what();
      if (from->failed()) throw error(what);
      throw damaged_group(what);
    }
    watch.end(opened, &stamp);
    return out;
  }

  /// What an I/O thread does. (A lambda here would be a warning of g++.)
  struct decoder {
    state* all;
    row_group* of;
    kept_groups::claim* by;
    context* c;
    void operator()() const {
      by->run([this] { return all->decode(*of, c->stop()); });
    }
  };

  // ---- rows ----

  std::size_t group_of(std::uint64_t row) const noexcept {
    return static_cast<std::size_t>(std::upper_bound(begins.begin(), begins.end(), row) - begins.begin()) - 1;
  }
  parquet_place place(std::size_t number, std::uint64_t row, group_ptr in) const {
    const parquet_column* const columns_of = in->columns.data();
    return {std::move(in), columns_of, static_cast<std::size_t>(row - begins[number])};
  }
  /// What the texts and lists of a row take.
  std::size_t bytes_beside(const parquet_place& where) const noexcept {
    std::size_t bytes = 0;
    for (std::size_t f = 0; f < plans.size(); ++f) {
      const auto kind = plans[f].field.kind;
      if (kind == parquet_field::kinds::text || kind == parquet_field::kinds::list)
        bytes += where.columns[f].of(where.row).size();
    }
    return bytes;
  }

  files paths;
  open_shards open;
  std::vector<std::string> columns;
  parquet_options options;
  std::vector<file_stamp> stamps;
  std::vector<file> all_files;
  std::vector<std::string> first_types;
  std::vector<field_plan> plans;
  std::vector<std::unique_ptr<row_group>> groups;
  std::vector<std::uint64_t> begins{0};  // the first row of each group, and the end
  kept_groups kept;
  std::atomic<std::uint64_t> bytes_read{0};
};

parquet_table::parquet_table(const files& of, const std::vector<std::string>& columns,
                             const std::vector<parquet_field>& fields, const parquet_options& options)
    : state_(std::make_unique<state>(of, columns, fields, options)) {}
parquet_table::~parquet_table() = default;

std::uint64_t parquet_table::size() const noexcept { return state_->begins.back(); }

std::string parquet_table::key(std::uint64_t row) const {
  const std::size_t g = state_->group_of(row);
  const row_group& in = *state_->groups[g];
  return state_->paths.key(in.file) + ", row " + std::to_string(in.first_row + row - state_->begins[g]);
}

std::uint64_t parquet_table::fingerprint() const noexcept {
  fingerprint_hash h;
  h.add(state_->paths.fingerprint()).add(state_->columns.size());
  for (std::size_t c = 0; c < state_->columns.size(); ++c)
    h.add(state_->columns[c]).add(state_->first_types[c]);
  for (const std::uint64_t begin : state_->begins) h.add(begin);
  for (const auto& g : state_->groups) h.add(g->file).add(g->first_row);
  if (state_->options.null_number) h.add(fingerprint_hash::of(*state_->options.null_number));
  return h.value();
}

std::vector<std::uint64_t> parquet_table::groups() const {
  std::vector<std::uint64_t> out;
  for (std::size_t g = 0; g + 1 < state_->begins.size(); ++g)
    out.push_back(state_->begins[g + 1] - state_->begins[g]);
  return out;
}

std::uint64_t parquet_table::bytes_read() const noexcept {
  return state_->bytes_read.load(std::memory_order_relaxed);
}

std::string parquet_table::note() const {
  const kept_groups& kept = state_->kept;
  if (kept.decoded() == 0) return {};
  const auto [count, bytes] = kept.now();
  char text[256];
  std::snprintf(
      text, sizeof text,
      "parquet: %llu times one of %zu row groups was decoded; %zu are in memory, in %.1f of %.1f MB",
      static_cast<unsigned long long>(kept.decoded()), state_->groups.size(), count,
      static_cast<double>(bytes) / 1e6, static_cast<double>(kept.most()) / 1e6);
  return text;
}

bool parquet_table::find(std::uint64_t row, context& c, parquet_place& out) {
  const std::size_t number = state_->group_of(row);
  group_ptr in = state_->kept.find(*state_->groups[number]);
  if (in == nullptr) return false;
  out = state_->place(number, row, std::move(in));
  const std::size_t beside = state_->bytes_beside(out);
  return beside == 0 || c.try_reserve(beside);
}

task<parquet_place> parquet_table::fetch(std::uint64_t row, context* c) {
  state& all = *state_;  // the source outlives its samples
  const std::size_t number = all.group_of(row);
  row_group& of = *all.groups[number];
  group_ptr got = all.kept.find(of);
  while (got == nullptr) {
    kept_groups::claim claim(all.kept, of);
    group_decoding* const decoding = claim.decoding();
    if (decoding == nullptr) {
      got = all.kept.find(of);
    } else if (claim.mine()) {
      auto room = c->reserve(of.bytes);
      co_await room;
      auto reading = c->on()->io().run(*c->on(), state::decoder{&all, &of, &claim, c});
      co_await reading;
      got = decoding->got;
      if (got == nullptr) throw cancelled();
    } else {
      auto waiting = decoding->over.acquire(*c);
      auto over = co_await waiting;
      if (decoding->failure) std::rethrow_exception(decoding->failure);
      got = decoding->got;  // null: its loader has ended
    }
  }
  parquet_place out = all.place(number, row, std::move(got));
  if (const std::size_t beside = all.bytes_beside(out); beside != 0) {
    auto room = c->reserve(beside);
    co_await room;
  }
  co_return out;
}

parquet_place parquet_table::read_now(std::uint64_t row) {
  const std::size_t number = state_->group_of(row);
  row_group& of = *state_->groups[number];
  group_ptr got = state_->kept.find(of);
  if (got == nullptr) {
    kept_groups::claim claim(state_->kept, of);
    if (claim.mine()) claim.run([&] { return got = state_->decode(of, {}); });
    if (got == nullptr) got = state_->decode(of, {});  // another thread does, too
  }
  return state_->place(number, row, std::move(got));
}

void parquet_table::refuse(const parquet_place& where, std::size_t field) const {
  const state::field_plan& plan = state_->plans[field];
  const parquet_column& column = where.columns[field];
  const std::string name = "column \"" + printable(state_->columns[plan.first]) + "\" ";
  if (plan.field.kind == parquet_field::kinds::array && column.offsets != nullptr) {
    const std::size_t found = column.of(where.row).size() / column.size;
    if (found != plan.field.count() && found != 0) {
      throw error(name + "has " + std::to_string(found) + " numbers here, and its field takes " +
                  std::to_string(plan.field.count()) +
                  "; make it a std::vector, or leave the row out with on_error(on_error::skip)");
    }
  }
  throw error(name + "has a null here" +
              (plan.field.kind == parquet_field::kinds::text
                   ? std::string("; leave the row out with on_error(on_error::skip)")
                   : std::string("; say {.null_number = 0} for numbers, or leave the row out with "
                                 "on_error(on_error::skip)")));
}

}  // namespace wick::detail
