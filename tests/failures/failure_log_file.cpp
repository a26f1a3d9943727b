#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <map>
#include <signal.h>
#include <sstream>
#include <string>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/own_mounts.hpp"
#include "support/temp_dir.hpp"
#include <wick/base/detail/json_string.hpp>
#include <wick/failures/detail/failure_log_file.hpp>

namespace wick_test::failure_log_file_tests {

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

wick::failure_log::entry entry(std::string key) {
  wick::failure_log::entry e;
  e.key = std::move(key);
  e.stage = "decode";
  e.text = "it broke";
  return e;
}

std::string line(const std::string& key) { return wick::detail::to_json(entry(key)) + "\n"; }

/// How often each line is there; a line that is no `entry()` counts as "".
std::map<std::string, int> lines_of(const std::string& text) {
  std::map<std::string, int> out;
  std::istringstream in(text);
  for (std::string one; std::getline(in, one);) {
    const std::string before = "\"key\":\"";
    const std::size_t at = one.find(before) + before.size();
    const std::string key =
        one.find(before) == std::string::npos ? "" : one.substr(at, one.find('"', at) - at);
    ++out[wick::detail::to_json(entry(key)) == one ? key : ""];
  }
  if (!text.empty() && text.back() != '\n') ++out[""];
  return out;
}

template <class Body>
::pid_t in_child(Body body) {
  const ::pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  return child;
}
int end_of(::pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

}  // namespace

TEST_CASE("a line is one JSON object with all that the entry has") {
  wick::failure_log::entry e = entry("a.jpg");
  e.epoch = 3;
  e.position = 18446744073709551615u;
  e.kind = wick::error_kind::data;
  e.action = wick::error_action::replace;
  e.substitute = "b.jpg";
  CHECK(wick::detail::to_json(e) ==
        "{\"epoch\":3,\"position\":18446744073709551615,\"key\":\"a.jpg\",\"stage\":\"decode\",\"kind\":"
        "\"data\","
        "\"action\":\"replace\",\"tries\":1,\"substitute\":\"b.jpg\",\"text\":\"it broke\"}");
  e.substitute.clear();
  CHECK(!contains(wick::detail::to_json(e), "substitute"));
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
    wick::detail::failure_log_file file(folder / "errors.jsonl");
    for (std::string& key : keys) {
      file.add(entry(key));
      const std::string points = code_points(key);
      expected += points + (points.empty() ? "7c\n" : " 7c\n");
    }
    CHECK(file.trouble().empty());
  }
  CHECK(keys_by_python(folder, (folder / "errors.jsonl").string()) == expected);
}

TEST_CASE("a failure log file is appended to, line by line, and each line is there at once") {
  const temp_dir folder;
  const auto path = folder / "errors.jsonl";
  {
    wick::detail::failure_log_file first(path);
    first.add(entry("a"));
    CHECK(read_file(path) == wick::detail::to_json(entry("a")) + "\n");
  }
  wick::detail::failure_log_file second(path), third(path);
  second.add(entry("b"));
  third.add(entry("c"));
  second.add(entry("d"));
  CHECK(read_file(path) == wick::detail::to_json(entry("a")) + "\n" + wick::detail::to_json(entry("b")) +
                               "\n" + wick::detail::to_json(entry("c")) + "\n" +
                               wick::detail::to_json(entry("d")) + "\n");
}

TEST_CASE("a failure log file that can't be opened is refused, and one that can't be written says so") {
  const std::string text =
      message_of([] { return wick::detail::failure_log_file("/no/such/folder/errors.jsonl").trouble(); });
  CHECK(contains(text, "/no/such/folder/errors.jsonl: failure_log_file: can't be opened: ", "; give a path"));
  wick::detail::failure_log_file full("/dev/full");
  full.add(entry("a"));
  full.add(entry("b"));
  CHECK(contains(full.trouble(), "/dev/full: failure_log_file: 2 lines could not be written: No space left"));
}

TEST_CASE("a line that a full disk has cut off is taken back, and the next one begins a new line") {
  const temp_dir folder;
  const auto path = folder / "errors.jsonl";
  const ::pid_t child = in_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    wick::detail::failure_log_file file(path);
    file.add(entry("a"));
    ::rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    const ::rlimit less{static_cast<::rlim_t>(line("a").size() + 40), limit.rlim_max};
    if (::setrlimit(RLIMIT_FSIZE, &less) != 0) return 1;
    file.add(entry("lost"));
    file.add(entry("lost too"));
    if (::setrlimit(RLIMIT_FSIZE, &limit) != 0) return 2;
    file.add(entry("b"));
    return contains(file.trouble(), "2 lines could not be written: File too large") ? 0 : 3;
  });
  CHECK(end_of(child) == 0);
  CHECK(read_file(path) == line("a") + line("b"));
}

