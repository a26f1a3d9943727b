// Sources that need another library or program: an LMDB database, a web server, a Parquet table that pyarrow
// writes. A build that lacks one passes generate.py a shorter list of features.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "reference.hpp"
#ifdef WICK_RANDOM_LMDB
#include <wick/sources/lmdb.hpp>
#endif
#ifdef WICK_RANDOM_CURL
#include <wick/stores/remote.hpp>
#endif
#ifdef WICK_RANDOM_ARROW
#include <wick/tables/parquet.hpp>
#endif

namespace random_pipelines {

/// A database of these values under the keys 00000, 00001, …
std::string write_lmdb(const std::string& folder, const std::vector<std::string>& values);
/// "http://127.0.0.1:PORT/ok/NAME" of a server for the files of `folder`. A server is replaced by that of the
/// next folder.
std::string served(const std::string& folder, const std::string& name);
/// Columns `values` (float[3]) and `label`, in groups of 7 rows.
std::string write_parquet(const std::string& folder, std::uint64_t rows);

#ifdef WICK_RANDOM_LMDB
inline auto text_database(const params& p) {
  std::vector<std::string> lines;
  for (std::uint64_t i = 0; i < p.samples; ++i) lines.push_back(line_of(i));
  return wick::lmdb(write_lmdb(p.folder, lines));
}
#endif

#ifdef WICK_RANDOM_CURL
inline auto served_texts(const params& p) {
  text_lines(p);
  return wick::lines({served(p.folder, "lines.txt")});
}
inline auto served_cells(const params& p) {
  cell_records(p);
  return wick::records<bytes_of_cell>(wick::files({served(p.folder, "cells.bin")}));
}
inline auto served_photos(const params& p) {
  photo_files(p);
  std::vector<std::string> urls;
  for (std::uint64_t i = 0; i < p.samples; ++i)
    urls.push_back(served(p.folder, "photos/" + std::to_string(i) + ".img"));
  return wick::files(urls);
}
inline auto served_shard(const params& p) {
  shard_of_photos(p);
  return wick::tar(wick::shard_list(served(p.folder, "photos.tar")), {"png", "cls"});
}
#endif

#ifdef WICK_RANDOM_ARROW
struct table_row {
  std::array<float, 3> values;
  std::int64_t label;
};
inline auto table_rows(const params& p) {
  return wick::parquet<table_row>(write_parquet(p.folder, p.samples), {"values", "label"});
}
inline constexpr auto cell_of_row = [](const table_row& r) { return cell{r.values, r.label}; };
#endif

}  // namespace random_pipelines
