// The report's page: a browser shows what the JSON has, and needs nothing else for it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include "support/temp_dir.hpp"
#include <wick/core.hpp>
#include <wick/observe/detail/timeline_book.hpp>
#include <wick/observe/report.hpp>

using wick_test::cell;
using wick_test::contains;
using wick_test::numbers;

namespace {

template <unsigned Times>
cell work(cell c) {
  volatile unsigned n = 0;
  for (unsigned i = 0; i < Times; ++i) n = n + 1;
  return c;
}

wick::task<cell> fetch(cell c, wick::context& context) {
  auto call = context.run_blocking([&c] { return work<50'000>(c); });
  c = co_await call;
  co_return c;
}

/// What the checker says of a page.
void check_page(const wick::report& r) {
  const wick_test::temp_dir folder;
  const std::string page = (folder / "report.html").string(), json = (folder / "report.json").string(),
                    out = (folder / "out").string();
  std::ofstream(page) << r.to_html();
  std::ofstream(json) << r.to_json();
  const std::string command = WICK_TEST_PYTHON " " WICK_TEST_SOURCE_DIR
                                               "/tests/observe/report_page_check.py " +
                              page + " " + json + " > " + out + " 2>&1";
  const int status = std::system(command.c_str());
  std::stringstream said;
  said << std::ifstream(out).rdbuf();
  INFO(said.str());
  CHECK(status == 0);
  if (contains(said.str(), "skipped")) MESSAGE(said.str());
}

}  // namespace

TEST_CASE("the page of a run shows the figures of its JSON, and its bars are the time that stages took") {
  wick::loader l(numbers{2000} | wick::shuffle() | wick::map("fetch </script>", fetch) |
                     wick::map("toil", &work<200'000>) | wick::array_batch(16),
                 {.workers = 2});
  for (std::uint64_t e = 0; e < 2; ++e) {
    for (auto& batch : l.epoch(e)) static_cast<void>(batch);
    check_page(l.report());
  }
}

TEST_CASE("a page without a run is a page") { check_page(wick::report{}); }

TEST_CASE("names of stages and samples can't end the page's data") {
  wick::report r;
  r.stages.push_back({});
  r.stages[0].name = "</script><script>alert(1)</script>";
  r.notes.push_back("<!--");
  const std::string page = r.to_html();
  CHECK(!contains(page, "alert(1)</script>"));
  CHECK(!contains(page, "<!--"));
}

TEST_CASE("a timeline has so many pieces at most, and loses nothing of what was in shorter ones") {
  wick::detail::timeline_book book;
  book.add({1000, {0, 0}, {0}, 0, 0, 0}, 10);
  wick::report r;
  r.stages.resize(2);
  r.each_worker.resize(1);
  std::uint64_t waited = 0, at = 1000;
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    book.iteration(i);
    waited += i;
    at += 10;
    const auto all = static_cast<double>(i);
    book.add({at, {all, 3 * all}, {4 * all}, i, 2 * i, 3 * i}, 10);
  }
  r.stages[0].busy = 1;
  r.stages[1].busy = 6000;
  r.each_worker[0].busy = 4000;
  const auto pieces = book.take(r, {0, 1}, 1.0);
  REQUIRE(!pieces.empty());
  CHECK(pieces.size() < wick::detail::timeline_book::most_pieces);
  double sum = 0, first = 0, second = 0, worker = 0, end = 0, longest = 0;
  std::uint64_t iterations = 0;
  for (const auto& p : pieces) {
    CHECK(p.begin == end);
    end = p.begin + p.seconds;
    iterations += p.iterations;
    sum += p.waiting;
    longest = p.longest_wait;
    first += p.stages[0];
    second += p.stages[1];
    worker += p.workers[0];
  }
  CHECK(end == 10'000);
  CHECK(iterations == 1000);
  CHECK(sum == static_cast<double>(waited));
  CHECK(longest == 1000);
  CHECK(first == doctest::Approx(1));
  CHECK(second == doctest::Approx(6000));
  CHECK(worker == doctest::Approx(4000));
  CHECK(pieces.back().ready == 1000);
  CHECK(pieces.back().bytes == 3000);
  // From there on.
  book.add({at + 10, {1001, 3003}, {4004}, 0, 0, 0}, 10);
  CHECK(book.take(r, {0, 1}, 1.0).size() == 1);
}
