#include <cstdint>
#include <fcntl.h>
#include <string>
#include <type_traits>
#include <unistd.h>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/temp_dir.hpp"
#include <wick/core.hpp>

namespace wick_test::file_range_tests {

namespace {

/// What read() gives for these, one after another.
std::vector<std::string> read_all(std::vector<wick::ext::file_range> where) {
  wick::loader l(wick::in_memory(std::move(where)) | wick::read() |
                     [](const wick::bytes& b) { return std::string(b.text()); } | wick::group(100),
                 {.workers = 1});
  return l.next().value();
}

}  // namespace

static_assert(std::is_trivially_copyable_v<wick::ext::file_range>);

TEST_CASE("a file range of a path alone is the whole file, not yet open") {
  const wick::ext::file_range l{.path = "a.jpg"};
  CHECK(l.file == -1);
  CHECK(l.offset == 0);
  CHECK(l.length == wick::ext::file_range::whole);
  CHECK(l.indexed == nullptr);
  CHECK(sizeof(wick::ext::file_range) <= 48);
}

TEST_CASE("a URL is shown without a name, a password, or what may be a token") {
  using wick::detail::shown_url;
  CHECK(shown_url("https://user:pa55@host:80/a/b@c?token=x#y") == "https://host:80/a/b@c");
  CHECK(shown_url("https://user:pa/55@host/a?token=x") == "https://host/a");
  CHECK(shown_url("https://user:pa55@host/a/b@c") == "https://host/a/b@c");
  CHECK(shown_url("https://user@host") == "https://host");
  CHECK(shown_url("http://[::1]:8080/a@b") == "http://[::1]:8080/a@b");
  CHECK(shown_url("http://[fe80::a]/a@b") == "http://[fe80::a]/a@b");
  CHECK(shown_url("https://host:8080/@scope/a") == "https://host:8080/@scope/a");
  CHECK(shown_url("s3://bucket/a?b#c@d") == "s3://bucket/a?b#c@d");
}

TEST_CASE("a file range is a part of a file: so many bytes from an offset on, or all that are left") {
  const wick_test::temp_dir folder;
  const std::string path = wick_test::write_file(folder / "digits", "0123456789").string();
  CHECK(read_all({{.path = path.c_str()},
                  {.path = path.c_str(), .offset = 3},
                  {.path = path.c_str(), .length = 2},
                  {.path = path.c_str(), .offset = 3, .length = 4},
                  {.path = path.c_str(), .offset = 10}}) ==
        std::vector<std::string>{"0123456789", "3456789", "01", "3456", ""});
}

TEST_CASE("a file range with an open file is read there, whatever its path names, and the file stays open") {
  const wick_test::temp_dir folder;
  const std::string path = wick_test::write_file(folder / "letters", "abcdef").string();
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  REQUIRE(file >= 0);
  CHECK(read_all({{.path = "no such file", .file = file, .offset = 1, .length = 3},
                  {.path = "no such file", .file = file, .offset = 0, .length = 6}}) ==
        std::vector<std::string>{"bcd", "abcdef"});
  CHECK(::close(file) == 0);
}

}  // namespace wick_test::file_range_tests
