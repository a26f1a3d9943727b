#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <sys/resource.h>
#include <utility>
#include <vector>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/numbers.hpp"
#include "../support/temp_dir.hpp"
#include <wick/core.hpp>
#include <wick/resume/detail/delivery_log.hpp>

namespace wick_test::audit_tests {

namespace {

using wick_test::cell;
using wick_test::contains;
using wick_test::message_of;
using wick_test::numbers;
using wick_test::temp_dir;

constexpr std::uint64_t samples = 1003, batch_size = 32, batches = 32;

/// A training on numbers, whose ranks are loaders of one process.
struct training {
  temp_dir dir;
  std::uint64_t seed = 42;
  std::vector<std::string> logs;
  std::vector<std::byte> state;
  std::uint64_t written = 0;      // logs, with those that were taken from the list
  wick::epoch_fingerprint print;  // of what the ranks had last, together

  /// All ranks take so many batches, one batch after the other, in turn.
  template <class Order>
  void attempt(std::uint64_t world, std::uint64_t steps, Order order) {
    std::vector<wick::loader<wick::sample<wick::array, wick::array>>> ranks;
    for (std::uint64_t r = 0; r < world; ++r) {
      logs.push_back((dir / (std::to_string(written++) + ".log")).string());
      ranks.emplace_back(
          wick::loader(numbers{samples} | order | wick::shard(r, world) | wick::array_batch(batch_size),
                       {.seed = seed, .workers = 1 + r % 2, .delivery_log_file = logs.back()}));
      if (!state.empty()) ranks.back().load_state(state);
    }
    std::uint64_t epoch = ranks.front().current_epoch();
    for (auto& l : ranks) l.epoch(epoch);
    for (std::uint64_t taken = 0; taken < steps;) {
      std::size_t had = 0;
      for (auto& l : ranks) had += l.next().has_value();
      if (had != 0) {
        CHECK(had == world);
        ++taken;
        continue;
      }
      ++epoch;
      for (auto& l : ranks) l.epoch(epoch);
    }
    print = {};
    for (auto& l : ranks) print += l.fingerprint(epoch);
    state = ranks.front().state();
  }
  void attempt(std::uint64_t world, std::uint64_t steps) { attempt(world, steps, wick::shuffle()); }

  wick::audit_report audited() const { return wick::audit(logs, {.each_once = true}); }
  std::string problems() const {
    const wick::audit_report r = audited();
    std::string out;
    for (const std::string& p : r.problems) out += p + "\n";
    return out;
  }
};

std::vector<std::string> lines_of(const std::string& file) {
  std::vector<std::string> out;
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) out.push_back(line);
  return out;
}
void write_lines(const std::string& file, const std::vector<std::string>& lines) {
  std::ofstream out(file, std::ios::trunc);
  for (const std::string& l : lines) out << l << "\n";
}
/// The number after a member's name becomes another one.
void change(std::string& line, const std::string& member, const std::string& to) {
  const std::size_t at = line.find("\"" + member + "\":");
  REQUIRE(at != std::string::npos);
  const std::size_t from = at + member.size() + 3, end = line.find_first_of(",}", from);
  line.replace(from, end - from, to);
}

}  // namespace

TEST_CASE("a training without restarts: each epoch is there, with the fingerprint that the loader gives") {
  training t;
  t.attempt(1, 2 * batches);
  const wick::audit_report r = t.audited();
  CHECK(r.ok());
  CHECK(r.logs == 1);
  CHECK(r.seed == 42);
  CHECK(r.batch_size == batch_size);
  CHECK(r.compared == 0);
  REQUIRE(r.attempts.size() == 1);
  REQUIRE(r.epochs.size() == 2);
  for (const auto& e : r.epochs) {
    CHECK(e.batches == batches);
    CHECK(e.of_batches == batches);
    CHECK(e.samples == samples);
    CHECK(e.each_once);
  }
  CHECK(r.epochs[1].fingerprint == t.print.value);
  CHECK(r.epochs[0].fingerprint != r.epochs[1].fingerprint);
  CHECK(contains(r.to_string(),
                 "epoch 0: 32 batches, 1003 samples, each of the source exactly once, fingerprint 0x"));
  CHECK(contains(r.to_string(), "nothing lost, nothing repeated\n"));
}

