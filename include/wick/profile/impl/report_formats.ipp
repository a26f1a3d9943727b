// A report as JSON, Prometheus text, and single figures. Included in exactly one file of a program.
#pragma once

#include <cmath>
#include <utility>

#include <wick/base/detail/json.hpp>
#include <wick/profile/detail/advice.hpp>
#include <wick/profile/report.hpp>

namespace wick::inline v0_1::detail {

std::string report_json(const report::timing& t) {
  return json_object().add("mean", t.mean).add("median", t.median).add("p99", t.p99).text();
}

std::string report_json(const report::stage& s) {
  const report::wait_times& w = s.waits;
  json_object waits;
  waits.add("io_thread", w.io_thread).add("io_call", w.io_call).add("memory", w.memory).add("lock", w.lock);
  waits.add("time", w.time).add("worker", w.worker).add("other", w.other);
  json_object out;
  out.add("name", s.name).add("count", s.count).add("busy", s.busy).add("blocked", s.blocked);
  out.add("processor", s.processor).add("held", s.held).add("failed", s.failed).add("bytes", s.bytes);
  out.add("median", s.median).add("p90", s.p90).add("p99", s.p99).add("slowest", s.slowest);
  out.add("slowest_key", s.slowest_key).add("costliest", s.costliest).add("costliest_key", s.costliest_key);
  out.add("deferred", s.deferred).add("of_batches", s.of_batches);
  return out.raw("waits", waits.text()).text();
}

std::string report_json(const report::timeline_piece& p) {
  json_object out;
  out.add("begin", p.begin).add("seconds", p.seconds).add("iterations", p.iterations);
  out.add("waiting", p.waiting).add("longest_wait", p.longest_wait).add("step", p.step);
  return out.add("ready", p.ready).add("in_flight", p.in_flight).add("bytes", p.bytes).text();
}

std::string_view name_of(bound b) noexcept {
  switch (b) {
    case bound::nothing:
      return "nothing";
    case bound::step:
      return "step";
    case bound::others:
      return "others";
    case bound::loaders:
      return "loaders";
    case bound::stage:
      return "stage";
    case bound::blocking:
      return "blocking";
    case bound::reads:
      return "reads";
    case bound::memory:
      return "memory";
    case bound::lock:
      return "lock";
    case bound::waits:
      return "waits";
    case bound::slow_ones:
      return "slow_ones";
    case bound::prefetch:
      return "prefetch";
  }
  return "nothing";
}

/// A label's value: Prometheus requires these three escapes.
std::string label(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

}  // namespace wick::detail

namespace wick::inline v0_1 {

std::string report::to_json() const {
  using detail::json_object;
  json_object out;
  out.add("seconds", seconds).add("taking", taking).add("samples", samples).add("batches", batches);
  out.add("samples_per_second", samples_per_second()).add("iterations", iterations);
  out.add("workers", std::uint64_t{workers}).add("io_threads", std::uint64_t{io_threads});
  out.add("requests", std::uint64_t{requests}).add("cpus", std::uint64_t{cpus});
  out.add("worked", worked).add("others", others).add("helped", helped).add("io_calls", io_calls);
  out.add("worker_processor", worker_processor).add("io_processor", io_processor).add("processor", processor);
  out.add("wait_mean", wait_mean)
      .add("wait_median", wait_median)
      .add("step_delay", step_delay)
      .add("stalled", stalled());
  out.raw("waiting", detail::report_json(waiting))
      .raw("iteration", detail::report_json(iteration))
      .raw("step", detail::report_json(step));
  out.raw("idle",
          json_object().add("samples", idle.samples).add("order", idle.order).add("loop", idle.loop).text());
  out.raw("memory", json_object()
                        .add("limit", std::uint64_t{memory_limit})
                        .add("used", std::uint64_t{memory_used})
                        .add("peak", std::uint64_t{memory_peak})
                        .text());
  out.add("filtered", filtered).add("failures", failures);
  out.raw("outcomes", detail::json_array(outcomes, [](const report::outcome& o) {
            return json_object().add("stage", o.stage).add("outcome", o.outcome).add("count", o.count).text();
          }));
  out.raw("stages",
          detail::json_array(stages, [](const report::stage& s) { return detail::report_json(s); }));
  out.raw("each_worker", detail::json_array(each_worker, [](const report::worker& w) {
            return json_object().add("busy", w.busy).add("processor", w.processor).text();
          }));
  out.raw("notes", detail::json_array(notes, [](const std::string& n) { return detail::json_string(n); }));
  out.raw("timeline", detail::json_array(
                          timeline, [](const report::timeline_piece& p) { return detail::report_json(p); }));
  const detail::diagnosis d = detail::diagnose(*this);
  json_object bound;
  bound.add("by", detail::name_of(d.by)).add("stage", d.stage).add("text", d.text);
  bound.add("gain", d.gain.gain).add("gain_error", d.gain.gain_error);
  bound.add("samples_per_second", d.gain.samples_per_second).add("low", d.gain.low).add("high", d.gain.high);
  return out.raw("bound", bound.text()).text() + "\n";
}

std::string report::to_prometheus(std::string_view labels) const {
  std::string out;
  const auto help = [&](const char* name, const char* text) {
    out += std::string("# HELP wick_") + name + " " + text + "\n# TYPE wick_" + name + " gauge\n";
  };
  const auto value = [&](const char* name, const std::string& more, double v) {
    std::string all(labels);
    if (!all.empty() && !more.empty()) all += ',';
    all += more;
    out += std::string("wick_") + name + (all.empty() ? "" : "{" + all + "}") + " " + detail::number_text(v) +
           "\n";
  };
  const auto one = [&](const char* name, const char* text, double v) {
    help(name, text);
    value(name, "", v);
  };
  one("period_seconds", "Time since the report before this one.", seconds);
  one("taking_seconds", "Of that, time in which an epoch was being taken.", taking);
  one("samples", "Samples delivered in the period.", static_cast<double>(samples));
  one("batches", "Batches delivered in the period.", static_cast<double>(batches));
  one("samples_per_second", "Samples delivered a second while an epoch was being taken.",
      samples_per_second());
  one("wait_ratio", "Share of the training loop's time spent waiting for data.", wait_mean);
  one("workers", "Threads that run stages.", static_cast<double>(workers));
  one("worker_busy_ratio", "Share of the workers' time spent on this loader.", utilization());
  one("memory_limit_bytes", "Bound on the memory of samples under way.", static_cast<double>(memory_limit));
  one("memory_used_bytes", "Memory of samples under way.", static_cast<double>(memory_used));
  one("memory_peak_bytes", "The most of it so far.", static_cast<double>(memory_peak));
  one("failures", "Samples that could not be delivered in the period.", static_cast<double>(failures));
  one("filtered", "Samples that filter() left out in the period.", static_cast<double>(filtered));
  const auto quantiles = [&](const char* name, const char* text, const report::timing& t) {
    help(name, text);
    value(name, "quantile=\"0.5\"", t.median);
    value(name, "quantile=\"0.99\"", t.p99);
  };
  quantiles("waiting_seconds", "Waiting for data in an iteration of the training loop.", waiting);
  quantiles("step_seconds", "The rest of an iteration.", step);
  const auto of_stages = [&](const char* name, const char* text, auto get) {
    help(name, text);
    for (const report::stage& s : stages)
      value(name, "stage=\"" + detail::label(s.name) + "\"", static_cast<double>(get(s)));
  };
  using stage = report::stage;
  of_stages("stage_count", "How often a stage ran.", [](const stage& s) { return s.count; });
  of_stages("stage_busy_seconds", "Time of workers in a stage.", [](const stage& s) { return s.busy; });
  of_stages("stage_processor_seconds", "Processor time of workers in a stage.",
            [](const stage& s) { return s.processor; });
  of_stages("stage_waited_seconds", "Time for which samples waited in a stage, summed over samples.",
            [](const stage& s) { return s.blocked; });
  of_stages("stage_failed", "Samples that failed in a stage.", [](const stage& s) { return s.failed; });
  help("stage_seconds", "One sample in a stage, waiting included.");
  for (const stage& s : stages) {
    const std::string name = "stage=\"" + detail::label(s.name) + "\",quantile=\"";
    value("stage_seconds", name + "0.5\"", s.median);
    value("stage_seconds", name + "0.9\"", s.p90);
    value("stage_seconds", name + "0.99\"", s.p99);
  }
  return out;
}

std::vector<report::scalar> report::all_scalars() const {
  std::vector<scalar> out = {{"wick/samples_per_second", samples_per_second()},
                             {"wick/wait", wait_mean},
                             {"wick/waiting_p99", waiting.p99},
                             {"wick/iteration", iteration.mean},
                             {"wick/workers_busy", utilization()},
                             {"wick/memory_used", static_cast<double>(memory_used)},
                             {"wick/failures", static_cast<double>(failures)}};
  for (const report::stage& s : stages) {
    out.push_back({"wick/stage/" + s.name + "/busy", s.busy});
    out.push_back({"wick/stage/" + s.name + "/waited", s.blocked});
    out.push_back({"wick/stage/" + s.name + "/p99", s.p99});
  }
  return out;
}

}  // namespace wick
