// Implements sources/lmdb.hpp. Included in exactly one file of a program, which links lmdb.
#pragma once

#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <lmdb.h>
#include <string_view>
#include <utility>
#include <vector>

#include <wick/ext/file_stamp.hpp>
#include <wick/ext/fingerprint.hpp>
#include <wick/io/detail/file_io.hpp>
#include <wick/io/detail/file_kind.hpp>
#include <wick/io/detail/source_file.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/sources/lmdb.hpp>

namespace wick::inline v0_1::detail {

namespace {

/// LMDB's view of a file, open while its keys are read.
class lmdb_reader {
 public:
  lmdb_reader(const std::string& path, bool is_file, const std::string& database) : path_(path) {
    try {
      const unsigned flags =
          MDB_RDONLY | MDB_NORDAHEAD | (is_file ? static_cast<unsigned>(MDB_NOSUBDIR) : 0U);
      int result = open(flags);
      // In a read-only folder there is no lock file; the file's stamp reveals a change meanwhile.
      if (result == EACCES || result == EROFS || result == EPERM) result = open(flags | MDB_NOLOCK);
      check(result);
      check(mdb_txn_begin(env_, nullptr, MDB_RDONLY, &txn_));
      result = mdb_dbi_open(txn_, database.empty() ? nullptr : database.c_str(), 0, &dbi_);
      if (result == MDB_NOTFOUND) throw problem("has no database \"" + printable(database) + "\"");
      check(result);
      check(mdb_cursor_open(txn_, dbi_, &cursor_));
    } catch (...) {
      close();
      throw;
    }
  }
  lmdb_reader(const lmdb_reader&) = delete;
  lmdb_reader& operator=(const lmdb_reader&) = delete;
  ~lmdb_reader() { close(); }

  /// The number of bytes that the file must have.
  std::uint64_t bytes() const {
    MDB_envinfo info;
    check(mdb_env_info(env_, &info));
    return (std::uint64_t{info.me_last_pgno} + 1) * page_size();
  }
  std::uint64_t entries() const {
    MDB_stat stat;
    check(mdb_stat(txn_, dbi_, &stat));
    return stat.ms_entries;
  }

  /// The first key that isn't below `from`. False if there is none.
  bool first(std::string_view from, MDB_val& key, MDB_val& value) {
    key = {from.size(), const_cast<char*>(from.data())};  // NOLINT: LMDB only reads it
    return found(mdb_cursor_get(cursor_, &key, &value, from.empty() ? MDB_FIRST : MDB_SET_RANGE));
  }
  bool next(MDB_val& key, MDB_val& value) { return found(mdb_cursor_get(cursor_, &key, &value, MDB_NEXT)); }

  /// Whether this key of the unnamed database is a named database's.
  bool is_database(std::string_view name) const {
    MDB_dbi other = 0;
    return name.find('\0') == std::string_view::npos &&
           mdb_dbi_open(txn_, std::string(name).c_str(), 0, &other) == MDB_SUCCESS;
  }

  error problem(const std::string& what) const { return source_error(path_, "lmdb", what); }

 private:
  std::uint64_t page_size() const {
    MDB_stat stat;
    check(mdb_env_stat(env_, &stat));
    return stat.ms_psize;
  }
  int open(unsigned flags) {
    if (env_ != nullptr) mdb_env_close(std::exchange(env_, nullptr));
    check(mdb_env_create(&env_));
    check(mdb_env_set_maxdbs(env_, 1));
    return mdb_env_open(env_, path_.c_str(), flags, 0644);
  }
  void check(int result) const {
    if (result != MDB_SUCCESS) throw problem(mdb_strerror(result));
  }
  bool found(int result) const {
    if (result == MDB_NOTFOUND) return false;
    check(result);
    return true;
  }
  void close() noexcept {
    if (cursor_ != nullptr) mdb_cursor_close(cursor_);
    if (txn_ != nullptr) mdb_txn_abort(txn_);
    if (env_ != nullptr) mdb_env_close(env_);
  }

  std::string path_;
  MDB_env* env_ = nullptr;
  MDB_txn* txn_ = nullptr;
  MDB_dbi dbi_ = 0;
  MDB_cursor* cursor_ = nullptr;
};

/// A file's mapping in this process's memory. LMDB returns pointers; later reads need offsets.
class mapped_file {
 public:
  /// The mapping that contains `inside`. \throws wick::error without /proc
  explicit mapped_file(const void* inside) {
    const auto wanted = reinterpret_cast<std::uintptr_t>(inside);
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> maps(std::fopen("/proc/self/maps", "re"),
                                                               std::fclose);
    char line[4352];  // a path takes up to 4096
    while (maps != nullptr && std::fgets(line, sizeof line, maps.get()) != nullptr) {
      std::uintptr_t begin = 0, end = 0;
      std::uint64_t offset = 0;
      if (std::sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*4s %" SCNx64, &begin, &end, &offset) != 3) continue;
      if (wanted < begin || wanted >= end) continue;
      begin_ = begin;
      offset_ = offset;
      return;
    }
    throw error("/proc/self/maps does not say where the file is mapped; mount /proc");
  }
  std::uint64_t offset_of(const void* data) const noexcept {
    return reinterpret_cast<std::uintptr_t>(data) - begin_ + offset_;
  }

 private:
  std::uintptr_t begin_ = 0;
  std::uint64_t offset_ = 0;
};

}  // namespace

struct lmdb_records::index {
  index(const std::string& path, const lmdb_options& options);
  void scan(lmdb_reader& from, const lmdb_options& options);
  std::string_view key(std::uint64_t i) const noexcept {
    const std::uint64_t begin = i == 0 ? 0 : key_ends[i - 1];
    return std::string_view(keys).substr(begin, key_ends[i] - begin);
  }

