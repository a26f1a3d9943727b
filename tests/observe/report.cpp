#include <cstddef>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "../support/doctest.hpp"
#include <wick/observe/detail/advice.hpp>
#include <wick/observe/report.hpp>

using wick::report;
using wick::detail::format_duration;
using wick::detail::format_percent;
using wick::detail::stage_report;

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
  r.stages.push_back({"read", 10240, 2.0, 0.5});
  r.stages.push_back({"decode", 10240, 14.0, 0.0});
  r.stages.push_back({"batch", 40, 0.0, 0.0});
  return r;
}

}  // namespace

TEST_CASE("durations have the unit in which they are easy to read") {
  CHECK(format_duration(0) == "0 ns");
  CHECK(format_duration(7e-9) == "7 ns");
  CHECK(format_duration(250e-9) == "250 ns");
  CHECK(format_duration(1.5e-6) == "1.50 us");
  CHECK(format_duration(12.34e-3) == "12.34 ms");
  CHECK(format_duration(1) == "1.00 s");
  CHECK(format_duration(59.5) == "59.50 s");
  CHECK(format_duration(100) == "100 s");
  CHECK(format_duration(86400) == "86400 s");
}

TEST_CASE("a duration just below a unit is rounded up into it") {
  CHECK(format_duration(999.7e-9) == "1.00 us");
  CHECK(format_duration(999.997e-6) == "1.00 ms");
  CHECK(format_duration(999.997e-3) == "1.00 s");
  CHECK(format_duration(99.997) == "100 s");
  CHECK(format_duration(999.4e-9) == "999 ns");
  CHECK(format_duration(999.99e-6) == "999.99 us");
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
  r.seconds = 100;  // the other 90 nobody wanted anything
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
  CHECK(words(lines_of(r.to_string())[0]) ==
        "10240 samples in 10.00 s (1024 samples/s), 40 batches, 2 workers 50 % busy, the waiting loop helps "
        "60 % of its "
        "time");
  r.others = 8;
  CHECK(has(r.to_string(),
            "2 workers 50 % busy, with other loaders 40 %, the waiting loop helps 60 % of its time"));
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
  CHECK(lines_of(r.to_string())[1] == "processors: 1.90 of 2 in use, 1.45 by workers, 0.05 by I/O threads");
  CHECK(has(r.advice(), "all of the time of 2 processors is used, by 'decode' most"));
}

TEST_CASE("before anything was taken there is no advice") {
  CHECK(report().advice() == "nothing was taken yet");
  report r = example();
  r.iterations = 0;
  CHECK(r.advice() == "nothing was taken yet");
}

TEST_CASE("when the loop hardly waits the advice names the model") {
  report r = example();
  r.wait_mean = 0.009;
  CHECK(r.advice() == "the training loop hardly waits for data: the model sets the pace");
}

TEST_CASE("when the workers are busy the advice names the dearest stage and its share") {
  const std::string advice = example().advice();
  CHECK(has(advice, "the training loop waits 40 % of its time"));
  CHECK(has(advice, "the workers are busy, with 'decode' for 88 % of their time"));
  CHECK(has(advice, "make that stage cheaper"));
  CHECK_FALSE(has(advice, "use more workers"));
}

TEST_CASE("when the workers are busy and processors are left the advice is more workers") {
  report r = example();
  r.cpus = 16;
  CHECK(has(r.advice(), "use more workers (2 now, 16 processors)"));
}

TEST_CASE("when samples wait and workers are idle the advice names where they wait") {
  report r = example();
  r.stages[0] = {"read", 10240, 1.0, 90.0};
  r.stages[1].busy = 1.0;
  r.worked = 2;
  CHECK(has(r.advice(), "the workers are idle and 9.0 samples at a time wait in 'read': raise prefetch"));
  r.io_calls = 38;
  CHECK(has(r.advice(), "raise io_threads (4 now, all in use)"));
}

