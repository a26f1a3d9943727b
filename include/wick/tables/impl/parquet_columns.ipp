// Converts Arrow's arrays to the columns of a row group in memory. Included in exactly one file of a
// program.
#pragma once

#include <arrow/array/concatenate.h>
#include <arrow/util/byte_size.h>

#include <wick/tables/impl/parquet_types.ipp>

namespace wick::inline v0_1::detail {

/// A row group in memory.
struct parquet_group {
  std::vector<parquet_column> columns;
  std::vector<std::shared_ptr<const void>> owners;  // of the columns' memory
  std::size_t bytes = 0;
};

namespace with_arrow {

/// Joins texts or bytes of more than 2 GiB, which are too large for Arrow's types with 32-bit offsets.
/// Releases each chunk once its bytes are copied. Null for other chunks.
std::shared_ptr<arrow::Array> in_one_large(std::vector<std::shared_ptr<arrow::Array>>& chunks,
                                           arrow::MemoryPool& memory) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  std::int64_t rows = 0, bytes = 0;
  for (std::shared_ptr<arrow::Array>& chunk : chunks) {
    for (;;) {  // descends to the bytes, if there are no lists
      if (chunk->type_id() == arrow::Type::EXTENSION)
        chunk = static_cast<const arrow::ExtensionArray&>(*chunk).storage();
      else if (chunk->type_id() == arrow::Type::STRUCT && chunk->num_fields() == 1)
        chunk = require(static_cast<const arrow::StructArray&>(*chunk).GetFlattenedField(0));
      else
        break;
    }
    if (chunk->type_id() != arrow::Type::BINARY && chunk->type_id() != arrow::Type::STRING) return nullptr;
    require(chunk->Validate());
    rows += chunk->length();
    bytes += static_cast<const arrow::BinaryArray&>(*chunk).total_values_length();
  }
  if (bytes <= most) return nullptr;
  arrow::LargeBinaryBuilder all(&memory);
  require(all.Reserve(rows));
  require(all.ReserveData(bytes));
  for (std::shared_ptr<arrow::Array>& chunk : chunks) {
    const auto& texts = static_cast<const arrow::BinaryArray&>(*chunk);
    for (std::int64_t i = 0; i < texts.length(); ++i) {
      if (texts.IsNull(i))
        all.UnsafeAppendNull();
      else
        all.UnsafeAppend(texts.GetView(i));
    }
    chunk.reset();
  }
  return require(all.Finish());
}

std::shared_ptr<arrow::Array> in_one(std::shared_ptr<arrow::ChunkedArray> column, arrow::MemoryPool& memory) {
  if (column->num_chunks() == 1) return column->chunk(0);
  if (column->num_chunks() == 0) return require(arrow::MakeEmptyArray(column->type()));
  std::vector<std::shared_ptr<arrow::Array>> chunks = column->chunks();
  if (std::shared_ptr<arrow::Array> large = in_one_large(chunks, memory)) return large;
  return require(arrow::Concatenate(column->chunks()));
}

std::shared_ptr<arrow::Array> without_dictionary(const arrow::DictionaryArray& from) {
  const arrow::Array& names = *from.dictionary();
  const std::unique_ptr<arrow::ArrayBuilder> to = require(arrow::MakeBuilder(names.type()));
  require(to->Reserve(from.length()));
  for (std::int64_t i = 0; i < from.length(); ++i) {
    const std::int64_t name = from.IsNull(i) ? -1 : from.GetValueIndex(i);
    if (name >= names.length()) throw error("a value is not in its dictionary; the file is damaged");
    require(name < 0 ? to->AppendNull() : to->AppendArraySlice(*names.data(), name, 1));
  }
  return require(to->Finish());
}

/// Gives a column without a type, which has only nulls, a type that the field takes.
std::shared_ptr<arrow::ChunkedArray> with_type(const parquet_field& field,
                                               std::shared_ptr<arrow::ChunkedArray> column) {
  if (column->type()->id() != arrow::Type::NA) return column;
  std::shared_ptr<arrow::DataType> type = arrow::binary();
  if (field.kind != parquet_field::kinds::text) {
    with_number(arrow_type_of(field.number), [&]<class N>(N) {
      if constexpr (!std::is_same_v<N, half_float>) type = arrow::CTypeTraits<N>::type_singleton();
    });
  }
  return std::make_shared<arrow::ChunkedArray>(require(arrow::MakeArrayOfNull(type, column->length())));
}

/// A column, while descending to its values.
struct descent {
  std::shared_ptr<arrow::Array> at;
  std::size_t rows;
  std::vector<std::int64_t> begins = {};  // each row's first value, and the end; empty: row i is value i
  std::vector<bool> faulty = {};

