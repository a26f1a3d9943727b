#include <filesystem>
#include <string>
#include <sys/types.h>
#include <unistd.h>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/temp_dir.hpp"
#include <wick/ext/source.hpp>
#include <wick/sources/detail/glob.hpp>
#include <wick/sources/files.hpp>

namespace wick_test::files_tests {

static_assert(wick::ext::source<wick::files>);

namespace {

using wick_test::contains;
using wick_test::message_of;
using wick_test::temp_dir;

std::vector<std::string> names(const wick::files& f, const std::filesystem::path& below) {
  std::vector<std::string> out;
  for (std::uint64_t i = 0; i < f.size(); ++i) {
    out.push_back(std::filesystem::path(f.at(i).path).lexically_relative(below).string());
  }
  return out;
}

using list = std::vector<std::string>;

}  // namespace

TEST_CASE("a list of files keeps its order and its doubles, and opens nothing") {
  const wick::files f({"/nowhere/b.jpg", "/nowhere/a.jpg", "/nowhere/b.jpg"});
  REQUIRE(f.size() == 3);
  CHECK(std::string(f.at(1).path) == "/nowhere/a.jpg");
  CHECK(f.at(1).file == -1);
  CHECK(f.at(1).length == wick::ext::file_range::whole);
  CHECK(f.key(2) == "/nowhere/b.jpg");
  CHECK(wick::files({"one"}).size() == 1);
  CHECK(wick::files(std::vector<std::filesystem::path>{"x", "y"}).size() == 2);
}

TEST_CASE("a pattern gives the files that match, numbers in order of their value") {
  const temp_dir dir;
  for (const char* n : {"f10.jpg", "f2.jpg", "f1.jpg", "f02.jpg", "g.png", ".hidden.jpg", "sub/f3.jpg"})
    dir.write(n);
  CHECK(names(wick::files(dir / "*.jpg"), dir.path()) == list{"f1.jpg", "f02.jpg", "f2.jpg", "f10.jpg"});
  CHECK(names(wick::files((dir / "*").string()), dir.path()) ==
        list{"f1.jpg", "f02.jpg", "f2.jpg", "f10.jpg", "g.png"});
  CHECK(names(wick::files((dir / "f?.jpg").c_str()), dir.path()) == list{"f1.jpg", "f2.jpg"});
  CHECK(names(wick::files(dir / "f[12].jpg"), dir.path()) == list{"f1.jpg", "f2.jpg"});
  CHECK(names(wick::files(dir / "*/*.jpg"), dir.path()) == list{"sub/f3.jpg"});
  CHECK(names(wick::files(dir / ".hidden.jpg"), dir.path()) == list{".hidden.jpg"});
  CHECK(contains(message_of([&] { return wick::files(dir / ".h*"); }), "matches no file"));
}

TEST_CASE("two stars stand for any number of folders, and a circle of links is entered once") {
  const temp_dir dir;
  for (const char* n : {"a.txt", "x/b.txt", "x/y/c.txt", "x/y/d.png"}) dir.write(n);
  std::filesystem::create_directory_symlink(dir / "x", dir / "x/y/up");
  CHECK(names(wick::files(dir / "**/*.txt"), dir.path()) == list{"a.txt", "x/b.txt", "x/y/c.txt"});
  CHECK(names(wick::files(dir / "x/**/c.txt"), dir.path()) == list{"x/y/c.txt"});
  // At the end, too, as in S3.
  CHECK(names(wick::files(dir / "**"), dir.path()) == list{"a.txt", "x/b.txt", "x/y/c.txt", "x/y/d.png"});
  CHECK(names(wick::files(dir / "x/**"), dir.path()) == list{"x/b.txt", "x/y/c.txt", "x/y/d.png"});
  CHECK(names(wick::files(dir / "**.txt"), dir.path()) == list{"a.txt", "x/b.txt", "x/y/c.txt"});
  CHECK(names(wick::files(dir / "x/y**.png"), dir.path()) == list{"x/y/d.png"});
  CHECK(contains(message_of([&] { return wick::files(dir / "x**/c.txt"); }), "has ** within", "/**/"));
}

TEST_CASE("two stars among folders that link to each other find each file once a name of its folder") {
  const temp_dir dir;
  const auto name = [](int i) { return "c" + std::to_string(10 + i); };
  constexpr int folders = 12;
  list expected;
  for (int i = 0; i < folders; ++i) {
    dir.write(name(i) + "/1.jpg");
    expected.push_back(name(i) + "/1.jpg");
    for (int j = 0; j < folders; ++j) {
      if (j == i) continue;
      std::filesystem::create_directory_symlink("../" + name(j), dir / (name(i) + "/" + name(j)));
      expected.push_back(name(i) + "/" + name(j) + "/1.jpg");
    }
  }
  CHECK(names(wick::files(dir / "**/*.jpg"), dir.path()) == expected);
  CHECK(names(wick::files(dir / "**/**/**/*.jpg"), dir.path()) == expected);
}

TEST_CASE("braces expand as in a shell") {
  using wick::detail::expand_braces;
  CHECK(expand_braces("a-{008..011}.tar") == list{"a-008.tar", "a-009.tar", "a-010.tar", "a-011.tar"});
  CHECK(expand_braces("{1..3}") == list{"1", "2", "3"});
  CHECK(expand_braces("{3..1}") == list{"3", "2", "1"});
  CHECK(expand_braces("{x,y}-{0..1}") == list{"x-0", "x-1", "y-0", "y-1"});
  CHECK(expand_braces("{a,b{1,2}}c") == list{"ac", "b1c", "b2c"});
  CHECK(expand_braces("plain") == list{"plain"});
  CHECK(expand_braces("{one}") == list{"{one}"});
  CHECK(expand_braces("{open,{1..2}") == list{"{open,1", "{open,2"});
  CHECK(expand_braces("a{b}{1..2}") == list{"a{b}1", "a{b}2"});
  CHECK(expand_braces("{a..c}") == list{"{a..c}"});
  CHECK(contains(message_of([] { return expand_braces("{0..99999999999}"); }), "more than a million names"));
  CHECK(
      contains(message_of([] { return expand_braces("{0..9999}{0..9999}"); }), "more than a million names"));
}

TEST_CASE("natural order is a strict order") {
  using wick::detail::natural_less;
  const list sorted = {"", "a", "a1", "a01x", "a2", "a002b", "a10", "a10b", "b", "b0", "b1", "ba"};
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    CHECK_FALSE(natural_less(sorted[i], sorted[i]));
    for (std::size_t j = i + 1; j < sorted.size(); ++j) {
      CAPTURE(sorted[i]);
      CAPTURE(sorted[j]);
      CHECK(natural_less(sorted[i], sorted[j]) != natural_less(sorted[j], sorted[i]));
    }
  }
  CHECK(natural_less("f2", "f10"));
  CHECK(natural_less("f99999999999999999999998", "f99999999999999999999999"));
  CHECK(natural_less("f01", "f1") != natural_less("f1", "f01"));
}