TEST_CASE("when nothing waits and workers are idle the advice is more prefetch") {
  report r = example();
  r.worked = 0;
  for (stage_report& s : r.stages) s.busy = s.blocked = 0;
  CHECK(has(r.advice(), "the workers are idle: raise prefetch"));
}

TEST_CASE("a report without stages still gives advice") {
  report r = example();
  r.stages.clear();
  CHECK(has(r.advice(), "the workers are busy: make that stage cheaper"));
  r.worked = 0;
  CHECK(has(r.advice(), "the workers are idle"));
}

TEST_CASE("the text is a summary, a table of the stages, the waiting and the advice") {
  const report r = example();
  const std::vector<std::string> lines = lines_of(r.to_string());
  REQUIRE(lines.size() == 7);
  CHECK(words(lines[0]) == "10240 samples in 10.00 s (1024 samples/s), 40 batches, 2 workers 80 % busy");
  CHECK(words(lines[1]) == "stage count busy share each blocked");
  CHECK(words(lines[2]) == "read 10240 2.00 s 12 % 195.31 us 500.00 ms");
  CHECK(words(lines[3]) == "decode 10240 14.00 s 88 % 1.37 ms -");
  CHECK(words(lines[4]) == "batch 40 0 ns 0.0 % 0 ns -");
  CHECK(words(lines[5]) == "waiting for data: mean 40 %, median 35 % of 40 iterations");
  CHECK(lines[6] == r.advice());
}

TEST_CASE("the columns of the table are aligned, however long the names") {
  report r = example();
  r.stages[1].name = "random_resized_crop";
  r.stages[2].name = std::string(100, 'x');
  const std::vector<std::string> lines = lines_of(r.to_string());
  REQUIRE(lines.size() == 7);
  for (std::size_t i = 2; i <= 4; ++i) CHECK(lines[i].size() == lines[1].size());
  CHECK(has(lines[4], std::string(40, 'x')));
  CHECK_FALSE(has(lines[4], std::string(41, 'x')));
}

TEST_CASE("a stage that never ran has no time a sample") {
  report r = example();
  r.stages[0].count = 0;
  r.stages[0].busy = 0;
  r.stages[0].blocked = 0;
  CHECK(words(lines_of(r.to_string())[2]) == "read 0 0 ns 0.0 % - -");
}

TEST_CASE("failures are counted in words, and only when there are some") {
  report r = example();
  CHECK_FALSE(has(r.to_string(), "failed"));
  r.failures = 1;
  CHECK(has(r.to_string(), "\n1 sample failed; see loader.ledger()\n"));
  r.failures = 3;
  CHECK(has(r.to_string(), "\n3 samples failed; see loader.ledger()\n"));
  r.outcomes = {{"decode", "skipped", 2}, {"read", "replaced", 1}};
  CHECK(
      has(r.to_string(), "\n3 samples failed (decode: 2 skipped, read: 1 replaced); see loader.ledger()\n"));
  r.failures = 0;
  r.outcomes = {{"read", "good when tried again", 5}};
  CHECK(has(r.to_string(), "\n0 samples failed (read: 5 good when tried again); see loader.ledger()\n"));
}

TEST_CASE("each note has a line of its own") {
  report r = example();
  r.notes = {"pinned memory is off", "100 % of the reads came from the page cache"};
  const std::string text = r.to_string();
  CHECK(has(text, "\nnote: pinned memory is off\nnote: 100 % of the reads came from the page cache\n"));
}

TEST_CASE("an empty report is printed without a division by zero") {
  const std::string text = report().to_string();
  CHECK(has(text, "0 samples in 0 ns (0 samples/s), 0 batches, 0 workers 0.0 % busy"));
  CHECK_FALSE(has(text, "nan"));
  CHECK_FALSE(has(text, "inf"));
}

TEST_CASE("a report is streamed as its text") {
  std::ostringstream out;
  out << example() << '!';
  CHECK(out.str() == example().to_string() + "!");
}
