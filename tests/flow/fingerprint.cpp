#include <wick/flow/fingerprint.hpp>

#include <set>
#include <string>

#include "../support/doctest.hpp"

using wick::fingerprint_hash;

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
