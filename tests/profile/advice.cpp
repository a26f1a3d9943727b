#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "../support/doctest.hpp"
#include <wick/profile/detail/advice.hpp>
#include <wick/profile/report.hpp>

namespace wick_test::advice_tests {

using wick::report;
using wick::detail::bound;
using wick::detail::diagnose;
using wick::detail::diagnosis;
using wick::detail::load_model;

namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

/// Ten seconds of two workers on two processors, with a stage that reads and one that decodes; the model and
/// the figures say the same.
struct made {
  report r;

  made() {
    r.seconds = r.taking = 10;
    r.workers = r.cpus = 2;
    r.io_threads = 4;
    r.memory_limit = 64 << 20;
    load_model& m = r.load.model;
    m.workers = m.processors = 2;
    m.io_threads = 4;
    m.in_flight = 32;
    m.prefetch = 4;
    m.batch = 32;
    m.memory = 64 << 20;
    m.stages.resize(2);
    r.load.names = {"read", "decode"};
    m.stages[0].work = 5e-6;
    m.stages[1].work = 200e-6;
  }
  load_model::stage& read() { return r.load.model.stages[0]; }
  load_model::stage& decode() { return r.load.model.stages[1]; }

  /// What such a loader's report would have said.
  report& measured() {
    const load_model& m = r.load.model;
    const auto out = m.run();
    r.load.samples_per_second = out.samples_per_second;
    r.samples = static_cast<std::uint64_t>(out.samples_per_second * r.taking);
    r.batches = r.iterations = r.samples / m.batch;
    r.wait_mean = r.wait_median = out.waiting;
    r.worked = out.working * r.taking * static_cast<double>(r.workers);
    r.stages.clear();
    const auto n = static_cast<double>(r.samples);
    for (std::size_t i = 0; i < m.stages.size(); ++i) {
      const load_model::stage& s = m.stages[i];
      wick::report::stage st;
      st.name = r.load.names[i];
      st.count = r.samples;
      st.busy = (s.work + s.held) * n;
      st.processor = s.work * n;
      st.held = s.held * n;
      st.waits.io_call = s.io * n;
      st.waits.lock = s.lock * n;
      st.waits.other = s.wait * n;
      st.blocked = (s.io + s.lock + s.wait) * n;
      st.median = s.work + s.held + s.io + s.lock + s.wait;
      r.worker_processor += s.work * n;
      r.stages.push_back(st);
    }
    r.processor = r.worker_processor;
    return r;
  }
};

}  // namespace

TEST_CASE("before anything was taken there is no advice") {
  CHECK(diagnose(report()).text == "No batch was taken yet.");
  CHECK(diagnose(report()).by == bound::nothing);
}

TEST_CASE("a few iterations are too few for a verdict or a prediction") {
  made m;
  report& r = m.measured();
  for (const std::uint64_t n : {1, 2, 29}) {
    r.iterations = n;
    const diagnosis d = diagnose(r);
    CAPTURE(d.text);
    CHECK(d.by == bound::nothing);
    CHECK(has(d.text, "Too early to tell: " + std::to_string(n) + (n == 1 ? " iteration " : " iterations ")));
    CHECK_FALSE(has(d.text, "x (±"));
  }
  r.iterations = 30;
  CHECK(diagnose(r).by == bound::stage);
}

TEST_CASE("a stage with most of the work is the bottleneck of a loader whose workers are all busy") {
  made m;
  const diagnosis d = diagnose(m.measured());
  CAPTURE(d.text);
  CHECK(d.by == bound::stage);
  CHECK(d.stage == "decode");
  CHECK(has(d.text, "Bottleneck: decode (98 % of the work, 2 workers 100 % busy, CPUs 100 % used)."));
  CHECK(has(d.text, " Training waits for data 100 % of the time. With decode 2x faster: throughput 2.0x (±"));
  CHECK(d.gain.gain == doctest::Approx(205.0 / 105).epsilon(0.03));
  CHECK(has(d.text, "With 4 CPUs: 2.0x (±"));
  CHECK_FALSE(has(d.text, "io_threads"));
}

TEST_CASE("fewer workers than processors: more of them, and what that gives") {
  made m;
  m.r.workers = m.r.load.model.workers = 1;
  m.r.cpus = m.r.load.model.processors = 4;
  const diagnosis d = diagnose(m.measured());
  CAPTURE(d.text);
  CHECK(d.stage == "decode");
  CHECK(has(d.text, "With .workers = 4: 4.0x (±"));
}