  std::string path;  // of the file
  opened_file file;
  std::uint64_t print = 0;
  std::vector<std::uint64_t> offsets;
  std::vector<std::uint32_t> lengths;
  std::vector<std::uint64_t> key_ends;
  std::string keys;  // all, one after the other
};

lmdb_records::index::index(const std::string& at, const lmdb_options& options) : path(at) {
  std::error_code fault;
  const bool is_file = !std::filesystem::is_directory(at, fault);
  if (!is_file) path = (std::filesystem::path(at) / "data.mdb").string();
  file = open_regular(path, "lmdb");
  std::array<std::byte, file_kind::looked_at> start{};
  const std::size_t n = read_up_to(file.file.get(), start.data(), start.size(), 0);
  const file_kind other = kind_of_file({reinterpret_cast<const char*>(start.data()), n}, certainty::sure);
  if (other && other.what != "an LMDB database") throw source_error(path, "lmdb", other.text());
  lmdb_reader from(at, is_file, options.database);
  if (from.bytes() > file.stamp.size) {
    throw from.problem("the file has " + std::to_string(file.stamp.size) + " bytes, and its pages take " +
                       std::to_string(from.bytes()) + "; it is cut off: copy it again");
  }
  scan(from, options);
  require_unchanged(file, path, "lmdb");
  fingerprint_hash h;
  h.add(std::filesystem::path(at).filename().string()).add(options.database).add(options.prefix).add(keys);
  for (const std::uint32_t length : lengths) h.add(std::uint64_t{length});
  print = h.value();
}

void lmdb_records::index::scan(lmdb_reader& from, const lmdb_options& options) {
  constexpr std::size_t bytes_of_a_database = 48;  // sizeof(MDB_db), which lmdb.h doesn't declare
  MDB_val key, value;
  bool more = from.first(options.prefix, key, value);
  const auto text = [](const MDB_val& v) {
    return std::string_view(static_cast<const char*>(v.mv_data), v.mv_size);
  };
  if (more) {
    const std::uint64_t most = options.prefix.empty() ? std::min(from.entries(), file.stamp.size / 8) : 0;
    offsets.reserve(most);
    lengths.reserve(most);
    key_ends.reserve(most);
    const mapped_file mapped(value.mv_data);
    for (; more && text(key).starts_with(options.prefix); more = from.next(key, value)) {
      if (options.database.empty() && value.mv_size == bytes_of_a_database && from.is_database(text(key))) {
        throw from.problem("has databases, one of them \"" + printable(text(key)) +
                           "\"; name one: lmdb(path, {.database = \"" + printable(text(key)) + "\"})");
      }
      const std::uint64_t offset = mapped.offset_of(value.mv_data);
      if (offset > file.stamp.size || value.mv_size > file.stamp.size - offset) {
        throw from.problem("the value of \"" + printable(text(key)) +
                           "\" reaches past the end of the file; it is damaged");
      }
      if (value.mv_size > std::numeric_limits<std::uint32_t>::max()) {
        throw from.problem("the value of \"" + printable(text(key)) + "\" has " +
                           std::to_string(value.mv_size) + " bytes, and the most is 4,294,967,295; split it");
      }
      offsets.push_back(offset);
      lengths.push_back(static_cast<std::uint32_t>(value.mv_size));
      keys += text(key);
      key_ends.push_back(keys.size());
    }
  }
  if (offsets.empty()) {
    throw from.problem(options.prefix.empty()
                           ? "has no record"
                           : "has no key that begins with \"" + printable(options.prefix) + "\"");
  }
}

lmdb_records::lmdb_records(const std::string& path, const lmdb_options& options)
    : index_(std::make_shared<const index>(path, options)) {}

std::uint64_t lmdb_records::size() const noexcept { return index_->offsets.size(); }

file_range lmdb_records::at(std::uint64_t i) const noexcept {
  const index& all = *index_;
  return {all.path.c_str(), all.file.file.get(), all.offsets[i], all.lengths[i], &all.file.stamp};
}

std::string lmdb_records::key(std::uint64_t i) const { return printable(index_->key(i)); }

std::uint64_t lmdb_records::fingerprint() const noexcept { return index_->print; }

}  // namespace wick::detail

namespace wick::inline v0_1 {

detail::lmdb_records lmdb(const std::string& path, const lmdb_options& options) { return {path, options}; }

}  // namespace wick