TEST_CASE("a file whose name looks like a pattern is found by that name") {
  const temp_dir dir;
  dir.write("a{1,2}[x]*.jpg");
  CHECK(names(wick::files(dir / "a{1,2}[x]*.jpg"), dir.path()) == list{"a{1,2}[x]*.jpg"});
}

TEST_CASE("a link that leads nowhere is a sample, whose read fails") {
  const temp_dir dir;
  std::filesystem::create_symlink(dir / "gone.jpg", dir / "link.jpg");
  CHECK(names(wick::files(dir / "*.jpg"), dir.path()) == list{"link.jpg"});
}

TEST_CASE("lists and patterns without a file are refused, with what to do") {
  const temp_dir dir;
  dir.write("sub/a.jpg");
  CHECK(message_of([] { return wick::files(std::vector<std::filesystem::path>{}); }) ==
        "files: the list is empty; give it at least one path");
  CHECK(message_of([] { return wick::files({"a", ""}); }) == "files: path 1 of the list is empty");
  CHECK(message_of([] { return wick::files(""); }) == "files: the path is empty");
  CHECK(contains(message_of([&] { return wick::files(dir / "*.jpg"); }), "/*.jpg: files: matches no file"));
  CHECK(contains(message_of([&] { return wick::files(dir / "*"); }), "matches no file"));
  CHECK(contains(message_of([&] { return wick::files(dir / "none/*/x"); }), "matches no file"));
  CHECK(contains(message_of([&] { return wick::files(dir.path()); }), "files: is a folder; write \"", "/*\"",
                 "wick::image_folder"));
  CHECK(contains(message_of([&] { return wick::files("s3://bucket/*.jpg"); }), "files: is a URL"));
}

