// Any bytes as a file of a source: samples or a wick::error come out, never anything else, and each sample's
// bytes can be had; the same of what wick itself keeps. The first byte of an input chooses the format, the
// rest is the file.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

#include <wick/cache/detail/saving.hpp>
#include <wick/core.hpp>
#include <wick/io/detail/endian.hpp>
#include <wick/io/detail/source_file.hpp>
#include <wick/resume/detail/state.hpp>
#include <wick/sources/detail/kept_tar.hpp>

namespace {

namespace fs = std::filesystem;

void demand(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

/// A folder of this process.
struct folder {
  folder() : path((fs::temp_directory_path() / "wick-fuzz-XXXXXX").string()) {
    demand(::mkdtemp(path.data()) != nullptr, "no folder for the files");
  }
  ~folder() { fs::remove_all(path); }
  std::string path;
};

std::string put(const char* name, std::string_view bytes) {
  static const folder mine;
  const std::string path = mine.path + '/' + name;
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path;
}

/// Checksums of a TFRecord file whose lengths were changed, so that the data after them is reached.
void mend_checksums(std::string& file) {
  const auto mend = [&](std::size_t at, std::size_t length) {
    const std::uint32_t c =
        wick::detail::crc32c(reinterpret_cast<const std::byte*>(file.data()) + at, length);
    const std::uint32_t masked = (c >> 15 | c << 17) + 0xA282EAD8u;
    std::memcpy(file.data() + at + length, &masked, sizeof masked);
  };
  for (std::size_t at = 0; file.size() - at >= 16;) {
    mend(at, 8);
    std::uint64_t length = 0;
    std::memcpy(&length, file.data() + at, sizeof length);
    if (length > file.size() - at - 16) return;
    mend(at + 12, static_cast<std::size_t>(length));
    at += static_cast<std::size_t>(length) + 16;
  }
}

template <class Source>
void rows(const Source& source) {
  demand(source.size() != 0, "a source without a sample");
  for (std::uint64_t i = 0; i < source.size() && i < 100; ++i) {
    const wick::memory_view row = source.at(i);
    unsigned sum = 0;
    for (std::size_t b = 0; b < row.size(); ++b) sum += static_cast<unsigned>(row.data()[b]);
    demand(sum <= 255u * row.size(), "impossible");
  }
  static_cast<void>(source.fingerprint());
}

template <class Source>
void reads(const Source& source) {
  wick::context c(wick::detail::place{1, 0, 0, 0});
  for (std::uint64_t i = 0; i < source.size() && i < 20; ++i) {
    demand(!source.key(i).empty(), "a sample without a name");
    wick::detail::read_stage read({.max_bytes = 1 << 20});
    auto operation = read(source.at(i), c);
    demand(operation.await_ready(), "a plain call that waits");
    static_cast<void>(operation.await_resume());
  }
}

void csv(const std::string& path) {
  const wick::csv table(path);
  for (const std::string& column : table.columns()) {
    demand(table.texts(column).size() == table.size(), "a column of another length");
    demand(table.classes(column).labels.size() == table.size(), "a column of another length");
    try {
      static_cast<void>(table.integers(column));
    } catch (const wick::error&) {
    }
    try {
      static_cast<void>(table.numbers({column}));
    } catch (const wick::error&) {
    }
  }
}

void example(std::string_view message) {
  const wick::tf_example e(wick::bytes(message.data(), message.size()));
  for (const char* const name : {"image", "label", "x"}) {
    if (!e.has(name)) continue;
    try {
      static_cast<void>(e.texts(name));
      static_cast<void>(e.integers(name));
      static_cast<void>(e.numbers(name));
    } catch (const wick::error&) {
    }
  }
}

void saved(std::string_view bytes) {
  std::pair<std::vector<std::string>, wick::lazy_image> value;
  wick::ext::cache_reader in({reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()});
  try {
    wick::detail::load(value, in);
  } catch (const wick::ext::cache_reader::unavailable&) {
  }
}

/// Members as SHARD.wickidx has them, with a right head and checksum.
void kept_members(const std::string& members) {
  static const std::string shard = [] {
    std::string path = put("kept.tar", std::string(512, 'x'));
    fs::last_write_time(path, fs::file_time_type::clock::now() - std::chrono::hours(1));
    return path;
  }();
  constexpr std::size_t head = 32;  // before the number of members
  std::string all = wick::detail::kept_tar_writer().finish(wick::detail::open_regular(shard, "tar").stamp);
  all = all.substr(0, head) + members;
  wick::detail::append_little_endian(all, wick::ext::fingerprint_hash().add(all).value());
  static_cast<void>(put("kept.tar.wickidx", all));
  reads(wick::tar(shard, {"jpg", "cls"}, {.keep_index = true}));
}

/// A state, with a right checksum.
void state(std::string bytes) {
  constexpr std::size_t length_at = 12, checksum = 8;
  if (bytes.size() >= length_at + 4 + checksum) {
    const auto length = static_cast<std::uint32_t>(bytes.size());
    std::memcpy(bytes.data() + length_at, &length, sizeof length);
    const auto all = std::as_bytes(std::span(bytes));
    const std::uint64_t right =
        wick::ext::fingerprint_hash().add(all.data(), bytes.size() - checksum).value();
    std::memcpy(bytes.data() + bytes.size() - checksum, &right, checksum);
  }
  const auto read = wick::detail::loader_state::from_bytes(std::as_bytes(std::span(bytes)));
  demand(wick::detail::loader_state::from_bytes(read.to_bytes()).batch == read.batch,
         "a state of another batch");
}

/// A list of samples to leave out of four files.
void listed(const std::string& lines) {
  static const wick::files four(
      std::vector<std::string>{put("a", "1"), put("b", "2"), put("c", "3"), put("d", "4")});
  static const std::string empty = [] {
    const std::string path = put("empty", "");
    wick::loader(four | wick::read() | wick::group(2)).write_quarantine(path);
    std::ifstream in(path);
    return std::string(std::istreambuf_iterator<char>(in), {});
  }();
  const bool whole = lines.starts_with("{\"wick_quarantine");
  wick::loader l(four | wick::read() | wick::group(2),
                 {.workers = 1, .quarantine = {put("list", whole ? lines : empty + lines)}});
  demand(l.next().has_value(), "an epoch without a batch");
}

void run(unsigned chosen, std::string file) {
  const unsigned format = chosen & 0x7F;
  const bool mends = (chosen & 0x80) != 0;
  switch (format % 12) {
    case 0:
      return csv(put("a.csv", file));
    case 1:
      return rows(wick::npy(put("a.npy", file)));
    case 2:
      return rows(wick::npy(put("a.npz", file), "x"));
    case 3:
      return rows(wick::safetensors(put("a.safetensors", file), "x"));
    case 4:
      if (mends) mend_checksums(file);
      return reads(wick::tfrecords(put("a.tfrecord", file)));
    case 5:
      return example(file);
    case 6:
      return reads(wick::tar(put("a.tar", file), {"jpg", "cls"}, {.keep_index = true}));
    case 7:
      return saved(file);
    case 8: {
      const std::size_t half = file.size() - std::min<std::size_t>(file.size(), 12);  // its labels are small
      const wick::idx both(put("a.idx3", file.substr(0, half)), put("a.idx1", file.substr(half)));
      demand(both.size() == both.targets().size(), "other labels than rows");
      for (std::uint64_t i = 0; i < both.size() && i < 100; ++i)
        demand(both.at(i).data.size() == both.at(0).data.size(), "a row of another length");
      return;
    }
    case 9:
      return state(file);
    case 10:
      return kept_members(file);
    default:
      return listed(file);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  try {
    run(data[0], std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  } catch (const wick::error& e) {
    demand(*e.what() != '\0', "an error without a word");
  }
  return 0;
}
