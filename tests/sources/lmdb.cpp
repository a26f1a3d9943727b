// LMDB's databases, written by LMDB itself, and by Python's package where there is one.
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <lmdb.h>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/own_mounts.hpp"
#include "support/python.hpp"
#include "support/temp_dir.hpp"
#include <wick/batch/batch.hpp>
#include <wick/io/read.hpp>
#include <wick/loader/loader.hpp>
#include <wick/sampling/order.hpp>
#include <wick/sampling/zip.hpp>
#include <wick/sources/lmdb.hpp>
#include <wick/sources/memory.hpp>

namespace wick_test::lmdb_tests {

using wick_test::contains;
using wick_test::message_of;
using wick_test::temp_dir;

namespace {

using pairs = std::map<std::string, std::string>;

/// A database at `path`: a folder, or a file with MDB_NOSUBDIR.
void write(const std::string& path, const pairs& records, unsigned flags = 0, const char* name = nullptr) {
  if ((flags & MDB_NOSUBDIR) == 0) std::filesystem::create_directories(path);
  MDB_env* env = nullptr;
  REQUIRE(mdb_env_create(&env) == 0);
  REQUIRE(mdb_env_set_mapsize(env, 64 << 20) == 0);
  REQUIRE(mdb_env_set_maxdbs(env, 4) == 0);
  REQUIRE(mdb_env_open(env, path.c_str(), flags, 0644) == 0);
  MDB_txn* txn = nullptr;
  REQUIRE(mdb_txn_begin(env, nullptr, 0, &txn) == 0);
  MDB_dbi dbi = 0;
  REQUIRE(mdb_dbi_open(txn, name, MDB_CREATE, &dbi) == 0);
  for (const auto& [k, v] : records) {
    MDB_val key{k.size(), const_cast<char*>(k.data())}, value{v.size(), const_cast<char*>(v.data())};
    REQUIRE(mdb_put(txn, dbi, &key, &value, 0) == 0);
  }
  REQUIRE(mdb_txn_commit(txn) == 0);
  mdb_env_close(env);
}

/// Values of all lengths: in a page of keys, and on pages of their own.
pairs some_records(std::size_t n) {
  pairs out;
  for (std::size_t i = 0; i < n; ++i) {
    std::string number = std::to_string(i);
    number.insert(0, 6 - number.size(), '0');
    out["image-" + number] = std::string(i * i * 37 % 9001, static_cast<char>('a' + i % 26));
    out["label-" + number] = std::to_string(i % 10);
  }
  return out;
}

std::string text_of(const wick::bytes& b) {
  return {reinterpret_cast<const char*>(b.span().data()), b.size()};
}

/// What read() gives of each sample.
template <class Source>
pairs read_all(const Source& from) {
  pairs out;
  std::vector<std::uint64_t> numbers(from.size());
  std::iota(numbers.begin(), numbers.end(), 0);
  wick::loader l(wick::zip(from, wick::in_memory(numbers)) | wick::shuffle() | wick::read() | wick::group(7),
                 {.seed = 1});
  for (auto& group : l.epoch(0)) {
    for (auto& [value, number] : group) out[from.key(number)] = text_of(value);
  }
  return out;
}

}  // namespace

TEST_CASE("all records of a database come with their keys, in any order, whatever their length") {
  const temp_dir dir;
  const pairs records = some_records(300);
  write(dir / "train.lmdb", records);
  const auto all = wick::lmdb(dir / "train.lmdb");
  CHECK(all.size() == records.size());
  CHECK(read_all(all) == records);
  std::uint64_t i = 0;
  for (const auto& [key, value] : records) CHECK(all.key(i++) == key);  // in the order of the keys

  write(dir / "one-file.mdb", records, MDB_NOSUBDIR);
  CHECK(read_all(wick::lmdb(dir / "one-file.mdb")) == records);
}

TEST_CASE("values of two keys make one sample, by prefixes and zip") {
  const temp_dir dir;
  const pairs records = some_records(50);
  write(dir / "train.lmdb", records);
  const auto images = wick::lmdb(dir / "train.lmdb", {.prefix = "image-"});
  const auto labels = wick::lmdb(dir / "train.lmdb", {.prefix = "label-"});
  CHECK(images.size() == 50);
  const auto number = [](std::string_view key) { return std::string(key.substr(6)); };
  wick::loader l(wick::zip(number, images, labels) | wick::shuffle() | wick::read() | wick::group(8),
                 {.seed = 1});
  std::size_t seen = 0;
  for (auto& group : l.epoch(0)) {
    for (auto& [image, label] : group) {
      ++seen;
      const std::string text = text_of(image);
      if (!text.empty()) CHECK((text[0] - 'a') % 2 == std::stoi(text_of(label)) % 2);
    }
  }
  CHECK(seen == 50);
}

TEST_CASE("named databases are read by name, and asked for where there are only such") {
  const temp_dir dir;
  const pairs train = some_records(20), test = {{"a", "1"}, {"b", "2"}};
  write(dir / "both.lmdb", train, 0, "train");
  write(dir / "both.lmdb", test, 0, "test");
  CHECK(read_all(wick::lmdb(dir / "both.lmdb", {.database = "train"})) == train);
  CHECK(read_all(wick::lmdb(dir / "both.lmdb", {.database = "test"})) == test);
  CHECK(contains(message_of([&] { return wick::lmdb(dir / "both.lmdb"); }),
                 "has databases, one of them \"test\"; name one"));
  CHECK(contains(message_of([&] { return wick::lmdb(dir / "both.lmdb", {.database = "val"}); }),
                 "has no database \"val\""));
  // Records beside databases: where a database's header lies among them, and where no record is one.
  write(dir / "beside.lmdb", {{"a", std::string(48, 'x')}, {"z", "2"}});
  CHECK(wick::lmdb(dir / "beside.lmdb").size() == 2);
  write(dir / "beside.lmdb", train, 0, "labels");
  CHECK(contains(message_of([&] { return wick::lmdb(dir / "beside.lmdb"); }),
                 "has databases, one of them \"labels\"; name one"));
  CHECK(wick::lmdb(dir / "beside.lmdb", {.prefix = "a"}).size() == 1);
  CHECK(read_all(wick::lmdb(dir / "beside.lmdb", {.database = "labels"})) == train);
}

TEST_CASE("what is missing, empty, damaged or cut off is an error with the path") {
  const temp_dir dir;
  CHECK(contains(message_of([&] { return wick::lmdb(dir / "none"); }),
                 "none: lmdb: can't open it: No such file"));
  write(dir / "empty.lmdb", {});
  CHECK(contains(message_of([&] { return wick::lmdb(dir / "empty.lmdb"); }),
                 "empty.lmdb: lmdb: has no record"));
  write(dir / "train.lmdb", some_records(100));
  CHECK(contains(message_of([&] { return wick::lmdb(dir / "train.lmdb", {.prefix = "x"}); }),
                 "no key that begins with \"x\""));
  wick_test::write_file(dir / "text.mdb", std::string(100'000, 'x'));
  CHECK(contains(message_of([&] { return wick::lmdb(dir / "text.mdb"); }), "text.mdb: lmdb: MDB_INVALID"));

  const std::string file = dir / "train.lmdb/data.mdb";
  std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  CHECK(contains(message_of([&] { return wick::lmdb(dir / "train.lmdb"); }), "it is cut off"));
}

TEST_CASE("a file that is cut off or written to later is an error of its samples, not a signal") {
  const temp_dir dir;
  write(dir / "train.lmdb", some_records(100));
  wick::loader l(wick::lmdb(dir / "train.lmdb") | wick::read() | wick::group(1),
                 {.prefetch_next_epoch = false});
  for (auto& group : l.epoch(0)) CHECK(group.size() == 1);
  std::filesystem::resize_file(dir / "train.lmdb/data.mdb", 8192);
  CHECK(contains(message_of([&] {
                   for (auto& group : l.epoch(1)) CHECK(group.size() == 1);
                   return 0;
                 }),
                 "image-000000: read: "));
}

TEST_CASE("the fingerprint goes by keys, lengths and options, not by the folder") {
  const temp_dir dir;
  const pairs records = some_records(30);
  write(dir / "a/train.lmdb", records);
  write(dir / "b/train.lmdb", records);
  CHECK(wick::lmdb(dir / "a/train.lmdb").fingerprint() == wick::lmdb(dir / "b/train.lmdb").fingerprint());
  std::set<std::uint64_t> all{wick::lmdb(dir / "a/train.lmdb").fingerprint()};
  all.insert(wick::lmdb(dir / "a/train.lmdb", {.prefix = "image-"}).fingerprint());
  pairs other = records;
  other["image-000003"] += "x";
  write(dir / "c/train.lmdb", other);
  all.insert(wick::lmdb(dir / "c/train.lmdb").fingerprint());
  CHECK(all.size() == 3);
}

TEST_CASE("a file system that can't be written is read without a lock file") {
  const temp_dir dir;
  const pairs records = some_records(10);
  const bool tried = wick_test::with_own_mounts([&] {
    if (!wick_test::mount_small(dir.path(), 1 << 20)) return false;
    write(dir / "train.lmdb", records);
    std::filesystem::remove(dir / "train.lmdb/lock.mdb");
    if (::mount("none", dir.path().c_str(), "", MS_REMOUNT | MS_RDONLY, nullptr) != 0) return false;
    CHECK(read_all(wick::lmdb(dir / "train.lmdb")) == records);
    CHECK_FALSE(std::filesystem::exists(dir / "train.lmdb/lock.mdb"));
    ::umount(dir.path().c_str());
    return true;
  });
  if (!tried) MESSAGE("skipped: file systems can't be mounted here");
}

TEST_CASE("a folder of another user's is read without a lock file") {
  if (::geteuid() != 0) return;  // who could become another user?
  const temp_dir dir;
  write(dir / "train.lmdb", some_records(10));
  std::filesystem::remove(dir / "train.lmdb/lock.mdb");
  for (const auto& folder : {dir.path(), dir / "train.lmdb"}) ::chmod(folder.c_str(), 0555);
  const pid_t child = ::fork();
  if (child == 0) {
    if (::setuid(65534) != 0) ::_exit(2);
    try {
      ::_exit(wick::lmdb(dir / "train.lmdb").size() == 20 ? 0 : 3);
    } catch (...) {
      ::_exit(1);
    }
  }
  int status = -1;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("what Python's lmdb wrote is read, sorted duplicates too") {
  const temp_dir dir;
  const bool ran = wick_test::run_python("lmdb", dir, R"(
env = lmdb.open('train.lmdb', map_size=1 << 28, max_dbs=2)
with env.begin(write=True) as txn:
    for i in range(1000):
        txn.put(b'%08d' % i, bytes([i % 256]) * (i * 7 % 20000))
env.close()
env = lmdb.open('twice.mdb', map_size=1 << 24, subdir=False, max_dbs=2)
db = env.open_db(b'both', dupsort=True)
with env.begin(write=True, db=db) as txn:
    for i in range(600):
        txn.put(b'key', b'%04d' % i)
env.close()
)");
  if (!ran) return;
  const auto all = wick::lmdb(dir / "train.lmdb");
  REQUIRE(all.size() == 1000);
  const pairs got = read_all(all);
  for (std::uint64_t i = 0; i < 1000; ++i)
    CHECK(got.at(all.key(i)) == std::string(i * 7 % 20000, static_cast<char>(i % 256)));

  wick::loader l(wick::lmdb(dir / "twice.mdb", {.database = "both"}) | wick::read() | wick::group(1));
  std::uint64_t i = 0;
  for (auto& group : l.epoch(0)) CHECK(std::stoull(text_of(group[0])) == i++);
  CHECK(i == 600);
}

}  // namespace wick_test::lmdb_tests