TEST_CASE("a folder that may not be listed is an error, not an absence of files") {
  const temp_dir dir;
  dir.write("closed/a.jpg");
  std::filesystem::permissions(dir.path(), std::filesystem::perms::all);
  std::filesystem::permissions(dir / "closed", std::filesystem::perms::none);
  const bool root = ::geteuid() == 0;
  if (root) REQUIRE(::seteuid(65534) == 0);  // root may list everything
  const std::string message = message_of([&] { return wick::files(dir / "closed/*.jpg"); });
  if (root) REQUIRE(::seteuid(0) == 0);
  std::filesystem::permissions(dir / "closed", std::filesystem::perms::all);
  CHECK(contains(message, "closed: files: the folder cannot be listed: Permission denied"));
}

TEST_CASE("a name with a line break is printed on one line") {
  const temp_dir dir;
  dir.write("two\nlines.jpg");
  const wick::files f(dir / "*.jpg");
  REQUIRE(f.size() == 1);
  CHECK(contains(f.key(0), "two\\x0alines.jpg"));
  CHECK(contains(f.at(0).path, "two\nlines.jpg"));
}

TEST_CASE("the fingerprint follows the names, not the folder they lie in") {
  const auto of = [](std::vector<std::filesystem::path> p) { return wick::files(p).fingerprint(); };
  CHECK(of({"/data/x/a.jpg", "/data/y/b.jpg"}) == of({"other/x/a.jpg", "other/y/b.jpg"}));
  CHECK(of({"/data/x/a.jpg", "/data/x/b.jpg"}) == of({"a.jpg", "b.jpg"}));
  CHECK(of({"a.jpg", "b.jpg"}) != of({"b.jpg", "a.jpg"}));
  CHECK(of({"a.jpg", "b.jpg"}) != of({"a.jpg", "c.jpg"}));
  CHECK(of({"/ab/x", "/ac/x"}) == of({"/q/ab/x", "/q/ac/x"}));
}

TEST_CASE("a path that exists wins over the pattern that it could be") {
  const temp_dir dir;
  for (const char* n : {"brackets [v2]/a.jpg", "brackets [v2]/b.jpg", "brackets v/c.jpg", "img[1].jpg",
                        "img1.jpg", "x{1,2}/d.jpg", "x1/e.jpg", "deep/set [a]/1/f.jpg"})
    dir.write(n, "x");
  const auto found = [&](const std::string& pattern) {
    const wick::files all((dir / pattern).string());
    std::vector<std::string> out;
    for (std::uint64_t i = 0; i < all.size(); ++i)
      out.push_back(std::filesystem::relative(all.path(i), dir.path()).string());
    return out;
  };
  using list = std::vector<std::string>;
  CHECK(found("brackets [v2]/*.jpg") == list{"brackets [v2]/a.jpg", "brackets [v2]/b.jpg"});
  CHECK(found("brackets [v2]/a.jpg") == list{"brackets [v2]/a.jpg"});
  CHECK(found("brackets [v2]/**") == list{"brackets [v2]/a.jpg", "brackets [v2]/b.jpg"});
  CHECK(found("brackets [[]v2]/[ab].jpg") == list{"brackets [v2]/a.jpg", "brackets [v2]/b.jpg"});
  CHECK(found("img[1].jpg") == list{"img[1].jpg"});
  CHECK(found("img[0-9].jpg") == list{"img1.jpg"});
  CHECK(found("x{1,2}/*.jpg") == list{"x{1,2}/d.jpg"});
  CHECK(found("x{1,1}/*.jpg") == list{"x1/e.jpg", "x1/e.jpg"});
  CHECK(found("*/set [a]/*/f.jpg") == list{"deep/set [a]/1/f.jpg"});
  CHECK(contains(message_of([&] { return wick::files((dir / "none [v3]/*.jpg").string()); }),
                 "matches no file", "a bracket itself is \\["));
}

}  // namespace wick_test::files_tests
