#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/temp_dir.hpp"
#include <wick/flow/ledger_file.hpp>

using wick_test::contains;
using wick_test::message_of;
using wick_test::read_file;
using wick_test::temp_dir;

namespace {

/// What Python's json makes of each line's "key", strictly: a file with a code unit a line, in hex.
std::string keys_by_python(const temp_dir& folder, const std::string& file) {
  const auto script = folder.write("keys.py", R"(import json, sys
for line in open(sys.argv[1], encoding="utf-8", errors="strict"):
    o = json.loads(line)
    assert list(o)[:7] == ["epoch", "position", "key", "stage", "kind", "action", "tries"], list(o)
    print(" ".join("%x" % ord(c) for c in o["key"] + "|" + o.get("substitute", "")))
)");
  const std::string out = (folder / "keys").string();
  const std::string command = WICK_TEST_PYTHON " " + script.string() + " " + file + " > " + out;
  REQUIRE(std::system(command.c_str()) == 0);
  return read_file(out);
}

/// The same by hand: invalid bytes as \xNN.
std::string code_points(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t n = wick::detail::utf8_character(std::string_view(text).substr(i));
    const auto byte = static_cast<unsigned char>(text[i]);
    char digits[40];
    if (n == 0) {
      const char* const hex = "0123456789abcdef";
      std::snprintf(digits, sizeof(digits), "5c 78 %x %x", static_cast<unsigned>(hex[byte >> 4]),
                    static_cast<unsigned>(hex[byte & 15]));
    } else {
      unsigned point = n == 1 ? byte : byte & (0x7Fu >> n);
      for (std::size_t k = 1; k < n; ++k)
        point = (point << 6) | (static_cast<unsigned char>(text[i + k]) & 0x3Fu);
      std::snprintf(digits, sizeof(digits), "%x", point);
    }
    out += (out.empty() ? "" : " ") + std::string(digits);
    i += n == 0 ? 1 : n;
  }
  return out;
}

wick::ledger_entry entry(std::string key) {
  wick::ledger_entry e;
  e.key = std::move(key);
  e.stage = "decode";
  e.text = "it broke";
  return e;
}

}  // namespace

TEST_CASE("a line is one JSON object with all that the entry has") {
  wick::ledger_entry e = entry("a.jpg");
  e.epoch = 3;
  e.position = 18446744073709551615u;
  e.kind = wick::error_kind::data;
  e.action = wick::error_action::replace;
  e.substitute = "b.jpg";
  CHECK(to_json(e) ==
        "{\"epoch\":3,\"position\":18446744073709551615,\"key\":\"a.jpg\",\"stage\":\"decode\",\"kind\":"
        "\"data\","
        "\"action\":\"replace\",\"tries\":1,\"substitute\":\"b.jpg\",\"text\":\"it broke\"}");
  e.substitute.clear();
  CHECK(!contains(to_json(e), "substitute"));
}

TEST_CASE("any bytes at all in a key are valid JSON, and Python reads them as they were") {
  const temp_dir folder;
  std::vector<std::string> keys = {"plain",
                                   "",
                                   "\"quoted\"",
                                   "back\\slash",
                                   "line\nbreak\r\t\b\f",
                                   std::string("nul\0here", 8),
                                   "K\xC3\xA4tzchen \xE2\x82\xAC \xF0\x9F\x90\xB1",
                                   "\xC0\xAF",
                                   "\xED\xA0\x80",
                                   "\xF4\x90\x80\x80",
                                   "\xE2\x82",
                                   "cut \xF0\x9F\x90",
                                   "\x7F\x80\xFF",
                                   "\xE2\x80\xA8"};
  unsigned random = 1;
  for (int n = 0; n < 300; ++n) {
    std::string key;
    for (int i = 0; i < 40; ++i) {
      random = random * 1664525u + 1013904223u;
      key += static_cast<char>(random >> 24);
    }
    keys.push_back(std::move(key));
  }
  std::string expected;
  {
    wick::ledger_file file(folder / "errors.jsonl");
    for (std::string& key : keys) {
      file.add(entry(key));
      const std::string points = code_points(key);
      expected += points + (points.empty() ? "7c\n" : " 7c\n");
    }
    CHECK(file.trouble().empty());
  }
  CHECK(keys_by_python(folder, (folder / "errors.jsonl").string()) == expected);
}

TEST_CASE("a ledger file is appended to, line by line, and each line is there at once") {
  const temp_dir folder;
  const auto path = folder / "errors.jsonl";
  {
    wick::ledger_file first(path);
    first.add(entry("a"));
    CHECK(read_file(path) == to_json(entry("a")) + "\n");
  }
  wick::ledger_file second(path), third(path);
  second.add(entry("b"));
  third.add(entry("c"));
  second.add(entry("d"));
  CHECK(read_file(path) == to_json(entry("a")) + "\n" + to_json(entry("b")) + "\n" + to_json(entry("c")) +
                               "\n" + to_json(entry("d")) + "\n");
}

TEST_CASE("a ledger file that can't be opened is refused, and one that can't be written says so") {
  const std::string text =
      message_of([] { return wick::ledger_file("/no/such/folder/errors.jsonl").trouble(); });
  CHECK(contains(text, "/no/such/folder/errors.jsonl: ledger_file: can't be opened: ", "; give a path"));
  wick::ledger_file full("/dev/full");
  full.add(entry("a"));
  full.add(entry("b"));
  CHECK(contains(full.trouble(), "/dev/full: ledger_file: 2 lines could not be written: No space left"));
}
