#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include <ATen/ops/zeros.h>
#include <torch/serialize/input-archive.h>
#include <torch/serialize/output-archive.h>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/numbers.hpp"
#include "../support/temp_dir.hpp"
#include <wick/batch/batch.hpp>
#include <wick/loader/loader.hpp>
#include <wick/resume/state_file.hpp>
#include <wick/torch/archive.hpp>

namespace wick_test::archive_tests {

using torch::serialize::InputArchive;
using torch::serialize::OutputArchive;
using wick_test::contains;
using wick_test::message_of;
using wick_test::numbers;

namespace {

auto training() {
  return wick::loader(numbers{500} | wick::shuffle() | wick::array_batch(20), {.seed = 3, .workers = 2});
}

/// What a file keeps of an archive, loaded again.
InputArchive through_a_file(OutputArchive& archive) {
  std::stringstream file;
  archive.save_to(file);
  InputArchive loaded;
  loaded.load_from(file);
  return loaded;
}

template <class Batch>
std::vector<std::int64_t> of(const Batch& b) {
  const std::int64_t* const t = b.target.template as<std::int64_t>();
  return {t, t + b.target.extents()[0]};
}

}  // namespace

TEST_CASE("a training continues from the state in its checkpoint's archive, beside the model") {
  auto first = training();
  first.epoch(2);
  for (int i = 0; i < 7; ++i) REQUIRE(first.next());
  OutputArchive checkpoint;
  checkpoint.write("weights", at::zeros({3, 4}));
  wick::write_state(checkpoint, first.state());
  InputArchive loaded = through_a_file(checkpoint);
  auto resumed = training();
  resumed.load_state(wick::read_state(loaded));
  CHECK(resumed.current_epoch() == 2);
  CHECK((resumed.state() == first.state()));
  CHECK(of(*resumed.next()) == of(*first.next()));
  at::Tensor weights;
  loaded.read("weights", weights);
  CHECK(weights.sizes() == at::IntArrayRef({3, 4}));
}

TEST_CASE("two loaders have a key each, and a written state outlives its bytes") {
  OutputArchive checkpoint;
  for (const char value : {'a', 'b'}) {
    std::vector<std::byte> state(10, static_cast<std::byte>(value));
    wick::write_state(checkpoint, state, std::string("loader_") + value);
    state.assign(10, std::byte{0});
  }
  InputArchive loaded = through_a_file(checkpoint);
  // In brackets: with glog's operator<< for vectors doctest can't print bytes.
  CHECK((wick::read_state(loaded, "loader_a") == std::vector<std::byte>(10, std::byte{'a'})));
  CHECK((wick::read_state(loaded, "loader_b") == std::vector<std::byte>(10, std::byte{'b'})));
}

TEST_CASE("what is not there, or is no state, is refused with its key") {
  OutputArchive checkpoint;
  checkpoint.write("weights", at::zeros({3, 4}));
  checkpoint.write("mask", at::zeros({3, 4}, at::kByte));
  checkpoint.write("large", at::zeros({4097}, at::kByte));
  checkpoint.write("steps", c10::IValue(17));
  checkpoint.write("nothing", at::zeros({0}, at::kByte));
  InputArchive loaded = through_a_file(checkpoint);
  const auto refused = [&](const std::string& key) {
    return message_of([&] { return wick::read_state(loaded, key); });
  };
  CHECK(contains(refused("wick"), "the archive has no tensor \"wick\"", "begin the training without"));
  CHECK(contains(refused("weights"), "\"weights\" is a tensor of Float [3, 4]", "row of bytes"));
  CHECK(contains(refused("mask"), "\"mask\" is a tensor of Byte [3, 4]"));
  CHECK(contains(refused("large"), "\"large\" has 4097 bytes", "at most 4096"));
  CHECK(contains(refused("steps"), "no tensor", "\"steps\""));
  CHECK(refused("nothing").empty());
  auto l = training();
  CHECK(contains(message_of([&] {
                   l.load_state(wick::read_state(loaded, "nothing"));
                   return 0;
                 }),
                 "aren't the state of a wick loader"));
}

TEST_CASE("files of their own are still written and read by path") {
  const wick_test::temp_dir folder;
  auto l = training();
  wick::write_state(folder / "state", l.state());
  CHECK((wick::read_state(folder / "state") == l.state()));
  wick::write_state((folder / "other").string(), l.state());
  CHECK((wick::read_state((folder / "other").string()) == l.state()));
}

}  // namespace wick_test::archive_tests