TEST_CASE("a long training step is the bottleneck of a loop that hardly waits") {
  made m;
  m.r.load.model.step_held = 20e-3;
  report& r = m.measured();
  r.step.mean = 20e-3;
  const diagnosis d = diagnose(r);
  CAPTURE(d.text);
  CHECK(d.by == bound::step);
  CHECK(has(d.text,
            "Bottleneck: the training step. Training waits for data 0.0 % of the time; no change to the "
            "pipeline gives 5 % or more. The loader alone: "));
  // 32 samples take 20 ms, and would take 205 µs / 2 each.
  CHECK(d.gain.gain == doctest::Approx(20e-3 / (32 * 205e-6 / 2)).epsilon(0.05));
}

TEST_CASE("rates of millions are written out, and those of slow samples to a hundredth") {
  for (const double work : {1e-7, 1.0}) {
    made m;
    m.r.seconds = m.r.taking = 1e5;
    m.decode().work = work;
    m.r.load.model.step_held = 32 * std::max(work, 1e-3);
    report& r = m.measured();
    r.step.mean = 32 * std::max(work, 1e-3);
    const diagnosis d = diagnose(r);
    CAPTURE(d.text);
    REQUIRE(has(d.text, "The loader alone: "));
    CHECK(!has(d.text, "e+"));
    const std::size_t at = d.text.find("alone: ") + 7, end = d.text.find(" samples/s");
    CHECK(std::stod(d.text.substr(at, end - at)) == doctest::Approx(d.gain.samples_per_second).epsilon(0.01));
  }
}

TEST_CASE("a bottleneck that gives next to nothing when it is removed is none, however the work is spread") {
  // examples/00_pictures.cpp on small pictures: one stage has nearly all of the work, the loop waits for 1.4
  // %.
  for (const double work : {20e-6, 50e-6, 100e-6, 200e-6, 300e-6}) {
    for (const double step : {1e-3, 2e-3, 4e-3, 8e-3}) {
      made m;
      m.decode().work = work;
      m.r.load.model.step_work = 0.3 * step;
      m.r.load.model.step_held = 0.7 * step;
      report& r = m.measured();
      r.step.mean = step;
      const diagnosis d = diagnose(r);
      CAPTURE(work);
      CAPTURE(step);
      CAPTURE(d.text);
      const bool gives = r.predict({.stage = "decode", .times_faster = 2}).gain >= 1.05;
      CHECK((d.by == bound::stage) == gives);
      CHECK(has(d.text, "Bottleneck: the training step.") == !gives);
      CHECK(d.gain.gain >= (gives ? 1.05 : 1.0));
    }
  }
}

TEST_CASE("of several things the one whose removal gives the most is named") {
  made m;
  m.r.load.model.stages[1].work = 400e-6;
  m.read().io = 0.3e-3;  // waits that hardly matter beside the decoding
  const diagnosis d = diagnose(m.measured());
  CAPTURE(d.text);
  CHECK(d.by == bound::stage);
  CHECK(d.stage == "decode");
}

TEST_CASE("more processors help against anything: what they give makes no stage the bottleneck") {
  made m;
  m.r.load.model.prefetch = 4;
  m.decode().work = 400e-6;
  m.decode().held =
      390e-6;  // without it 2x, as with twice the processors and workers; the stage 2x faster, too
  m.read().work = 100e-6;
  const diagnosis d = diagnose(m.measured());
  CAPTURE(d.text);
  CHECK(d.by == bound::blocking);
  m.decode().held = 0;
  const diagnosis stage = diagnose(m.measured());
  CAPTURE(stage.text);
  CHECK(stage.by == bound::stage);
  CHECK(stage.mending.stage == "decode");
  CHECK(has(stage.text, "With 4 CPUs: 2.0x"));
  CHECK(stage.gain.gain < 1.9);
}

