// The trace of loaders that run: what is in the file, and what becomes of it when something goes wrong.
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "support/doctest.hpp"
#include "support/eventually.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include "support/sanitized.hpp"
#include "support/temp_dir.hpp"
#include <wick/core.hpp>

namespace wick_test::trace_tests {

using wick_test::cell;
using wick_test::contains;
using wick_test::numbers;

namespace {

std::string text_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

/// What the checker says of a file; its complaint fails the test.
std::map<std::string, std::uint64_t> checked(const std::string& path, const std::string& stages,
                                             const std::string& state = "closed") {
  const std::string out = path + ".out";
  const std::string command = WICK_TEST_PYTHON " " WICK_TEST_SOURCE_DIR "/tests/profile/trace_check.py " +
                              path + " " + state + " " + stages + " > " + out + " 2>&1";
  const int status = std::system(command.c_str());
  const std::string said = text_of(out);
  INFO(said);
  CHECK(status == 0);
  std::map<std::string, std::uint64_t> found;
  std::istringstream lines(said);
  std::string name;
  std::uint64_t number = 0;
  while (status == 0 && lines >> name >> number) found[name] = number;
  return found;
}

template <unsigned Times>
cell work(cell c) {
  volatile unsigned n = 0;
  for (unsigned i = 0; i < Times; ++i) n = n + 1;
  return c;
}
constexpr auto* spin = &work<100>;
constexpr auto* toil = &work<100'000>;

/// Some are read on an I/O thread, some wait for their turn, some don't suspend.
wick::task<cell> fetch(cell c, wick::context& context) {
  if (context.position() % 3 == 0) {
    auto call = context.run_blocking([&c] { return work<20'000>(c); });
    c = co_await call;
  } else if (context.position() % 3 == 1) {
    co_await context.on()->schedule();
  }
  co_return c;
}

template <class Loader>
std::uint64_t take(Loader& l, std::uint64_t epoch) {
  std::uint64_t batches = 0;
  for (auto& batch : l.epoch(epoch)) {
    static_cast<void>(batch);
    ++batches;
  }
  return batches;
}

/// Its samples have names of any bytes.
struct oddly_named {
  std::uint64_t size() const { return 300; }
  cell at(std::uint64_t i) const { return numbers{300}.at(i); }
  std::string key(std::uint64_t i) const { return "a\"<script>\\\n\xff\xc3" + std::to_string(i); }
};

/// It throws for some of its samples.
struct failing_source {
  std::uint64_t size() const { return 600; }
  cell at(std::uint64_t i) const {
    if (i % 7 == 0) throw std::runtime_error("no such row");
    return numbers{600}.at(i);
  }
};

}  // namespace

TEST_CASE("samples that suspend: each is followed from its first stage to its batch, at any worker count") {
  const wick_test::temp_dir folder;
  for (const std::size_t workers : {1, 2, 4}) {
    const std::string path = (folder / (std::to_string(workers) + ".json")).string();
    std::uint64_t batches = 0;
    {
      wick::loader l(numbers{1200} | wick::shuffle() | wick::map("prepare", spin) |
                         wick::map("fetch", fetch) | wick::map("toil", toil) | wick::array_batch(32),
                     {.workers = workers, .io_threads = 3});
      l.trace(path);
      batches = take(l, 0) + take(l, 1);
    }
    auto found = checked(path, "prepare fetch toil batch");
    CHECK(found["batches"] == batches);
    CHECK(found["dropped"] == 0);
    CHECK(found["flow_s"] >= found["flow_f"]);
    if (found["one_in"] != 1) continue;  // a machine on which they were too many
    CHECK(found["flow_f"] >= 2400);
    CHECK(found["keys"] >= 2400);
    CHECK(found["call"] >= 800);  // and some of the next epoch
    // Beside other workers a sample may continue before it has suspended.
    CHECK(found["waits"] >= (workers == 1 ? 800 : 1));
    CHECK(found["io_tracks"] >= 1);
    CHECK(found["counters"] > 0);
  }
}

TEST_CASE("samples that don't suspend, short and long: spans nest, flows begin and end") {
  const wick_test::temp_dir folder;
  for (const std::size_t workers : {1, 2, 4}) {
    const std::string path = (folder / "long.json").string();
    wick::loader slow(numbers{600} | wick::shuffle() | wick::map("toil", toil) | wick::array_batch(16) |
                          wick::map("after", [](auto batch) { return batch; }),
                      {.workers = workers});
    take(slow, 0);  // its samples are known to be long then
    slow.trace(path);
    take(slow, 1);
    slow.stop_trace();
    auto found = checked(path, "toil batch after");
    CHECK(found["flow_f"] > 0);
    CHECK(found["batch_stage"] > 0);
    CHECK(found["loop"] > 0);
    CHECK(slow.report().notes.empty());

    const std::string brief = (folder / "brief.json").string();
    wick::loader fast(numbers{200'000} | wick::shuffle() | wick::map("spin", spin) | wick::array_batch(256),
                      {.workers = workers});
    fast.trace(brief, {.every = 7});
    take(fast, 0);
    fast.stop_trace();
    checked(brief, "spin batch");
  }
}

TEST_CASE("one sample in `every` is followed, on each rank and at each place of a batch") {
  const auto followed = [](std::uint64_t first, std::uint64_t count, std::uint64_t every) {
    std::vector<std::uint64_t> out;
    for (std::uint64_t p = first; p < first + count; ++p) {
      if (wick::detail::trace_lane::is_followed(p, every)) out.push_back(p);
    }
    return out;
  };
  CHECK(followed(0, 100, 1).size() == 100);
  for (const std::uint64_t every : {2, 7, 64, 1000}) {
    for (std::uint64_t first = 0; first < 20 * every; first += every)
      CHECK(followed(first, every, every).size() == 1);
    // Of two ranks each has half of each batch of `every`.
    std::uint64_t of_rank = 0;
    for (std::uint64_t first = 0; first < 200 * every; first += every)
      of_rank += followed(first, every / 2, every).size();
    CHECK(of_rank > 40);
    CHECK(of_rank < 160);
  }
}

TEST_CASE("without batch() the way of a sample ends in its last stage") {
  const wick_test::temp_dir folder;
  const std::string path = (folder / "t.json").string();
  {
    wick::loader l(numbers{300} | wick::map("fetch", fetch) | wick::map("toil", toil), {.workers = 2});
    l.trace(path);
    take(l, 0);
  }
  auto found = checked(path, "fetch toil");
  CHECK(found["flow_f"] > 0);
}

TEST_CASE("a batch stage that suspends is on no worker's track meanwhile") {
  const wick_test::temp_dir folder;
  const std::string path = (folder / "t.json").string();
  const auto later = [](auto batch, wick::context& context) -> wick::task<decltype(batch)> {
    auto call = context.run_blocking([] { return work<20'000>({}); });
    co_await call;
    co_return std::move(batch);
  };
  {
    wick::loader l(numbers{1200} | wick::map("toil", toil) | wick::array_batch(16) |
                       wick::map("later", later) | wick::map("after", [](auto batch) { return batch; }),
                   {.workers = 2});
    l.trace(path);
    take(l, 0);
  }
  auto found = checked(path, "toil batch later after");
  CHECK(found["batch_waits"] >= 75);
  CHECK(found["batch_stage"] >= 75);
}

TEST_CASE("samples that fail, are tried again or are left out are in the trace as far as they came") {
  const wick_test::temp_dir folder;
  const std::string path = (folder / "t.json").string();
  const auto fails = [](cell c, wick::context& context) {
    if (context.position() % 5 == 0) throw wick::error("no such row");
    return c;
  };
  {
    wick::loader l(
        numbers{600} | wick::map("fetch", fetch) | wick::map("fails", fails) | wick::array_batch(16),
        {.workers = 2, .on_error = wick::on_error(wick::on_error::retry(1).then(wick::on_error::skip))});
    l.trace(path);
    take(l, 0);
  }
  CHECK(checked(path, "fetch fails batch")["flow_f"] > 0);
  {
    wick::loader l(failing_source{} | wick::map("toil", toil),
                   {.workers = 2, .on_error = wick::on_error::skip});
    take(l, 0);  // its samples are known to be long then
    l.trace(path);
    take(l, 1);
  }
  auto found = checked(path, "toil");
  CHECK(found["flow_s"] > 0);
  CHECK(found["in_source"] > 0);
}

TEST_CASE("what the loop does between begin and end of an epoch is in its steps") {
  const wick_test::temp_dir folder;
  const std::string path = (folder / "t.json").string();
  wick::loader l(numbers{640} | wick::map("fetch", fetch) | wick::array_batch(16), {.workers = 1});
  l.trace(path);
  CHECK(take(l, 0) == 40);
  l.stop_trace();
  auto found = checked(path, "fetch batch");
  CHECK(found["batches"] == 40);
  CHECK(found["loop"] == 79);  // 40 times waiting, 39 steps between
}

TEST_CASE("of a fast loop some iterations are followed, and their batches") {
  const wick_test::temp_dir folder;
  const std::string path = (folder / "t.json").string();
  wick::loader l(numbers{40'000} | wick::array_batch(1), {.workers = 2});
  l.trace(path);
  CHECK(take(l, 0) == 40'000);
  l.stop_trace();
  auto found = checked(path, "batch");
  CHECK(found["batches_one_in"] > 1);
  CHECK(found["batches"] >= 200);
  CHECK(found["batches"] < 40'000);
  CHECK(found["loop"] <= 2 * found["batches"]);
}

TEST_CASE("keys of any bytes are written as JSON") {
  const wick_test::temp_dir folder;
  const std::string path = (folder / "t.json").string();
  {
    wick::loader l(oddly_named{} | wick::map("a \"b\" </script>", fetch) | wick::array_batch(16),
                   {.workers = 2});
    l.trace(path);
    take(l, 0);
  }
  auto found = checked(path, "'a \"b\" </script>' batch");
  CHECK(found["keys"] > 0);
}

TEST_CASE("a trace begins and ends in mid-epoch, and another follows it") {
  const wick_test::temp_dir folder;
  wick::loader l(numbers{2000} | wick::map("fetch", fetch) | wick::map("toil", toil) | wick::array_batch(20),
                 {.workers = 2});
  const auto some = [&](int n) {
    for (int i = 0; i < n; ++i) REQUIRE(l.next());
  };
  some(10);
  for (const char* name : {"1.json", "2.json", "1.json"}) {
    const std::string path = (folder / name).string();
    l.trace(path);
    some(20);
    if (std::string_view(name) == "2.json") l.stop_trace();
    if (std::string_view(name) == "2.json") l.stop_trace();  // there is none: nothing to do
    some(5);
  }
  l.stop_trace();
  CHECK(checked((folder / "1.json").string(), "fetch toil batch")["flow_f"] > 0);
  CHECK(checked((folder / "2.json").string(), "fetch toil batch")["flow_f"] > 0);
}

TEST_CASE("a file does not get larger than it may, and the report says so") {
  const wick_test::temp_dir folder;
  const std::string path = (folder / "t.json").string();
  wick::loader l(numbers{3000} | wick::map("fetch", fetch) | wick::array_batch(16), {.workers = 2});
  l.trace(path, {.max_bytes = 100'000});
  take(l, 0);
  l.stop_trace();
  const wick::report r = l.report();
  REQUIRE(r.notes.size() == 1);
  CHECK(contains(r.notes[0], "has reached max_bytes, 100000"));
  CHECK(std::filesystem::file_size(path) <= 100'000);
  CHECK(std::filesystem::file_size(path) > 90'000);
  CHECK(checked(path, "fetch batch")["full"] == 1);
}

TEST_CASE("a full disk ends the trace, not the run; the written part is whole") {
  const wick_test::temp_dir folder;
  const std::string path = (folder / "t.json").string();
  ::rlimit before{};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const ::rlimit little{.rlim_cur = 60'000, .rlim_max = before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  ::setrlimit(RLIMIT_FSIZE, &little);
  std::string note;
  std::uint64_t batches = 0;
  {
    wick::loader l(numbers{3200} | wick::map("fetch", fetch) | wick::array_batch(16), {.workers = 2});
    l.trace(path);
    batches = take(l, 0);
    l.stop_trace();
    const wick::report r = l.report();
    if (!r.notes.empty()) note = r.notes[0];
    CHECK(l.report().notes.empty());  // said once
  }
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  CHECK(batches == 200);
  CHECK(contains(note, "can't write " + path + ": File too large"));
  CHECK(checked(path, "fetch batch", "cut")["flow_f"] > 0);
}

TEST_CASE("two traces are not written to one file; when the first has ended there can be another") {
  const wick_test::temp_dir folder;
  const std::string path = (folder / "t.json").string();
  wick::loader first(numbers{640} | wick::map("fetch", fetch) | wick::array_batch(16), {.workers = 1});
  wick::loader other(numbers{640} | wick::map("toil", toil) | wick::array_batch(16), {.workers = 1});
  first.trace(path);
  CHECK(contains(wick_test::message_of([&] { return other.trace(path), 0; }),
                 "another trace is being written to " + path));
  CHECK(take(first, 0) == 40);
  CHECK(take(other, 0) == 40);
  first.stop_trace();
  CHECK(checked(path, "fetch batch")["flow_f"] > 0);
  other.trace(path);
  CHECK(take(other, 1) == 40);
  other.stop_trace();
  CHECK(checked(path, "toil batch")["flow_f"] > 0);
}

TEST_CASE("a loader that is dropped in the middle of an epoch leaves a whole trace") {
  const wick_test::temp_dir folder;
  const std::string path = (folder / "t.json").string();
  {
    wick::loader l(
        numbers{3000} | wick::map("fetch", fetch) | wick::map("toil", toil) | wick::array_batch(16),
        {.workers = 2});
    l.trace(path);
    for (int i = 0; i < 20; ++i) REQUIRE(l.next());
  }
  CHECK(checked(path, "fetch toil batch")["batches"] == 20);
}

TEST_CASE("a process that is killed leaves what readers take") {
  if (wick_test::sanitized) return;  // a fork of a program with threads
  const wick_test::temp_dir folder;
  const std::string path = (folder / "t.json").string();
  const ::pid_t child = ::fork();
  if (child == 0) {
    wick::loader l(
        numbers{3000} | wick::map("fetch", fetch) | wick::map("toil", toil) | wick::array_batch(16),
        {.workers = 2});
    l.trace(path);
    for (std::uint64_t e = 0;; ++e) take(l, e);
  }
  REQUIRE(child > 0);
  CHECK(wick_test::eventually([&] {
    std::error_code none_yet;
    const auto size = std::filesystem::file_size(path, none_yet);
    return !none_yet && size > 300'000;
  }));
  ::kill(child, SIGKILL);
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WIFSIGNALED(status));
  CHECK(checked(path, "fetch toil batch", "open")["flow_f"] > 0);
}

TEST_CASE("what can't be a trace is refused, and the loader continues") {
  const wick_test::temp_dir folder;
  wick::loader l(numbers{64} | wick::array_batch(16), {.workers = 1});
  CHECK(contains(wick_test::message_of([&] { return l.trace((folder / "no" / "t.json").string()), 0; }),
                 "No such file or directory"));
  const std::string fifo = (folder / "fifo").string();
  REQUIRE(::mkfifo(fifo.c_str(), 0600) == 0);
  CHECK(contains(wick_test::message_of([&] { return l.trace(fifo), 0; }), "trace: can't write"));
  CHECK(contains(wick_test::message_of([&] { return l.trace("/dev/null"), 0; }), "trace: "));
  CHECK(
      contains(wick_test::message_of([&] { return l.trace((folder / "t.json").string(), {.every = 0}), 0; }),
               "every is 0"));
  CHECK(contains(
      wick_test::message_of([&] { return l.trace((folder / "t.json").string(), {.max_bytes = 1000}), 0; }),
      "max_bytes is 1000"));
  CHECK(take(l, 0) == 4);
}

}  // namespace wick_test::trace_tests
