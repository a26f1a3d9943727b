// The model against cases whose throughput is known.
#include <algorithm>
#include <cstddef>

#include "../support/doctest.hpp"
#include <wick/profile/detail/load_model.hpp>

namespace wick_test::load_model_tests {

using wick::detail::load_model;

namespace {

load_model simple(std::size_t workers, std::size_t processors, double work) {
  load_model m;
  m.workers = workers;
  m.processors = processors;
  m.batch = 16;
  m.stages.resize(1);
  m.stages[0].work = work;
  return m;
}
double rate(const load_model& m) { return m.run().samples_per_second; }

}  // namespace

TEST_CASE("workers share what processors there are") {
  for (std::size_t workers = 1; workers <= 8; ++workers) {
    for (std::size_t processors = 1; processors <= 8; ++processors) {
      CAPTURE(workers);
      CAPTURE(processors);
      const double expected = static_cast<double>(std::min(workers, processors)) / 1e-3;
      CHECK(rate(simple(workers, processors, 1e-3)) == doctest::Approx(expected).epsilon(0.01));
    }
  }
}

TEST_CASE("a worker that is held without a processor leaves it to others") {
  load_model m = simple(4, 2, 1e-3);
  m.stages[0].held = 1e-3;  // two work while two are held
  CHECK(rate(m) == doctest::Approx(2000).epsilon(0.03));
}

TEST_CASE("the step sets the pace when it takes longer than the batch") {
  load_model m = simple(2, 2, 1e-3);
  m.step_held = 32e-3;
  const auto out = m.run();
  CHECK(out.samples_per_second == doctest::Approx(500).epsilon(0.01));
  CHECK(out.waiting < 0.01);
  m.step_held = 0;
  CHECK(m.run().waiting > 0.99);
}

TEST_CASE("a step that computes takes a processor from the workers") {
  load_model m = simple(2, 2, 1e-3);
  m.step_work = 8e-3;  // 16 samples: 16 ms of work and 8 of the step on two processors
  CHECK(rate(m) == doctest::Approx(16 / 12e-3).epsilon(0.02));
}

TEST_CASE("the rest of the program takes its share") {
  load_model m = simple(2, 2, 1e-3);
  m.other_processors = 2;
  CHECK(rate(m) == doctest::Approx(1000).epsilon(0.01));
}

TEST_CASE("reads go as many at a time as there are I/O threads, or samples under way") {
  load_model m = simple(2, 2, 1e-6);
  m.stages[0].io = 10e-3;
  m.io_threads = 4;
  m.in_flight = 100;
  CHECK(rate(m) == doctest::Approx(400).epsilon(0.02));
  m.in_flight = 2;
  CHECK(rate(m) == doctest::Approx(200).epsilon(0.02));
  m.in_flight = 100;
  m.io_threads = 16;
  CHECK(rate(m) == doctest::Approx(1600).epsilon(0.02));
}

TEST_CASE("waits that need no thread go as many at a time as samples are under way") {
  load_model m = simple(2, 2, 1e-6);
  m.stages[0].wait = 10e-3;
  m.in_flight = 8;
  CHECK(rate(m) == doctest::Approx(800).epsilon(0.02));
}

TEST_CASE("memory holds back what has no room, and lets through what is larger than all of it") {
  load_model m = simple(2, 2, 1e-6);
  m.stages[0].io = 10e-3;
  m.io_threads = 16;
  m.in_flight = 64;
  m.stages[0].bytes = 100;
  m.memory = 350;
  CHECK(rate(m) == doctest::Approx(300).epsilon(0.02));
  m.memory = 50;
  CHECK(rate(m) == doctest::Approx(100).epsilon(0.02));
  m.memory = 0;
  CHECK(rate(m) == doctest::Approx(1600).epsilon(0.02));
}

TEST_CASE("a heavy tail costs its mean on one worker, and more on several that wait for the oldest") {
  load_model m = simple(1, 8, 1e-4);
  m.stages[0].times.multiples.assign(1000, 0.5F);
  m.stages[0].times.multiples.back() = 500.5F;
  CHECK(rate(m) == doctest::Approx(1e4).epsilon(0.1));
  m.workers = 8;
  const double little = rate(m);
  CHECK(little < 0.7 * 8e4);
  m.prefetch = 400;
  CHECK(rate(m) > 1.2 * little);
}

TEST_CASE("batch stages take a worker's time") {
  load_model m = simple(2, 2, 1e-3);
  m.batch_work = 16e-3;
  CHECK(rate(m) == doctest::Approx(1000).epsilon(0.02));
}

TEST_CASE("samples that are claimed together, and huge batches, come to the same") {
  load_model m = simple(2, 2, 1e-7);
  m.batch = 256;
  m.at_a_time = 300;
  CHECK(rate(m) == doctest::Approx(2e7).epsilon(0.02));
  m = simple(2, 2, 1e-3);
  m.batch = 100'000;
  CHECK(rate(m) == doctest::Approx(2000).epsilon(0.02));
}

TEST_CASE("stages that take no time at all are no bound, and don't hang") {
  load_model m = simple(2, 2, 0);
  CHECK(rate(m) > 0);
  m.step_held = 1e-3;
  CHECK(rate(m) == doctest::Approx(16 / 1e-3).epsilon(0.02));
}

TEST_CASE("samples that hold memory and want more are let through one by one, as the budget does it") {
  load_model m = simple(2, 2, 1e-6);
  m.stages.push_back(m.stages[0]);
  for (auto& s : m.stages) {
    s.io = 1e-3;
    s.bytes = 100;
  }
  m.io_threads = 4;
  m.in_flight = 16;
  m.memory = 400;
  const double bounded = rate(m);
  CHECK(bounded > 100);
  CHECK(bounded < 4000);
}

TEST_CASE(
    "a large batch of samples that wait is as fast as a small one, and any number is taken in a short time") {
  load_model m = simple(2, 2, 1e-6);
  m.stages[0].io = 1e-3;
  m.io_threads = 8;
  m.in_flight = 40;
  for (const std::size_t batch : {16, 256, 16'384, 1'000'000}) {
    CAPTURE(batch);
    m.batch = batch;
    CHECK(rate(m) == doctest::Approx(8000).epsilon(0.05));
  }
  m.prefetch = 1'000'000'000;
  CHECK(rate(m) == doctest::Approx(8000).epsilon(0.05));
  m = simple(2, 2, 1000);  // 17 minutes a sample
  CHECK(rate(m) == doctest::Approx(0.002).epsilon(0.05));
}

}  // namespace wick_test::load_model_tests