TEST_CASE("a change that goes further than the one before is named only when it gives more") {
  for (const double io : {5e-3, 20e-3, 60e-3}) {
    for (const std::size_t prefetch : {1, 2, 4, 8}) {
      made m;
      m.read().io = io;
      m.r.load.model.prefetch = prefetch;
      m.r.taking = 100;
      const diagnosis d = diagnose(m.measured());
      CAPTURE(d.text);
      REQUIRE(d.by == bound::reads);
      const double threads = m.r.predict({.io_threads = 16}).gain,
                   both = m.r.predict({.io_threads = 16, .prefetch = 4 * prefetch}).gain;
      CHECK(has(d.text, "as well") == (both >= 1.05 * threads));
      CHECK(d.gain.gain >= threads);
    }
  }
}

TEST_CASE("many stages of equal work are bounded by the processors") {
  made m;
  m.r.load.model.stages.resize(25);
  m.r.load.names.clear();
  for (std::size_t i = 0; i < 25; ++i) {
    m.r.load.model.stages[i].work = 10e-6;
    m.r.load.names.push_back("s" + std::to_string(i));
  }
  const diagnosis d = diagnose(m.measured());
  CAPTURE(d.text);
  CHECK(d.by == bound::stage);
  CHECK(d.stage.empty());
  CHECK(has(d.text, "Bottleneck: the CPUs (2 workers 100 % busy, CPUs 100 % used). "));
  CHECK(has(d.text, "With 4 CPUs: throughput 2.0x"));
}

TEST_CASE("reads that wait for an I/O thread") {
  made m;
  m.read().io = 20e-3;
  const diagnosis d = diagnose(m.measured());
  CAPTURE(d.text);
  CHECK(d.by == bound::reads);
  CHECK(has(d.text, "Bottleneck: I/O in read (20.0 ms a sample, 4 I/O threads). "));
  CHECK(has(d.text, " With .io_threads = 16: throughput 4.0x (±"));
}

TEST_CASE("reads whose number at a time the loader has chosen are bounded by the storage") {
  made m;
  m.read().io = 20e-3;
  m.r.load.chooses_io_threads = true;
  const diagnosis d = diagnose(m.measured());
  CAPTURE(d.text);
  CHECK(d.by == bound::reads);
  CHECK(has(d.text, "Bottleneck: I/O in read (20.0 ms a sample, 4 I/O threads). "));
  CHECK(has(d.text, " With read 2x faster: throughput 2.0x (±"));
  CHECK_FALSE(has(d.text, "io_threads"));
}

TEST_CASE("a stage that keeps its workers without a processor") {
  made m;
  m.decode().held = 800e-6;
  const diagnosis d = diagnose(m.measured());
  CAPTURE(d.text);
  CHECK(d.by == bound::blocking);
  CHECK(d.stage == "decode");
  CHECK(
      has(d.text, "Bottleneck: a lock or a blocking call in decode (80 % of worker time, without a CPU). "));
  CHECK(d.gain.gain == doctest::Approx(1005.0 / 205).epsilon(0.03));
  CHECK(has(d.text, "With .workers = 4: 2.0x"));
}

TEST_CASE("a lock that coroutines wait for") {
  made m;
  m.decode().lock = 30e-3;
  const diagnosis d = diagnose(m.measured());
  CAPTURE(d.text);
  CHECK(d.by == bound::lock);
  CHECK(has(d.text, "Bottleneck: a lock in decode (samples wait for it 99 % of their time). "));
}

TEST_CASE("what samples wait for that is not wick's") {
  made m;
  m.read().wait = 30e-3;
  const diagnosis d = diagnose(m.measured());
  CAPTURE(d.text);
  CHECK(d.by == bound::waits);
  CHECK(d.stage == "read");
  CHECK(has(d.text, "Bottleneck: waiting in read (30.0 ms a sample, 32 samples at a time). "));
  CHECK(has(d.text, " With .prefetch = 16 and .in_flight = 128: throughput "));
}

TEST_CASE("a budget in which hardly a sample has room") {
  made m;
  m.read().io = 10e-3;
  m.read().bytes = 32 << 20;
  report& r = m.measured();
  r.stages[0].waits.memory = 20e-3 * static_cast<double>(r.samples);
  r.stages[0].blocked += r.stages[0].waits.memory;
  const diagnosis d = diagnose(r);
  CAPTURE(d.text);
  CHECK(d.by == bound::memory);
  CHECK(has(d.text, "Bottleneck: the memory budget (samples wait "));
  CHECK(has(d.text, " of their time for room in 64 MiB). "));
  CHECK(has(d.text, " With .memory = 256 MiB: throughput 2.0x"));
}

