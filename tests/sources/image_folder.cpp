#include <filesystem>
#include <string>
#include <sys/types.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/interrupted.hpp"
#include "../support/message_of.hpp"
#include "../support/temp_dir.hpp"
#include <wick/ext/source.hpp>
#include <wick/sources/image_folder.hpp>

namespace wick_test::image_folder_tests {

static_assert(wick::ext::source<wick::image_folder>);

namespace {

namespace fs = std::filesystem;
using wick_test::contains;
using wick_test::message_of;
using wick_test::temp_dir;

using list = std::vector<std::pair<std::string, std::int64_t>>;

list all(const wick::image_folder& source, const fs::path& below) {
  list out;
  for (std::uint64_t i = 0; i < source.size(); ++i) {
    const auto s = source.at(i);
    out.emplace_back(fs::path(s.data.path).lexically_relative(below).string(), s.target);
  }
  return out;
}

}  // namespace

TEST_CASE("classes are sub-folders in the order of their names, pictures lie at any depth below") {
  const temp_dir dir;
  for (const char* n : {"dog/2.jpg", "dog/10.jpg", "cat/a.png", "Zebra/z.bmp", "cat/more/b.JPEG",
                        "cat/a-b/c.jpg", "cat/a/d.jpg", "cat/a/q/e.jpg", "stray.jpg"}) {
    dir.write(n);
  }
  const wick::image_folder source(dir.path());
  CHECK(source.classes() == std::vector<std::string>{"Zebra", "cat", "dog"});
  // The order of sorted(os.walk(…)), which compares paths as strings: a < a-b < a/q.
  CHECK(all(source, dir.path()) == list{{"Zebra/z.bmp", 0},
                                        {"cat/a.png", 1},
                                        {"cat/a/d.jpg", 1},
                                        {"cat/a-b/c.jpg", 1},
                                        {"cat/a/q/e.jpg", 1},
                                        {"cat/more/b.JPEG", 1},
                                        {"dog/10.jpg", 2},
                                        {"dog/2.jpg", 2}});
  CHECK(source.key(0) == (dir / "Zebra/z.bmp").string());
}

TEST_CASE("only pictures count, hidden files and folders don't") {
  const temp_dir dir;
  for (const char* n : {"a/1.jpg", "a/notes.txt", "a/._1.jpg", "a/jpg", "a/2.JPG", "a/3.webp", "a/4.jpg.bak",
                        ".ipynb_checkpoints/1-checkpoint.jpg", "a/.thumbs/5.jpg"}) {
    dir.write(n);
  }
  CHECK(all(wick::image_folder(dir.path()), dir.path()) ==
        list{{"a/1.jpg", 0}, {"a/2.JPG", 0}, {"a/3.webp", 0}});
  CHECK(all(wick::image_folder(dir.path(), {.extensions = {".TXT"}}), dir.path()) ==
        list{{"a/notes.txt", 0}});
  CHECK(wick::image_folder(dir.path(), {.extensions = {}}).size() == 6);
}

TEST_CASE("links are followed, a circle of them once") {
  const temp_dir dir;
  const temp_dir elsewhere;
  elsewhere.write("class/1.jpg");
  elsewhere.write("2.jpg");
  fs::create_directory_symlink(elsewhere / "class", dir / "a");
  dir.write("b/own.jpg");
  fs::create_symlink(elsewhere / "2.jpg", dir / "b/link.jpg");
  fs::create_symlink(elsewhere / "gone.jpg", dir / "b/nowhere.jpg");
  fs::create_directory_symlink(dir / "b", dir / "b/self");
  fs::create_symlink("loop", dir / "b/loop");
  CHECK(all(wick::image_folder(dir.path()), dir.path()) ==
        list{{"a/1.jpg", 0}, {"b/link.jpg", 1}, {"b/nowhere.jpg", 1}, {"b/own.jpg", 1}});
}

TEST_CASE("folders that link to each other are listed once a name, not once a way") {
  const temp_dir dir;
  const auto name = [](int i) { return "c" + std::to_string(10 + i); };
  constexpr int folders = 12;
  for (int i = 0; i < folders; ++i) dir.write(name(i) + "/1.jpg");
  list expected;
  for (int i = 0; i < folders; ++i) {
    expected.emplace_back(name(i) + "/1.jpg", i);
    for (int j = 0; j < folders; ++j) {
      if (j == i) continue;
      fs::create_directory_symlink("../" + name(j), dir / (name(i) + "/" + name(j)));
      expected.emplace_back(name(i) + "/" + name(j) + "/1.jpg", i);
    }
  }
  CHECK(all(wick::image_folder(dir.path()), dir.path()) == expected);
}

TEST_CASE("a folder with two names counts under both, but not again within one that a link led to") {
  const temp_dir dir;
  const temp_dir elsewhere;
  elsewhere.write("o/1.jpg");
  elsewhere.write("p/2.jpg");
  fs::create_directory_symlink(elsewhere / "p", elsewhere / "o/x");
  fs::create_directory_symlink(elsewhere / "p", elsewhere / "o/y");
  dir.write("cat/sub/0.jpg");
  fs::create_directory_symlink(elsewhere / "o", dir / "cat/l");
  fs::create_directory_symlink(elsewhere / "o", dir / "cat/m");
  fs::create_directory_symlink("sub", dir / "cat/again");
  CHECK(all(wick::image_folder(dir.path()), dir.path()) == list{{"cat/again/0.jpg", 0},
                                                                {"cat/l/1.jpg", 0},
                                                                {"cat/l/x/2.jpg", 0},
                                                                {"cat/m/1.jpg", 0},
                                                                {"cat/sub/0.jpg", 0}});
}

TEST_CASE("forty folders with two links each to the next are no 2^40 listings") {
  const temp_dir dir;
  const auto name = [](int i) { return "d" + std::to_string(10 + i); };
  for (int i = 0; i < 40; ++i) {
    dir.write("cat/" + name(i) + "/1.jpg");
    if (i == 39) continue;
    fs::create_directory_symlink("../" + name(i + 1), dir / ("cat/" + name(i) + "/left"));
    fs::create_directory_symlink("../" + name(i + 1), dir / ("cat/" + name(i) + "/right"));
  }
  CHECK(wick::image_folder(dir.path()).size() == 40 + 39 * 2);
}

TEST_CASE("a slash at the end of the root changes nothing") {
  const temp_dir dir;
  dir.write("a/1.jpg");
  const wick::image_folder plain(dir.path()), slash(dir.path().string() + "//");
  CHECK(plain.key(0) == slash.key(0));
  CHECK(plain.fingerprint() == slash.fingerprint());
}

TEST_CASE("the fingerprint follows classes and names, not the place") {
  const temp_dir one, two;
  for (const char* n : {"a/1.jpg", "b/2.jpg"}) one.write(n), two.write(n);
  const std::uint64_t first = wick::image_folder(one.path()).fingerprint();
  CHECK(first == wick::image_folder(two.path()).fingerprint());
  two.write("b/3.jpg");
  CHECK(first != wick::image_folder(two.path()).fingerprint());
  fs::remove(two / "b/3.jpg");
  fs::rename(two / "b", two / "c");
  CHECK(first != wick::image_folder(two.path()).fingerprint());
}

TEST_CASE("a moved source still gives the same paths") {
  const temp_dir dir;
  dir.write("a/1.jpg");
  wick::image_folder source(dir.path());
  const char* path = source.at(0).data.path;
  const wick::image_folder moved = std::move(source);
  CHECK(moved.at(0).data.path == path);
}

TEST_CASE("a root that is no data set of this form is refused, with what to do") {
  const temp_dir dir;
  dir.write("flat/1.jpg");
  dir.write("flat/2.png");
  dir.write("flat/readme.txt");
  fs::create_directory(dir / "empty");
  dir.write("hollow/cat/1.jpg");
  fs::create_directory(dir / "hollow/dog");
  dir.write("texts/cat/1.txt");
  const auto message = [&](const char* name, wick::image_folder_options o = {}) {
    return message_of([&] { return wick::image_folder(dir / name, o); });
  };
  CHECK(contains(message("missing"), "/missing: image_folder: no such folder; check the path"));
  CHECK(contains(message("flat/1.jpg"), "/flat/1.jpg: image_folder: is not a folder"));
  CHECK(contains(message("empty"), "/empty: image_folder: has no class sub-folders and no pictures"));
  CHECK(contains(message("flat"), "has no class sub-folders (2 pictures lie directly in it)",
                 "put them in one sub-folder per class, or use wick::files"));
  CHECK(contains(message("hollow"), "hollow/dog: image_folder: has no pictures (wanted: .jpg .jpeg",
                 ".allow_empty = true"));
  CHECK(contains(message("texts", {.allow_empty = true}), "/texts: image_folder: has no pictures"));
  const wick::image_folder allowed(dir / "hollow", {.allow_empty = true});
  CHECK(allowed.size() == 1);
  CHECK(allowed.classes() == std::vector<std::string>{"cat", "dog"});
}

TEST_CASE("a class folder that may not be listed is an error") {
  const temp_dir dir;
  dir.write("open/1.jpg");
  dir.write("shut/1.jpg");
  fs::permissions(dir.path(), fs::perms::all);
  fs::permissions(dir / "shut", fs::perms::none);
  const bool root = ::geteuid() == 0;
  if (root) REQUIRE(::seteuid(65534) == 0);  // root may list everything
  const std::string message = message_of([&] { return wick::image_folder(dir.path()); });
  if (root) REQUIRE(::seteuid(0) == 0);
  fs::permissions(dir / "shut", fs::perms::all);
  CHECK(contains(message, "/shut: image_folder: the folder cannot be listed: Permission denied"));
}

TEST_CASE("an interruption is heard between two folders") {
  const temp_dir dir;
  dir.write("cat/a.jpg");
  dir.write("dog/a.jpg");
  CHECK(wick_test::gives_up([&] { return wick::image_folder(dir.path().string()); }));
}

TEST_CASE("names with line breaks, blanks and bytes that are no UTF-8 are kept as they are") {
  const temp_dir dir;
  dir.write("a b\n/x\xFFy\n.jpg");
  const wick::image_folder source(dir.path());
  REQUIRE(source.size() == 1);
  CHECK(std::string(source.at(0).data.path) == (dir / "a b\n/x\xFFy\n.jpg").string());
  CHECK(contains(source.key(0), "a b\\x0a/x\xFFy\\x0a.jpg"));
}

TEST_CASE("a link back to the folder of all classes, or above it, is not followed") {
  const temp_dir dir;
  dir.write("root/a/1.jpg");
  dir.write("root/b/2.jpg");
  dir.write("root/b/deep/3.jpg");
  const list wanted{{"a/1.jpg", 0}, {"b/2.jpg", 1}, {"b/deep/3.jpg", 1}};
  const fs::path root = dir / "root";
  for (const fs::path& to : {fs::path(".."), fs::path("../.."), root, dir.path(), fs::path("/")}) {
    for (const char* at : {"b/up", "b/deep/up"}) {
      fs::create_directory_symlink(to, root / at);
      CHECK(all(wick::image_folder(root), root) == wanted);
      CHECK(all(wick::image_folder(root.string() + "//"), root) == wanted);
      CHECK(wick::files(root / "**/*.jpg").size() == 3);
      fs::remove(root / at);
    }
  }
  // A class that lies elsewhere has two folders above it.
  const temp_dir elsewhere;
  elsewhere.write("all/c/4.jpg");
  elsewhere.write("all/d/5.jpg");
  fs::create_directory_symlink(elsewhere / "all/c", root / "c");
  fs::create_directory_symlink("..", elsewhere / "all/c/up");
  fs::create_directory_symlink(root, elsewhere / "all/c/root");
  list with_c = wanted;
  with_c.emplace_back("c/4.jpg", 2);
  CHECK(all(wick::image_folder(root), root) == with_c);
}

}  // namespace wick_test::image_folder_tests
