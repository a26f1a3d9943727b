// Implements predictions of profile/report.hpp: applies changes to the model. Included in exactly one file of
// a program.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>
#include <vector>

#include <wick/async/detail/sample_tokens.hpp>
#include <wick/profile/detail/advice.hpp>
#include <wick/profile/detail/load_model.hpp>
#include <wick/profile/report.hpp>

namespace wick::inline v0_1::detail {

/// Lowers the slowest share of the drawn values to the median. \returns the new mean as a share of the old
double without_slowest(spread& of, double share) {
  std::vector<float>& m = of.multiples;  // rising
  if (m.empty() || !(share > 0)) return 1;
  const auto cut = static_cast<std::size_t>(std::ceil(std::min(share, 1.0) * static_cast<double>(m.size())));
  const float middle = m[m.size() / 2];
  for (std::size_t i = m.size() - cut; i < m.size(); ++i) m[i] = std::min(m[i], middle);
  double sum = 0;
  for (const float x : m) sum += static_cast<double>(x);
  const double mean = sum / static_cast<double>(m.size());
  if (mean <= 0) return 1;
  for (float& x : m) x = static_cast<float>(static_cast<double>(x) / mean);
  return mean;
}

/// \throws std::invalid_argument when no stage has that name
load_model changed(const measured_load& load, const report::what_if& w) {
  load_model m = load.model;
  if (w.workers) m.workers = std::max<std::size_t>(*w.workers, 1);
  if (w.io_threads) m.io_threads = std::max<std::size_t>(*w.io_threads, 1);
  if (w.processors) m.processors = std::max<std::size_t>(*w.processors, 1);
  if (w.in_flight)
    m.in_flight = std::max<std::size_t>(*w.in_flight, 1);
  else if (m.in_flight != 0 && load.chooses_in_flight)
    m.in_flight = tokens::limit_for(m.workers, m.io_threads);
  if (w.prefetch) m.prefetch = std::max<std::size_t>(*w.prefetch, 1);
  if (w.memory) m.memory = static_cast<double>(*w.memory);
  if (w.step_ms) {
    const double before = m.step_work + m.step_held, after = std::max(*w.step_ms, 0.0) / 1e3;
    m.step_work = before > 0 ? m.step_work / before * after : 0;
    m.step_held = after - m.step_work;
  }
  if (w.stage.empty()) return m;
  bool found = false;
  for (std::size_t i = 0; i < m.stages.size(); ++i) {
    if (load.names[i] != w.stage) continue;
    found = true;
    load_model::stage& s = m.stages[i];
    double factor = w.times_faster > 0 ? 1 / w.times_faster : 1;
    factor *= without_slowest(s.times, w.without_slowest);
    for (double* t : {&s.work, &s.held, &s.io, &s.io_work, &s.wait, &s.lock}) *t *= factor;
    if (w.without_blocking) s.held = s.lock = 0;
  }
  if (!found && load.batch_stage == w.stage) {
    found = true;
    const double factor = w.times_faster > 0 ? 1 / w.times_faster : 1;
    m.batch_work *= factor;
    m.batch_held *= w.without_blocking ? 0 : factor;
  }
  if (!found) {
    std::string known;
    for (const std::string& n : load.names) known += (known.empty() ? "" : ", ") + n;
    throw std::invalid_argument("wick: what_if: no stage is called '" + w.stage + "'; there are: " + known);
  }
  return m;
}

report::prediction predict(const measured_load& load, const report::what_if& w) {
  constexpr int runs = 5;
  const load_model then = changed(load, w);
  double now_sum = 0, then_sum = 0, squares = 0;
  double ratios[runs];
  for (int i = 0; i < runs; ++i) {
    const auto seed = static_cast<std::uint64_t>(i) + 1;
    const double before = load.model.run(seed).samples_per_second, after = then.run(seed).samples_per_second;
    now_sum += before;
    then_sum += after;
    ratios[i] = after / before;
  }
  report::prediction out;
  out.gain = then_sum / now_sum;
  for (const double r : ratios) squares += (r - out.gain) * (r - out.gain);
  const double spread = std::sqrt(squares / (runs * (runs - 1))) / out.gain;
  // The larger the change, the more the errors of the measurements and of the model count.
  const double misfit = std::log(load.samples_per_second / (now_sum / runs));
  const double changed_by = std::min(1.0, std::abs(std::log(out.gain)));
  const double error = std::sqrt(0.01 * 0.01 + spread * spread +
                                 changed_by * changed_by * (load.error * load.error + misfit * misfit / 4));
  out.samples_per_second = load.samples_per_second * out.gain;
  out.gain_error = 2 * error * out.gain;
  out.low = out.samples_per_second * std::max(0.0, 1 - 2 * error);
  out.high = out.samples_per_second * (1 + 2 * error);
  return out;
}

}  // namespace wick::detail

namespace wick::inline v0_1 {

std::string report::prediction::to_string() const {
  char text[64];
  const int digits = gain < 1.95 ? 2 : gain < 9.95 ? 1 : 0;
  std::snprintf(text, sizeof(text), "%.*fx (±%.*f)", digits, gain, digits,
                std::max(gain_error, std::pow(10.0, -digits)));
  return text;
}

report::prediction report::predict(const what_if& changed) const {
  if (load.samples_per_second <= 0)
    throw std::invalid_argument(
        "wick: report: nothing was taken since the report before, so nothing can be predicted");
  return detail::predict(load, changed);
}

}  // namespace wick