  std::int64_t first(std::size_t row) const {
    return begins.empty() ? static_cast<std::int64_t>(row) : begins[row];
  }
  void mark(std::size_t row) {
    faulty.resize(rows);
    faulty[row] = true;
  }
  /// Marks the rows with a wrong value.
  template <class F>
  void mark_if(F&& wrong) {
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::int64_t v = first(row); v < first(row + 1); ++v) {
        if (wrong(v)) mark(row);
      }
    }
  }
  void mark_nulls() {
    if (at->null_count() != 0) mark_if([&](std::int64_t v) { return at->IsNull(v); });
  }
  /// \param length  required for each list; 0: any
  template <class List>
  void into_lists(std::size_t length) {
    const auto lists = std::static_pointer_cast<List>(at);
    mark_nulls();
    if (length != 0)
      mark_if([&](std::int64_t v) { return static_cast<std::size_t>(lists->value_length(v)) != length; });
    std::vector<std::int64_t> next(rows + 1);
    for (std::size_t row = 0; row <= rows; ++row) next[row] = lists->value_offset(first(row));
    begins = std::move(next);
    at = lists->values();
  }
  void to_values(const parquet_field& field) {
    for (std::size_t lists = 0;;) {
      // The outermost length is checked by the total number of values.
      const std::size_t length = lists != 0 && lists < field.extents.size() ? field.extents[lists] : 0;
      switch (at->type_id()) {
        case arrow::Type::EXTENSION:
          at = static_cast<const arrow::ExtensionArray&>(*at).storage();
          break;
        case arrow::Type::DICTIONARY:
          at = without_dictionary(static_cast<const arrow::DictionaryArray&>(*at));
          break;
        case arrow::Type::STRUCT:  // only one field was read; a null struct has a null field
          at = require(static_cast<const arrow::StructArray&>(*at).GetFlattenedField(0));
          break;
        case arrow::Type::LIST:
          into_lists<arrow::ListArray>(length), ++lists;
          break;
        case arrow::Type::LARGE_LIST:
          into_lists<arrow::LargeListArray>(length), ++lists;
          break;
        case arrow::Type::FIXED_SIZE_LIST:
          into_lists<arrow::FixedSizeListArray>(length), ++lists;
          break;
        default:
          return;
      }
    }
  }
};

/// Writes numbers as To, `stride` values apart.
template <class From, class To>
void convert(const arrow::Array& from, To* out, std::size_t stride,
             const std::optional<double>& null_number) {
  const auto n = static_cast<std::size_t>(from.length());
  if (n == 0) return;
  const From* const values = std::is_same_v<From, bool> ? nullptr : from.data()->template GetValues<From>(1);
  for (std::size_t i = 0; i < n; ++i) {
    if constexpr (std::is_same_v<From, bool>)
      out[i * stride] =
          static_cast<To>(static_cast<const arrow::BooleanArray&>(from).Value(static_cast<std::int64_t>(i)));
    else
      out[i * stride] = static_cast<To>(values[i]);
  }
  if (!null_number || from.null_count() == 0) return;
  for (std::size_t i = 0; i < n; ++i) {
    if (from.IsNull(static_cast<std::int64_t>(i))) out[i * stride] = static_cast<To>(*null_number);
  }
}

/// Makes columns, and keeps the memory that they point to.
class column_maker {
 public:
  column_maker(parquet_group& of, std::size_t rows, const std::optional<double>& null_number,
               arrow::MemoryPool& memory)
      : group_(of), rows_(rows), null_number_(null_number), memory_(memory) {}

