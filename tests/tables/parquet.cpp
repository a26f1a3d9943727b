// Parquet as pyarrow writes it: each type, each way to lie in a file, what is wrong with files, and what a
// loader does with rows.
#include <array>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/python.hpp"
#include "../support/temp_dir.hpp"
#include <wick/async/executor.hpp>
#include <wick/batch/batch.hpp>
#include <wick/cache/cache_on_disk.hpp>
#include <wick/io/read.hpp>
#include <wick/loader/loader.hpp>
#include <wick/sampling/block_shuffle.hpp>
#include <wick/sampling/order.hpp>
#include <wick/sampling/zip.hpp>
#include <wick/sources/memory.hpp>
#include <wick/tables/parquet.hpp>

namespace wick_test::parquet_tests {

static_assert(wick::ext::source<wick::parquet<float>>);
static_assert(wick::detail::reads_itself<wick::detail::parquet_row<float>>);

using texts = std::vector<std::string>;

namespace {

constexpr std::uint64_t rows = 50;

/// A folder with the files that all cases read; null where no pyarrow can write them.
const temp_dir* made() {
  static const temp_dir dir;
  static const bool done = run_python("pyarrow, pyarrow.parquet", dir, R"(
import pyarrow as pa, pyarrow.parquet as pq, struct
n = 50
r = range(n)
def col(t, f): return pa.array([f(i) for i in r], t)
types = {
    'bool': col(pa.bool_(), lambda i: i % 3 == 0),
    'i8': col(pa.int8(), lambda i: i - 25), 'u8': col(pa.uint8(), lambda i: 200 + i),
    'i16': col(pa.int16(), lambda i: 1000 * (i - 25)), 'u16': col(pa.uint16(), lambda i: 65000 + i),
    'i32': col(pa.int32(), lambda i: 40000000 * (i - 25)), 'u32': col(pa.uint32(), lambda i: 4000000000 + i),
    'i64': col(pa.int64(), lambda i: (i - 25) * 2**57), 'u64': col(pa.uint64(), lambda i: 2**63 + i),
    'f32': col(pa.float32(), lambda i: i / 4), 'f64': col(pa.float64(), lambda i: i / 7),
    'string': col(pa.string(), lambda i: 'x' * (i % 5) + str(i)), 'lstring': col(pa.large_string(), lambda i: 'y%d' % i),
    'binary': col(pa.binary(), lambda i: b'b\0%d' % i), 'lbinary': col(pa.large_binary(), lambda i: b'\xff' * (i % 3)),
    'fixed': col(pa.binary(4), lambda i: struct.pack('<i', i)),
    'dict': pa.array(['class %d' % (i % 4) for i in r]).dictionary_encode(),
    'dictnum': pa.array([100 * (i % 4) for i in r]).dictionary_encode(),
    'list': col(pa.list_(pa.float32()), lambda i: [i, i + 0.5, -i]),
    'llist': col(pa.large_list(pa.int32()), lambda i: list(range(i % 4))),
    'flist': col(pa.list_(pa.int64(), 2), lambda i: [i, i * i]),
    'nested': col(pa.list_(pa.list_(pa.float64())), lambda i: [[i, 1, 2], [3, 4, i]]),
    'image': col(pa.struct([('bytes', pa.binary()), ('path', pa.string())]), lambda i: {'bytes': b'jpg%d' % i, 'path': 'p%d' % i}),
    'x': col(pa.float32(), lambda i: i), 'y': col(pa.int16(), lambda i: -i), 'z': col(pa.float32(), lambda i: i / 2),
    'decimal': pa.array(list(r)).cast(pa.decimal128(21, 2)), 'time': pa.array(list(r)).cast(pa.timestamp('us')),
    'words': col(pa.list_(pa.string()), lambda i: ['a']),
}
t = pa.table(types)
pq.write_table(t, 'types.parquet', row_group_size=7)
pq.write_table(pa.table({'f16': col(pa.float16(), lambda i: i / 8), 'f16list': col(pa.list_(pa.float16()), lambda i: [i / 8] * 2)}), 'half.parquet')
plain = t.select(['string', 'i64', 'list', 'dict', 'f64'])
for c in ['none', 'snappy', 'zstd', 'gzip', 'brotli', 'lz4']:
    pq.write_table(plain, 'way-%s.parquet' % c, compression=c, row_group_size=11, write_page_checksum=True)
pq.write_table(plain, 'way-plain.parquet', use_dictionary=False, data_page_version='2.0', row_group_size=11)
pq.write_table(plain, 'sums.parquet', use_dictionary=False, compression='none', write_page_checksum=True, row_group_size=10)
pq.write_table(plain, 'way-pages.parquet', data_page_size=32, write_batch_size=4, store_schema=False, row_group_size=50)
pq.write_table(plain, 'way-old.parquet', version='1.0', use_deprecated_int96_timestamps=True, row_group_size=11)
label = pa.schema([('label', pa.int64()), ('text', pa.string())])
def part(name, first, count, size):
    pq.write_table(pa.table({'label': list(range(first, first + count)), 'text': ['t%d' % i for i in range(first, first + count)]}, label),
                   name, row_group_size=size)
part('part-2.parquet', 40, 30, 10)
part('part-10.parquet', 70, 5, 3)
part('part-1.parquet', 0, 40, 16)
part('part-3.parquet', 0, 0, 16)
part('many.parquet', 0, 600, 10)
pq.write_table(pa.table({'text': ['a'], 'label': pa.array([1], pa.float64())}), 'other.parquet')
pq.write_table(pa.table({'text': ['a']}), 'short.parquet')
nulls = pa.table({
    'meta': pa.array([{'score': 1}, None, {'score': 3}, {'score': None}, {'score': 5}, {'score': 6}],
                     pa.struct([pa.field('score', pa.float32())])),
    'sure': pa.array([{'score': 1}, None, {'score': 3}, {'score': 4}, {'score': 5}, {'score': 6}],
                     pa.struct([pa.field('score', pa.float32(), nullable=False)])),
    'number': pa.array([1, None, 3, 4, None, 6], pa.int64()), 'real': pa.array([None, 0.5, 1, None, 2, 3], pa.float32()),
    'flag': pa.array([None, True, True, False, True, None]), 'text': pa.array(['a', None, 'c', '', 'e', 'f']),
    'list': pa.array([[1, 2], [3, 4], None, [5, None], [6, 7], [8]], pa.list_(pa.float32())),
    'pairs': pa.array([[[1, 2], [3, 4]], [[1], [2, 3, 4]], None, [[5, 6], [7, 8]], [], [[1, None], [3, 4]]], pa.list_(pa.list_(pa.float64()))),
    'none': pa.array([1, 2, 3, 4, 5, 6], pa.int64()),
    'image': pa.array([{'bytes': b'0'}, None, {'bytes': None}, {'bytes': b'3'}, {'bytes': b'4'}, {'bytes': b'5'}], pa.struct([('bytes', pa.binary())])),
    'dict': pa.array(['a', None, 'b', 'a', None, 'b']).dictionary_encode(),
})
pq.write_table(nulls, 'nulls.parquet')
pq.write_table(pa.table({'mask': pa.array([[1] * 500] * 400, pa.list_(pa.int64())), 'prompt': ['again and again, ' * 100] * 400}),
               'repeats.parquet', row_group_size=200)
import random
random.seed(1)
wide = pa.table({'c%d' % c: pa.array([random.random() for i in range(20000)]) for c in range(20)})
pq.write_table(wide, 'wide.parquet', row_group_size=5000, use_dictionary=False)
years = pa.table({'year': pa.array([2000 + i // 10 for i in range(100)], pa.int32()), 'x': list(range(100)),
                  'name': ['n'] * 100, 'big': pa.array([2**63 + i for i in range(100)], pa.uint64())})
pq.write_table(years, 'years.parquet', row_group_size=10)
pq.write_table(years, 'unknown.parquet', row_group_size=10, write_statistics=False)
open('no.parquet', 'w').write('this is not what it says, but it is long enough to have been one')
open('empty.parquet', 'w')
)");
  return done ? &dir : nullptr;
}
std::string file(const std::string& name) { return made()->path().string() + "/" + name; }

/// All rows, in order, as a loader gives them.
template <class T>
std::vector<T> all_of(const wick::parquet<T>& source, std::size_t workers = 2) {
  wick::loader l(source | wick::read(), {.workers = workers});
  std::vector<T> out;
  for (auto& row : l.epoch(0)) out.push_back(std::move(row));
  return out;
}
template <class T>
std::vector<T> column(const std::string& name, const texts& columns,
                      const wick::parquet_options& options = {}) {
  return all_of(wick::parquet<T>(file(name), columns, options));
}
template <class T>
std::string refused(const std::string& name, const texts& columns,
                    const wick::parquet_options& options = {}) {
  return message_of([&] { return wick::parquet<T>(file(name), columns, options); });
}
template <class T, class F>
void check_each(const std::string& name, const texts& columns, F&& expected) {
  CAPTURE(columns[0]);
  const std::vector<T> found = column<T>(name, columns);
  REQUIRE(found.size() == rows);
  for (std::uint64_t i = 0; i < rows; ++i) CHECK(found[i] == expected(static_cast<std::int64_t>(i)));
}
std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

TEST_CASE("numbers are read back as what they are, and as wider types") {
  if (made() == nullptr) return;
  const std::string types = "types.parquet";
  check_each<bool>(types, {"bool"}, [](auto i) { return i % 3 == 0; });
  check_each<std::int32_t>(types, {"bool"}, [](auto i) { return i % 3 == 0 ? 1 : 0; });
  check_each<std::int8_t>(types, {"i8"}, [](auto i) { return i - 25; });
  check_each<std::int64_t>(types, {"i8"}, [](auto i) { return i - 25; });
  check_each<std::uint8_t>(types, {"u8"}, [](auto i) { return static_cast<std::uint8_t>(200 + i); });
  check_each<float>(types, {"u8"}, [](auto i) { return static_cast<float>(200 + i); });
  check_each<std::int16_t>(types, {"i16"}, [](auto i) { return 1000 * (i - 25); });
  check_each<float>(types, {"i16"}, [](auto i) { return static_cast<float>(1000 * (i - 25)); });
  check_each<std::uint16_t>(types, {"u16"}, [](auto i) { return 65000 + i; });
  check_each<std::int32_t>(types, {"u16"}, [](auto i) { return 65000 + i; });
  check_each<std::int32_t>(types, {"i32"}, [](auto i) { return 40000000 * (i - 25); });
  check_each<double>(types, {"i32"}, [](auto i) { return 4e7 * static_cast<double>(i - 25); });
  check_each<std::uint32_t>(types, {"u32"},
                            [](auto i) { return static_cast<std::uint32_t>(4000000000 + i); });
  check_each<std::int64_t>(types, {"u32"}, [](auto i) { return 4000000000 + i; });
  check_each<std::int64_t>(types, {"i64"}, [](auto i) { return (i - 25) * (std::int64_t{1} << 57); });
  check_each<std::uint64_t>(types, {"u64"},
                            [](auto i) { return (std::uint64_t{1} << 63) + static_cast<std::uint64_t>(i); });
  check_each<float>(types, {"f32"}, [](auto i) { return static_cast<float>(i) / 4; });
  check_each<double>(types, {"f32"}, [](auto i) { return static_cast<double>(i) / 4; });
  check_each<double>(types, {"f64"}, [](auto i) { return static_cast<double>(i) / 7; });
  check_each<std::int64_t>(types, {"dictnum"}, [](auto i) { return 100 * (i % 4); });
  check_each<float>("half.parquet", {"f16"}, [](auto i) { return static_cast<float>(i) / 8; });
}

TEST_CASE("texts and bytes of any kind are read back") {
  if (made() == nullptr) return;
  const std::string types = "types.parquet";
  const auto number = [](auto i) { return std::to_string(i); };
  check_each<std::string>(types, {"string"}, [&](auto i) { return std::string(i % 5, 'x') + number(i); });
  check_each<std::string>(types, {"lstring"}, [&](auto i) { return "y" + number(i); });
  check_each<std::string>(types, {"binary"}, [&](auto i) { return std::string("b\0", 2) + number(i); });
  check_each<std::string>(types, {"lbinary"}, [&](auto i) { return std::string(i % 3, '\xff'); });
  check_each<std::string>(types, {"dict"}, [&](auto i) { return "class " + number(i % 4); });
  check_each<std::string>(types, {"image.path"}, [&](auto i) { return "p" + number(i); });
  check_each<std::string>(types, {"fixed"}, [&](auto i) {
    const auto n = static_cast<std::int32_t>(i);
    return std::string(reinterpret_cast<const char*>(&n), 4);
  });
  const auto pictures = column<wick::sample<wick::bytes, std::int64_t>>(types, {"image.bytes", "i64"});
  REQUIRE(pictures.size() == rows);
  CHECK(pictures[7].data.text() == "jpg7");
  CHECK(pictures[7].target == -18 * (std::int64_t{1} << 57));
}

TEST_CASE("lists become arrays and vectors, and so do several columns") {
  if (made() == nullptr) return;
  const std::string types = "types.parquet";
  using three = std::array<float, 3>;
  check_each<three>(types, {"list"}, [](auto i) {
    const auto f = static_cast<float>(i);
    return three{f, f + 0.5F, -f};
  });
  check_each<std::array<double, 3>>(types, {"list"}, [](auto i) {
    const auto d = static_cast<double>(i);
    return std::array<double, 3>{d, d + 0.5, -d};
  });
  check_each<std::vector<float>>(types, {"list"}, [](auto i) {
    const auto f = static_cast<float>(i);
    return std::vector<float>{f, f + 0.5F, -f};
  });
  check_each<std::vector<std::int64_t>>(types, {"llist"}, [](auto i) {
    std::vector<std::int64_t> out;
    for (std::int64_t k = 0; k < i % 4; ++k) out.push_back(k);
    return out;
  });
  check_each<std::array<std::int64_t, 2>>(types, {"flist"}, [](auto i) {
    return std::array<std::int64_t, 2>{i, i * i};
  });
  using grid = std::array<std::array<double, 3>, 2>;
  check_each<grid>(types, {"nested"}, [](auto i) {
    const auto d = static_cast<double>(i);
    return grid{{{d, 1, 2}, {3, 4, d}}};
  });
  check_each<three>(types, {"x", "y", "z"}, [](auto i) {
    const auto f = static_cast<float>(i);
    return three{f, -f, f / 2};
  });
  check_each<std::array<float, 2>>("half.parquet", {"f16list"}, [](auto i) {
    const auto f = static_cast<float>(i) / 8;
    return std::array<float, 2>{f, f};
  });
}

namespace {

struct mixed {
  std::array<float, 3> place;
  std::string name;
  std::int64_t label;
};

}  // namespace

TEST_CASE("a row is a struct, a tuple or a sample of columns in the order of their names") {
  if (made() == nullptr) return;
  const texts names = {"x", "y", "z", "string", "i8"};
  const auto structs = column<mixed>("types.parquet", names);
  const auto tuples =
      column<std::tuple<std::array<float, 3>, std::string, std::int64_t>>("types.parquet", names);
  REQUIRE(structs.size() == rows);
  for (std::size_t i = 0; i < rows; ++i) {
    CHECK(structs[i].place[1] == -static_cast<float>(i));
    CHECK(structs[i].name.ends_with(std::to_string(i)));
    CHECK(structs[i].label == static_cast<std::int64_t>(i) - 25);
    CHECK(std::tie(structs[i].place, structs[i].name, structs[i].label) == tuples[i]);
  }
  const wick::parquet<float> x(file("types.parquet"), {"x"});
  wick::loader zipped(wick::zip(x, wick::in_memory(std::vector<std::int64_t>(rows, 7))) | wick::read(),
                      {.workers = 1});
  CHECK(zipped.next()->target == 7);
  wick::context plain({});
  auto reading = wick::read()(x.at(12), plain);
  REQUIRE(reading.await_ready());
  CHECK(reading.await_resume() == 12);
}

TEST_CASE("files are equal whatever compression, pages and versions they are written with") {
  if (made() == nullptr) return;
  using row = std::tuple<std::string, std::int64_t, std::array<float, 3>, std::string, double>;
  const texts names = {"string", "i64", "list", "dict", "f64"};
  const auto wanted = column<row>("types.parquet", names);
  REQUIRE(wanted.size() == rows);
  for (const char* const way : {"none", "snappy", "zstd", "gzip", "brotli", "lz4", "plain", "pages", "old"}) {
    CAPTURE(way);
    CHECK(column<row>("way-" + std::string(way) + ".parquet", names) == wanted);
  }
}

TEST_CASE("several files follow each other, with the row groups that they have, and names of their rows") {
  if (made() == nullptr) return;
  const wick::parquet<std::int64_t> source(file("part-*.parquet"), {"label"});
  REQUIRE(source.size() == 75);
  CHECK(source.groups() == std::vector<std::uint64_t>{16, 16, 8, 10, 10, 10, 3, 2});
  CHECK(source.key(0).ends_with("part-1.parquet, row 0"));
  CHECK(source.key(47).ends_with("part-2.parquet, row 7"));
  CHECK(source.key(74).ends_with("part-10.parquet, row 4"));
  const auto labels = all_of(source);
  for (std::size_t i = 0; i < 75; ++i) CHECK(labels[i] == static_cast<std::int64_t>(i));

  const wick::parquet<std::int64_t> none(file("part-3.parquet"), {"label"});
  CHECK(none.size() == 0);
  CHECK(none.groups().empty());
  CHECK(message_of([&] { return all_of(none); }) ==
        "loader: the source is empty; an epoch would have no sample");
  const wick::parquet<std::int64_t> listed(texts{file("part-2.parquet"), file("part-1.parquet")}, {"label"});
  CHECK(all_of(listed).front() == 40);

  std::set<std::uint64_t> prints = {
      source.fingerprint(), none.fingerprint(), listed.fingerprint(),
      wick::parquet<std::int32_t>(file("types.parquet"), {"i32"}).fingerprint(),
      wick::parquet<std::int64_t>(file("types.parquet"), {"i64"}).fingerprint()};
  CHECK(prints.size() == 5);
  CHECK(wick::parquet<std::int64_t>(file("part-*.parquet"), {"label"}).fingerprint() == source.fingerprint());
  CHECK(wick::parquet<std::int64_t>(file("part-*.parquet"), {"label"}, {.null_number = 3}).fingerprint() !=
        source.fingerprint());
}

TEST_CASE("a null is an error of its sample, or a number") {
  if (made() == nullptr) return;
  const auto failed = []<class T>(std::type_identity<T>, const std::string& name,
                                  const wick::parquet_options& options = {}) {
    wick::loader l(wick::parquet<T>(file("nulls.parquet"), {name}, options) | wick::read(),
                   {.workers = 2, .on_error = wick::on_error::skip});
    for ([[maybe_unused]] auto& row : l.epoch(0)) {
    }
    std::map<std::uint64_t, std::string> out;
    for (const auto& e : l.failure_log().entries()) out[e.position] = e.text;
    return out;
  };
  const auto numbers = failed(std::type_identity<std::int64_t>(), "number");
  REQUIRE(numbers.size() == 2);
  CHECK(contains(numbers.at(1),
                 "column \"number\" has a null here; write a value into the file, say {.null_number = 0}"));
  CHECK(numbers.count(4) == 1);
  CHECK(failed(std::type_identity<std::string>(), "text").size() == 1);
  CHECK(failed(std::type_identity<std::string>(), "dict").size() == 2);
  CHECK(failed(std::type_identity<wick::bytes>(), "image.bytes").size() == 2);
  CHECK(failed(std::type_identity<bool>(), "flag").size() == 2);
  const auto arrays = failed(std::type_identity<std::array<float, 2>>(), "list");
  REQUIRE(arrays.size() == 3);
  CHECK(contains(
      arrays.at(2),
      "has a null or an empty list here; write a value into the file, say {.null_number = 0} for numbers"));
  CHECK(contains(arrays.at(3),
                 "has a null here; write a value into the file, say {.null_number = 0} for numbers"));
  CHECK(contains(arrays.at(5), "column \"list\" has 1 numbers here, and its field takes 2"));
  CHECK(failed(std::type_identity<std::vector<float>>(), "list").size() == 2);
  const auto filled = failed(std::type_identity<std::array<float, 2>>(), "list", {.null_number = 0});
  CHECK(filled.size() == 2);
  CHECK(filled.count(3) == 0);
  CHECK(contains(filled.at(2), "has a null or an empty list here; write a value into the file"));
  const auto missing = failed(std::type_identity<std::vector<float>>(), "list", {.null_number = 0});
  REQUIRE(missing.size() == 1);
  CHECK(contains(missing.at(2), "has a null list here; write a value into the file"));
  const auto texts_missing = failed(std::type_identity<std::string>(), "text", {.null_number = 0});
  REQUIRE(texts_missing.size() == 1);
  CHECK(contains(texts_missing.at(1), "has a null here; write a value into the file"));
  const auto ragged = failed(std::type_identity<std::array<std::array<double, 2>, 2>>(), "pairs");
  REQUIRE(ragged.size() == 4);
  CHECK(contains(ragged.at(1), "has a null, or an inner list of another length than its field's, here"));
  CHECK(contains(ragged.at(2), "has a null or an empty list here"));
  CHECK(contains(ragged.at(4), "has a null or an empty list here"));

  CHECK(column<std::int64_t>("nulls.parquet", {"number"}, {.null_number = -1}) ==
        std::vector<std::int64_t>{1, -1, 3, 4, -1, 6});
  CHECK(failed(std::type_identity<float>(), "meta.score").size() == 2);
  CHECK(failed(std::type_identity<float>(), "sure.score").size() == 1);
  CHECK(column<float>("nulls.parquet", {"meta.score"}, {.null_number = -1}) ==
        std::vector<float>{1, -1, 3, -1, 5, 6});
  CHECK(column<float>("nulls.parquet", {"sure.score"}, {.null_number = -1}) ==
        std::vector<float>{1, -1, 3, 4, 5, 6});
  CHECK(column<std::int64_t>("nulls.parquet", {"none"}) == std::vector<std::int64_t>{1, 2, 3, 4, 5, 6});
  const auto real = column<float>("nulls.parquet", {"real"}, {.null_number = NAN});
  CHECK(std::isnan(real[0]));
  CHECK(real[1] == 0.5F);
  using two = std::array<double, 2>;
  const auto joined = column<two>("nulls.parquet", {"flag", "real"}, {.null_number = 9});
  CHECK(joined[0] == two{9, 9});
  CHECK(joined[1] == two{1, 0.5});
  CHECK(contains(refused<std::int64_t>("nulls.parquet", {"number"}, {.null_number = 0.5}),
                 ".null_number is 0.5"));
  CHECK(contains(refused<std::uint8_t>("nulls.parquet", {"number"}, {.null_number = -1}), "can't hold"));
}

TEST_CASE("what a field can't hold is refused with the file, the column, its type, and the type to write") {
  if (made() == nullptr) return;
  const std::string types = "types.parquet";
  CHECK(contains(refused<std::int32_t>(types, {"i64"}),
                 "types.parquet: parquet: column \"i64\" is int64, which field 1 of the row does not take; "
                 "write std::int64_t"));
  CHECK(contains(refused<float>(types, {"f64"}), "is double", "write double"));
  CHECK(contains(refused<float>(types, {"i32"}), "is int32", "write std::int32_t"));
  CHECK(contains(refused<double>(types, {"i64"}), "write std::int64_t"));
  CHECK(contains(refused<std::int64_t>(types, {"u64"}), "write std::uint64_t"));
  CHECK(contains(refused<std::uint64_t>(types, {"i8"}), "write std::int8_t"));
  CHECK(contains(refused<std::int64_t>(types, {"f32"}), "is float", "write float"));
  CHECK(contains(refused<std::int64_t>(types, {"string"}), "is string",
                 "write std::string, or wick::bytes for decode()"));
  CHECK(contains(refused<std::string>(types, {"i8"}), "write std::int8_t"));
  CHECK(contains(refused<float>(types, {"list"}), "is list<float>",
                 "write std::array<float, N> or std::vector<float>"));
  CHECK(contains(refused<std::vector<double>>(types, {"nested"}), "is list<list<double>>",
                 "write std::array<std::array<double, N>, N>"));
  CHECK(
      contains(refused<double>(types, {"decimal"}), "is decimal128(21, 2)", "no C++ type holds it; cast it"));
  CHECK(contains(refused<std::int64_t>(types, {"time"}), "is timestamp[us]", "no C++ type holds it"));
  CHECK(contains(refused<std::string>(types, {"words"}), "is list<string>", "no C++ type holds it"));
  CHECK(contains(refused<wick::bytes>(types, {"image"}), "name a field of it, \"column.field\""));
  CHECK(contains(refused<float>(types, {"label"}),
                 "no column is called \"label\"; there are \"bool\", \"i8\", \"u8\""));
  CHECK(contains(refused<float>(types, {"image.size"}), "no column is called \"image.size\""));
  CHECK(contains(refused<mixed>(types, {"list", "string"}),
                 "a row has 3 fields, which take 3 columns, and 2 are named"));
  CHECK(contains(refused<mixed>(types, {"x", "y", "string", "i8"}), "5 columns, and 4 are named"));
  const auto differ = message_of([] {
    return wick::parquet<std::int64_t>(texts{file("part-1.parquet"), file("other.parquet")}, {"label"});
  });
  CHECK(contains(differ, "other.parquet: parquet: column \"label\" is double, and int64 in ",
                 "part-1.parquet; give all files"));
  CHECK(contains(
      message_of([] {
        return wick::parquet<std::int64_t>(texts{file("part-1.parquet"), file("short.parquet")}, {"label"});
      }),
      "short.parquet: parquet: no column is called \"label\"; there is \"text\""));
  CHECK(contains(refused<float>("no.parquet", {"x"}), "no.parquet: parquet: "));
  CHECK(contains(refused<float>("empty.parquet", {"x"}), "empty.parquet: parquet: "));
  CHECK(contains(refused<float>("gone.parquet", {"x"}), "gone.parquet"));
}

TEST_CASE("only the wanted columns are read, once") {
  if (made() == nullptr) return;
  const wick::parquet<std::array<double, 2>> two(file("wide.parquet"), {"c3", "c17"});
  CHECK(all_of(two).size() == 20000);
  // Random doubles don't compress: 8 bytes each.
  CHECK(two.bytes_read() >= 2 * 20000 * 8);
  CHECK(static_cast<double>(two.bytes_read()) <= 1.1 * 2 * 20000 * 8 + (64 << 10));
  CHECK(contains(two.note(), "4 times one of 4 row groups was decoded"));
}

TEST_CASE("row groups that come in order are decoded ahead, each once") {
  if (made() == nullptr) return;
  const wick::parquet<std::string> source(file("many.parquet"), {"text"});
  for (const std::size_t workers : {1, 4}) {
    const auto found = all_of(source, workers);
    REQUIRE(found.size() == 600);
    for (std::size_t i = 0; i < 600; ++i) CHECK(found[i] == "t" + std::to_string(i));
  }
  CHECK(contains(source.note(), "parquet: 60 times one of 60 row groups was decoded; 60 are in memory"));
}

TEST_CASE("row groups whose statistics exclude a range are left out") {
  if (made() == nullptr) return;
  const wick::parquet<std::int64_t> some(file("years.parquet"), {"x"}, {.where = {"year", 2003, 2005.5}});
  CHECK(some.groups() == std::vector<std::uint64_t>{10, 10, 10});
  const auto found = all_of(some);
  for (std::size_t i = 0; i < 30; ++i) CHECK(found[i] == static_cast<std::int64_t>(i) + 30);
  CHECK(some.key(0).ends_with("years.parquet, row 30"));
  const auto rows_in = [](const std::string& name, const wick::parquet_options::range& range) {
    return wick::parquet<std::int64_t>(file(name), {"x"}, {.where = range}).size();
  };
  CHECK(rows_in("years.parquet", {"x", 95, 1e9}) == 10);
  CHECK(rows_in("years.parquet", {"x", 200, 1e9}) == 0);
  CHECK(rows_in("years.parquet", {"big", std::ldexp(1.0, 63), 1e300}) == 100);
  CHECK(rows_in("unknown.parquet", {"year", 2003, 2003}) == 100);
  CHECK(contains(refused<std::int64_t>("years.parquet", {"x"}, {.where = {"name", 0, 1}}),
                 "column \"name\" of .where is string, no number"));
}

TEST_CASE("the same batches at any number of workers, and each row once, whatever is kept") {
  if (made() == nullptr) return;
  using batches = std::vector<std::vector<double>>;
  const auto epochs = [](std::size_t workers, std::size_t kept, std::uint64_t window) {
    const wick::parquet<double> source(file("wide.parquet"), {"c5"}, {.kept_bytes = kept});
    wick::loader l(
        source | wick::block_shuffle(source.groups(), window) | wick::read() | wick::array_batch(300),
        {.seed = 3, .workers = workers});
    batches out;
    for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
      for (auto& batch : l.epoch(epoch))
        out.emplace_back(batch.template as<double>(), batch.template as<double>() + batch.extents()[0]);
    }
    return out;
  };
  const batches alone = epochs(1, std::size_t{1} << 20, 2);
  CHECK(alone == epochs(2, std::size_t{1} << 20, 2));
  CHECK(alone == epochs(4, 0, 2));
  CHECK(alone != epochs(2, std::size_t{1} << 20, 3));
  std::multiset<double> seen;
  for (std::size_t b = 0; b < alone.size() / 2; ++b) seen.insert(alone[b].begin(), alone[b].end());
  const auto in_order = column<double>("wide.parquet", {"c5"});
  CHECK(seen == std::multiset<double>(in_order.begin(), in_order.end()));
}

TEST_CASE("kept row groups stay within their bound, and the decoding of others within the loader's") {
  if (made() == nullptr) return;
  constexpr std::size_t group = 5000 * sizeof(double);
  for (const std::size_t kept : {std::size_t{0}, 2 * group + 100, 100 * group}) {
    CAPTURE(kept);
    const wick::parquet<double> source(file("wide.parquet"), {"c5"}, {.kept_bytes = kept});
    wick::loader l(source | wick::shuffle() | wick::read() | wick::array_batch(100),
                   {.workers = 2, .memory = 3 * group});
    std::int64_t n = 0;
    for (auto& batch : l.epoch(0)) {
      n += batch.extents()[0];
      const std::string note = source.note();
      const double used = std::atof(note.substr(note.find(" in memory, in ") + 15).c_str()) * 1e6;
      CHECK(used <= static_cast<double>(std::max(kept, group)) + 0.1e6);
      if (n > 2000 && kept == 0) break;
    }
    CHECK(l.peak_bytes_in_flight() >= group);
    CHECK(l.peak_bytes_in_flight() <= 3 * group);
  }
}

TEST_CASE("a row group that is dropped leaves memory, also if a worker has had rows of it") {
  if (made() == nullptr) return;
  wick::detail::parquet_table table(wick::files(file("wide.parquet")), {"c5"},
                                    {{.number = wick::detail::number_kind::float64}}, {.kept_bytes = 0});
  constexpr std::uint64_t group = 5000;
  wick::executor ex(1);
  wick::context c({}, &ex);
  wick::detail::loaded_row row;
  CHECK_FALSE(table.find(0, c, row));
  const std::weak_ptr first = table.read_now(0).group;
  REQUIRE(table.find(0, c, row));
  const std::weak_ptr of_worker = row.group;
  REQUIRE(table.find(group - 1, c, row));
  CHECK(row.row == group - 1);
  CHECK_FALSE(table.find(group, c, row));
  row = {};
  CHECK_FALSE(first.expired());
  CHECK_FALSE(of_worker.expired());
  static_cast<void>(table.read_now(group));  // the last one alone is kept
  CHECK(first.expired());
  CHECK(of_worker.expired());
  CHECK_FALSE(table.find(0, c, row));
  REQUIRE(table.find(group, c, row));
  static_cast<void>(table.read_now(0));
  CHECK(row.group.use_count() == 1);  // who has a row keeps its group
  REQUIRE(table.find(0, c, row));
  CHECK(row.row == 0);
}

TEST_CASE("lists and texts that take little of a file count as what they become") {
  if (made() == nullptr) return;
  const auto peak = [](const auto& source) {
    wick::loader l(source | wick::read() | [](auto row) { return static_cast<std::int64_t>(row.size()); } |
                       wick::array_batch(100),
                   {.workers = 1, .in_flight = 50});  // the second group waits until the first is known
    for (auto& batch : l.epoch(0)) static_cast<void>(batch);
    return l.peak_bytes_in_flight();
  };
  constexpr std::size_t group = 200;
  // Of lists it says how many numbers they have: the first group counts in full, too.
  CHECK(peak(wick::parquet<std::vector<std::int64_t>>(file("repeats.parquet"), {"mask"}) |
             wick::take(group)) >= group * 500 * 8);
  // The footer doesn't say what texts become: the second group is known by the first.
  CHECK(peak(wick::parquet<std::string>(file("repeats.parquet"), {"prompt"}, {.kept_bytes = 0})) >=
        group * 1700);
}

TEST_CASE("texts of rows count in the loader's bound on memory") {
  if (made() == nullptr) return;
  const wick::parquet<std::string> source(file("types.parquet"), {"string"});
  wick::loader l(source | wick::read() | [](std::string s) { return static_cast<std::int64_t>(s.size()); } |
                     wick::array_batch(5),
                 {.workers = 2, .memory = 1});
  std::int64_t n = 0;
  for (auto& batch : l.epoch(0)) n += batch.extents()[0];
  CHECK(n == rows);

  // All groups are in memory by now: another loader of the source takes room for texts alone, of 1 to 6
  // bytes.
  wick::loader again(source | wick::read(), {.workers = 2, .memory = 1});
  n = 0;
  while (again.next()) ++n;
  CHECK(n == rows);
  CHECK(again.peak_bytes_in_flight() >= 5);
  CHECK(again.peak_bytes_in_flight() <= 6);
}

TEST_CASE("a value that was damaged is an error where pages have checksums") {
  if (made() == nullptr) return;
  const temp_dir dir;
  std::string all = content(file("sums.parquet"));
  const double wanted = 23.0 / 7;
  const std::size_t at = all.find(std::string(reinterpret_cast<const char*>(&wanted), sizeof wanted));
  REQUIRE(at != std::string::npos);
  all[at] = static_cast<char>(all[at] ^ 1);
  const wick::parquet<double> source(dir.write("a.parquet", all).string(), {"f64"});
  wick::loader l(source | wick::read(), {.workers = 1, .on_error = wick::on_error::skip});
  std::set<double> got;
  while (auto value = l.next()) got.insert(*value);
  CHECK(got.size() == rows - 10);
  CHECK(l.failure_log().total() == 10);  // its row group
}

TEST_CASE("a file that is changed, cut off or gone after its footer was read is an error of its rows") {
  if (made() == nullptr) return;
  const temp_dir dir;
  const std::string good = content(file("wide.parquet"));
  const auto failure = [&](auto&& damage) {
    const std::string path = dir.write("a.parquet", good).string();
    std::filesystem::last_write_time(path,
                                     std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
    const wick::parquet<double> source(path, {"c1"});
    damage(path);
    wick::loader l(source | wick::read(), {.workers = 1});
    return message_of([&] { return l.next(); });
  };
  CHECK(contains(failure([](const std::string& path) { std::filesystem::resize_file(path, 1000); }),
                 "a.parquet, row 0: read: the file was changed since it was indexed", "has 1000)"));
  CHECK(contains(failure([&](const std::string& path) { std::ofstream(path) << good << "x"; }),
                 "was changed since"));
  CHECK(failure([](const std::string&) {}) == "");
}

TEST_CASE("a cache on disk has the rows of a file that was written again made again") {
  if (made() == nullptr) return;
  const temp_dir dir, cache;
  const std::string path = dir.write("a.parquet", content(file("types.parquet"))).string();
  const auto notes = [&] {
    wick::loader l(wick::parquet<double>(path, {"f64"}) | wick::read() |
                       wick::cache_on_disk(cache.path().string()) | wick::array_batch(50),
                   {.workers = 2, .prefetch_next_epoch = false});
    std::string out;
    for (const wick::array& batch : l.epoch(0)) CHECK(batch.extents()[0] == static_cast<std::int64_t>(rows));
    for (const std::string& note : l.report().notes) out += note + "\n";
    return out;
  };
  notes();
  CHECK(contains(notes(), "100 % of 50 samples"));
  std::filesystem::last_write_time(path,
                                   std::filesystem::file_time_type::clock::now() - std::chrono::hours(1));
  CHECK(contains(notes(), "50 were made of files that have changed"));
}

TEST_CASE("damaged files are refused, or some rows of theirs are, and never more than that") {
  if (made() == nullptr) return;
  const temp_dir dir;
  using row = std::tuple<std::string, std::int64_t, std::vector<float>, std::string>;
  std::size_t refused_files = 0, failed_rows = 0;
  const auto try_bytes = [&](const std::string& all) {
    const std::string path = dir.write("damaged.parquet", all).string();
    try {
      const wick::parquet<row> source(path, {"string", "i64", "list", "dict"});
      if (source.size() > 1000) return;  // a footer that says so alike at two places
      wick::loader l(source | wick::read(), {.workers = 1, .on_error = wick::on_error::skip});
      for ([[maybe_unused]] auto& one : l.epoch(0)) {
      }
      failed_rows += l.failure_log().entries().size();
    } catch (const wick::error&) {
      ++refused_files;
    }
  };
  for (const char* const way : {"none", "snappy", "zstd", "plain"}) {
    const std::string good = content(file("way-" + std::string(way) + ".parquet"));
    for (std::size_t at = 0; at < good.size(); at += at < good.size() / 2 ? 97 : 61) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ (1 << at % 8));
      try_bytes(bad);
    }
    for (std::size_t size = 0; size < good.size(); size += good.size() / 7 + 1)
      try_bytes(good.substr(0, size));
  }
  CHECK(refused_files > 10);
  CHECK(failed_rows > 10);
}

TEST_CASE("a damaged row group fails its own rows only, and is tried again later") {
  if (made() == nullptr) return;
  const temp_dir dir;
  std::string all = content(file("wide.parquet"));
  for (std::size_t i = all.size() / 8; i < all.size() / 7; ++i)
    all[i] = '\x55';  // headers of pages in the first group
  const std::string path = dir.write("a.parquet", all).string();
  using everything = std::array<double, 20>;
  texts names;
  for (int c = 0; c < 20; ++c) names.push_back("c" + std::to_string(c));
  const wick::parquet<everything> source(path, names);
  wick::loader l(source | wick::read() | [](const everything& e) { return e[0]; } | wick::array_batch(500),
                 {.workers = 2, .on_error = wick::on_error::skip});
  std::int64_t n = 0;
  for (auto& batch : l.epoch(0)) n += batch.extents()[0];
  CHECK(n == 15000);
  REQUIRE(l.failure_log().total() == 5000);
  CHECK(contains(l.failure_log().entries().front().text, "row group 0, column \"c"));
  CHECK(contains(l.failure_log().entries().front().key, "a.parquet, row "));
}

TEST_CASE("loaders that share a source share its row groups, and one may go while the other waits") {
  if (made() == nullptr) return;
  for (int round = 0; round < 8; ++round) {
    const wick::parquet<double> source(file("wide.parquet"), {"c5"}, {.kept_bytes = std::size_t{1} << 16});
    const auto pipeline =
        source | wick::block_shuffle(source.groups(), 2) | wick::read() | wick::array_batch(100);
    wick::loader stays(pipeline, {.seed = 1, .workers = 2});
    {
      wick::loader goes(pipeline, {.seed = 1, .workers = 2});
      if (round % 3 != 0) CHECK(goes.next());
      CHECK(stays.next());
    }
    std::int64_t n = 100;
    while (auto batch = stays.next()) n += batch->extents()[0];
    CHECK(n == 20000);
  }
}

TEST_CASE("a loader is destroyed at any moment of its epoch") {
  if (made() == nullptr) return;
  for (int round = 0; round < 30; ++round) {
    const wick::parquet<std::string> source(file("part-*.parquet"), {"text"}, {.kept_bytes = 100});
    wick::loader l(source | wick::block_shuffle(source.groups(), 3) | wick::read(),
                   {.workers = 1 + static_cast<std::size_t>(round) % 3});
    l.epoch(0);
    for (int taken = 0; taken < round; ++taken) CHECK(l.next());
  }
  for (int round = 0; round < 30; ++round) {  // while groups are decoded ahead
    std::optional<wick::parquet<std::string>> source;
    source.emplace(file("many.parquet"), texts{"text"}, wick::parquet_options{.kept_bytes = 3000});
    wick::loader l(*source | wick::read(), {.workers = 1 + static_cast<std::size_t>(round) % 3});
    source.reset();
    l.epoch(0);
    for (int taken = 0; taken < 20 * round; ++taken) CHECK(l.next());
  }
}

TEST_CASE("a row group may have more than 2 GiB of bytes, also in a struct") {
  const temp_dir dir;
  if (!run_python("pyarrow, pyarrow.parquet", dir, R"(
import pyarrow as pa, pyarrow.parquet as pq
def part(first): return pa.array([None if i == 7 else bytes([i % 5]) * (2**20 + i % 3) for i in range(first, first + 550)], pa.binary())
parts = [part(550 * p) for p in range(4)]
pq.write_table(pa.table({'image': pa.chunked_array(parts)}), 'flat.parquet', store_schema=False,
               dictionary_pagesize_limit=2**30, row_group_size=2**20)
structs = [pa.StructArray.from_arrays([p, pa.array(['n'] * len(p))], ['bytes', 'path']) for p in parts]
pq.write_table(pa.table({'image': pa.chunked_array(structs)}), 'nested.parquet', store_schema=False,
               dictionary_pagesize_limit=2**30, row_group_size=2**20)
)"))
    return;
  for (const auto& [file, column] : {std::pair{"flat.parquet", "image"}, {"nested.parquet", "image.bytes"}}) {
    CAPTURE(file);
    const wick::parquet<wick::bytes> source((dir.path() / file).string(), {column});
    REQUIRE(source.size() == 2200);
    wick::context c({});
    for (const std::uint64_t row : {0u, 1u, 549u, 550u, 2047u, 2048u, 2199u}) {
      auto reading = wick::read()(source.at(row), c);
      static_cast<void>(reading.await_ready());
      const wick::bytes got = reading.await_resume();
      CHECK(got.size() == (std::size_t{1} << 20) + row % 3);
      CHECK(got.text().front() == static_cast<char>(row % 5));
      CHECK(got.text().back() == static_cast<char>(row % 5));
    }
    CHECK(contains(message_of([&] {
                     auto reading = wick::read()(source.at(7), c);
                     static_cast<void>(reading.await_ready());
                     return reading.await_resume().size();
                   }),
                   "null"));
  }
}

TEST_CASE("columns that writers leave ambiguous are refused, or read as the field wants them") {
  const temp_dir dir;
  if (!run_python("pyarrow.parquet, base64", dir, R"(
import pyarrow as pa, pyarrow.parquet as pq
write = lambda name, **columns: pq.write_table(pa.table(columns), name + '.parquet')
write('wide', x=pa.array([1, 2], pa.int64()), t=pa.array(['a', 'b']))
write('narrow', x=pa.array([3, 4], pa.int32()), t=pa.array(['c', 'd'], pa.large_string()))
write('nulls', x=pa.nulls(2), t=pa.nulls(2))
write('float', x=pa.array([0.5, 1]), t=pa.array(['e', 'f']))
pq.write_table(pa.table([pa.array([1]), pa.array([2])], names=['x', 'x']), 'twice.parquet')
import pyarrow.parquet.encryption as pe
class kms(pe.KmsClient):
    def __init__(self, config): super().__init__()
    def wrap_key(self, key, name): return base64.b64encode(key)
    def unwrap_key(self, key, name): return base64.b64decode(key)
factory = pe.CryptoFactory(lambda config: kms(config))
for name, plain in (('footer', False), ('column', True)):
    how = pe.EncryptionConfiguration(footer_key='f', column_keys={'k': ['x']}, plaintext_footer=plain)
    properties = factory.file_encryption_properties(pe.KmsConnectionConfig(), how)
    pq.write_table(pa.table({'x': pa.array([1, 2])}), name + '.parquet', encryption_properties=properties)
)"))
    return;
  const auto path = [&](const char* name) { return (dir / (std::string(name) + ".parquet")).string(); };
  const auto said = [&](const char* name, const wick::parquet_options& options = {}) {
    return message_of([&] { return wick::parquet<std::int64_t>(path(name), {"x"}, options); });
  };
  const auto both = all_of(wick::parquet<std::int64_t>(texts{path("wide"), path("narrow")}, {"x"}));
  CHECK(both == std::vector<std::int64_t>{1, 2, 3, 4});
  const auto backward = all_of(wick::parquet<std::int64_t>(texts{path("narrow"), path("wide")}, {"x"}));
  CHECK(backward == std::vector<std::int64_t>{3, 4, 1, 2});
  const auto filled = all_of(wick::parquet<std::int64_t>(texts{path("wide"), path("nulls"), path("narrow")},
                                                         {"x"}, {.null_number = -1}));
  CHECK(filled == std::vector<std::int64_t>{1, 2, -1, -1, 3, 4});
  wick::loader nulls(wick::parquet<std::string>(texts{path("nulls"), path("wide")}, {"t"}) | wick::read() |
                     wick::group(1));
  CHECK(contains(message_of([&] { return nulls.next(); }), "nulls.parquet, row 0", "null"));
  CHECK(contains(message_of([&] {
                   return wick::parquet<std::int64_t>(texts{path("wide"), path("float")}, {"x"});
                 }),
                 "float.parquet: parquet: column \"x\" is double, and int64 in "));
  CHECK(contains(said("twice"), "two columns are called \"x\""));
  CHECK(contains(said("footer"), "footer.parquet: parquet: is encrypted", "aren't supported"));
  CHECK(contains(said("column"), "column.parquet: parquet: is encrypted", "aren't supported"));
  CHECK(contains(said("wide", {.where = {"x", 3, 1}}), ".where", "a min above its max"));
  CHECK(contains(said("wide", {.where = {"x", std::nan(""), 1}}), ".where"));
  CHECK(said("wide", {.where = {"x", 1, 1}}).empty());
}

}  // namespace wick_test::parquet_tests