TEST_CASE("attempts on 4, 3, 1 and 2 ranks, each from a state of the one before, are one order") {
  training whole;
  whole.attempt(1, 2 * batches);
  const wick::audit_report one = whole.audited();

  training t;
  t.attempt(4, 20);
  const std::vector<std::byte> before = t.state;
  t.attempt(4, 5);
  t.state = before;  // the five are made again, by three ranks
  t.attempt(3, 17);
  t.attempt(1, 3);
  t.attempt(2, 24);
  const wick::audit_report r = t.audited();
  CAPTURE(r.to_string());
  CHECK(r.ok());
  REQUIRE(r.attempts.size() == 5);
  CHECK(r.attempts[2].ranks == 3);
  CHECK(r.attempts[2].batch == 20);
  CHECK(r.attempts[2].again == 5);
  CHECK(r.compared == 5);
  REQUIRE(r.epochs.size() == 2);
  CHECK(r.epochs[0].fingerprint == one.epochs[0].fingerprint);
  CHECK(r.epochs[1].fingerprint == one.epochs[1].fingerprint);
  CHECK(contains(r.to_string(), "from batch 20 of epoch 0 on 3 ranks: 5 batches again",
                 "5 batches made more than once, each time the same"));
}

TEST_CASE("ranks may share a log, and what a kill has left of a line counts for nothing") {
  training t;
  t.attempt(3, 10);
  std::vector<std::string> all;
  for (const std::string& log : t.logs) {
    for (std::string& line : lines_of(log)) all.push_back(std::move(line));
  }
  const std::string last = all.back();
  const std::string shared = (t.dir / "shared.log").string();
  for (std::size_t left = 1; left < last.size(); ++left) {
    write_lines(shared, std::vector<std::string>(all.begin(), all.end() - 1));
    std::ofstream(shared, std::ios::app) << last.substr(0, left);
    const wick::audit_report r = wick::audit({shared});
    CHECK(r.ok());
    REQUIRE(r.epochs.size() == 1);
    CHECK(r.epochs[0].batches == 9);  // rank 2 has not had the tenth
    CHECK(contains(r.to_string(), "epoch 0: 9 of 32 batches"));
  }
}

TEST_CASE("a line that is missing, twice, or in another place is found") {
  training t;
  t.attempt(2, 40);
  const std::string& log = t.logs[1];
  const std::vector<std::string> good = lines_of(log);
  REQUIRE(good.size() == 41);
  CHECK(t.problems().empty());
  const auto with = [&](auto edit) {
    std::vector<std::string> lines = good;
    edit(lines);
    write_lines(log, lines);
    return t.problems();
  };
  CHECK(contains(
      with([](auto& l) { l.erase(l.begin() + 12); }),
      "1.log:13: rank 1 of 2 has batch 12 of epoch 0 where batch 11 of epoch 0 comes next: lines are missing",
      "batch 11 of epoch 0: rank 1 of 2 has not had it"));
  CHECK(contains(with([](auto& l) { l.insert(l.begin() + 12, l[12]); }),
                 "where batch 12 of epoch 0 comes next"));
  CHECK(contains(with([](auto& l) { std::swap(l[12], l[13]); }), "comes next"));
  CHECK(contains(with([](auto& l) { l.erase(l.begin()); }), "1.log:1: the loader's first line is missing"));
  CHECK(contains(with([](auto& l) { l.clear(); }), "no batch was handed to all of its ranks"));
}

