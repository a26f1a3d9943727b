#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "../support/doctest.hpp"
#include <wick/profile/detail/make_report.hpp>

namespace wick_test::make_report_tests {

using wick::detail::loop_totals;
using wick::detail::make_report;
using wick::detail::report_totals;
using wick::detail::thread_totals;

namespace {

/// A row that was timed for each sample, `ticks` a sample.
wick::detail::row_totals row(std::uint64_t count, std::uint64_t ticks, bool of_samples = true) {
  wick::detail::row_totals out;
  out.of_samples = of_samples;
  out.sum.count = out.sum.timed = count;
  out.sum.timed_ticks = count * ticks;
  for (std::uint64_t i = 0; i < count; ++i) out.sum.times.add(ticks);
  return out;
}

/// Ticks are microseconds. Stages read and decode before batch(), 100 samples in 10 batches, one worker.
struct totals {
  report_totals of;
  loop_totals loop;
  std::vector<std::string> names{"read", "decode", "batch"};

  totals() {
    of.tick = 1e-6;
    of.ticks = 200'000;
    of.batches = 10;
    of.samples = 100;
    of.workers = of.cpus = 1;
    of.batching = 2;
    of.order_row = 3;
    of.phase_row = 4;
    of.phase_stages.fill(1);
    of.clocks_always_read = true;
    of.rows = {row(100, 200), row(100, 800), row(10, 50, false), row(100, 10)};
    of.rows.resize(of.phase_row + wick::detail::phase_count + 1);
    of.rows.back() = row(100, 1010);  // of whole runs
    loop.used.time = 150'000;
    loop.used.own = 101'500;
    loop.used.worker_ticks = {101'500};
    loop.used.worker_seconds = {0.09};
    for (int i = 0; i < 10; ++i) loop.stalls.iteration(10'000, 15'000);
  }
  wick::report make() const { return make_report(of, loop, names); }
};

const wick::report::stage& stage_of(const wick::report& r, const std::string& name) {
  for (const auto& s : r.stages) {
    if (s.name == name) return s;
  }
  FAIL("no stage is called " << name);
  return r.stages.front();
}

}  // namespace

TEST_CASE("ticks become seconds, and sums become means") {
  const wick::report r = totals().make();
  CHECK(r.seconds == doctest::Approx(0.2));
  CHECK(r.taking == doctest::Approx(0.15));
  CHECK(r.worked == doctest::Approx(0.1015));
  CHECK(r.iterations == 10);
  CHECK(r.waiting.mean == doctest::Approx(0.010));
  CHECK(r.step.mean == doctest::Approx(0.005));
  CHECK(r.wait_mean == doctest::Approx(2.0 / 3));
  CHECK(r.samples_per_second() == doctest::Approx(100 / 0.15));
  CHECK(stage_of(r, "read").busy == doctest::Approx(0.02));
  CHECK(stage_of(r, "decode").busy == doctest::Approx(0.08));
  CHECK(stage_of(r, "batch").of_batches);
  CHECK(r.each_worker.size() == 1);
}

TEST_CASE("what a phase inside the slot took is the stage's that asked for it") {
  totals t;
  t.of.rows[1] = row(100, 5);  // decode() only reads headers
  t.of.rows[t.of.phase_row] = row(100, 700);
  t.of.rows[t.of.phase_row].slow = {900, 4, 0, 0};
  t.of.rows[t.of.phase_row].slowest_key = "photo 4";
  const wick::report r = t.make();
  const auto& decode = stage_of(r, "decode");
  CHECK(decode.busy == doctest::Approx(0.0705));
  CHECK(decode.deferred == doctest::Approx(0.07));
  CHECK(decode.median == doctest::Approx(700e-6).epsilon(0.1));
  CHECK(decode.slowest == doctest::Approx(900e-6));
  CHECK(decode.slowest_key == "photo 4");
}

TEST_CASE("stages of which some samples were timed are made to fit what whole runs took") {
  totals t;
  t.of.clocks_always_read = false;
  for (auto& each : t.of.rows) {
    each.sum.timed /= 10;
    each.sum.timed_ticks /= 10;
  }
  t.of.rows.back() = row(100, 505);  // half of what the timed ones say
  const wick::report r = t.make();
  CHECK(stage_of(r, "read").busy == doctest::Approx(0.01));
  CHECK(stage_of(r, "decode").busy == doctest::Approx(0.04));
}

TEST_CASE("stages are never said to have taken more than the workers had") {
  totals t;
  for (auto& each : t.of.rows) each.sum.timed_ticks *= 10;
  const wick::report r = t.make();
  CHECK(r.busy() <= 1.001 * r.seconds * static_cast<double>(r.workers));
}

TEST_CASE("failures of a stage are counted, but for those that a retry has saved") {
  totals t;
  t.of.outcomes = {{"decode", "skipped", 3}, {"decode", "good when tried again", 5}, {"read", "failed", 1}};
  const wick::report r = t.make();
  CHECK(stage_of(r, "decode").failed == 3);
  CHECK(stage_of(r, "read").failed == 1);
}

TEST_CASE("before anything was taken there is a report, and nothing to predict from") {
  totals t;
  t.of.samples = t.of.batches = 0;
  t.loop = {};
  const wick::report r = t.make();
  CHECK(r.samples_per_second() == 0);
  CHECK_THROWS_AS(r.predict({.workers = 2}), std::invalid_argument);
}

TEST_CASE("totals of threads are differences of two looks, and add up over periods") {
  thread_totals before, after;
  before.first = 100, before.last = 120, before.own = 5, before.program = 1;
  before.worker_ticks = {7}, before.worker_seconds = {0.5};
  after.first = 300, after.last = 330, after.own = 25, after.program = 3;
  after.worker_ticks = {27}, after.worker_seconds = {1.5};
  thread_totals sum;
  sum.add(after.since(before));
  sum.add(after.since(before));
  CHECK(sum.time == 2 * 230);
  CHECK(sum.own == 40);
  CHECK(sum.program == doctest::Approx(4));
  CHECK(sum.worker_ticks == std::vector<std::uint64_t>{40});
  CHECK(sum.worker_seconds[0] == doctest::Approx(2));
}

}  // namespace wick_test::make_report_tests