namespace {

/// A stage in which one sample of a thousand takes a thousand times as long as the others.
report slow_ones(made& m) {
  m.r.load.model.prefetch = 2;
  auto& times = m.decode().times.multiples;
  times.assign(1000, 0.5F);
  times.back() = 500.5F;
  report r = m.measured();
  r.stages[1].median = 100e-6;
  r.stages[1].slowest = 100e-3;
  r.stages[1].slowest_key = "photos/0011.jpg";
  return r;
}

}  // namespace

TEST_CASE("a few samples that take a thousand times as long as the others of a processor") {
  made m;
  report r = slow_ones(m);
  r.stages[1].costliest = 99e-3;
  r.stages[1].costliest_key = "photos/0012.jpg";
  const diagnosis d = diagnose(r);
  CAPTURE(d.text);
  CHECK(d.by == bound::slow_ones);
  CHECK(has(d.text,
            "Bottleneck: a few slow samples in decode (99.0 ms of CPU time, 990 times the median: "
            "photos/0012.jpg). "));
  CHECK(has(d.text, " Without the slowest 1 %: throughput "));
  CHECK(d.gain.gain > 1.5);
}

TEST_CASE("a sample that was slow because others had the processor is not blamed") {
  made m;
  report r = slow_ones(m);
  for (const double processor : {0.0, 0.5e-3}) {
    r.stages[1].costliest = processor;
    const diagnosis d = diagnose(r);
    CAPTURE(d.text);
    CHECK(d.by != bound::slow_ones);
    CHECK_FALSE(has(d.text, "photos/"));
  }
}

TEST_CASE("samples that wait are blamed when many do, for longer than a processor's turns") {
  made m;
  auto& times = m.read().times.multiples;
  m.read().io = 3e-3;
  m.r.io_threads = m.r.load.model.io_threads = m.r.load.model.in_flight = 64;
  m.r.load.model.prefetch = 1;
  m.decode().work = 1e-6;
  times.assign(1000, 0.2F);
  for (std::size_t i = 988; i < 1000; ++i) times[i] = 66.9F;
  report r = m.measured();
  r.stages[0].median = 0.6e-3;
  r.stages[0].slowest = 130e-3;
  r.stages[0].slowest_key = "photos/0012.jpg";
  r.stages[0].p99 = 20e-3;
  CHECK(diagnose(r).by != bound::slow_ones);
  r.stages[0].p99 = 120e-3;
  const diagnosis d = diagnose(r);
  CAPTURE(d.text);
  CHECK(d.by == bound::slow_ones);
  CHECK(has(d.text, "a few slow samples in read (120 ms, 200 times the median: photos/0012.jpg). "));
}

TEST_CASE("the rest of the program, and other loaders, are named before any stage") {
  made m;
  report& r = m.measured();
  r.processor = 19.9;
  r.worker_processor = 4;
  CAPTURE(diagnose(r).text);
  CHECK(
      has(diagnose(r).text, "Bottleneck: the rest of the program (80 % of its CPU time, CPUs 99 % used). "));
  r.processor = r.worker_processor = 15;
  r.worked = 1;
  r.others = 18;
  const diagnosis d = diagnose(r);
  CAPTURE(d.text);
  CHECK(d.by == bound::loaders);
  CHECK(has(d.text, "Bottleneck: other loaders on the same workers (95 % of the work). "));
}

TEST_CASE("a change of a stage that there is not says which there are") {
  made m;
  const report& r = m.measured();
  CHECK_THROWS_WITH_AS(static_cast<void>(r.predict({.stage = "resize"})),
                       "wick: what_if: no stage is called 'resize'; there are: read, decode",
                       std::invalid_argument);
  CHECK_THROWS_AS(static_cast<void>(report().predict({.workers = 2})), std::invalid_argument);
}

TEST_CASE("nothing changed predicts nothing") {
  made m;
  const wick::report::prediction p = m.measured().predict({});
  CHECK(p.gain == doctest::Approx(1));
  CHECK(p.low <= p.samples_per_second);
  CHECK(p.high >= p.samples_per_second);
  CHECK(p.to_string() == "1.00x (±0.02)");
}

}  // namespace wick_test::advice_tests
