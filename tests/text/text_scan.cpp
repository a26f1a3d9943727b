#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include <wick/io/detail/file_extents.hpp>
#include <wick/text/detail/text_scan.hpp>

namespace wick_test::text_scan_tests {

namespace {

using wick::detail::file_extents;
using wick::detail::text_rule;
using list = std::vector<std::string>;

/// What the scan finds when it is given pieces of random lengths.
list found(const std::string& text, const text_rule& rule, std::mt19937_64& random, std::size_t longest) {
  file_extents out;
  wick::detail::text_scan scan(rule, out);
  std::size_t begin = 0, end = 0;
  do {
    end = std::min(text.size(), end + random() % (longest + 1));
    // A buffer of its own, so that a look beyond it is seen.
    const std::string piece = text.substr(begin, end - begin);
    begin += scan.take(piece.data(), piece.size(), end == text.size());
  } while (end != text.size());
  CHECK(begin == text.size());
  list all;
  for (std::uint64_t i = 0; i < out.size(); ++i) {
    const file_extents::extent e = out.at(i);
    all.push_back(text.substr(e.offset, e.length));
  }
  return all;
}
list found(const std::string& text, const text_rule& rule) {
  std::mt19937_64 random(1);
  list whole = found(text, rule, random, 1 << 20);
  for (int again = 0; again < 20; ++again) CHECK(found(text, rule, random, 3) == whole);
  return whole;
}

// What is found is defined here, by the shortest way to write it.

list naive_lines(std::string_view text, bool keep_empty) {
  list out;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    if (end != std::string_view::npos && line.ends_with('\r')) line.remove_suffix(1);
    if (keep_empty || !line.empty()) out.emplace_back(line);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return out;
}

list naive_documents(std::string_view text, std::string_view separator) {
  list out;
  for (;;) {
    const std::size_t end = text.find(separator);
    std::string_view piece = text.substr(0, end);
    const std::size_t first = piece.find_first_not_of("\r\n"), last = piece.find_last_not_of("\r\n");
    if (first != std::string_view::npos) out.emplace_back(piece.substr(first, last - first + 1));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + separator.size());
  }
}

/// From text, line by line: `\r\n` counts as an end of a line.
list naive_paragraphs(const std::string& text) {
  list out;
  const list lines = naive_lines(text, true);
  std::string now;
  const auto close = [&] {
    if (!now.empty()) out.push_back(now);
    now.clear();
  };
  for (const std::string& line : lines) {
    if (line.empty())
      close();
    else
      now += (now.empty() ? "" : "\n") + line;
  }
  close();
  return out;
}
list without_carriage_returns(list all) {
  for (std::string& s : all) {
    for (std::size_t p = 0; (p = s.find("\r\n", p)) != std::string::npos; ++p) s.erase(p, 1);
  }
  return all;
}

std::string random_text(std::mt19937_64& random, std::string_view of) {
  std::string out(random() % 60, '\0');
  for (char& c : out) c = of[random() % of.size()];
  return out;
}

const text_rule lines{.by = text_rule::line}, full_lines{.by = text_rule::line, .keep_empty = false},
    paragraphs{.by = text_rule::paragraph};

}  // namespace

TEST_CASE("a line ends before its line break, and the last one may have none") {
  CHECK(found("", lines).empty());
  CHECK(found("a", lines) == list{"a"});
  CHECK(found("a\n", lines) == list{"a"});
  CHECK(found("\n", lines) == list{""});
  CHECK(found("a\n\nb\n", lines) == list{"a", "", "b"});
  CHECK(found("a\n\nb\n", full_lines) == list{"a", "b"});
  CHECK(found("a\r\nb\r\n\r\nc\rd\r", lines) == list{"a", "b", "", "c\rd\r"});
  CHECK(found("\r\n\r\n", full_lines).empty());
  CHECK(found("\xFF\xFE\n\0x\n\xC3(", lines) == list{"\xFF\xFE"});  // the literal ends at NUL
  CHECK(found(std::string("\xFF\n\0x\n\xC3(", 7), lines) == list{"\xFF", std::string("\0x", 2), "\xC3("});
}

TEST_CASE("documents lie between empty lines") {
  CHECK(found("", paragraphs).empty());
  CHECK(found("\n\n\n", paragraphs).empty());
  CHECK(found("a\nb\n\nc", paragraphs) == list{"a\nb", "c"});
  CHECK(found("\n\na\n\n\n\nb\nc\n\n", paragraphs) == list{"a", "b\nc"});
  CHECK(found("a\r\nb\r\n\r\nc\r\n", paragraphs) == list{"a\r\nb", "c"});
}

