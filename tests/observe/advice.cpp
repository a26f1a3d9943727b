#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "../support/doctest.hpp"
#include <wick/observe/detail/advice.hpp>
#include <wick/observe/report.hpp>

using wick::report;
using wick::detail::bound;
using wick::detail::diagnose;
using wick::detail::diagnosis;
using wick::detail::load_model;
using wick::detail::stage_report;

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
      stage_report st;
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
  CHECK(diagnose(report()).text == "nothing was taken yet");
  CHECK(diagnose(report()).by == bound::nothing);
}

TEST_CASE("a stage with most of the work is what bounds a loader whose workers are all busy") {
  made m;
  const diagnosis d = diagnose(m.measured());
  CAPTURE(d.text);
  CHECK(d.by == bound::stage);
  CHECK(d.stage == "decode");
  CHECK(has(d.text, "'decode' bounds you: 2 workers are 100 % busy"));
  CHECK(has(d.text, "98 % of the work in 'decode'"));
  CHECK(d.gain.gain == doctest::Approx(205.0 / 105).epsilon(0.03));
  CHECK(has(d.text, "with 4 processors: 2.0 x"));
  CHECK_FALSE(has(d.text, "io_threads"));
}

TEST_CASE("fewer workers than processors: more of them, and what that gives") {
  made m;
  m.r.workers = m.r.load.model.workers = 1;
  m.r.cpus = m.r.load.model.processors = 4;
  const diagnosis d = diagnose(m.measured());
  CAPTURE(d.text);
  CHECK(d.stage == "decode");
  CHECK(has(d.text, "with 4 workers: 4.0 x"));
}

TEST_CASE("a long training step is what bounds a loop that hardly waits") {
  made m;
  m.r.load.model.step_held = 20e-3;
  report& r = m.measured();
  r.step.mean = 20e-3;
  const diagnosis d = diagnose(r);
  CAPTURE(d.text);
  CHECK(d.by == bound::step);
  CHECK(has(d.text, "the training step bounds you: the workers are idle for 84 % of their time"));
  // 32 samples take 20 ms, and would 205 us / 2 each.
  CHECK(d.gain.gain == doctest::Approx(20e-3 / (32 * 205e-6 / 2)).epsilon(0.05));
}

TEST_CASE("reads that wait for an I/O thread") {
  made m;
  m.read().io = 20e-3;
  const diagnosis d = diagnose(m.measured());
  CAPTURE(d.text);
  CHECK(d.by == bound::reads);
  CHECK(has(d.text, "reads bound you: 20.00 ms each in 'read', 4 at a time. With io_threads 16: 4.0 x"));
}

TEST_CASE("a stage that keeps its workers without a processor") {
  made m;
  m.decode().held = 800e-6;
  const diagnosis d = diagnose(m.measured());
  CAPTURE(d.text);
  CHECK(d.by == bound::blocking);
  CHECK(d.stage == "decode");
  CHECK(has(d.text, "in a lock or in a call that blocks"));
  CHECK(d.gain.gain == doctest::Approx(1005.0 / 205).epsilon(0.03));
  CHECK(has(d.text, "4 workers instead of 2: 2.0 x"));
}

TEST_CASE("a lock that coroutines wait for") {
  made m;
  m.decode().lock = 30e-3;
  const diagnosis d = diagnose(m.measured());
  CAPTURE(d.text);
  CHECK(d.by == bound::lock);
  CHECK(has(d.text, "a lock bounds you: samples wait in 'decode' for 99 % of their time for it"));
}

TEST_CASE("what samples wait for that is not wick's") {
  made m;
  m.read().wait = 30e-3;
  const diagnosis d = diagnose(m.measured());
  CAPTURE(d.text);
  CHECK(d.by == bound::waits);
  CHECK(d.stage == "read");
  CHECK(has(d.text, "30.00 ms each, 32 samples at a time. With in_flight 128"));
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
  CHECK(has(d.text, "room in 64 MiB (loader_options::memory). With 256 MiB: 2.0 x"));
}

TEST_CASE("a few samples that take a thousand times as long as the others") {
  made m;
  m.r.load.model.prefetch = 2;
  auto& times = m.decode().times.multiples;
  times.assign(1000, 0.5F);
  times.back() = 500.5F;
  report& r = m.measured();
  r.stages[1].median = 100e-6;
  r.stages[1].slowest = 100e-3;
  r.stages[1].slowest_key = "photos/0012.jpg";
  const diagnosis d = diagnose(r);
  CAPTURE(d.text);
  CHECK(d.by == bound::slow_ones);
  CHECK(has(d.text, "in 'decode' the slowest takes 100.00 ms, 1000 times the median (photos/0012.jpg)"));
  CHECK(d.gain.gain > 1.5);
}

TEST_CASE("the rest of the program, and other loaders, are named before any stage") {
  made m;
  report& r = m.measured();
  r.processor = 19.9;
  r.worker_processor = 4;
  CHECK(has(diagnose(r).text, "80 % of it by others than the pipeline"));
  r.processor = r.worker_processor = 15;
  r.worked = 1;
  r.others = 18;
  const diagnosis d = diagnose(r);
  CHECK(d.by == bound::loaders);
  CHECK(has(d.text, "other loaders bound you: they have this one's workers for 95 % of their work"));
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
  const wick::prediction p = m.measured().predict({});
  CHECK(p.gain == doctest::Approx(1));
  CHECK(p.low <= p.samples_per_second);
  CHECK(p.high >= p.samples_per_second);
  CHECK(p.to_string() == "1.00 x ± 0.02");
}