TEST_CASE("other samples, another order and other data are found") {
  training t;
  t.attempt(2, 40);
  t.state.clear();
  t.attempt(1, 40);
  const std::string& log = t.logs[1];
  const std::vector<std::string> good = lines_of(log);
  CHECK(t.problems().empty());
  CHECK(t.audited().compared == 40);
  const auto with = [&](const std::string& member, const std::string& value, std::size_t line = 12) {
    std::vector<std::string> lines = good;
    change(lines[line], member, value);
    write_lines(log, lines);
    return t.problems();
  };
  CHECK(contains(with("samples_hash", "\"0x1\""),
                 "batch 11 of epoch 0: 1 and 2 ranks have had it, and their samples differ"));
  CHECK(contains(with("order_hash", "\"0x1\""),
                 "their samples are the same, but the order or the content differs"));
  CHECK(contains(with("count", "15"), "their numbers of samples differ"));
  CHECK(contains(with("samples", "15"), "their samples differ"));
  CHECK(contains(with("data", "\"0x1\"", 0), "batch 0 of epoch 0 is of other data than on another rank"));
  CHECK(
      contains(message_of([&] { return with("seed", "\"0x1\"", 0); }), "this loader has seed 1", "seed 42"));
  CHECK(contains(message_of([&] { return with("batch_size", "7", 0); }), "batches of 7"));
  CHECK(contains(message_of([&] { return with("content", "1", 0); }), "content_fingerprint on"));
  CHECK(contains(message_of([&] { return with("world", "0", 0); }), "the log is damaged"));
  CHECK(contains(message_of([&] { return with("rank", "2", 0); }), "the log is damaged"));
}

TEST_CASE("what a rank has made twice must be the same") {
  training t;
  t.attempt(2, 20);
  t.state.clear();
  t.attempt(2, 20);
  CHECK(t.problems().empty());
  CHECK(t.audited().compared == 20);
  std::vector<std::string> lines = lines_of(t.logs[3]);
  change(lines[12], "samples_hash", "\"0x1\"");
  write_lines(t.logs[3], lines);
  CHECK(contains(t.problems(),
                 "3.log:13: rank 1 of 2 has batch 11 of epoch 0 a second time, and their samples differ"));
}

TEST_CASE("an attempt that begins too late has lost batches, and one whose order differs is found") {
  SUBCASE("too late") {
    training t;
    t.attempt(2, 10);
    const std::vector<std::string> first = t.logs;
    t.attempt(2, 5);
    t.logs.resize(2);  // as if the training had continued from a state that no attempt had reached
    t.attempt(3, 10);
    CHECK(contains(t.problems(), "batches 10 to 14 of epoch 0: no rank has had them"));
  }
  SUBCASE("an epoch is left out") {
    training t;
    t.attempt(1, batches);
    t.attempt(1, batches);
    t.logs.resize(1);
    t.attempt(1, batches);
    CHECK(contains(t.problems(), "epoch 1: no rank has had a batch"));
  }
  SUBCASE("left early") {
    training t;
    t.logs.push_back((t.dir / "left.log").string());
    wick::loader l(numbers{samples} | wick::shuffle() | wick::array_batch(batch_size),
                   {.seed = 1, .delivery_log_file = t.logs[0]});
    l.epoch(0);
    for (int i = 0; i < 5; ++i) l.next();
    for (auto& b : l.epoch(1)) static_cast<void>(b);
    CHECK(contains(t.problems(), "batches 5 to 31 of epoch 0: no rank has had them"));
    CHECK(t.audited().attempts.size() == 2);
  }
  SUBCASE("another order") {
    training t;
    t.attempt(2, 10);
    t.state.clear();
    t.attempt(1, 10, wick::shuffle_once(3));
    CHECK(contains(t.problems(), "batch 0 of epoch 0: 1 and 2 ranks have had it, and their samples differ"));
  }
}

TEST_CASE("an order that has some samples twice fails where each is asked for once") {
  training t;
  t.attempt(2, batches, wick::take(502) | wick::repeat(2) | wick::take(samples) | wick::shuffle());
  CHECK(wick::audit(t.logs).ok());
  CHECK(contains(t.problems(), "epoch 0: not each sample of the source came exactly once"));
}