TEST_CASE("documents lie between separators, and line breaks around them are not part of them") {
  const text_rule rule{.by = text_rule::separated, .separator = "<|end|>"};
  CHECK(found("", rule).empty());
  CHECK(found("a", rule) == list{"a"});
  CHECK(found("a<|end|>b", rule) == list{"a", "b"});
  CHECK(found("<|end|><|end|>\n<|end|>", rule).empty());
  CHECK(found("\na\n\nb\n<|end|>\r\nc\r\n<|end|>\n", rule) == list{"a\n\nb", "c"});
  CHECK(found("a<|en<|end|>|end|>", rule) == list{"a<|en", "|end|>"});
  CHECK(found("aaaaa", {.by = text_rule::separated, .separator = "aa"}) == list{"a"});
  CHECK(found("x\n---\ny\n---\n", {.by = text_rule::separated, .separator = "\n---\n"}) == list{"x", "y"});
}

TEST_CASE("random bytes in pieces of random lengths give what a plain loop finds") {
  std::mt19937_64 random(7);
  for (int i = 0; i < 3000; ++i) {
    const std::string text = random_text(random, i % 2 == 0 ? "a\n\r" : "ab\n\xFF");
    const std::size_t longest = 1 + random() % 9;
    CAPTURE(text);
    CHECK(found(text, lines, random, longest) == naive_lines(text, true));
    CHECK(found(text, full_lines, random, longest) == naive_lines(text, false));
    CHECK(without_carriage_returns(found(text, paragraphs, random, longest)) == naive_paragraphs(text));
    for (const char* separator : {"a", "ab", "aba", "\n", "\na\n", "\r\n\r"}) {
      const text_rule rule{.by = text_rule::separated, .separator = separator};
      CHECK(found(text, rule, random, longest) == naive_documents(text, separator));
    }
  }
}

TEST_CASE("what lies beyond 4 GiB is found") {
  const std::string nothing(std::size_t{1} << 24, '\0');
  for (const text_rule& rule : {lines, text_rule{.by = text_rule::separated, .separator = "\n"}}) {
    file_extents out;
    wick::detail::text_scan scan(rule, out);
    CHECK(scan.take("first\n", 6, false) == 6);
    for (int i = 0; i < 257; ++i) CHECK(scan.take(nothing.data(), nothing.size(), false) == nothing.size());
    CHECK(scan.take("\nlast\nend", 9, true) == 9);
    constexpr std::uint64_t hole = 257 * (std::uint64_t{1} << 24);
    REQUIRE(out.size() == 4);
    CHECK(out.at(1).offset == 6);
    CHECK(out.at(1).length == hole);
    CHECK(out.at(2).offset == 6 + hole + 1);
    CHECK(out.at(3).offset == 6 + hole + 6);
    CHECK(out.at(3).length == 3);
  }
}

TEST_CASE("extents of any length, and any distance, are what they were") {
  std::mt19937_64 random(3);
  for (int round = 0; round < 50; ++round) {
    file_extents all;
    std::vector<std::pair<std::uint64_t, std::uint64_t>> wanted;
    std::uint64_t end = 0;
    for (std::size_t n = random() % 200; n > 0; --n) {
      const std::uint64_t gap = random() % 3 == 0 ? random() >> (random() % 40 + 20) : random() % 4;
      const std::uint64_t length = random() >> (random() % 40 + 20);
      wanted.emplace_back(end + gap, length);
      all.add({end + gap, length});
      end += gap + length;
    }
    file_extents again;
    REQUIRE(again.decode(all.code(), all.size(), end));
    for (const file_extents* e : {&all, &again}) {
      REQUIRE(e->size() == wanted.size());
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        CHECK(e->at(i).offset == wanted[i].first);
        CHECK(e->at(i).length == wanted[i].second);
      }
    }
    if (wanted.empty()) continue;
    CHECK_FALSE(again.decode(all.code(), all.size(), end - 1));
    CHECK_FALSE(again.decode(all.code(), all.size() + 1, end));
    CHECK_FALSE(again.decode(all.code(), all.size() - 1, end));
    CHECK_FALSE(again.decode(all.code().first(all.code().size() - 1), all.size(), end));
    CHECK(again.size() == wanted.size());  // as it was
  }
}

TEST_CASE("a code of random bytes is refused, or says extents within the file") {
  std::mt19937_64 random(5);
  int taken = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::vector<std::uint8_t> code(random() % 12);
    for (std::uint8_t& b : code) b = static_cast<std::uint8_t>(random() % 4 == 0 ? random() : random() % 16);
    file_extents out;
    const std::uint64_t size = random() % 8, file_size = random() % 300;
    if (!out.decode(code, size, file_size)) continue;
    ++taken;
    REQUIRE(out.size() == size);
    for (std::uint64_t j = 0; j < size; ++j) CHECK(out.at(j).offset + out.at(j).length <= file_size);
  }
  CHECK(taken > 100);
}

TEST_CASE("a line of usual length takes two bytes or less, and half a byte to be found") {
  file_extents all;
  for (std::uint64_t i = 0, at = 0; i < 10'000; ++i, at += 91) all.add({at, 90});
  CHECK(all.code().size() < 20'010);
}

}  // namespace wick_test::text_scan_tests
