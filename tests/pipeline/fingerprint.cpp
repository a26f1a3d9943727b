#include <array>
#include <cstdint>
#include <set>
#include <string>

#include "../support/doctest.hpp"
#include <wick/ext/fingerprint.hpp>
#include <wick/pipeline/pipeline.hpp>

namespace wick_test::fingerprint_tests {

using wick::ext::fingerprint_hash;

TEST_CASE("equal additions give equal fingerprints, in every build") {
  CHECK(fingerprint_hash().add("abc").add(7).value() == fingerprint_hash().add("abc").add(7).value());
  // Saved states hold fingerprints: these values are part of their format.
  CHECK(fingerprint_hash().value() == 0xCA431B826AFAF5EAu);
  CHECK(fingerprint_hash().add("n01440764/n01440764_10026.JPEG").add(42).value() == 0xD30BA50E03B88BA3u);
}

TEST_CASE("a fingerprint knows where one name ends and the next begins, and their order") {
  const auto of = [](std::string a, std::string b) { return fingerprint_hash().add(a).add(b).value(); };
  CHECK(of("ab", "c") != of("a", "bc"));
  CHECK(of("a", "b") != of("b", "a"));
  CHECK(of("", "a") != of("a", ""));
  CHECK(fingerprint_hash().add(0).value() != fingerprint_hash().value());
  CHECK(of(std::string(1, '\0'), "") != of(std::string(2, '\0'), ""));
}

TEST_CASE("a hundred thousand similar names have different fingerprints") {
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 100'000; ++i)
    seen.insert(fingerprint_hash().add("img" + std::to_string(i) + ".jpg").value());
  CHECK(seen.size() == 100'000);
}

TEST_CASE("every single bit of the data changes the fingerprint") {
  std::string data(37, '\x5A');
  const std::uint64_t before = fingerprint_hash().add(data).value();
  for (std::size_t bit = 0; bit < data.size() * 8; ++bit) {
    data[bit / 8] = static_cast<char>(data[bit / 8] ^ (1 << bit % 8));
    CHECK(fingerprint_hash().add(data).value() != before);
    data[bit / 8] = static_cast<char>(data[bit / 8] ^ (1 << bit % 8));
  }
}

TEST_CASE("parameters are distinguished by their values and their order, floating ones to the last bit") {
  enum class filter : std::uint8_t { near, smooth };
  const std::set<std::uint64_t> all{
      wick::ext::fingerprint_hash::of(),          wick::ext::fingerprint_hash::of(1),
      wick::ext::fingerprint_hash::of(1, 0),      wick::ext::fingerprint_hash::of(0, 1),
      wick::ext::fingerprint_hash::of(0.1),       wick::ext::fingerprint_hash::of(0.1 + 0x1p-56),
      wick::ext::fingerprint_hash::of(-1),        wick::ext::fingerprint_hash::of(filter::smooth, 2),
      wick::ext::fingerprint_hash::of(2, 1.0f),   wick::ext::fingerprint_hash::of(std::array{0.5, 0.25}),
      wick::ext::fingerprint_hash::of(0.25, 0.5), wick::ext::fingerprint_hash::of(true, false, true)};
  CHECK(all.size() == 12);
  // What a value is written as makes no difference, so that a stage may change the type of a member.
  CHECK(wick::ext::fingerprint_hash::of(1, 0.5f) == wick::ext::fingerprint_hash::of(std::int64_t{1}, 0.5));
  CHECK(wick::ext::fingerprint_hash::of(std::array{0.5, 0.25}) == wick::ext::fingerprint_hash::of(0.5, 0.25));
  // Saved states hold fingerprints: this is part of their format.
  CHECK(wick::ext::fingerprint_hash::of(224, 0.5, filter::near) == 10850354822261122480u);
}

namespace {
struct shift {
  static constexpr wick::ext::stage_traits traits{.has_fingerprint = true};
  int by;
  int operator()(int x) const { return x + by; }
  std::uint64_t fingerprint() const { return wick::ext::fingerprint_hash::of(by); }
};
}  // namespace

TEST_CASE("a callable's own fingerprint is its stage's; a stage of one that has none says 0") {
  CHECK(wick::map("shift", shift{1}).fingerprint() == shift{1}.fingerprint());
  CHECK(wick::map(shift{1}).fingerprint() != wick::map(shift{2}).fingerprint());
  const auto plain = wick::map([](int x) { return x; });
  CHECK(plain.fingerprint() == 0);
}

}  // namespace wick_test::fingerprint_tests
