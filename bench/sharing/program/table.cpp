// Makes a Parquet file to count on.
#include "table.hpp"

#include <arrow/api.h>
#include <arrow/io/file.h>
#include <cstdint>
#include <parquet/arrow/writer.h>
#include <string>

namespace sharing {

std::string write_table(const std::string& path, std::int64_t rows, std::int64_t group) {
  const auto write = [&]() -> arrow::Status {
    arrow::FloatBuilder values;
    arrow::Int64Builder labels;
    for (std::int64_t i = 0; i < rows; ++i) {
      for (int k = 0; k < numbers_a_row; ++k) ARROW_RETURN_NOT_OK(values.Append(static_cast<float>(i + k)));
      ARROW_RETURN_NOT_OK(labels.Append(i));
    }
    const auto number = arrow::field("item", arrow::float32(), false);
    ARROW_ASSIGN_OR_RAISE(const auto flat, values.Finish());
    ARROW_ASSIGN_OR_RAISE(const auto label, labels.Finish());
    ARROW_ASSIGN_OR_RAISE(const auto lists, arrow::FixedSizeListArray::FromArrays(
                                                flat, arrow::fixed_size_list(number, numbers_a_row)));
    const auto schema = arrow::schema(
        {arrow::field("values", lists->type(), false), arrow::field("label", arrow::int64(), false)});
    ARROW_ASSIGN_OR_RAISE(const auto out, arrow::io::FileOutputStream::Open(path));
    ARROW_RETURN_NOT_OK(parquet::arrow::WriteTable(*arrow::Table::Make(schema, {lists, label}),
                                                   arrow::default_memory_pool(), out, group));
    return out->Close();
  };
  const arrow::Status done = write();
  return done.ok() ? std::string() : done.ToString();
}

}  // namespace sharing
