#include <cstdint>
#include <string>
#include <tuple>
#include <type_traits>
#include <vector>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include <wick/batch/batch.hpp>
#include <wick/loader/loader.hpp>
#include <wick/sampling/zip.hpp>
#include <wick/sources/files.hpp>
#include <wick/sources/memory.hpp>

namespace wick_test::zip_tests {

using wick::files;
using wick::in_memory;
using wick::pair_by;
using wick::zip;
using wick_test::contains;
using wick_test::message_of;
using wick_test::numbers;
using strings = std::vector<std::string>;

namespace {

strings pairs(const auto& zipped) {
  strings out;
  for (std::uint64_t i = 0; i < zipped.size(); ++i)
    out.push_back(std::string(zipped.at(i).data.path) + " " + zipped.at(i).target.path);
  return out;
}

struct growing {
  std::uint64_t* n;
  std::uint64_t size() const { return *n; }
  int at(std::uint64_t i) const { return static_cast<int>(i); }
  void prefetch(std::uint64_t i, std::size_t) const noexcept { last = i; }
  mutable std::uint64_t last = 99;
};

}  // namespace

static_assert(wick::ext::source<decltype(zip(files{"a"}, files{"b"}))>);
static_assert(std::is_same_v<decltype(zip(files{"a"}, files{"b"}).at(0)),
                             wick::sample<wick::ext::file_range, wick::ext::file_range>>);
static_assert(
    std::is_same_v<decltype(zip(files{"a"}, in_memory(strings{}), in_memory(std::vector<int>{})).at(0)),
                   std::tuple<wick::ext::file_range, std::string, int>>);

TEST_CASE("files of one name belong together, wherever they stand and whatever folder they lie in") {
  const auto z = zip(files(strings{"img/a.jpg", "img/sub/a.jpg", "img/b.x.jpeg"}),
                     files(strings{"set/mask/b.x.png", "set/mask/a.png", "set/mask/sub/a.png"}));
  CHECK(pairs(z) == strings{"img/a.jpg set/mask/a.png", "img/sub/a.jpg set/mask/sub/a.png",
                            "img/b.x.jpeg set/mask/b.x.png"});
  CHECK(z.key(2) == "img/b.x.jpeg + set/mask/b.x.png");
}

TEST_CASE("by position nothing is compared but the counts") {
  CHECK(pairs(zip(pair_by::position, files{"x/a.jpg", "x/b.jpg"}, files{"q.png", "a.png"})) ==
        strings{"x/a.jpg q.png", "x/b.jpg a.png"});
  CHECK(contains(message_of([] {
                   return zip(pair_by::position, files{"a", "b"}, files{"a", "b", "c"});
                 }),
                 "the 2nd source", "has 3 samples", "the first has 2"));
}

TEST_CASE("a function makes names of keys") {
  const auto z = zip([](std::string_view key) { return std::string(key.substr(key.rfind('/') + 1, 2)); },
                     files{"in/01_left.png", "in/02_left.png"}, files{"out/02_ids.png", "out/01_ids.png"});
  CHECK(pairs(z) == strings{"in/01_left.png out/01_ids.png", "in/02_left.png out/02_ids.png"});
}

TEST_CASE("what lies in memory goes by position beside files that go by name") {
  const auto z =
      zip(files{"i/a.jpg", "i/b.jpg"}, in_memory(std::vector<int>{10, 20}), files{"m/b.png", "m/a.png"});
  CHECK(std::get<1>(z.at(1)) == 20);
  CHECK(std::string(std::get<2>(z.at(1)).path) == "m/b.png");
  CHECK(contains(message_of([] {
                   return zip(files{"a", "b"}, in_memory(std::vector<int>{1, 2, 3}));
                 }),
                 "has 3", "the first has 2"));
  CHECK(zip(in_memory(std::vector<int>{1}), in_memory(std::vector<int>{1})).key(0) == "sample 0");
}

TEST_CASE("what has no partner is named, from either side, and two of one name are") {
  const std::string text = message_of([] {
    return zip(files{"i/a.jpg", "i/b.jpg", "i/c.jpg"}, files{"m/a.png", "m/d.png"});
  });
  CHECK(contains(text, "2 samples of the 1st source", "the 2nd: i/b.jpg, i/c.jpg",
                 "1 sample of the 2nd source", "m/d.png", "pair_by::position"));
  CHECK(contains(message_of([] {
                   return zip(files{"i/1", "i/2", "i/3", "i/4", "i/5", "i/6"}, files{"m/6", "m/7"});
                 }),
                 "5 samples", "i/1, i/2, i/3 and 2 more"));
  CHECK(contains(message_of([] {
                   return zip(files{"i/a.jpg", "i/b.jpg"}, files{"m/a.png", "m/a.gif"});
                 }),
                 "two samples of the 2nd source", "\"a\"", "m/a.png and m/a.gif"));
  // Though the others say the same twice.
  CHECK(contains(message_of([] {
                   return zip(files{"i/a.jpg", "i/a.png"}, files{"m/a.jpg", "m/a.png"});
                 }),
                 "have the name \"a\""));
}

TEST_CASE("the fingerprint is that of all sources and of who belongs to whom") {
  const auto by_name = zip(files{"i/a", "i/b"}, files{"m/b", "m/a"}).fingerprint();
  CHECK(by_name == zip(files{"j/a", "j/b"}, files{"n/b", "n/a"}).fingerprint());
  CHECK(by_name != zip(pair_by::position, files{"i/a", "i/b"}, files{"m/b", "m/a"}).fingerprint());
  CHECK(by_name != zip(files{"i/a", "i/b"}, files{"m/a", "m/b"}).fingerprint());
}

TEST_CASE("hints go to each source, and another number of samples is seen") {
  std::uint64_t a = 3, b = 3;
  const auto z = zip(growing{&a}, growing{&b});
  z.prefetch(2, 64);
  CHECK(z.get<0>().last == 2);
  CHECK(z.get<1>().last == 2);
  CHECK(z.size() == 3);
  b = 4;
  CHECK(z.size() == 4);
}

TEST_CASE("a loader goes over the pairs") {
  std::vector<std::int64_t> second(30);
  for (std::size_t i = 0; i < 30; ++i) second[i] = static_cast<std::int64_t>(100 + i);
  wick::loader l(zip(in_memory(second), numbers{30}) | wick::shuffle() | wick::array_batch(10),
                 {.workers = 2});
  for (const auto& batch : l.epoch(1)) {
    for (std::size_t i = 0; i < 10; ++i)
      CHECK(batch.data.as<std::int64_t>()[i] == 100 + batch.target.target.as<std::int64_t>()[i]);
  }
}

TEST_CASE(
    "a name that differs only in its Unicode form, its case, or a blank is named, with its bytes visible") {
  using wick_test::contains;
  const auto said = [](const char* picture, const char* mask) {
    return wick_test::message_of([&] {
      return wick::zip(wick::files({picture, "p/z.jpg"}), wick::files({mask, "m/z.png"}));
    });
  };
  CHECK(contains(said("p/f\u00fcr.jpg", "m/fu\u0308r.png"), "\"fu\\u0308r\"", "only in its Unicode form",
                 "convmv"));
  CHECK(contains(said("p/fu\u0308r.jpg", "m/f\u00fcr.png"), "\"fu\\u0308r\"", "only in its Unicode form"));
  CHECK(contains(said("p/\u1ebf.jpg", "m/e\u0302\u0301.png"), "only in its Unicode form"));
  CHECK(contains(said("p/\u1ebf.jpg", "m/\u00ea\u0301.png"), "only in its Unicode form"));
  CHECK(contains(said("p/\ud55c\uae00.jpg", "m/\u1112\u1161\u11ab\u1100\u1173\u11af.png"),
                 "only in its Unicode form"));
  CHECK(contains(said("p/\u304c.jpg", "m/\u304b\u3099.png"), "only in its Unicode form"));
  CHECK(contains(said("p/Cat.jpg", "m/cat.png"), "only in upper and lower case"));
  CHECK(contains(said("p/cat.jpg", "m/cat .png"), "\"cat \" differs only in blanks"));
  CHECK(contains(said("p/cat.jpg", "m/cat\u200b.png"), "\"cat\\u200b\" differs only in blanks or invisible"));
  CHECK(!contains(said("p/f\u00fcr.jpg", "m/fur.png"), "Unicode form"));
  CHECK(!contains(said("p/\ud55c.jpg", "m/\u1112\u1161.png"), "Unicode form"));
}

}  // namespace wick_test::zip_tests
