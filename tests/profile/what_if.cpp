#include <cmath>
#include <limits>

#include "../support/doctest.hpp"
#include <wick/profile/report.hpp>

namespace wick_test::what_if_tests {

using wick::detail::load_model;

namespace {

/// A loader of two stages, as measured: as fast as its model.
wick::report measured(load_model m) {
  wick::report r;
  r.load.samples_per_second = m.run().samples_per_second;
  r.load.names = {"read", "decode"};
  r.load.model = std::move(m);
  return r;
}
load_model model() {
  load_model m;
  m.workers = m.processors = 2;
  m.io_threads = 4;
  m.in_flight = 32;
  m.batch = 16;
  m.stages.resize(2);
  m.stages[0].work = 100e-6;
  m.stages[1].work = 300e-6;
  return m;
}

}  // namespace

TEST_CASE("each change does in the model what it says") {
  const wick::report r = measured(model());
  constexpr double infinite = std::numeric_limits<double>::infinity();
  const auto gain = [&](const wick::report::what_if& w) { return r.predict(w).gain; };
  CHECK(gain({.workers = 1}) == doctest::Approx(0.5).epsilon(0.02));
  CHECK(gain({.workers = 4}) == doctest::Approx(1).epsilon(0.02));
  CHECK(gain({.workers = 4, .processors = 4}) == doctest::Approx(2).epsilon(0.02));
  CHECK(gain({.stage = "decode", .times_faster = 3}) == doctest::Approx(2).epsilon(0.02));
  CHECK(gain({.stage = "decode", .times_faster = infinite}) == doctest::Approx(4).epsilon(0.02));
  CHECK(gain({.step_ms = 6.4}) == doctest::Approx(0.5).epsilon(0.02));
}

TEST_CASE("changing the number of I/O threads changes what may be under way, unless that was fixed") {
  load_model m = model();
  m.stages[0] = {};
  m.stages[0].io = 10e-3;
  m.stages[1].work = 1e-6;
  m.in_flight = 32;
  wick::report r = measured(m);
  CHECK(r.predict({.io_threads = 64}).gain == doctest::Approx(16).epsilon(0.05));
  r.load.chooses_in_flight = false;
  CHECK(r.predict({.io_threads = 64}).gain == doctest::Approx(8).epsilon(0.05));
}

TEST_CASE("without its slowest samples a stage takes as long as without its tail") {
  load_model m = model();
  m.workers = 1;
  auto& times = m.stages[1].times.multiples;
  times.assign(1000, 0.5F);
  times.back() = 500.5F;
  const wick::report r = measured(m);
  // 100 + 300 µs before, 100 + 150 µs afterwards.
  CHECK(r.predict({.stage = "decode", .without_slowest = 0.001}).gain == doctest::Approx(1.6).epsilon(0.06));
}

TEST_CASE("a gain measured from few samples is predicted with a wider interval") {
  wick::report r = measured(model());
  const wick::report::prediction sure = r.predict({.stage = "decode", .times_faster = 3});
  r.load.error = 0.2;
  const wick::report::prediction unsure = r.predict({.stage = "decode", .times_faster = 3});
  CHECK(unsure.gain == sure.gain);
  CHECK(unsure.gain_error > 4 * sure.gain_error);
  CHECK(unsure.low < sure.low);
  CHECK(unsure.high > sure.high);
}

TEST_CASE("a gain is printed with as many digits as are worth it") {
  wick::report::prediction p;
  p.gain = 1.234;
  p.gain_error = 0.056;
  CHECK(p.to_string() == "1.23x (±0.06)");
  p.gain = 3.48;
  CHECK(p.to_string() == "3.5x (±0.1)");
  p.gain = 42.4;
  p.gain_error = 3.2;
  CHECK(p.to_string() == "42x (±3)");
}

TEST_CASE("what takes no time at all predicts numbers all the same") {
  load_model m = model();
  m.stages[0].work = 0;
  const wick::report r = measured(m);
  const wick::report::prediction p =
      r.predict({.stage = "decode", .times_faster = std::numeric_limits<double>::infinity()});
  CHECK(std::isfinite(p.gain));
  CHECK(std::isfinite(p.gain_error));
  CHECK(p.gain > 1000);
}

}  // namespace wick_test::what_if_tests
