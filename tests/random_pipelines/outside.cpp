#include "outside.hpp"

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <utility>

#include "stores/server.hpp"
#include "support/python.hpp"
#ifdef WICK_RANDOM_LMDB
#include <lmdb.h>
#endif

namespace random_pipelines {

#ifdef WICK_RANDOM_LMDB
std::string write_lmdb(const std::string& folder, const std::vector<std::string>& values) {
  const std::string path = folder + "/texts.lmdb";
  if (wick_test::fs::exists(path)) return path;
  wick_test::fs::create_directories(path);
  const auto check = [&](int result) {
    if (result != 0) throw std::runtime_error(path + ": " + ::mdb_strerror(result));
  };
  MDB_env* env = nullptr;
  MDB_txn* transaction = nullptr;
  MDB_dbi database = 0;
  check(::mdb_env_create(&env));
  check(::mdb_env_open(env, path.c_str(), MDB_NOSYNC, 0644));
  check(::mdb_txn_begin(env, nullptr, 0, &transaction));
  check(::mdb_dbi_open(transaction, nullptr, 0, &database));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string name = std::to_string(100000 + i).substr(1);
    MDB_val key{name.size(), const_cast<char*>(name.data())};
    MDB_val value{values[i].size(), const_cast<char*>(values[i].data())};
    check(::mdb_put(transaction, database, &key, &value, 0));
  }
  check(::mdb_txn_commit(transaction));
  ::mdb_env_close(env);
  return path;
}
#endif

std::string served(const std::string& folder, const std::string& name) {
  static std::string root;
  static std::unique_ptr<wick_test::faulty_server> server;
  if (root != folder) {
    server.reset();
    server = std::make_unique<wick_test::faulty_server>(folder);
    root = folder;
  }
  return server->url("ok", name);
}

std::string write_parquet(const std::string& folder, std::uint64_t rows) {
  const std::string path = folder + "/table.parquet";
  if (wick_test::fs::exists(path)) return path;
  wick_test::fs::create_directories(folder);
  static const std::string python = wick_test::python_with("pyarrow.parquet");
  const std::string script =
      "import pyarrow as pa, pyarrow.parquet as pq; r = range(" + std::to_string(rows) +
      "); pq.write_table(pa.table({'values': pa.array([[i, i * i % 97, -1] for i in r], "
      "pa.list_(pa.float32())), 'label': pa.array(list(r), pa.int64())}), '" +
      path + "', row_group_size=7)";
  if (python.empty() || std::system((python + " -c \"" + script + "\"").c_str()) != 0)
    throw std::runtime_error("no python3 here can write " + path);
  return path;
}

}  // namespace random_pipelines