  /// \param parts  one, or as many columns of numbers as an array has elements
  void make(const parquet_field& field, const std::vector<std::shared_ptr<arrow::ChunkedArray>>& parts) {
    parquet_column out;
    std::byte* joined = nullptr;
    for (std::size_t part = 0; part < parts.size(); ++part) {
      descent down{in_one(parts[part], memory_), rows_};
      require(down.at->Validate());
      if (static_cast<std::size_t>(down.at->length()) != rows_) {
        throw error("a column has " + std::to_string(down.at->length()) + " rows, and the footer says " +
                    std::to_string(rows_) + "; the file is damaged");
      }
      down.to_values(field);
      if (field.kind == parquet_field::kinds::text || !null_number_) down.mark_nulls();
      if (field.kind == parquet_field::kinds::text) {
        make_texts(out, *down.at);
        keep(down.at, arrow::util::TotalBufferSize(*down.at));
      } else {
        with_number(arrow_type_of(field.number), [&]<class To>(To) {
          if (parts.size() > 1 && joined == nullptr) joined = room(rows_ * parts.size() * sizeof(To));
          make_numbers<To>(out, down.at, joined == nullptr ? nullptr : joined + part * sizeof(To),
                           parts.size());
        });
      }
      if (!down.begins.empty()) make_lists(out, field, down);
      for (std::size_t row = 0; row < down.faulty.size(); ++row) {
        if (down.faulty[row]) out.faulty.resize(rows_), out.faulty[row] = true;
      }
    }
    if (joined != nullptr) {
      out.values = joined;
      out.count = parts.size();
    }
    group_.columns.push_back(std::move(out));
  }

 private:
  void keep(std::shared_ptr<const void> owner, std::int64_t bytes) {
    group_.owners.push_back(std::move(owner));
    group_.bytes += static_cast<std::size_t>(bytes);
  }
  std::byte* room(std::size_t bytes) {
    const std::shared_ptr<arrow::Buffer> made =
        require(arrow::AllocateBuffer(static_cast<std::int64_t>(bytes), &memory_));
    keep(made, made->size());
    return reinterpret_cast<std::byte*>(made->mutable_data());
  }

  /// \param joined  where to write the numbers, `stride` apart; null: leave them in place, or convert them
  /// into new memory
  template <class To>
  void make_numbers(parquet_column& out, const std::shared_ptr<arrow::Array>& from, std::byte* joined,
                    std::size_t stride) {
    out.size = sizeof(To);
    const bool filled = null_number_ && from->null_count() != 0;
    with_number(from->type_id(), [&]<class From>(From) {
      if constexpr (holds<To, From>()) {
        if constexpr (std::is_same_v<To, From> && !std::is_same_v<To, bool>) {
          if (joined == nullptr && !filled) {
            out.values = reinterpret_cast<const std::byte*>(from->data()->template GetValues<To>(1));
            keep(from, arrow::util::TotalBufferSize(*from));
            return;
          }
        }
        std::byte* const to =
            joined != nullptr ? joined : room(static_cast<std::size_t>(from->length()) * sizeof(To));
        convert<From>(*from, reinterpret_cast<To*>(to), stride, null_number_);
        out.values = to;
      }
    });
  }

  void make_texts(parquet_column& out, const arrow::Array& from) {
    const auto take = [&](const auto& texts, bool wide) {
      out.values = texts.value_data() == nullptr
                       ? nullptr
                       : reinterpret_cast<const std::byte*>(texts.value_data()->data());
      out.offsets = texts.raw_value_offsets();
      out.wide = wide;
    };
    if (from.type_id() == arrow::Type::FIXED_SIZE_BINARY) {
      const auto& texts = static_cast<const arrow::FixedSizeBinaryArray&>(from);
      out.values = reinterpret_cast<const std::byte*>(texts.raw_values());
      out.count = static_cast<std::size_t>(texts.byte_width());
    } else if (from.type_id() == arrow::Type::LARGE_BINARY || from.type_id() == arrow::Type::LARGE_STRING) {
      take(static_cast<const arrow::LargeBinaryArray&>(from), true);
    } else {
      take(static_cast<const arrow::BinaryArray&>(from), false);
    }
  }

  /// For values in lists. If all lists have an array's length, no offsets are needed.
  void make_lists(parquet_column& out, const parquet_field& field, descent& down) {
    if (field.kind == parquet_field::kinds::array) {
      const auto count = static_cast<std::int64_t>(field.count());
      bool equal = true;
      for (std::size_t row = 0; row < rows_; ++row) {
        if (down.begins[row + 1] - down.begins[row] == count) continue;
        equal = false;
        down.mark(row);
      }
      if (equal) {
        out.count = field.count();
        out.values += static_cast<std::size_t>(down.begins[0]) * out.size;
        return;
      }
    }
    const auto begins = std::make_shared<const std::vector<std::int64_t>>(std::move(down.begins));
    keep(begins, static_cast<std::int64_t>(begins->size() * sizeof(std::int64_t)));
    out.offsets = begins->data();
    out.wide = true;
  }

  parquet_group& group_;
  std::size_t rows_;
  const std::optional<double>& null_number_;
  arrow::MemoryPool& memory_;
};

}  // namespace with_arrow

}  // namespace wick::detail