TEST_CASE("several writers on a disk that becomes full and has room again leave whole lines only") {
  const temp_dir folder;
  const bool tried = wick_test::with_own_mounts([&] {
    const auto small = folder / "small";
    std::filesystem::create_directory(small);
    if (!wick_test::mount_small(small, 64 * 1024)) return false;
    const auto path = small / "errors.jsonl";
    const auto filler = wick_test::write_file(small / "filler", std::string(40 * 1024, 'x'));
    std::vector<::pid_t> children;
    for (int p = 0; p < 3; ++p) {
      children.push_back(in_child([&] {
        wick::detail::failure_log_file file(path);
        int i = 0;
        const auto key = [&] { return std::to_string(p) + "-" + std::to_string(i++); };
        while (file.trouble().empty()) file.add(entry(key()));
        for (int more = 0; more < 10; ++more) file.add(entry(key()));
        std::error_code gone;
        std::filesystem::remove(filler, gone);
        for (int more = 0; more < 10; ++more) file.add(entry(key()));
        return contains(file.trouble(), "No space left on device") ? 0 : 1;
      }));
    }
    for (const ::pid_t child : children) CHECK(end_of(child) == 0);
    const auto lines = lines_of(read_file(path));
    CHECK(lines.count("") == 0);
    for (const auto& [key, times] : lines) CHECK_MESSAGE(times == 1, key);
    return true;
  });
  if (!tried) MESSAGE("skipped: no file system may be mounted here");
}

TEST_CASE("what a killed writer has left of a line is taken back, what anybody else wrote is kept") {
  const temp_dir folder;
  const auto path = folder / "errors.jsonl";
  const auto then_b = [&](const std::string& content) {
    folder.write("errors.jsonl", content);
    wick::detail::failure_log_file(path).add(entry("b"));
    return read_file(path);
  };
  const std::string whole = line("a"), torn = wick::detail::to_json(entry("key \"}"));
  for (std::size_t cut = 1; cut < torn.size(); ++cut) {
    CAPTURE(cut);
    REQUIRE(then_b(whole + torn.substr(0, cut)) == whole + line("b"));
    REQUIRE(then_b(torn.substr(0, cut)) == line("b"));
  }
  CHECK(then_b(whole + torn) == whole + torn + "\n" + line("b"));
  CHECK(then_b("a note of somebody's") == "a note of somebody's\n" + line("b"));
  CHECK(then_b("{\"other\":1,") == "{\"other\":1,\n" + line("b"));
  CHECK(then_b(whole) == whole + line("b"));
  CHECK(then_b("\n") == "\n" + line("b"));
  // Opening it is enough.
  folder.write("errors.jsonl", whole + torn.substr(0, 50));
  const wick::detail::failure_log_file opened(path);
  CHECK(read_file(path) == whole);
}

TEST_CASE("writers in many processes, some of them killed, leave each line whole and once") {
  const temp_dir folder;
  const auto path = folder / "errors.jsonl";
  constexpr int processes = 6, lines = 300;
  std::vector<::pid_t> children;
  for (int p = 0; p < processes; ++p) {
    children.push_back(in_child([&] {
      wick::detail::failure_log_file file(path);
      for (int i = 0; i < lines || p % 2 != 0; ++i)
        file.add(entry(std::to_string(p) + "-" + std::to_string(i)));
      return file.trouble().empty() ? 0 : 1;
    }));
  }
  for (int p = 0; p < processes; p += 2) CHECK(end_of(children[static_cast<std::size_t>(p)]) == 0);
  for (int p = 1; p < processes; p += 2) {
    REQUIRE(::kill(children[static_cast<std::size_t>(p)], SIGKILL) == 0);
    CHECK(end_of(children[static_cast<std::size_t>(p)]) == -SIGKILL);
  }
  wick::detail::failure_log_file(path).add(entry("last"));
  const auto found = lines_of(read_file(path));
  CHECK(found.count("") == 0);
  CHECK(found.count("last") == 1);
  int whole = 0;
  for (const auto& [key, times] : found) whole += times == 1 && key[0] % 2 == '0' % 2 && key != "last";
  CHECK(whole == processes / 2 * lines);
}

TEST_CASE("a writer that stopped in the middle of its line holds up no other writer") {
  const temp_dir folder;
  const auto path = folder.write("errors.jsonl", line("a") + "{\"epoch\":0,\"po");
  const int held = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  REQUIRE(::flock(held, LOCK_EX) == 0);
  wick::detail::failure_log_file file(path);
  file.add(entry("b"));
  file.add(entry("c"));
  CHECK(file.trouble().empty());
  CHECK(read_file(path) == line("a") + "{\"epoch\":0,\"po\n" + line("b") + line("c"));
  ::close(held);
}

TEST_CASE("a FIFO without a reader and a folder are no failure log files, and are named") {
  const temp_dir folder;
  REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);
  const auto refused = [](const std::filesystem::path& path) {
    return message_of([&] { return wick::detail::failure_log_file(path).trouble(); });
  };
  CHECK(contains(refused(folder / "fifo"),
                 "fifo: failure_log_file: can't be opened: it is a FIFO (named pipe)"));
  CHECK(contains(refused(folder.path()), "failure_log_file: can't be opened: it is a folder"));
}

}  // namespace wick_test::failure_log_file_tests
