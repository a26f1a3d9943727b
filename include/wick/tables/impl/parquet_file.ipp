// One Parquet file: its footer, the locations of the wanted columns, and reading them. Included in exactly
// one file of a program.
#pragma once

#include <algorithm>
#include <arrow/io/interfaces.h>
#include <atomic>
#include <cstring>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/exception.h>
#include <parquet/file_reader.h>
#include <parquet/metadata.h>
#include <parquet/statistics.h>

#include <wick/async/stop_token.hpp>
#include <wick/ext/file_range.hpp>
#include <wick/io/detail/object_store.hpp>
#include <wick/pipeline/detail/names.hpp>
#include <wick/sources/detail/opened_files.hpp>
#include <wick/tables/impl/parquet_types.ipp>

namespace wick::inline v0_1::detail::with_arrow {

/// Rethrows Arrow's exceptions as wick's.
template <class F>
decltype(auto) as_errors(F&& f) {
  try {
    return f();
  } catch (const error&) {
    throw;
  } catch (const std::bad_alloc&) {
    throw error("memory is short, or the file is damaged and asks for too much");
  } catch (const std::exception& e) {
    throw_arrow(e.what());
  }
}

/// An open file or an object on a server, for one thread; counts the bytes read. Doesn't close the file.
class counted_file final : public arrow::io::RandomAccessFile {
 public:
  counted_file(const file_range& file, std::uint64_t size, std::atomic<std::uint64_t>& count,
               arrow::MemoryPool& memory)
      : file_(file), size_(static_cast<std::int64_t>(size)), count_(count), memory_(memory) {
    set_mode(arrow::io::FileMode::READ);
  }
  arrow::Status Close() override { return arrow::Status::OK(); }
  bool closed() const override { return false; }
  arrow::Result<std::int64_t> Tell() const override { return at_; }
  arrow::Result<std::int64_t> GetSize() override { return size_; }
  arrow::Status Seek(std::int64_t to) override {
    if (to < 0 || to > size_)
      return arrow::Status::Invalid("byte ", to, " of a file of ", size_, " is asked for");
    at_ = to;
    return arrow::Status::OK();
  }
  arrow::Result<std::int64_t> Read(std::int64_t size, void* out) override {
    try {
      const std::size_t got = read(static_cast<std::byte*>(out), most(size));
      count_.fetch_add(got, std::memory_order_relaxed);
      at_ += static_cast<std::int64_t>(got);
      return static_cast<std::int64_t>(got);
    } catch (const error& e) {
      failed_ = true;
      failed_for_now_ = dynamic_cast<const passing_failure*>(&e) != nullptr;
      return arrow::Status::IOError(e.what());
    }
  }
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(std::int64_t size) override {
    ARROW_ASSIGN_OR_RAISE(std::unique_ptr<arrow::ResizableBuffer> out,
                          arrow::AllocateResizableBuffer(static_cast<std::int64_t>(most(size)), &memory_));
    ARROW_ASSIGN_OR_RAISE(const std::int64_t got, Read(size, out->mutable_data()));
    ARROW_RETURN_NOT_OK(out->Resize(got, false));
    return std::shared_ptr<arrow::Buffer>(std::move(out));
  }

  /// Reads parts of an object with few requests, for later reads within them. \throws wick::error,
  /// wick::cancelled
  void read_before(std::vector<range_part> parts, const stop_token& stop) {
    std::uint64_t sum = 0;
    for (const range_part& p : parts) sum += p.where.length;
    read_remote_now(parts, sum, stop);
    before_ = std::move(parts);
  }
  /// Adds a part that has been read already.
  void know(range_part part) { before_.push_back(std::move(part)); }

  arrow::MemoryPool& memory() const noexcept { return memory_; }
  /// Whether the file couldn't be read.
  bool failed() const noexcept { return failed_; }
  /// Whether a later read may succeed.
  bool failed_for_now() const noexcept { return failed_for_now_; }

 private:
  std::size_t most(std::int64_t size) const {
    return static_cast<std::size_t>(std::clamp<std::int64_t>(size, 0, size_ - at_));
  }

  std::size_t read(std::byte* to, std::size_t size) const {
    const auto at = static_cast<std::uint64_t>(at_);
    for (const range_part& p : before_) {
      if (at < p.where.offset || at + size > p.where.offset + p.where.length) continue;
      std::memcpy(to, p.content.data() + (at - p.where.offset), size);
      return size;
    }
    return read_up_to(file_, to, size, at);
  }

