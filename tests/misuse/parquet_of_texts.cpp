// A column of lists of strings has no place in a row.
#include <cstdint>
#include <string>
#include <vector>

#include <wick/tables/parquet.hpp>

struct row {
  std::vector<std::string> words;
  std::int64_t label;
};

// expect: wick: a row of parquet<T> is a number, bool, std::string, wick::bytes, std::vector<number>
// expect: write the fields as those types
int main() {
  const wick::parquet<row> rows("train.parquet", {"words", "label"});
  static_cast<void>(rows);
}
