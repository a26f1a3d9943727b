#include <cerrno>
#include <cstdint>
#include <fcntl.h>
#include <memory>
#include <string>
#include <sys/stat.h>
#include <system_error>
#include <vector>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include "support/temp_dir.hpp"
#include <wick/batch/batch.hpp>
#include <wick/failures/detail/quarantine.hpp>
#include <wick/failures/on_error.hpp>
#include <wick/io/read.hpp>
#include <wick/loader/loader.hpp>
#include <wick/sampling/weights.hpp>

namespace wick_test::quarantine_tests {

using wick::detail::quarantine;
using wick_test::cell;
using wick_test::contains;
using wick_test::message_of;
using wick_test::numbers;
using wick_test::read_file;
using wick_test::temp_dir;

namespace {

const std::vector<std::string> stages = {"read", "decode"};

struct odd_names : numbers {
  std::string key(std::uint64_t i) const {
    return "\"odd\"\n\xFF" + std::to_string(i) + "\",\"stage\":\"read\"}";
  }
};

/// Its names may change.
struct named {
  std::shared_ptr<const std::vector<std::string>> names;
  std::uint64_t size() const { return names->size(); }
  std::int64_t at(std::uint64_t i) const { return static_cast<std::int64_t>(i); }
  std::string key(std::uint64_t i) const { return names->at(i) + std::to_string(i); }
  std::uint64_t fingerprint() const {
    wick::ext::fingerprint_hash h;
    for (const std::string& name : *names) h.add(name);
    return h.value();
  }
};

}  // namespace

TEST_CASE("a quarantine has the entries put into it and nothing else") {
  std::vector<quarantine::entry> some;
  for (std::uint64_t i = 0; i < 5000; i += 7)
    some.push_back({i * 0x100000001u, static_cast<std::size_t>(i % 2)});
  some.push_back({0, 1});  // again: the first counts
  const quarantine q(some, stages);
  CHECK(q.size() == 715);
  for (std::uint64_t i = 0; i < 5000; ++i) {
    const bool in = i % 7 == 0;
    REQUIRE(q.has(i * 0x100000001u) == in);
    REQUIRE(q.stage_of(i * 0x100000001u) == (in ? stages[i % 2] : ""));
  }
  CHECK(!quarantine().has(0));
  CHECK(quarantine().empty());
  CHECK(quarantine({{5, 9}}, stages).stage_of(5).empty());
}

TEST_CASE("what is written is what is read, whatever the keys are") {
  const temp_dir folder;
  const auto path = folder / "bad.jsonl";
  const std::vector<quarantine::entry> some = {{3, 0}, {10, 1}, {99, 7}};
  const auto check = [&](const auto& source) {
    wick::detail::write_quarantine(path, source, some, stages);
    const auto got = wick::detail::read_quarantine(path, source, stages);
    REQUIRE(got.size() == 3);
    CHECK(got[0].index == 3);
    CHECK(got[0].stage == 0);
    CHECK(got[1].index == 10);
    CHECK(got[1].stage == 1);
    CHECK(got[2].index == 99);
    CHECK(got[2].stage == 2);
    // The stages of another pipeline.
    const std::vector<std::string> others = {"decode"};
    CHECK(wick::detail::read_quarantine(path, source, others)[0].stage == 1);
    CHECK(wick::detail::read_quarantine(path, source, others)[1].stage == 0);
  };
  check(numbers{100});
  check(odd_names{{100}});
  wick::detail::write_quarantine(path, numbers{100}, std::vector<quarantine::entry>{}, stages);
  CHECK(wick::detail::read_quarantine(path, numbers{100}, stages).empty());
}

TEST_CASE("bad samples of before a refresh() count no more where the data are others") {
  const wick_test::temp_dir dir;
  const std::string list = (dir / "bad").string();
  const auto names = std::make_shared<std::vector<std::string>>(8, "good");
  names->at(6) = "bad";
  const auto check = [names](std::int64_t i) {
    if (names->at(static_cast<std::size_t>(i)) == "bad") throw wick::error("it is bad");
    return i;
  };
  const auto make = [&](wick::loader_options options) {
    options.on_error = wick::on_error::skip;
    options.prefetch_next_epoch = false;
    return wick::loader(wick::from(named{names}) | wick::map("check", check) | wick::array_batch(8), options);
  };
  auto l = make({});
  const auto size = [](auto&& of, std::uint64_t epoch) {
    std::int64_t out = 0;
    for (const wick::array& batch : of.epoch(epoch)) out += batch.extents()[0];
    return out;
  };
  CHECK(size(l, 0) == 7);
  l.refresh();  // of the same data
  l.write_quarantine(list);
  auto quarantined = make({.quarantine = {list}});
  names->erase(names->begin() + 6);
  names->at(5) = "bad";
  l.refresh();
  l.write_quarantine(list);  // asks for no key of a sample that is gone
  CHECK(size(make({.quarantine = {list}}), 0) == 6);
  quarantined.refresh();
  CHECK(size(quarantined, 0) == 6);
  CHECK(quarantined.failure_log().entries().at(0).kind == wick::error_kind::data);
  names->assign(8, "good");
  quarantined.refresh();
  CHECK(size(quarantined, 1) == 8);
}

TEST_CASE("bad samples of before a refresh() count further where the data are the same") {
  const wick_test::temp_dir dir;
  const std::string list = (dir / "bad").string();
  const auto check = [](cell c) {
    if (c.target == 6) throw wick::error("it is bad");
    return c;
  };
  const auto listed = [&](auto& l) {
    l.write_quarantine(list);
    return read_file(list).find("number 6") != std::string::npos;
  };
  SUBCASE("a refresh() that failed") {
    wick::weights by(std::vector<double>(8, 1));
    wick::loader l(
        numbers{8} | wick::weighted(by, {.samples = 100}) | wick::map("check", check) | wick::array_batch(10),
        {.workers = 2, .on_error = wick::on_error::skip});
    for (auto& b : l.epoch(0)) static_cast<void>(b);
    CHECK(listed(l));
    for (std::uint64_t i = 0; i < 8; ++i) by.set(i, 0);
    CHECK(!message_of([&] { return l.refresh(), 0; }).empty());
    for (std::uint64_t i = 0; i < 8; ++i) by.set(i, 1);
    l.refresh();
    CHECK(listed(l));
  }
  SUBCASE("without batch()") {
    wick::loader l(numbers{8} | wick::map("check", check), {.workers = 2, .on_error = wick::on_error::skip});
    for (auto& s : l.epoch(0)) static_cast<void>(s);
    CHECK(listed(l));
    l.refresh();
    CHECK(listed(l));
  }
  SUBCASE("an epoch that ended with too many") {
    wick::loader l(numbers{8} | wick::map("check", check) | wick::array_batch(8),
                   {.workers = 2, .on_error = wick::on_error(wick::on_error::skip, {.count = 0})});
    CHECK(!message_of([&] { return l.next().has_value(); }).empty());
    l.refresh();
    CHECK(listed(l));
  }
}

namespace {

/// Files that can be opened: every other one can't be read, as on a disk or a server with a fault.
struct files_of_a_faulty_disk {
  std::string good;
  int bad = ::open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  std::uint64_t size() const { return 6; }
  wick::ext::file_range at(std::uint64_t i) const {
    wick::ext::file_range out{.path = good.c_str(), .length = 4};
    if (i % 2 == 1) out.file = bad;
    if (i == 2) out.length = 1000;  // damaged
    return out;
  }
};

}  // namespace

TEST_CASE("samples that a disk or a system call can't give now are not on the list") {
  const temp_dir at;
  const std::string good = at.write("good", "1234").string(), list = (at.path() / "list").string();
  const auto throwing = [](wick::bytes b, wick::context& c) {
    if (c.index() == 4) throw std::system_error(ETIMEDOUT, std::generic_category(), "the map server");
    return static_cast<std::int64_t>(b.size());
  };
  wick::loader l(wick::from(files_of_a_faulty_disk{good}) | wick::read() | wick::map("look", throwing),
                 {.workers = 2, .on_error = wick::on_error::skip});
  std::uint64_t delivered = 0;
  l.epoch(0);
  while (l.next()) ++delivered;
  CHECK(delivered == 1);
  CHECK(l.failure_log().total() == 5);
  CHECK(contains(l.failure_log().entries().front().text, "Input/output error"));
  l.write_quarantine(list);
  const std::string text = read_file(list);
  CHECK(contains(text, "{\"index\":2,"));
  for (const char* const passing : {"1", "3", "4", "5"})
    CHECK_FALSE(contains(text, std::string("{\"index\":") + passing + ","));
}

TEST_CASE("a list is not written of samples that were exchanged, whose names others have now") {
  const wick_test::temp_dir dir;
  const std::string list = (dir / "bad").string();
  const auto names = std::make_shared<std::vector<std::string>>(8, "good");
  names->at(6) = "bad";
  wick::loader l(wick::from(named{names}) |
                     wick::map("check",
                               [names](std::int64_t i) {
                                 if (names->at(static_cast<std::size_t>(i)) == "bad")
                                   throw wick::error("it is bad");
                                 return i;
                               }) |
                     wick::array_batch(8),
                 {.workers = 1, .prefetch_next_epoch = false, .on_error = wick::on_error::skip});
  const auto take = [&](std::uint64_t epoch) {
    for (auto& b : l.epoch(epoch)) static_cast<void>(b);
  };
  take(0);
  *names = std::vector<std::string>(8, "other");
  CHECK(contains(message_of([&] { return l.write_quarantine(list), 0; }), "write_quarantine", "exchanged"));
  take(1);
  l.write_quarantine(list);
  CHECK(read_file(list).find("other") == std::string::npos);
}

TEST_CASE("a quarantine list that is missing, no such list, of another data set or edited is refused") {
  const temp_dir folder;
  const auto path = folder / "bad.jsonl";
  wick::detail::write_quarantine(path, numbers{100}, std::vector<quarantine::entry>{{3, 0}, {10, 1}}, stages);
  const std::string good = read_file(path);
  const auto refused = [&](std::string_view content, const auto& source) {
    folder.write("bad.jsonl", content);
    return message_of([&] { return wick::detail::read_quarantine(path, source, stages).size(); });
  };
  CHECK(refused(good, numbers{100}).empty());
  CHECK(contains(refused(good, numbers{101}), path.string() + ": quarantine: is of another data set",
                 "\"samples\":100", "\"samples\":101"));
  struct others : numbers {
    std::uint64_t fingerprint() const { return 5; }
  };
  CHECK(contains(refused(good, others{{100}}), "of another data set"));
  struct renamed : numbers {
    std::string key(std::uint64_t i) const { return "no. " + std::to_string(i); }
  };
  CHECK(contains(refused(good, renamed{{100}}), "line 2 says", "number 3", "sample 3 is no. 3"));
  CHECK(contains(refused("", numbers{100}), "is empty"));
  CHECK(contains(refused("number 3\n", numbers{100}), "isn't a quarantine list"));
  CHECK(contains(refused("{\"wick_quarantine\":2,\"x\":1}\n", numbers{100}), "newer"));
  CHECK(contains(refused(good + "number 4\n", numbers{100}), "line 4 names no sample", "number 4"));
  CHECK(contains(refused(good + "{\"index\":100,\"key\":\"number 100\",\"stage\":\"\"}\n", numbers{100}),
                 "line 4 names no sample"));
  for (std::size_t cut = good.size() - 2; cut > good.find('\n') + 1; --cut) {
    CHECK((good[cut - 1] == '\n' || !refused(std::string_view(good).substr(0, cut), numbers{100}).empty() ||
           good[cut] == '\n'));
  }
  CHECK(contains(refused(good.substr(0, good.size() - 9), numbers{100}), "line 3 is cut off",
                 "make the list again"));
  CHECK(contains(refused(good.substr(0, 30), numbers{100}), "line 1 is cut off", "make the list again"));
  CHECK(refused(good.substr(0, good.size() - 1), numbers{100}).empty());  // as some editors leave it
  REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);
  CHECK(contains(
      message_of([&] { return wick::detail::read_quarantine(folder / "fifo", numbers{100}, stages).size(); }),
      "fifo: quarantine: is a FIFO (named pipe), not a file"));
  CHECK(contains(
      message_of([&] { return wick::detail::read_quarantine(folder / "none", numbers{100}, stages).size(); }),
      "quarantine: can't be opened: No such file"));
  CHECK(contains(message_of([&] {
                   wick::detail::write_quarantine("/no/such/folder/bad", numbers{100},
                                                  std::vector<quarantine::entry>{}, stages);
                   return 0;
                 }),
                 ": quarantine: can't be created"));
}

}  // namespace wick_test::quarantine_tests
