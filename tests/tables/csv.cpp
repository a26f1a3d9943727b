// Tables in CSV: what RFC 4180 says, what other programs write, and what is wrong with a file.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sched.h>
#include <string>
#include <vector>
#include <zlib.h>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/picture.hpp"
#include "../support/python.hpp"
#include "../support/temp_dir.hpp"
#include <wick/batch/batch.hpp>
#include <wick/image/decode.hpp>
#include <wick/io/read.hpp>
#include <wick/loader/loader.hpp>
#include <wick/sampling/order.hpp>
#include <wick/sampling/zip.hpp>
#include <wick/sources/memory.hpp>
#include <wick/tables/csv.hpp>
#include <wick/tables/detail/csv_marks.hpp>
#include <wick/transforms/resize.hpp>

namespace wick_test::csv_tests {

using list = std::vector<std::string>;
using numbers = std::vector<std::int64_t>;

namespace {

wick::csv table(const temp_dir& dir, const std::string& text, const wick::csv_options& options = {}) {
  return wick::csv(dir.write("table.csv", text), options);
}
std::string refused(const std::string& text, const wick::csv_options& options = {}) {
  const temp_dir dir;
  return message_of([&] { return table(dir, text, options); });
}

}  // namespace

TEST_CASE(
    "fields are what RFC 4180 says: quotes, separators and line breaks in them, CRLF, a byte order mark") {
  const temp_dir dir;
  const wick::csv t = table(dir,
                            "\xEF\xBB\xBFname,\"the \"\"text\"\"\",n\r\n"
                            "a,\"one, two\",1\r\n"
                            "b,\"two\r\nlines\",2\r\n"
                            "\"c\",\"\",3\r\n"
                            "d,a \"quote\" inside,4");
  CHECK(t.columns() == list{"name", "the \"text\"", "n"});
  CHECK(t.size() == 4);
  CHECK(t.texts("name") == list{"a", "b", "c", "d"});
  CHECK(t.texts("the \"text\"") == list{"one, two", "two\r\nlines", "", "a \"quote\" inside"});
  CHECK(t.integers("n") == numbers{1, 2, 3, 4});
}

TEST_CASE("rows end with or without a line break; empty lines are none") {
  const temp_dir dir;
  CHECK(table(dir, "a,b\n1,2\n").size() == 1);
  CHECK(table(dir, "a,b\n1,2").size() == 1);
  CHECK(table(dir, "a,b\n\n1,2\n\r\n3,4\n\n").integers("b") == numbers{2, 4});
  CHECK(table(dir, "a\n5\n6\n").integers("a") == numbers{5, 6});
  CHECK(table(dir, "a\n+1\n-1\n +0 \n").integers("a") == numbers{1, -1, 0});
  for (const char* sign : {"+-1", "++1", "+"}) {
    CHECK(contains(message_of([&] { return table(dir, "a\n" + std::string(sign) + "\n").integers("a"); }),
                   "whole"));
    CHECK(contains(message_of([&] { return table(dir, "a\n" + std::string(sign) + "\n").numbers({"a"}); }),
                   "number"));
  }
  CHECK(table(dir, "a,b\n").size() == 0);
  CHECK(table(dir, "1\t2\n3\t4\n", {.separator = '\t', .header = false}).integers("1") == numbers{2, 4});
}

TEST_CASE("what is wrong is said with the file, the line and the column") {
  CHECK(contains(refused(""), "table.csv", "has no row"));
  CHECK(contains(refused("a,b\n1,2\n\"x\ny\",2\n1,2,3\n"), "line 5 has 3 fields", "line 1 has 2"));
  CHECK(contains(refused("a,b\n1,\"2\n"), "line 2", "quote is not closed"));
  CHECK(contains(refused("a,a\n1,2\n"), "two columns are called \"a\""));
  CHECK(contains(refused(std::string("a\0b\n", 4)), "NUL at byte 1", "UTF-8"));
  CHECK(contains(refused("a\n", {.separator = '"'}), "separator"));
  CHECK(contains(message_of([] { return wick::csv("/nowhere/table.csv"); }), "/nowhere/table.csv", "csv"));
  const temp_dir dir;
  const wick::csv t = table(dir, "path,label\nx,\"1\n2\"\n,7\ny,12a\n");
  CHECK(contains(message_of([&] { return t.integers("label"); }),
                 "table.csv: csv: line 2, column \"label\": \"1", "isn't a whole number", "classes()"));
  CHECK(contains(message_of([&] { return t.files("path"); }), "line 4, column \"path\"", "names no file"));
  CHECK(contains(message_of([&] { return t.texts("labels"); }), "no column is called \"labels\"",
                 "\"path\", \"label\"; say .header = false"));
  CHECK(contains(message_of([&] { return t.numbers({"label"}); }), "line 2"));
  CHECK(
      contains(message_of([&] { return table(dir, "n\n99999999999999999999\n").integers("n"); }), "line 2"));
}

TEST_CASE("names of classes become labels, and columns of numbers rows") {
  const temp_dir dir;
  const wick::csv t = table(dir, "kind,x,y\ndog,1,2.5\ncat, -3 ,+4e2\ndog,5,\n", {.empty_number = NAN});
  const auto classes = t.classes("kind");
  CHECK(classes.names == list{"cat", "dog"});
  CHECK(classes.labels == numbers{1, 0, 1});
  const auto rows = t.numbers({"y", "x"});
  REQUIRE(rows.size() == 3);
  CHECK(rows.at(0).as<float>()[0] == 2.5F);
  CHECK(rows.at(0).as<float>()[1] == 1.0F);
  CHECK(rows.at(1).as<float>()[0] == 400.0F);
  CHECK(rows.at(1).as<float>()[1] == -3.0F);
  CHECK(std::isnan(rows.at(2).as<float>()[0]));
  wick::loader l(wick::zip(rows, wick::in_memory(classes.labels)) | wick::array_batch(3));
  const auto batch = l.next();
  REQUIRE(batch);
  CHECK(batch->data.extents() == wick::shape{3, 2});
  CHECK(batch->target.as<std::int64_t>()[1] == 0);
  CHECK(contains(message_of([&] { return table(dir, "x\n\n1\n\"\"\n").numbers({"x"}); }), "line 4",
                 "empty_number"));
}

TEST_CASE("rows with a text in a column are a table of their own") {
  const temp_dir dir;
  const wick::csv all =
      table(dir, "split,kind,n\ntrain,a,1\ntest,b,2\n\ntrain,b,3\ntrain,\"b\",x4\ntest,a,5\n");
  const wick::csv train = all.where("split", "train");
  CHECK(train.size() == 3);
  CHECK(train.columns() == all.columns());
  CHECK(train.texts("kind") == list{"a", "b", "b"});
  CHECK(train.classes("kind").labels == numbers{0, 1, 1});
  CHECK(all.where("split", "test").integers("n") == numbers{2, 5});
  CHECK(all.where("split", "test").numbers({"n"}).size() == 2);
  CHECK(all.where("split", "test").numbers({"n"}).at(1).as<float>()[0] == 5);
  const wick::csv both = train.where("kind", "b");
  CHECK(both.texts("n") == list{"3", "x4"});
  // Parts agree on the classes, also where one lacks some.
  const wick::csv::class_column of_part = train.where("n", "3").classes("kind");
  CHECK(of_part.names == list{"a", "b"});
  CHECK(of_part.labels == numbers{1});
  // Errors name the line in the file.
  CHECK(contains(message_of([&] { return both.integers("n"); }), "line 6", "\"x4\" isn't a whole number"));
  CHECK(
      message_of([&] {
        return all.where("split", "val");
      }).ends_with("table.csv: csv: no row has \"val\" in column \"split\"; there are \"train\", \"test\""));
  CHECK(contains(message_of([&] { return train.where("split", "test"); }), "no row has",
                 "there are \"train\""));
  CHECK(contains(message_of([&] { return all.where("part", "test"); }), "no column is called \"part\""));
  CHECK(all.size() == 5);
  std::string many = "n\n";
  for (int i = 0; i < 20; ++i) many += std::to_string(i % 10) + "\n";
  CHECK(contains(message_of([&] { return table(dir, many).where("n", "x"); }),
                 "there are \"0\", \"1\", \"2\", \"3\", \"4\", \"5\", \"6\", \"7\", …"));
}

TEST_CASE("a list of pictures with labels trains, with paths below the table's folder or another") {
  const temp_dir dir;
  for (int i = 0; i < 6; ++i)
    write_file(dir.path().string() + "/img/" + std::to_string(i) + ".png",
               encode_png(photo(20 + i, 16, 3, static_cast<std::uint64_t>(i) + 1)));
  const wick::csv t = table(dir, "id,label\n3,1\n0,0\n5,1\n3,1\n");  // one twice
  wick::loader l(
      wick::zip(t.files("id", {.prefix = "img/", .suffix = ".png"}), wick::in_memory(t.integers("label"))) |
          wick::read() | wick::decode() | wick::resize(8, 8) | wick::array_batch(4),
      {.workers = 2});
  const auto batch = l.next();
  REQUIRE(batch);
  CHECK(batch->data.extents() == wick::shape{4, 3, 8, 8});
  const auto* const labels = batch->target.as<std::int64_t>();
  CHECK(numbers(labels, labels + 4) == numbers{1, 0, 1, 1});
  CHECK(std::string(t.files("id", {.root = "/data"}).path(0)) == "/data/3");
  CHECK(std::string(table(dir, "p\n/abs/a.png\n").files("p").path(0)) == "/abs/a.png");
}

TEST_CASE("a compressed table is read as a plain one, and a damaged one is refused") {
  const temp_dir dir;
  const std::string path = dir.path().string() + "/table.csv.gz";
  std::string text = "n\n";
  for (int i = 0; i < 20'000; ++i) text += std::to_string(i) + "\n";
  const gzFile out = ::gzopen(path.c_str(), "wb");
  REQUIRE(::gzwrite(out, text.data(), static_cast<unsigned>(text.size())) == static_cast<int>(text.size()));
  ::gzclose(out);
  const wick::csv t(path);
  CHECK(t.size() == 20'000);
  CHECK(t.integers("n")[19'999] == 19'999);
  std::string packed = read_file(path);
  for (const std::size_t size : {packed.size() / 2, packed.size() - 4}) {
    write_file(path, packed.substr(0, size));
    CHECK(contains(message_of([&] { return wick::csv(path); }), "cut off within its gzip data"));
  }
  packed[packed.size() / 2] = static_cast<char>(packed[packed.size() / 2] ^ 0x55);
  write_file(path, packed);
  CHECK(contains(message_of([&] { return wick::csv(path); }), "gzip"));
}

TEST_CASE("what Python's csv module writes of any text is read back equal") {
  const temp_dir dir;
  const std::string folder = dir.path().string();
  write_file(
      folder + "/write.py",
      "import csv, random, sys\n"
      "random.seed(7)\n"
      "letters = ['a', 'ö', ',', '\"', '\\n', '\\r\\n', ' ', ';', '1', '']\n"
      "rows = [[''.join(random.choices(letters, k=random.randrange(6))) for _ in range(3)] for _ in "
      "range(500)]\n"
      "with open(sys.argv[1] + '/t.csv', 'w', newline='', encoding='utf-8') as f:\n"
      "    csv.writer(f, lineterminator=sys.argv[2].encode().decode('unicode_escape')).writerows([['x', 'y', "
      "'z']] + rows)\n"
      "with open(sys.argv[1] + '/expected', 'w', newline='', encoding='utf-8') as f:\n"
      "    f.write('\\0'.join(v for row in rows for v in row))\n");
  for (const char* const ending : {"\\\\n", "\\\\r\\\\n"}) {
    const std::string run = "python3 " + folder + "/write.py " + folder + " " + ending;
    REQUIRE(std::system(run.c_str()) == 0);
    const wick::csv t(folder + "/t.csv");
    REQUIRE(t.size() == 500);
    std::string got;
    const list x = t.texts("x"), y = t.texts("y"), z = t.texts("z");
    for (std::size_t i = 0; i < 500; ++i) {
      if (i != 0) got += '\0';
      got += x[i];
      got += '\0' + y[i];
      got += '\0' + z[i];
    }
    CHECK(got == read_file(folder + "/expected"));
  }
}

TEST_CASE(
    "quotes open, close and stand in fields wherever the 64 characters end that are looked at at once") {
  const temp_dir dir;
  for (std::size_t n = 1; n < 150; ++n) {
    CAPTURE(n);
    const std::string a(n, 'a'), b(n, 'b'), c(n, 'c');
    const wick::csv t = table(dir, "x,y\n" + a + ",\"q,\n" + b + ",\n\"\"\"\n" + c + "\"d,e\n");
    CHECK(t.texts("x") == list{a, c + "\"d"});
    CHECK(t.texts("y") == list{"q,\n" + b + ",\n\"", "e"});
  }
}

TEST_CASE("rows are found while the file is read, wherever its pieces end") {
  const temp_dir dir;
  // Quotes of all kinds stand where the pieces of 2 MiB end, at each place of a row.
  const std::string row = "\"a\"\"b\",\"c\n\"\r\n";
  for (std::size_t shift = 0; shift < 2 * row.size(); ++shift) {
    CAPTURE(shift);
    std::string text = shift % 2 == 0 ? "\xEF\xBB\xBF" : "";
    text += std::string(shift + 1, 'x') + ",y\r\n";
    std::size_t rows = 0;
    for (; text.size() < (std::size_t{9} << 19); ++rows) text += row;  // 4.5 MiB
    const wick::csv t = table(dir, text);
    CHECK(t.size() == rows);
    const list first = t.texts(std::string(shift + 1, 'x')), second = t.texts("y");
    CHECK(std::count(first.begin(), first.end(), "a\"b") == static_cast<std::ptrdiff_t>(rows));
    CHECK(std::count(second.begin(), second.end(), "c\n") == static_cast<std::ptrdiff_t>(rows));
  }
}

TEST_CASE("a quote at the end of a piece is taken with the one that begins the next") {
  const temp_dir dir;
  ::cpu_set_t all, one;
  REQUIRE(::sched_getaffinity(0, sizeof all, &all) == 0);
  CPU_ZERO(&one);
  int cpu = 0;
  while (!CPU_ISSET(cpu, &all)) ++cpu;
  CPU_SET(cpu, &one);
  REQUIRE(::sched_setaffinity(0, sizeof one, &one) == 0);  // one thread: the next piece is not there yet
  std::string text = "x,y\n";
  text += std::string((std::size_t{2} << 20) - text.size() - 3, 'a') + ",\"\"\"\n";
  const wick::csv t = table(dir, text + "b\"\n");
  CHECK(::sched_setaffinity(0, sizeof all, &all) == 0);
  CHECK(t.size() == 1);
}

#ifdef __x86_64__
TEST_CASE("both ways find the same characters in 64") {
  if (!__builtin_cpu_supports("avx2")) return;
  using namespace wick::detail;
  std::string text(64 + 1000, ' ');
  std::uint64_t seed = 1;
  for (char& c : text) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    constexpr char any[] = ";,\n\"a\xFF\x80";  // and NUL
    c = any[(seed >> 33) % sizeof any];
  }
  for (std::size_t at = 0; at < 1000; ++at) {
    for (const char separator : {',', ';', '\xFF'}) {
      const csv_marks here = plain_csv_marks::of(text.data() + at, separator),
                      there = avx2_csv_marks::of(text.data() + at, separator);
      CHECK(here.lines == there.lines);
      CHECK(here.separators == there.separators);
      CHECK(here.others == there.others);
      const std::uint64_t first = text[at] == '\n' ? 1 : 0;
      CHECK((here.lines & 1) == first);
    }
  }
}
#endif

TEST_CASE("a NUL is seen wherever it stands, also beside quotes") {
  std::string good = "x,y\n";
  for (int i = 0; i < 30; ++i) good += i % 3 == 0 ? "\"a\",b\n" : "a,b\n";
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string text = good;
    text[at] = '\0';
    CHECK(contains(refused(text), "has a NUL at byte " + std::to_string(at) + ","));
  }
}

TEST_CASE(
    "a table of several pieces that are read at once is whole, and a row in front of many says which it is") {
  const temp_dir dir;
  std::string text = "n,text\n";
  constexpr int rows = 1'500'000;
  for (int i = 0; i < rows; ++i) text += std::to_string(i) + (i == 1000 ? ",\"a\nb\"\n" : ",some text\n");
  CHECK(text.size() > 2 * (std::size_t{8} << 20));
  const wick::csv t = table(dir, text);
  REQUIRE(t.size() == rows);
  const numbers n = t.integers("n");
  for (int i = 0; i < rows; ++i) {
    if (n[static_cast<std::size_t>(i)] != i) FAIL(i);
  }
  CHECK(contains(refused(text + "1,2,3\n"), "line " + std::to_string(rows + 3) + " has 3 fields"));
}

TEST_CASE("a table of many columns, and a column of many names, take no time to speak of") {
  const temp_dir dir;
  std::string names = "c0", row = "0";
  for (int i = 1; i < 200'000; ++i) {
    names += ",c" + std::to_string(i);
    row += ",1";
  }
  const wick::csv wide(dir.write("wide.csv", names + "\n" + row + "\n"));
  CHECK(wide.columns().size() == 200'000);
  CHECK(contains(message_of([&] { return wick::csv(dir.write("wide.csv", names + ",c7\n" + row + ",1\n")); }),
                 "two columns are called \"c7\""));
  std::string rows = "name\n";
  for (int i = 500'000; i > 0; --i) rows += "n" + std::to_string(100'000'000 + i) + "\n";
  const wick::csv::class_column found = wick::csv(dir.write("tall.csv", rows)).classes("name");
  CHECK(found.names.size() == 500'000);
  CHECK(found.names.front() == "n100000001");
  CHECK(found.labels.front() == 499'999);
}

TEST_CASE("a table with any bytes changed is read or refused, never worse") {
  const temp_dir dir;
  const std::string good = "path,label,x\n\"a,\"\"b\"\"\",1,2.5\nc,2,3\n\"d\ne\",3,4\n";
  std::uint64_t seed = 1;
  for (int round = 0; round < 3'000; ++round) {
    std::string text = good;
    for (int change = 0; change < 1 + round % 4; ++change) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      const std::size_t at = (seed >> 33) % text.size();
      constexpr char any[] = "\",\n\r\"1;\xFF";
      text[at] = any[(seed >> 20) % (sizeof any - 1)];
    }
    try {
      const wick::csv t = table(dir, text);
      for (const std::string& column : t.columns()) {
        CHECK(t.texts(column).size() == t.size());
        static_cast<void>(message_of([&] { return t.integers(column); }));
        static_cast<void>(message_of([&] { return t.numbers({column}); }));
        static_cast<void>(message_of([&] { return t.files(column); }));
      }
    } catch (const wick::error&) {
    }
  }
}

TEST_CASE("what pandas writes is read back equal, plain and by gzip") {
  const temp_dir dir;
  if (!run_python("pandas", dir, R"(
rows = 500
t = pandas.DataFrame({
    'path': ['img, %d "x".jpg' % i if i % 3 == 0 else 'a\nb%d.jpg' % i for i in range(rows)],
    'label': [i * i - 7 for i in range(rows)],
    'x': [i / 7 for i in range(rows)],
})
t.to_csv('a.csv', index=False)
t.to_csv('b.csv.gz', index=False, lineterminator='\r\n')
)"))
    return;
  for (const char* const name : {"/a.csv", "/b.csv.gz"}) {
    CAPTURE(name);
    const wick::csv table(dir.path().string() + name);
    REQUIRE(table.size() == 500);
    const auto paths = table.texts("path");
    const auto labels = table.integers("label");
    const auto numbers = table.numbers({"x"});
    for (std::size_t i = 0; i < 500; ++i) {
      const std::string n = std::to_string(i);
      CHECK(paths[i] == (i % 3 == 0 ? "img, " + n + " \"x\".jpg" : "a\nb" + n + ".jpg"));
      CHECK(labels[i] == static_cast<std::int64_t>(i * i) - 7);
      CHECK(*reinterpret_cast<const float*>(numbers.at(i).data()) ==
            doctest::Approx(static_cast<double>(i) / 7));
    }
  }
}

TEST_CASE("numbers that are too small for a float are zero, and those that are too large an error") {
  const temp_dir dir;
  const std::string zeros = "0." + std::string(400, '0') + "1";
  const auto t = table(dir, "x\n3e-50\n-1e-300\n1e-5000\n" + zeros + "\n1e-40\n+2e-46\n");
  const auto rows = t.numbers({"x"});
  for (const int i : {0, 1, 2, 3, 5}) CHECK(*rows.at(static_cast<std::uint64_t>(i)).as<float>() == 0);
  CHECK(*rows.at(4).as<float>() > 0);
  for (const std::string& large : list{"3e50", "-1e39", "1e5000", "1" + std::string(400, '0')}) {
    const auto too_large = table(dir, "x\n" + large + "\n");
    CHECK(contains(message_of([&] { return too_large.numbers({"x"}); }), "line 2", "too large for a float"));
  }
}

TEST_CASE("whole numbers that pandas wrote as floats are taken") {
  const temp_dir dir;
  const auto t = table(dir, "label\n3.0\n-2.\n+1.000\n1e3\n9007199254740992.0\n7\n");
  CHECK(t.integers("label") == std::vector<std::int64_t>{3, -2, 1, 1000, 9007199254740992, 7});
  for (const char* wrong : {"3.5", "1e300", "nan", "inf", "3.0x", "0x3", "."}) {
    const auto bad = table(dir, std::string("label\n") + wrong + "\n");
    CHECK(contains(message_of([&] { return bad.integers("label"); }), "isn't a whole number"));
  }
  const auto empty = table(dir, "label,x\n1,\n,2\n");
  CHECK(contains(message_of([&] { return empty.integers("label"); }), "line 3", "\"\" isn't a whole number",
                 "leave"));
}

TEST_CASE("a field that isn't a number says which option helps") {
  const temp_dir dir;
  const auto numbers = [&](const std::string& field, const wick::csv_options& options = {}) {
    const auto t = table(
        dir,
        "x" + std::string(1, options.separator) + "y\n" + field + std::string(1, options.separator) + "1\n",
        options);
    return message_of([&] { return t.numbers({"x"}); });
  };
  CHECK(contains(numbers("NA"), "\"NA\" isn't a number", ".empty_number"));
  CHECK(numbers("NA", {.empty_number = 0}).empty());
  CHECK(numbers("None", {.empty_number = 0}).empty());
  CHECK(numbers("null", {.empty_number = 0}).empty());
  CHECK(contains(numbers("cat", {.empty_number = 0}), "\"cat\" isn't a number"));
  CHECK(contains(numbers("3,14", {.separator = ';'}), "\"3,14\" isn't a number", "decimal comma",
                 ".decimal = ','"));
  CHECK(contains(message_of([&] { return table(dir, "path, label\na,1\n").integers("label"); }),
                 "no column is called \"label\"", "\" label\" differs only in blanks"));
  CHECK(contains(message_of([&] { return table(dir, "path,label\ra,1\rb,2\r"); }),
                 "its lines end in CR alone", "tr"));
}

}  // namespace wick_test::csv_tests