TEST_CASE("samples that are left out or replaced are counted, on any number of ranks") {
  for (const bool replaces : {false, true}) {
    CAPTURE(replaces);
    const temp_dir dir;
    std::vector<std::string> logs;
    std::vector<std::uint64_t> prints;
    for (const std::uint64_t world : {1, 3}) {
      wick::epoch_fingerprint sum;
      for (std::uint64_t r = 0; r < world; ++r) {
        logs.push_back((dir / (std::to_string(world) + "." + std::to_string(r))).string());
        wick::loader l(numbers{samples} | wick::shuffle() | wick::shard(r, world) |
                           wick::map("check",
                                     [](cell c) {
                                       if (c.target % 50 == 7) throw wick::error("bad");
                                       return c;
                                     }) |
                           wick::array_batch(batch_size, {.drop_last = true}),
                       {.seed = 3,
                        .on_error = replaces ? wick::on_error::replace : wick::on_error::skip,
                        .delivery_log_file = logs.back()});
        for (auto& b : l.epoch(0)) static_cast<void>(b);
        sum += l.fingerprint(0);
      }
      prints.push_back(sum.value);
    }
    const wick::audit_report r = wick::audit(logs);
    CAPTURE(r.to_string());
    CHECK(r.ok());
    REQUIRE(r.epochs.size() == 1);
    CHECK(r.compared == 31);
    CHECK(r.epochs[0].fingerprint == prints[0]);
    CHECK(prints[0] == prints[1]);
    CHECK((r.epochs[0].left_out == 0) == replaces);
    CHECK((r.epochs[0].replaced == 0) != replaces);
    CHECK(!r.epochs[0].each_once);
    CHECK(r.epochs[0].samples + r.epochs[0].left_out == 31 * batch_size);
  }
}

TEST_CASE("of many problems the first hundred are said, and the others are counted") {
  const temp_dir dir;
  const std::string log = (dir / "log").string();
  wick::loader l(numbers{2000} | wick::array_batch(5), {.delivery_log_file = log});
  for (auto& b : l.epoch(0)) static_cast<void>(b);
  std::string kept;
  std::istringstream lines(wick_test::read_file(log));
  int number = 0;
  for (std::string line; std::getline(lines, line); ++number) {
    if (number == 0 || number % 2 == 1) kept += line + "\n";
  }
  wick_test::write_file(log, kept);
  const wick::audit_report r = wick::audit({log});
  CHECK(!r.ok());
  CHECK(r.problems.size() == 100);
  CHECK(r.more_problems > 200);
  CHECK(contains(r.to_string(), "and " + std::to_string(r.more_problems) + " problems more"));
}

TEST_CASE("a line's hash is of the samples that the batch has, and of no others") {
  const temp_dir dir;
  const std::string log = (dir / "log").string();
  wick::loader l(numbers{100} | wick::shuffle() |
                     wick::map("check",
                               [](cell c) {
                                 if (c.target % 7 == 3) throw wick::error("bad");
                                 return c;
                               }) |
                     wick::array_batch(10),
                 {.seed = 5, .on_error = wick::on_error::skip, .delivery_log_file = log});
  std::size_t line = 1;
  for (auto& b : l.epoch(0)) {
    std::uint64_t sum = 0;
    for (std::int64_t i = 0; i < b.target.extents()[0]; ++i)
      sum += wick::detail::hash_of_sample(static_cast<std::uint64_t>(b.target.as<std::int64_t>()[i]));
    const auto logged = wick::detail::read_delivered_batch(lines_of(log)[line++]);
    REQUIRE(logged);
    CHECK(logged->samples_hash == sum);
    CHECK(logged->samples == static_cast<std::uint64_t>(b.target.extents()[0]));
    CHECK(logged->count == 10);
  }
  CHECK(line == 11);
}

namespace {

/// Ten batches of ten, in the sixth of which a sample fails.
auto with_one_bad() {
  return numbers{100} |
         wick::map("check",
                   [](cell c) {
                     if (c.target == 55) throw wick::error("bad");
                     return c;
                   }) |
         wick::array_batch(10);
}

}  // namespace

