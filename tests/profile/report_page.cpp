// The report's page: a browser shows what the JSON has, and needs nothing else for it.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/numbers.hpp"
#include "../support/temp_dir.hpp"
#include <wick/core.hpp>
#include <wick/profile/detail/report_timeline.hpp>
#include <wick/profile/report.hpp>

namespace wick_test::report_page_tests {

using wick::detail::report_timeline;
using wick_test::cell;
using wick_test::numbers;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

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

/// Opens it in a browser, where there is one, and compares it with the JSON.
void check_page(const wick::report& r) {
  const wick_test::temp_dir folder;
  const std::string page = (folder / "report.html").string(), json = (folder / "report.json").string(),
                    out = (folder / "out").string();
  std::ofstream(page) << r.to_html();
  std::ofstream(json) << r.to_json();
  const std::string command = WICK_TEST_PYTHON " " WICK_TEST_SOURCE_DIR
                                               "/tests/profile/report_page_check.py " +
                              page + " " + json + " > " + out + " 2>&1";
  const int status = std::system(command.c_str());
  std::stringstream said;
  said << std::ifstream(out).rdbuf();
  INFO(said.str());
  CHECK(status == 0);
  if (has(said.str(), "skipped")) MESSAGE(said.str());
}

template <class Loader>
void take(Loader& l, std::uint64_t epoch) {
  for (auto& batch : l.epoch(epoch)) {
    static_cast<void>(batch);
    work<20'000>({});
  }
}

/// Iterations of ten ticks each, `waited` of them waiting.
std::uint64_t iterations(report_timeline& to, std::uint64_t n, std::uint64_t at, std::uint64_t waited) {
  for (std::uint64_t i = 0; i < n; ++i, at += 10) to.iteration(at, waited, 10);
  return at;
}

}  // namespace

