#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "../support/decimal_comma.hpp"
#include "../support/doctest.hpp"
#include <wick/profile/report.hpp>

namespace wick_test::report_tests {

using wick::report;
using wick::detail::format_duration;
using wick::detail::format_percent;

namespace {

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// The words of a line, without the blanks that align them.
std::string words(const std::string& line) {
  std::istringstream in(line);
  std::string out;
  for (std::string word; in >> word;) out += (out.empty() ? "" : " ") + word;
  return out;
}

/// Ten seconds of two workers on two processors; the loop waited for 40 % of them.
report example() {
  report r;
  r.seconds = r.taking = 10;
  r.workers = 2;
  r.io_threads = 4;
  r.cpus = 2;
  r.worked = 16;
  r.batches = 40;
  r.samples = 10240;
  r.wait_mean = 0.4;
  r.wait_median = 0.35;
  r.iterations = 40;
  const auto stage = [&](const char* name, std::uint64_t count, double busy, double blocked) {
    wick::report::stage s;
    s.name = name;
    s.count = count;
    s.busy = busy;
    s.blocked = blocked;
    r.stages.push_back(s);
  };
  stage("read", 10240, 2.0, 0.5);
  stage("decode", 10240, 14.0, 0.0);
  stage("batch", 40, 0.0, 0.0);
  return r;
}

}  // namespace

TEST_CASE("durations have three digits, in the unit in which they are easy to read") {
  CHECK(format_duration(0) == "0 s");
  CHECK(format_duration(7e-9) == "7 ns");
  CHECK(format_duration(250e-9) == "250 ns");
  CHECK(format_duration(1.5e-6) == "1.50 µs");
  CHECK(format_duration(363.4e-6) == "363 µs");
  CHECK(format_duration(12.34e-3) == "12.3 ms");
  CHECK(format_duration(1) == "1.00 s");
  CHECK(format_duration(59.5) == "59.5 s");
  CHECK(format_duration(100) == "100 s");
  CHECK(format_duration(86400) == "86400 s");
}

TEST_CASE("a duration just below a unit is rounded up into it") {
  CHECK(format_duration(999.7e-9) == "1.00 µs");
  CHECK(format_duration(999.7e-6) == "1.00 ms");
  CHECK(format_duration(999.997e-3) == "1.00 s");
  CHECK(format_duration(9.997) == "10.0 s");
  CHECK(format_duration(99.97) == "100 s");
  CHECK(format_duration(999.4e-9) == "999 ns");
  CHECK(format_duration(999.4e-6) == "999 µs");
}

TEST_CASE("shares are percent, small ones with a decimal") {
  CHECK(format_percent(0) == "0.0 %");
  CHECK(format_percent(0.042) == "4.2 %");
  CHECK(format_percent(0.42) == "42 %");
  CHECK(format_percent(1) == "100 %");
}

TEST_CASE(
    "utilization is what workers did for this loader over the time that they had while it was taken from") {
  report r = example();
  CHECK(r.busy() == 16.0);
  CHECK(r.utilization() == 0.8);
  r.worked = 4;
  CHECK(r.utilization() == 0.2);
  r.seconds = 100;  // the other 90 no loop wanted anything
  CHECK(r.utilization() == 0.2);
  r.worked = 50;
  CHECK(r.utilization() == 1.0);
  CHECK(report().utilization() == 0.0);
}

TEST_CASE(
    "what the waiting loop and other loaders did is said apart from what the workers did for this one") {
  report r = example();
  r.worked = 10;
  r.helped = 6;
  CHECK(
      has(words(r.to_string()),
          "10240 samples in 10.0 s (1024 samples/s), 40 batches, 2 workers 50 % busy, the waiting loop helps "
          "60 % of its time"));
  r.others = 8;
  CHECK(has(words(r.to_string()),
            "2 workers 50 % busy, 40 % with other loaders, the waiting loop helps 60 % of its time"));
  r.workers = 1;
  CHECK(has(r.to_string(), "1 worker 100 % busy"));
}

TEST_CASE("samples a second are those of the time in which they were taken") {
  report r = example();
  r.taking = 4;
  CHECK(has(r.to_string(), "10240 samples in 4.00 s (2560 samples/s)"));
}

TEST_CASE("processors have a line where the system says what they did") {
  report r = example();
  r.processor = 19;
  r.worker_processor = 14.5;
  r.io_processor = 0.5;
  CHECK(has(r.to_string(), "\nCPUs: 1.90 of 2 used, 1.45 by workers, 0.05 by I/O threads\n"));
}

TEST_CASE("the text is the verdict, a summary, a table of the stages and the waiting") {
  report r = example();
  r.stages[1].median = 1.2e-3;
  r.stages[1].p99 = 5e-3;
  r.waiting = {0.1, 0.05, 0.5};
  r.iteration = {0.25, 0.2, 0.75};
  const std::vector<std::string> lines = lines_of(r.to_string());
  REQUIRE(lines.size() == 8);
  CHECK(lines[0] == r.advice());
  CHECK(words(lines[1]) == "10240 samples in 10.0 s (1024 samples/s), 40 batches, 2 workers 80 % busy");
  CHECK(words(lines[2]) == "stage count busy share median p99 waited");
  CHECK(words(lines[3]) == "read 10240 2.00 s 12 % - - 500 ms");
  CHECK(words(lines[4]) == "decode 10240 14.0 s 88 % 1.20 ms 5.00 ms -");
  CHECK(words(lines[5]) == "batch 40 - 0.0 % - - -");
  CHECK(words(lines[6] + " " + lines[7]) ==
        "waiting for data: mean 40 %, median 35 % of 40 iterations; 100 ms of 250 ms, p99 500 ms of 750 ms");
}

TEST_CASE("nanoseconds are shown of stages that have some of the work, and of no other") {
  report r = example();
  r.stages[0].busy = 1e-3;
  for (auto& s : r.stages) s.median = 80e-9, s.p99 = 20e-6;
  const std::vector<std::string> lines = lines_of(r.to_string());
  CHECK(words(lines[3]) == "read 10240 1.00 ms 0.0 % - 20.0 µs 500 ms");
  CHECK(words(lines[4]) == "decode 10240 14.0 s 100 % 80 ns 20.0 µs -");
  CHECK(words(lines[5]) == "batch 40 - 0.0 % - 20.0 µs -");
}

TEST_CASE("workers without work are explained") {
  report r = example();
  r.idle = {2, 0.05, 1};
  CHECK(has(r.to_string(), "\nidle workers: 10 % all samples wait, 5.0 % enough batches are ready\n"));
}

TEST_CASE("no line of the text is wider than 80 columns, however long names and numbers are") {
  report r = example();
  r.samples = r.batches = ~std::uint64_t{0};
  r.helped = 9;
  r.others = 9;
  r.processor = 19;
  r.worker_processor = 14.5;
  r.idle = {2, 0.4, 1};
  r.stages[1].name = "random_resized_crop_and_more_of_it";
  r.stages[1].count = 12'345'678'901;
  r.stages[2].name = "größe " + std::string(100, 'x');
  r.failures = 3;
  r.outcomes = {{"random_resized_crop_and_more_of_it", "good when tried again", 200},
                {"read", "replaced", 1}};
  r.notes = {
      "a note of many words, such as there are some, that goes on and on for more than the width of a "
      "terminal"};
  for (const std::string& line : lines_of(r.to_string())) {
    CAPTURE(line);
    CHECK(wick::detail::columns(line) <= 80);
  }
}

TEST_CASE("the columns of the table are aligned, however long the names") {
  report r = example();
  r.stages[1].name = "random_resized_crop";
  r.stages[2].name = std::string(100, 'x');
  const std::vector<std::string> lines = lines_of(r.to_string());
  for (std::size_t i = 3; i <= 5; ++i)
    CHECK(wick::detail::columns(lines[i]) == wick::detail::columns(lines[2]));
  CHECK(has(lines[5], std::string(25, 'x') + "~"));
}

TEST_CASE("failures are counted in words, and only when there are some") {
  report r = example();
  CHECK_FALSE(has(r.to_string(), "failed"));
  r.failures = 1;
  CHECK(has(r.to_string(), "\n1 sample failed; see loader.failure_log(), in Python loader.failures\n"));
  r.failures = 3;
  CHECK(has(r.to_string(), "\n3 samples failed; see loader.failure_log(), in Python loader.failures\n"));
  r.outcomes = {{"decode", "skipped", 2}, {"read", "replaced", 1}};
  CHECK(has(r.to_string(), "\n3 samples failed (decode: 2 skipped, read: 1 replaced);"));
  r.failures = 0;
  r.outcomes = {{"read", "good when tried again", 5}};
  CHECK(has(r.to_string(), "\n0 samples failed (read: 5 good when tried again);"));
}

TEST_CASE("each note has a line of its own") {
  report r = example();
  r.notes = {"pinned memory is off", "100 % of the reads came from the page cache"};
  const std::string text = r.to_string();
  CHECK(has(text, "\nnote: pinned memory is off\nnote: 100 % of the reads came from the page cache\n"));
}

TEST_CASE("an empty report is printed without a division by zero") {
  const std::string text = report().to_string();
  CHECK(has(text, "0 samples in 0 s (0 samples/s), 0 batches, 0 workers 0.0 % busy"));
  CHECK_FALSE(has(text, "nan"));
  CHECK_FALSE(has(text, "inf"));
}

TEST_CASE("a report is streamed as its text") {
  std::ostringstream out;
  out << example() << '!';
  CHECK(out.str() == example().to_string() + "!");
}

TEST_CASE("JSON has the figures of the report, and any name") {
  report r = example();
  r.stages[0].name = "read \"\\\n\xff";
  r.stages[1].slowest_key = "photos/ä.jpg";
  r.stages[1].deferred = 13;
  r.outcomes = {{"decode", "skipped", 2}};
  r.notes = {"a note"};
  r.wait_mean = std::numeric_limits<double>::infinity();
  const auto j = nlohmann::json::parse(r.to_json());
  CHECK(j.at("samples") == 10240);
  CHECK(j.at("samples_per_second") == 1024);
  CHECK(j.at("wait_median") == 0.35);
  CHECK(j.at("wait_mean") == 0);  // JSON has no infinity
  CHECK(j.at("stages").size() == 3);
  CHECK(j.at("stages")[0].at("name") == "read \"\\\n\\xff");
  CHECK(j.at("stages")[1].at("busy") == 14);
  CHECK(j.at("stages")[1].at("slowest_key") == "photos/ä.jpg");
  CHECK(j.at("stages")[1].at("costliest") == 0);
  CHECK(j.at("stages")[1].at("deferred") == 13);
  CHECK(j.at("stages")[1].at("waits").at("memory") == 0);
  CHECK(j.at("outcomes")[0].at("outcome") == "skipped");
  CHECK(j.at("bound").at("text") == r.advice());
}

TEST_CASE("JSON and Prometheus' text have points in a process that writes 0,5") {
  report r;
  r.seconds = 1234.5678912;
  r.taking = 0.5;
  const std::string json = r.to_json(), text = r.to_prometheus();
  CHECK(has(json, "1234.56789"));
  const wick_test::decimal_comma locale;
  if (!locale.there) return;
  CHECK(r.to_json() == json);
  CHECK(r.to_prometheus() == text);
}

TEST_CASE("Prometheus' text has one line a figure, each name being declared once before it") {
  report r = example();
  r.stages[0].name = "a \"b\" \\ \n";
  const std::regex sample(R"(([a-z_]+)(\{([a-z_]+="([^"\\\n]|\\.)*",?)*\})? -?[0-9.e+-]+)");
  const std::regex help("# HELP ([a-z_]+) .+"), type("# TYPE ([a-z_]+) gauge");
  std::map<std::string, int> declared;
  std::string current;
  int samples = 0;
  for (const std::string& line : lines_of(r.to_prometheus("rank=\"0\""))) {
    CAPTURE(line);
    std::smatch m;
    if (std::regex_match(line, m, help)) {
      CHECK(++declared[m[1]] == 1);
      current = m[1];
    } else if (std::regex_match(line, m, type)) {
      CHECK(m[1] == current);
    } else {
      REQUIRE(std::regex_match(line, m, sample));
      CHECK(m[1] == current);
      CHECK(has(line, "{rank=\"0\""));
      ++samples;
    }
  }
  CHECK(samples > 30);
  CHECK(has(r.to_prometheus(), "\nwick_samples_per_second 1024\n"));
  CHECK(has(r.to_prometheus(), "\nwick_stage_busy_seconds{stage=\"decode\"} 14\n"));
}

TEST_CASE("scalars are reported one by one") {
  std::map<std::string, double> told;
  example().scalars([&](std::string_view name, double value) { told[std::string(name)] = value; });
  CHECK(told.at("wick/samples_per_second") == 1024);
  CHECK(told.at("wick/wait") == 0.4);
  CHECK(told.at("wick/stage/decode/busy") == 14);
}

TEST_CASE("a loop that waits for a hundredth of its time is stalled; ranks other than 0 tell nothing else") {
  report r = example();
  CHECK(r.stalled());
  r.wait_mean = 0.005;
  CHECK_FALSE(r.stalled());
  CHECK_FALSE(r.print_if_stalled(3));
  CHECK_FALSE(report().stalled());
}

}  // namespace wick_test::report_tests