  file_range file_;
  std::vector<range_part> before_;
  std::int64_t size_, at_ = 0;
  std::atomic<std::uint64_t>& count_;
  arrow::MemoryPool& memory_;
  bool failed_ = false, failed_for_now_ = false;
};

/// \param footer  from an earlier read of the file; null to read it
std::unique_ptr<parquet::arrow::FileReader> reader_of(const std::shared_ptr<counted_file>& file,
                                                      std::shared_ptr<parquet::FileMetaData> footer) {
  parquet::ReaderProperties checked(&file->memory());
  checked.set_page_checksum_verification(true);
  parquet::ArrowReaderProperties here(false);  // on this thread only
  here.set_pre_buffer(false);
  parquet::arrow::FileReaderBuilder builder;
  require(builder.Open(file, checked, std::move(footer)));
  builder.memory_pool(&file->memory())->properties(here);
  std::unique_ptr<parquet::arrow::FileReader> out;
  require(builder.Build(&out));
  return out;
}

template <class Reader>
std::shared_ptr<arrow::ChunkedArray> read_column(Reader& reader, int group, int leaf) {
  std::shared_ptr<arrow::Table> table;
  arrow::Status status;
  if constexpr (requires { reader.ReadRowGroup(group, std::vector<int>{leaf}).ok(); }) {
    auto read = reader.ReadRowGroup(group, std::vector<int>{leaf});
    status = read.status();
    if (read.ok()) table = std::move(read).ValueUnsafe();
  } else {
    status = reader.ReadRowGroup(group, std::vector<int>{leaf}, &table);
  }
  if (status.IsNotImplemented()) {
    // Within a struct, Arrow reads at most 2 GiB of texts or bytes at a time, so this reads a few rows at a
    // time.
    reader.set_batch_size(256);
    std::shared_ptr<arrow::RecordBatchReader> batches;
    if constexpr (requires {
                    reader.GetRecordBatchReader(std::vector<int>{group}, std::vector<int>{leaf}).ok();
                  }) {
      auto made = reader.GetRecordBatchReader(std::vector<int>{group}, std::vector<int>{leaf});
      if (made.ok()) batches = std::move(made).ValueUnsafe();
    } else {
      std::unique_ptr<arrow::RecordBatchReader> made;
      if (reader.GetRecordBatchReader(std::vector<int>{group}, std::vector<int>{leaf}, &made).ok())
        batches = std::move(made);
    }
    if (batches != nullptr) status = batches->ToTable().Value(&table);
  }
  require(status);
  if (table->num_columns() != 1) throw error("a column is not there; the file is damaged");
  return table->column(0);
}

/// A column in a file.
struct found_column {
  int leaf = -1;
  column_type type;
};
/// "a", or "a.b" for a field of structs. Null if there is none.
const parquet::arrow::SchemaField* find_column(const std::vector<parquet::arrow::SchemaField>& in,
                                               const std::string& name) {
  const auto same = [&](const auto& one) { return one.field->name() == name; };
  if (std::count_if(in.begin(), in.end(), same) > 1)
    throw error("two columns are called " + shown_name(name) + "; write the file with different names");
  for (const parquet::arrow::SchemaField& one : in) {
    const std::string& own = one.field->name();
    if (own == name) return &one;
    if (name.size() > own.size() && name.compare(0, own.size(), own) == 0 && name[own.size()] == '.' &&
        one.field->type()->id() == arrow::Type::STRUCT) {
      if (const auto* const inner = find_column(one.children, name.substr(own.size() + 1))) return inner;
    }
  }
  return nullptr;
}
found_column column_of(const parquet::arrow::SchemaManifest& schema, const std::string& name) {
  const parquet::arrow::SchemaField* field = find_column(schema.schema_fields, name);
  if (field == nullptr) {
    std::vector<std::string> all;
    for (const auto& one : schema.schema_fields) all.push_back(one.field->name());
    throw error(no_such_name("column", name, all));
  }
  found_column out{-1, type_of(*field->field->type())};
  while (!field->is_leaf() && field->children.size() == 1) field = &field->children[0];
  out.leaf = field->column_index;
  return out;
}

/// Whether a row group's statistics show that none of its rows is in the range.
bool excludes(const parquet::RowGroupMetaData& group, int leaf, const parquet_options::range& range) {
  const auto chunk = group.ColumnChunk(leaf);
  const std::shared_ptr<parquet::Statistics> known = chunk->is_stats_set() ? chunk->statistics() : nullptr;
  if (known == nullptr || !known->HasMinMax()) return false;
  std::shared_ptr<arrow::Scalar> least, most;
  if (!parquet::arrow::StatisticsAsScalars(*known, &least, &most).ok()) return false;
  // long double holds all 64-bit integers.
  const auto number = [](const arrow::Scalar& of) {
    std::optional<long double> out;
    const bool is_number = with_number(of.type->id(), [&]<class N>(N) {
      if constexpr (!std::is_same_v<N, half_float> && !std::is_same_v<N, bool>)
        out = static_cast<long double>(
            static_cast<const typename arrow::CTypeTraits<N>::ScalarType&>(of).value);
    });
    return is_number ? out : std::nullopt;
  };
  const auto from = number(*least), to = number(*most);
  return from && to &&
         (*to < static_cast<long double>(range.min) || *from > static_cast<long double>(range.max));
}

}  // namespace wick::detail::with_arrow