TEST_CASE("a batch that fails was handed over as an error, and the log has it") {
  const temp_dir dir;
  const std::string log = (dir / "log").string();
  wick::loader l(with_one_bad(), {.delivery_log_file = log});
  int failed = 0;
  for (l.epoch(0);;) {
    try {
      if (!l.next()) break;
    } catch (const wick::sample_error&) {
      ++failed;
    }
  }
  CHECK(failed == 1);
  const wick::audit_report r = wick::audit({log});
  CHECK(r.ok());
  REQUIRE(r.epochs.size() == 1);
  CHECK(r.epochs[0].batches == 10);
  CHECK(r.epochs[0].samples == 90);
  CHECK(r.epochs[0].left_out == 10);
  CHECK(r.epochs[0].fingerprint == l.fingerprint(0).value);
}

TEST_CASE("a batch that a limit took away was handed over as an error") {
  const temp_dir dir;
  const std::string log = (dir / "log").string();
  wick::loader l(with_one_bad(),
                 {.on_error = wick::on_error(wick::on_error::skip, {.count = 0}), .delivery_log_file = log});
  int failed = 0;
  for (l.epoch(0);;) {
    try {
      if (!l.next()) break;
    } catch (const wick::too_many_errors&) {
      ++failed;
    }
  }
  CHECK(failed == 1);
  const wick::audit_report r = wick::audit({log});
  REQUIRE(r.epochs.size() == 1);
  CHECK(r.epochs[0].samples == 90);
  CHECK(r.epochs[0].fingerprint == l.fingerprint(0).value);
}

TEST_CASE("a disk that is full at the start costs the lines of that time, and no others") {
  const temp_dir dir;
  const std::string log = (dir / "log").string();
  ::rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto ignored = std::signal(SIGXFSZ, SIG_IGN);
  wick::loader l(numbers{100} | wick::array_batch(10), {.delivery_log_file = log});
  ::rlimit none = before;
  none.rlim_cur = 0;
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &none) == 0);
  l.epoch(0);
  for (int i = 0; i < 3; ++i) static_cast<void>(l.next());
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  while (l.next()) {
  }
  std::signal(SIGXFSZ, ignored);
  const wick::audit_report r = wick::audit({log});
  REQUIRE(r.epochs.size() == 1);
  CHECK(r.epochs[0].batches == 7);
  CHECK(r.epochs[0].samples == 70);
}

TEST_CASE("what is no log, and where there can be none, is said") {
  const temp_dir dir;
  CHECK(contains(message_of([&] { return wick::audit({(dir / "none").string()}).logs; }),
                 "none: can't be read"));
  CHECK(contains(message_of([&] { return wick::audit({dir.path().string()}).logs; }), "can't be read"));
  CHECK(contains(message_of([&] { return wick::audit({dir.write("text", "hello\n").string()}).logs; }),
                 "text:1: this isn't a line of a delivery log"));
  CHECK(contains(message_of([&] { return wick::audit({dir.write("empty", "").string()}).logs; }),
                 "the logs are empty"));
  CHECK(contains(message_of([&] {
                   return wick::loader(numbers{10} | wick::shuffle(),
                                       {.delivery_log_file = (dir / "x").string()})
                       .samples();
                 }),
                 "delivery_log_file: the pipeline gives samples", "add batch()"));
  CHECK(contains(message_of([&] {
                   return wick::loader(numbers{10} | wick::array_batch(2),
                                       {.delivery_log_file = "/no/such/folder/x"})
                       .samples();
                 }),
                 "/no/such/folder/x: delivery_log_file: can't be opened"));
  wick::loader full(numbers{10} | wick::array_batch(2), {.delivery_log_file = "/dev/full"});
  for (auto& b : full.epoch(0)) static_cast<void>(b);
  CHECK(contains(full.report().to_string(),
                 "note: /dev/full: delivery_log_file: 5 lines could not be written",
                 "wick-audit misses their batches"));
}

}  // namespace wick_test::audit_tests