TEST_CASE("the page of a run shows the figures of its JSON, and draws them") {
  wick::loader l(numbers{4000} | wick::shuffle() | wick::map("fetch </script> & \"co\"", fetch) |
                     wick::map("toil", &work<100'000>) | wick::array_batch(16),
                 {.workers = 2});
  take(l, 0);
  check_page(l.report());
  l.epoch(1);
  for (int i = 0; i < 10; ++i) REQUIRE(l.next());  // too early for a verdict
  check_page(l.report());
}

TEST_CASE("a page without a run, and one of a single batch, are pages") {
  check_page(wick::report{});
  wick::loader l(numbers{16} | wick::array_batch(16), {.workers = 1});
  take(l, 0);
  check_page(l.report());
}

TEST_CASE("a page has no number that is none") {
  wick::report r;
  const double none = std::numeric_limits<double>::quiet_NaN(),
               endless = std::numeric_limits<double>::infinity();
  r.batches = r.iterations = 3;
  r.wait_mean = none;
  r.waiting.p99 = endless;
  r.timeline = {{0, 0, 1, 0, 0, 0, 0, 0, 0},
                {none, endless, 1, none, endless, none, endless, none, endless},
                {1e300, 1e300, 1, 1e300, 1e300, 1e300, 1e300, 1e300, 1e300},
                {2, 1e-300, 1, 1e-300, 1e-300, 1e-300}};
  r.stages.resize(1);
  r.stages[0].busy = none;
  r.stages[0].blocked = endless;
  const std::string page = r.to_html();
  CHECK_FALSE(has(page, "nan"));
  CHECK_FALSE(has(page, "inf"));
}

TEST_CASE("names of any bytes are text") {
  wick::report r;
  r.stages.push_back({});
  r.stages[0].name = "</th><script>alert('1')</script>";
  r.stages[0].slowest_key = "a&b\"c\n\x01\xff\xc3ä.jpg";
  r.stages[0].count = 1;
  r.notes = {"<!--", "</html>"};
  r.outcomes = {{"<img src=x onerror=alert(1)>", "skipped", 2}};
  check_page(r);
  const std::string page = r.to_html();
  CHECK_FALSE(has(page, "<script"));
  CHECK_FALSE(has(page, "<img"));
  CHECK_FALSE(has(page, "<!--"));
  CHECK(has(page, "a&#38;b&#34;c\\x0a\\x01\\xff\\xc3ä.jpg"));
}

TEST_CASE("a timeline has so many pieces at most, and loses nothing when they become longer") {
  report_timeline t;
  std::uint64_t at = 1000;
  for (std::uint64_t round = 1; round <= 100; ++round) {
    t.add({.ready = round, .samples = 2 * round, .bytes = 3 * round}, 0);
    at = iterations(t, 97, at, round % 10);
  }
  const auto pieces = t.take(400, 0.5);
  CHECK(pieces.size() <= report_timeline::most_pieces);
  CHECK(pieces.size() >= report_timeline::most_pieces / 8);
  CHECK(pieces.front().begin == 300);
  CHECK(pieces.front().ready == 1);
  double end = 300, waiting = 0, step = 0, longest = 0;
  std::uint64_t n = 0;
  for (const auto& p : pieces) {
    CHECK(p.begin == end);
    end = p.begin + p.seconds;
    n += p.iterations;
    waiting += p.waiting * static_cast<double>(p.iterations);
    step += p.step * static_cast<double>(p.iterations);
    longest = std::max(longest, p.longest_wait);
    CHECK(p.in_flight == 2 * p.ready);
    CHECK(p.bytes == 3 * p.ready);
  }
  CHECK(n == 9700);
  CHECK(end == static_cast<double>(at - 400) * 0.5);
  CHECK(waiting == doctest::Approx(97 * 450 * 0.5));
  CHECK(waiting + step == doctest::Approx(9700 * 10 * 0.5));
  CHECK(longest == 4.5);
  CHECK(pieces.back().ready > 90);
  CHECK(t.take(0, 1).empty());
}

TEST_CASE("a timeline keeps the break between two epochs") {
  report_timeline t;
  std::uint64_t at = iterations(t, 5000, 0, 1);
  at = iterations(t, 5000, at + 100'000, 1);
  const auto pieces = t.take(0, 1);
  std::size_t breaks = 0;
  for (std::size_t i = 1; i < pieces.size(); ++i)
    breaks += pieces[i].begin - pieces[i - 1].begin - pieces[i - 1].seconds > 90'000;
  CHECK(breaks == 1);
  CHECK(pieces.size() <= report_timeline::most_pieces);
}

TEST_CASE("the timeline of a run has all its iterations, within the time of the report") {
  wick::loader l(numbers{8000} | wick::map("work", &work<100>) | wick::array_batch(4), {.workers = 2});
  for (std::uint64_t e = 0; e < 2; ++e) {
    take(l, e);
    const wick::report r = l.report();
    std::uint64_t n = 0;
    double waiting = 0, step = 0, end = 0;
    for (const auto& p : r.timeline) {
      n += p.iterations;
      waiting += p.waiting * static_cast<double>(p.iterations);
      step += p.step * static_cast<double>(p.iterations);
      CHECK(p.begin >= end * (1 - 1e-9));
      end = p.begin + p.seconds;
    }
    CHECK(n == r.iterations);
    CHECK(n == 2000);
    CHECK(waiting == doctest::Approx(r.waiting.mean * 2000));
    CHECK(step == doctest::Approx(r.step.mean * 2000));
    CHECK(end <= r.seconds);
    CHECK(std::any_of(r.timeline.begin(), r.timeline.end(),
                      [](const auto& p) { return p.ready + p.in_flight > 0; }));
    const auto json = nlohmann::json::parse(r.to_json()).at("timeline");
    REQUIRE(json.size() == r.timeline.size());
    CHECK(json.back().at("iterations") == r.timeline.back().iterations);
  }
}

}  // namespace wick_test::report_page_tests
