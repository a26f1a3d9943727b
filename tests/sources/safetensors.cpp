// Tensors of safetensors files: what the package writes is read back equal, and what is damaged is refused.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/python.hpp"
#include "../support/temp_dir.hpp"
#include <wick/core.hpp>

namespace wick_test::safetensors_tests {

using wick::safetensors;

static_assert(wick::ext::source<safetensors>);

namespace {

std::string file_of(const std::string& header, const std::string& data) {
  std::string out;
  for (int i = 0; i < 8; ++i) out += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  return out + header + data;
}
const std::string two_tensors =
    R"({"__metadata__":{"format":"pt","more":[1,{"a":null}]},"x":{"dtype":"U8","shape":[4,3],"data_offsets":[2,14]},)"
    R"("\u0079\"":{"data_offsets":[0,2],"dtype":"BOOL","shape":[2],"new":true}}  )";
std::string refused(const std::string& file, const std::string& name = "x") {
  const temp_dir dir;
  const std::string path = dir.path().string() + "/a.safetensors";
  write_file(path, file);
  return message_of([&] { return safetensors(path, name); });
}
std::string content(const safetensors& of) {
  std::string out;
  for (std::uint64_t i = 0; i < of.size(); ++i)
    out.append(reinterpret_cast<const char*>(of.at(i).data()), of.at(i).size());
  return out;
}

}  // namespace

TEST_CASE("a row is a sample, and tensors are found by name") {
  const temp_dir dir;
  const std::string path = dir.path().string() + "/a.safetensors";
  write_file(path, file_of(two_tensors, std::string("\1\0", 2) + "abcdefghijkl"));
  const safetensors x(path, "x"), y(path, "y\"");
  CHECK(x.size() == 4);
  CHECK(x.row_extents() == wick::shape{3});
  CHECK(content(x) == "abcdefghijkl");
  CHECK(y.size() == 2);
  CHECK(y.type() == wick::dtype::boolean);
  CHECK(contains(x.key(3), "a.safetensors: x, row 3"));
  wick::loader l(wick::from(x) | wick::array_batch(4));
  CHECK(l.next()->extents() == wick::shape{4, 3});
}

TEST_CASE("damaged files, cut off ones and others are refused by name") {
  const std::string good = file_of(two_tensors, std::string("\1\0", 2) + "abcdefghijkl");
  CHECK(refused(good) == "");
  CHECK(contains(refused(good, "z"), "a.safetensors", "no tensor is called \"z\"", "there are \"x\", \"y\""));
  CHECK(contains(refused(good.substr(0, good.size() - 1)), "a.safetensors: x", "cut off"));
  CHECK(contains(refused(good.substr(0, 20)), "isn't a safetensors file, or is cut off"));
  CHECK(contains(refused("short"), "isn't a safetensors file"));
  CHECK(contains(refused("a text that is no such file"), "isn't a safetensors file"));
  CHECK(contains(refused(file_of("[1, 2]", "")), "it isn't JSON"));
  const auto with = [](const std::string& about) {
    return refused(file_of("{\"x\":" + about + "}", "abcdef"));
  };
  CHECK(contains(with(R"({"dtype":"F8_E5M2","shape":[6],"data_offsets":[0,6]})"), "type F8_E5M2", "float32"));
  CHECK(contains(with(R"({"dtype":"U8","shape":[],"data_offsets":[0,1]})"), "has no rows"));
  CHECK(contains(with(R"({"dtype":"U8","shape":[0,4],"data_offsets":[0,0]})"), "has no rows: [0, 4]"));
  CHECK(contains(with(R"({"dtype":"U8","shape":[7],"data_offsets":[0,6]})"), "not what its shape"));
  CHECK(with(R"({"dtype":"U8","shape":[3,2,1,1,1,1,1],"data_offsets":[0,6]})").empty());
  CHECK(contains(with(R"({"dtype":"U8","shape":[3,2,1,1,1,1,1,1],"data_offsets":[0,6]})"),
                 "x: safetensors: has more than 7 dimensions"));
  CHECK(contains(with(R"({"dtype":"I64","shape":[9223372036854775807,4],"data_offsets":[0,6]})"),
                 "not what its shape"));
  CHECK(contains(with(R"({"dtype":"U8","shape":[3],"data_offsets":[6,3]})"), "without type or place"));
  CHECK(contains(with(R"({"dtype":"U8","shape":[3]})"), "without type or place"));
  CHECK(contains(with(R"({"dtype":"U8","shape":[-1],"data_offsets":[0,6]})"), "no whole number"));
  for (std::size_t n = 8; n < good.size(); ++n) {
    std::string changed = good;
    changed[n] = static_cast<char>(changed[n] ^ 0x15);
    refused(changed);
    refused(good.substr(0, n));
  }
  {
    const temp_dir dir;
    const std::string path = dir.path().string() + "/a.safetensors";
    write_file(path, std::string("\0\0\0\x10\0\0\0\0", 8));  // a header of 256 MiB, which is there
    std::filesystem::resize_file(path, std::uint64_t{1} << 29);
    CHECK(contains(message_of([&] { return safetensors(path, "x"); }),
                   "isn't a safetensors file, or is cut off"));
  }
  std::string deep = R"({"x":{"other":)" + std::string(100'000, '[');
  CHECK(contains(refused(file_of(deep, "")), "64 deep"));
}

TEST_CASE("what the safetensors package writes is read back equal, of each type") {
  const temp_dir dir;
  const std::string at = dir.path().string() + "/";
  if (!run_python("numpy, safetensors.numpy", dir, R"(
r = numpy.random.default_rng(3)
all = {}
for t in ['u1', 'i1', 'i2', 'i4', 'i8', 'f2', 'f4', 'f8', 'bool']:
    x = r.integers(0, 100, (50, 4, 3)).astype(t)
    x.tofile(t + '.raw')
    all[t] = x
safetensors.numpy.save_file(all, 'all.safetensors', metadata={'by': 'a "test"'})
)"))
    return;
  for (const char* const type : {"u1", "i1", "i2", "i4", "i8", "f2", "f4", "f8", "bool"}) {
    CAPTURE(type);
    const safetensors x(at + "all.safetensors", type);
    CHECK(x.size() == 50);
    CHECK(x.row_extents() == wick::shape{4, 3});
    CHECK(content(x) == read_file(at + type + ".raw"));
  }
}

}  // namespace wick_test::safetensors_tests
