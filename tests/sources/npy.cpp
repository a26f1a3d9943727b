// NumPy's arrays: what numpy writes is read back equal, and what is damaged is refused.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/python.hpp"
#include "../support/temp_dir.hpp"
#include <wick/batch/batch.hpp>
#include <wick/ext/source.hpp>
#include <wick/loader/loader.hpp>
#include <wick/sampling/order.hpp>
#include <wick/sampling/zip.hpp>
#include <wick/sources/npy.hpp>
#include <wick/transforms/crop.hpp>
#include <wick/transforms/to_image.hpp>

namespace wick_test::npy_tests {

using wick::dtype;
using wick::npy;
using wick::shape;

static_assert(wick::ext::source<npy>);

namespace {

std::string file_of(const std::string& dict, const std::string& data, char major = 1) {
  std::string text("\x93NUMPY", 6);
  text += major;
  text += '\0';
  text += static_cast<char>(dict.size());
  text += '\0';
  if (major > 1) text += std::string(2, '\0');
  return text + dict + data;
}
std::string four_rows() {
  return file_of("{'descr': '|u1', 'fortran_order': False, 'shape': (4, 3), }\n", "abcdefghijkl");
}

std::string refused(const std::string& file) {
  const temp_dir dir;
  return message_of([&] { return npy(dir.write("x.npy", file)); });
}

}  // namespace

TEST_CASE("rows are samples, of the shape and type that the header says") {
  const temp_dir dir;
  for (const char major : {1, 2, 3}) {
    const npy x(dir.write("x.npy", file_of("{'descr': '<i2', 'fortran_order': False, 'shape': (2, 3), }",
                                           std::string("\1\0\2\0\3\0\4\0\5\0\6\0", 12), major)));
    CHECK(x.size() == 2);
    CHECK(x.type() == dtype::int16);
    CHECK(x.row_extents() == shape{3});
    CHECK(x.at(1).as<std::int16_t>()[2] == 6);
    CHECK(contains(x.key(1), "x.npy, row 1"));
  }
  const npy old(dir.write(
      "old.npy", file_of("{'descr': '|u1', 'fortran_order': False, 'shape': (2L, 3L), }", "abcdef")));
  CHECK(old.size() == 2);
  CHECK(old.row_extents() == shape{3});
  const npy labels(
      dir.write("y.npy", file_of("{'descr': '|u1', 'fortran_order': False, 'shape': (3,), }", "\1\2\3")));
  CHECK(labels.size() == 3);
  CHECK(labels.row_extents() == shape{});
  wick::loader l(wick::from(labels) | wick::array_batch(3));
  CHECK(l.next()->extents() == shape{3});
}

TEST_CASE("what is no array of rows is refused with the finding") {
  const temp_dir dir;
  CHECK(refused(four_rows()).empty());
  CHECK(contains(refused("no array at all"), "x.npy: npy: isn't an .npy file", "no arr"));
  CHECK(contains(refused(""), "x.npy: npy: is empty"));
  CHECK(contains(refused("\x93NUMPY\1"), "cut off or damaged"));
  CHECK(contains(
      refused(file_of("{'descr': '|u1', 'fortran_order': False, 'shape': (1, 1, 1, 1, 1, 1, 1, 1), }", "1")),
      "x.npy: npy: has more than 7 dimensions"));
  CHECK(contains(refused(file_of("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", "1234")),
                 "big-endian"));
  CHECK(contains(refused(file_of("{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", "12345678")),
                 "<c8"));
  CHECK(contains(refused(file_of("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2), }", "1234")),
                 "Fortran"));
  CHECK(
      contains(refused(file_of("{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (1,), }", "1234")),
               "records"));
  CHECK(contains(refused(file_of("{'descr': '|u1', 'fortran_order': False, 'shape': (), }", "1")),
                 "single number"));
  CHECK(contains(refused(file_of("{'descr': '|u1', 'fortran_order': False, 'shape': (0, 4), }", "")),
                 "has no numbers: [0, 4]"));
  CHECK(contains(refused(file_of("{'descr': '|u1', 'fortran_order': False, 'shape': (3, 0), }", "")),
                 "has no numbers: [3, 0]"));
  CHECK(contains(refused(file_of("{'descr': '|u1', 'shape': (1,), }", "1")), "header"));
  CHECK(contains(
      refused(file_of("{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 4), }", "12")),
      "cut off or damaged"));
  const std::string good = four_rows();
  for (std::size_t size = 1; size < good.size(); ++size) CHECK(!refused(good.substr(0, size)).empty());
  CHECK(contains(refused(good + "x"), "has 13 bytes of data, and its array takes 12"));
}

TEST_CASE("an archive that claims more than its bytes can hold takes no memory") {
  const temp_dir dir;
  const auto little = [](std::uint64_t value, int bytes) {
    std::string out;
    for (int i = 0; i < bytes; ++i, value >>= 8) out += static_cast<char>(value & 0xFF);
    return out;
  };
  const auto message = [&](std::uint64_t size, std::uint64_t packed, std::uint64_t members) {
    const std::string name = "x.npy", file = "PK\3\4" + std::string(22, '\0') + little(5, 2) + little(0, 2) +
                                             name + "deflated";
    const std::string directory = "PK\1\2" + little(0, 6) + little(8, 2) + little(0, 8) + little(packed, 4) +
                                  little(size, 4) + little(5, 2) + little(0, 16) + name;
    std::string out = "PK\5\6" + little(0, 4) + little(members, 2) + little(members, 2) +
                      little(directory.size(), 4) + little(file.size(), 4) + little(0, 2);
    return message_of([&] { return npy(dir.write("x.npz", file + directory + out), "x"); });
  };
  CHECK(contains(message(4'000'000'000, 8, 1), "x.npz: npz: has \"x.npy\" in an impossible size"));
  CHECK(contains(message(100, 4'000'000'000, 1), "refers to bytes past its end"));
  CHECK(contains(message(100, 8, 65'000), "has a directory that ends early"));
  CHECK(contains(message(100, 8, 1), "damaged data"));
}

TEST_CASE("a file with any bytes changed is read or refused, never worse") {
  const temp_dir dir;
  const std::string good = four_rows();
  std::uint64_t seed = 1;
  for (int round = 0; round < 5'000; ++round) {
    std::string text = good;
    for (int change = 0; change < 1 + round % 3; ++change) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      text[(seed >> 33) % text.size()] = static_cast<char>(seed >> 20);
    }
    try {
      const npy x(dir.write("x.npy", text));
      for (std::uint64_t i = 0; i < x.size(); ++i) static_cast<void>(x.at(i).size());
      static_cast<void>(x.fingerprint());
    } catch (const wick::error&) {
    }
  }
}

TEST_CASE("what numpy writes is read back equal, of each type, plain and in archives") {
  const temp_dir dir;
  if (!run_python("numpy", dir, R"(
r = numpy.random.default_rng(3)
all = {}
for t in ['u1', 'i1', 'i2', 'i4', 'i8', 'f2', 'f4', 'f8', 'b1']:
    x = r.integers(0, 100, (50, 4, 3)).astype(t)
    numpy.save(t + '.npy', x)
    x.tofile(t + '.raw')
    all[t] = x
numpy.savez('plain.npz', **all)
numpy.savez_compressed('packed.npz', **all)
)"))
    return;
  const std::string folder = dir.path().string() + "/";
  for (const char* const type : {"u1", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "b1"}) {
    const std::string raw = read_file(folder + type + ".raw");
    for (const npy& x :
         {npy(folder + type + ".npy"), npy(folder + "plain.npz", type), npy(folder + "packed.npz", type)}) {
      REQUIRE(x.size() == 50);
      CHECK(x.row_extents() == shape{4, 3});
      std::string got;
      for (std::uint64_t i = 0; i < 50; ++i) {
        const wick::memory_view row = x.at(i);
        got.append(reinterpret_cast<const char*>(row.data()), row.size());
      }
      CHECK(got == raw);
    }
    CHECK(npy(folder + type + ".npy").fingerprint() == npy(folder + "packed.npz", type).fingerprint());
  }
  CHECK(contains(message_of([&] { return npy(folder + "plain.npz", "x"); }), "no array is called \"x\"",
                 "\"u1\", \"i1\", \"i2\""));
  CHECK(contains(message_of([&] { return npy(folder + "plain.npz"); }), "archive of several",
                 "npy(path, \"x\")"));
  // Damaged archives.
  for (const char* const name : {"plain.npz", "packed.npz"}) {
    const std::string good = read_file(folder + name);
    for (std::size_t cut = 1; cut < good.size(); cut += 997) {
      write_file(folder + "cut.npz", good.substr(0, cut));
      CHECK(contains(message_of([&] { return npy(folder + "cut.npz", "f4"); }), "cut.npz"));
    }
    std::uint64_t seed = 7;
    int refusals = 0;
    for (int round = 0; round < 2'000; ++round) {
      std::string text = good;
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      text[(seed >> 33) % text.size()] =
          static_cast<char>(text[(seed >> 33) % text.size()] ^ (1 << (seed >> 20 & 7)));
      write_file(folder + "changed.npz", text);
      refusals += message_of([&] { return npy(folder + "changed.npz", "f8"); }).empty() ? 0 : 1;
    }
    CHECK(refusals > 100);
  }
}

TEST_CASE("two arrays side by side train, as pictures too") {
  const temp_dir dir;
  std::string levels;
  for (int i = 0; i < 6 * 8 * 8; ++i) levels += static_cast<char>(i);
  const npy x(
      dir.write("x.npy", file_of("{'descr': '|u1', 'fortran_order': False, 'shape': (6, 8, 8), }", levels)));
  const npy y(
      dir.write("y.npy", file_of("{'descr': '<i4', 'fortran_order': False, 'shape': (6,), }",
                                 std::string("\0\0\0\0\1\0\0\0\2\0\0\0\3\0\0\0\4\0\0\0\5\0\0\0", 24))));
  wick::loader l(
      wick::zip(x, y) | wick::shuffle() | wick::to_image() | wick::center_crop(4) | wick::array_batch(6),
      {.seed = 1, .workers = 2});
  const auto batch = l.next();
  REQUIRE(batch);
  CHECK(batch->data.extents() == shape{6, 1, 4, 4});
  for (int i = 0; i < 6; ++i) {
    const int which = batch->target.as<std::int32_t>()[i];
    CHECK(batch->data.as<std::uint8_t>()[i * 16] == static_cast<std::uint8_t>(which * 64 + 2 * 8 + 2));
  }
}

TEST_CASE("an array in Fortran's order is read where the order makes no difference") {
  const auto rows = [](const char* shape) {
    const temp_dir dir;
    const npy x(dir.write(
        "x.npy",
        file_of(std::string("{'descr': '|u1', 'fortran_order': True, 'shape': ") + shape + ", }", "abcdef")));
    return std::string(reinterpret_cast<const char*>(x.at(x.size() - 1).as<std::uint8_t>()));
  };
  CHECK(rows("(6,)").starts_with("f"));
  CHECK(rows("(6, 1)").starts_with("f"));
  CHECK(rows("(1, 6)").starts_with("abcdef"));
  CHECK(rows("(1, 1, 6, 1)").starts_with("abcdef"));
  CHECK(contains(refused(file_of("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }", "abcdef")),
                 "Fortran's order"));
  CHECK(contains(refused(file_of("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 1, 3), }", "abcdef")),
                 "Fortran's order"));
}

TEST_CASE("what isn't a whole archive or array is named as what it is") {
  const temp_dir dir;
  const std::string array = file_of("{'descr': '|u1', 'fortran_order': False, 'shape': (6,), }", "abcdef");
  CHECK(contains(message_of([&] { return npy(dir.write("a.npz", array), "x"); }),
                 "a.npz: npz: is a NumPy array (.npy); read it by npy(path)"));
  CHECK(contains(refused(array + "gh"), "has 8 bytes of data, and its array takes 6", "several arrays"));
  CHECK(contains(refused(array + array), "its array takes 6"));
  CHECK(contains(refused(array.substr(0, array.size() - 1)), "5 bytes of numbers; it is cut off"));
  CHECK(contains(message_of([&] { return npy(dir.write("page.npz", "<html><body>"), "x"); }),
                 "is an HTML page"));
  CHECK(contains(refused("version https://git-lfs.github.com/spec/v1\n"), "a Git LFS pointer"));
  if (run_python("zipfile", dir, R"(
for name, method in (('bzip2', zipfile.ZIP_BZIP2), ('lzma', zipfile.ZIP_LZMA)):
    with zipfile.ZipFile(name + '.npz', 'w', method) as z: z.writestr('x.npy', b'abc' * 100)
)")) {
    for (const std::string by : {"bzip2", "lzma"}) {
      const std::string said = message_of([&] { return npy(dir / (by + ".npz"), "x"); });
      CHECK(
          contains(said, by + ".npz: npz: ", "\"x.npy\" is compressed with " + by, "numpy.savez_compressed"));
      CHECK(!contains(said, "damaged"));
    }
  }
}

}  // namespace wick_test::npy_tests
