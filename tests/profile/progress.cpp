#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <fcntl.h>
#include <iterator>
#include <memory>
#include <optional>
#include <random>
#include <ranges>
#include <stdexcept>
#include <string>
#include <string_view>
#include <sys/ioctl.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/variable.hpp"
#include <wick/batch/batch.hpp>
#include <wick/loader/loader.hpp>
#include <wick/pipeline/filter.hpp>
#include <wick/profile/progress.hpp>
#include <wick/sampling/order.hpp>

namespace wick_test::progress_tests {

using wick::detail::progress_figures;
using wick::detail::progress_rates;
using wick::detail::progress_schedule;
using wick::detail::progress_text;

using wick_test::variable;

namespace {

/// Batches of 8 samples that are there at once.
struct batches {
  std::uint64_t left = 0;
  std::uint64_t fails_at = ~std::uint64_t{0};  // with so many left
  std::uint64_t taken = 0;
  std::uint64_t items_left() const noexcept { return left; }
  std::uint64_t samples_taken() const noexcept { return taken; }
  static bool is_ready() noexcept { return false; }
  std::optional<std::uint64_t> next() {
    if (left == 0) return std::nullopt;
    const bool fails = left == fails_at;
    --left;
    if (fails) throw std::runtime_error("a sample failed");
    taken += 8;
    return left;
  }
};

/// Fifty samples come at a time.
struct singles {
  std::uint64_t left = 0, taken = 0;
  std::uint64_t items_left() const noexcept { return left; }
  std::uint64_t samples_taken() const noexcept { return taken; }
  bool is_ready() const noexcept { return taken % 50 != 0; }
  std::optional<std::uint64_t> next() {
    if (left == 0) return std::nullopt;
    ++taken;
    return --left;
  }
};

class file {
 public:
  explicit file(int fd) : fd_(fd) { REQUIRE(fd >= 0); }
  file(const file&) = delete;
  file& operator=(const file&) = delete;
  ~file() { ::close(fd_); }
  int fd() const noexcept { return fd_; }
  /// What is there by now.
  std::string take() const {
    REQUIRE(::fcntl(fd_, F_SETFL, O_NONBLOCK) == 0);
    std::string all;
    char buffer[4096];
    for (ssize_t n; (n = ::read(fd_, buffer, sizeof buffer)) > 0;)
      all.append(buffer, static_cast<std::size_t>(n));
    return all;
  }

 private:
  int fd_;
};

/// What can be read of what is written into it.
struct pipe_pair {
  pipe_pair() {
    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    from = std::make_unique<file>(ends[0]);
    to = std::make_unique<file>(ends[1]);
  }
  std::unique_ptr<file> from, to;
};

/// A terminal that knows carriage return, line feed and "clear to the end of the line", and notices a line
/// that would wrap.
class terminal {
 public:
  explicit terminal(unsigned short columns) : columns_(columns) {
    master_ = std::make_unique<file>(::posix_openpt(O_RDWR | O_NOCTTY));
    REQUIRE(::grantpt(master_->fd()) == 0);
    REQUIRE(::unlockpt(master_->fd()) == 0);
    slave_ = std::make_unique<file>(::open(::ptsname(master_->fd()), O_RDWR | O_NOCTTY));
    resize(columns);
  }
  int fd() const noexcept { return slave_->fd(); }
  void resize(unsigned short columns) {
    look();
    columns_ = columns;
    winsize size{24, columns, 0, 0};
    REQUIRE(::ioctl(slave_->fd(), TIOCSWINSZ, &size) == 0);
  }
  /// Takes the written bytes.
  void look() {
    for (const char c : master_->take()) put(c);
  }
  const std::vector<std::string>& lines() const noexcept { return lines_; }
  std::size_t cursor() const noexcept { return cursor_; }
  bool wrapped() const noexcept { return wrapped_; }
  bool strange() const noexcept { return strange_ || !escape_.empty(); }

 private:
  void put(char c) {
    const auto byte = static_cast<unsigned char>(c);
    std::string& line = lines_.back();
    if (!escape_.empty()) {
      escape_ += c;
      if (escape_.size() == 2 && c != '[') strange_ = true;
      if (escape_.size() < 3) return;
      if (escape_ != "\x1b[K") strange_ = true;
      escape_.clear();
      line.resize(std::min(line.size(), cursor_));
    } else if (c == '\x1b') {
      escape_ = c;
    } else if (c == '\r') {
      cursor_ = 0;
    } else if (c == '\n') {
      lines_.emplace_back();
      cursor_ = 0;
    } else if (byte < 0x20) {
      strange_ = true;
    } else {
      // A byte counts as a column, which is more than it has.
      if (line.size() <= cursor_) line.resize(cursor_ + 1, ' ');
      line[cursor_++] = c;
      if (columns_ != 0 && cursor_ >= columns_) wrapped_ = true;
    }
  }
  std::unique_ptr<file> master_, slave_;
  std::vector<std::string> lines_{""};
  std::string escape_;
  std::size_t columns_, cursor_ = 0;
  bool wrapped_ = false, strange_ = false;
};

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

wick::progress_options always(int fd, std::string description = {}) {
  return {
      .description = std::move(description), .rank = 0, .interval = std::chrono::nanoseconds(1), .fd = fd};
}

}  // namespace

TEST_CASE("the line has what tqdm's has, and the share of waiting") {
  const progress_figures f{450, 1000, 12.4, 15.1, 9310, 0.034};
  const std::string line = progress_text("epoch 3", f, 100, true);
  CHECK(line.size() == 100);
  CHECK(line.starts_with("epoch 3:  45%|#####"));
  CHECK(line.ends_with("| 450/1000 [00:12<00:15, 9.31k samples/s, 3% waiting]"));
  CHECK(progress_text("", f, 0, false) == " 45% 450/1000 [00:12<00:15, 9.31k samples/s, 3% waiting]");
  CHECK(progress_text("", {0, 10, 0}, 0, false) == "  0% 0/10 [00:00<?, ? samples/s, ?% waiting]");
  CHECK(has(progress_text("", {10, 10, 3725, 0, 0.5, 1}, 0, false),
            "100% 10/10 [1:02:05<00:00, 0.50 samples/s, 100% waiting]"));
  CHECK(has(progress_text("", {999'999, 1'000'000, 1, 0, 999.6, 0}, 0, false), " 99% "));
  CHECK(has(progress_text("", {999'999, 1'000'000, 1, 0, 999.6, 0}, 0, false), " 1.00k "));
}

TEST_CASE("the text is no wider than asked, at any width, and a character is not cut in halves") {
  std::mt19937 random(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string raw;
    for (std::size_t n = random() % 40; n != 0; --n) {
      const char* const some[] = {"a",       "é",    "漢",       "🚀",       "\n",
                                  "\x1b[2J", "\xff", "\xe6\xbc", "\xc2\x9b", "\t"};
      raw += some[random() % std::size(some)];
    }
    const std::string description = wick::detail::progress_description(raw);
    CHECK(wick::detail::progress_description(description) == description);  // nothing unprintable is left
    const progress_figures f{random() % 5000,          random(),
                             random() % 100'000 * 1.0, (random() % 3 - 1.0) * 1e5,
                             random() * 1e3,           random() % 100 * 0.01};
    const std::size_t columns = 1 + random() % 150;
    const std::string line = progress_text(description, f, columns, random() % 2 == 0);
    CHECK(line.size() <= columns);
    CHECK(wick::detail::progress_description(line) == line);
  }
}

TEST_CASE("where it gets narrow the bar goes first, then the description, and the figures last") {
  const progress_figures f{450, 1000, 12.4, 15.1, 9310, 0.034};
  const auto at = [&](std::size_t columns) { return progress_text("validation", f, columns, true); };
  CHECK(has(at(90), "|##"));
  CHECK(!has(at(70), "|"));
  CHECK(has(at(70), "validation: "));
  CHECK(at(60).starts_with("v"));
  CHECK(at(60).ends_with("waiting]"));
  CHECK(at(10) == " 45% 450/1");
}

TEST_CASE("rates forget steps of long ago, and long steps are not forgotten at once") {
  progress_rates rates;
  CHECK(rates.items() < 0);
  double t = 0;
  for (int i = 0; i < 1000; ++i) {
    t += 0.1;
    rates.add(t, 0.5 * t, static_cast<std::uint64_t>(i) + 1, 0);
  }
  CHECK(rates.items() == doctest::Approx(10));
  CHECK(rates.waiting() == doctest::Approx(0.5));
  const double waited = 0.5 * t;
  for (int i = 0; i < 1000; ++i)
    rates.add(t += 0.1, waited, 1000 + 10 * (static_cast<std::uint64_t>(i) + 1), 0);
  CHECK(rates.items() == doctest::Approx(100).epsilon(0.01));
  CHECK(rates.waiting() == doctest::Approx(0).epsilon(0.01));
  progress_rates slow;
  slow.add(100, 0, 1, 1);
  slow.add(300, 0, 2, 2);
  CHECK(slow.items() == doctest::Approx((0.7 + 1) / (70 + 200)));
}

TEST_CASE("a rank or an interval below 0 is refused") {
  const auto message = [](const wick::progress_options& options) {
    return wick_test::message_of([&] { return wick::progress(batches{4}, options).next(); });
  };
  CHECK(message({.rank = -1}) == "progress: .rank is -1; it is at least 0, or left out");
  CHECK(message({.interval = std::chrono::nanoseconds(-5)}) ==
        "progress: .interval is -5; it is at least 0, or left out");
}

TEST_CASE("a terminal is written to ten times a second at most") {
  progress_schedule s(true, std::nullopt);
  std::uint64_t shown = 0;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    const double t = static_cast<double>(i) * 1e-3;
    if (!s.due(t, i, 10'000)) continue;
    CHECK(s.pause(t) == 0);
    s.shown(t, i, 10'000);
    ++shown;
  }
  CHECK(shown >= 95);
  CHECK(shown <= 100);
}

TEST_CASE("a log gets a line at each tenth of an epoch or each half minute, and none within a second") {
  const auto times = [](double seconds, std::optional<double> interval) {
    progress_schedule s(false, interval);
    std::vector<double> out;
    for (std::uint64_t i = 1; i < 1000; ++i) {
      const double t = seconds * static_cast<double>(i) / 1000;
      if (!s.due(t, i, 1000)) continue;
      s.shown(t, i, 1000);
      out.push_back(t);
    }
    return out;
  };
  CHECK(times(0.9, {}).empty());
  CHECK(times(100, {}).size() == 9);  // tenths
  CHECK(times(3, {}).size() == 2);    // a second apart
  const auto hour = times(3600, {});  // half minutes, and tenths
  CHECK(hour.size() >= 110);
  CHECK(hour.size() <= 130);
  CHECK(times(100, 7).size() == 14);  // as asked for
}

TEST_CASE("a terminal shows one line, rewritten in place, which stays") {
  const variable kind("TERM", "xterm");
  terminal t(100);
  std::uint64_t seen = 0;
  for (const std::uint64_t b : wick::progress(batches{20}, always(t.fd(), "train"))) {
    t.look();
    CHECK(t.lines().size() == 1);
    CHECK(has(t.lines()[0], std::to_string(20 - b) + "/20 ["));
    CHECK(t.cursor() == t.lines()[0].size());
    ++seen;
  }
  t.look();
  CHECK(seen == 20);
  CHECK(t.lines().size() == 2);
  CHECK(t.cursor() == 0);
  CHECK(t.lines()[0].starts_with("train: 100%|####"));
  CHECK(has(t.lines()[0], "| 20/20 ["));
  CHECK(has(t.lines()[0], "<00:00,"));
}

TEST_CASE("whatever happens, no line on a terminal wraps, and the last one ends") {
  const variable kind("TERM", "xterm");
  std::mt19937 random(5);
  for (int round = 0; round < 300; ++round) {
    terminal t(static_cast<unsigned short>(1 + random() % 120));
    std::uint64_t came = 0, printed = 0;
    {
      const std::uint64_t n = random() % 30;
      wick::progress bar(batches{n, random() % 60}, always(t.fd(), std::string(random() % 50, 'x')));
      for (std::size_t step = random() % 60; step != 0; --step) {
        const auto what = random() % 10;
        if (what == 0) {
          bar.print("");  // what is wider than the terminal would wrap
          ++printed;
        } else if (what == 1) {
          bar.clear();
          t.look();
          CHECK(t.cursor() == 0);
          CHECK(t.lines().back().empty());
        } else if (what == 2) {
          t.resize(static_cast<unsigned short>(1 + random() % 120));
        } else {
          try {
            came += bar.next() ? 1 : 0;
          } catch (const std::runtime_error&) {
            t.look();
            CHECK(t.cursor() == 0);  // what is said of it stands in a line of its own
          }
        }
        t.look();
      }
    }
    t.look();
    CHECK_FALSE(t.wrapped());
    CHECK_FALSE(t.strange());
    CHECK(t.cursor() == 0);
    CHECK(t.lines().back().empty());
    if (came == 0) CHECK(t.lines().size() == 1 + printed);
  }
}

TEST_CASE("nothing of a wider line stays beside a narrower one") {
  const variable kind("TERM", "xterm");
  terminal t(100);
  wick::progress bar(batches{3}, always(t.fd()));
  bar.next();
  t.look();
  CHECK(t.lines()[0].size() == 99);
  t.resize(50);
  bar.next();
  t.look();
  CHECK(t.lines().size() == 1);
  CHECK(t.lines()[0].size() < 50);
}

TEST_CASE("samples that were at hand count when a loop is left") {
  const pipe_pair p;
  {
    wick::progress bar(singles{100, 0}, always(p.to->fd()));
    for (int i = 0; i < 37; ++i) REQUIRE(bar.next());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  const std::string said = p.from->take(), last = said.substr(said.rfind('\n', said.size() - 2) + 1);
  CHECK(has(last, "37/100"));
  CHECK(!has(last, "0.00 samples/s"));
  CHECK(!has(last, "? samples/s"));
}

TEST_CASE("what is printed stands above the line") {
  const variable kind("TERM", "xterm");
  terminal t(100);
  {
    wick::progress bar(batches{3}, always(t.fd()));
    bar.next();
    bar.print("loss 0.31");
    bar.print("loss 0.29\n");
    bar.next();
    t.look();
    CHECK(t.lines().size() == 3);
    CHECK(t.lines()[0] == "loss 0.31");
    CHECK(t.lines()[1] == "loss 0.29");
    CHECK(has(t.lines()[2], "2/3 ["));
  }  // left early
  t.look();
  CHECK(t.lines().size() == 4);
  CHECK(has(t.lines()[2], " 66%|"));
  CHECK(has(t.lines()[2], "| 2/3 ["));
}

TEST_CASE("nothing is shown where nothing came") {
  const variable kind("TERM", "xterm");
  terminal t(100);
  { const wick::progress dropped(batches{5}, always(t.fd())); }
  for (const std::uint64_t b : wick::progress(batches{0}, always(t.fd()))) CHECK(b == 1);
  {
    wick::progress fails(batches{5, 5}, always(t.fd()));
    CHECK_THROWS_AS(fails.next(), std::runtime_error);
  }
  t.look();
  CHECK(t.lines().size() == 1);
  CHECK(t.lines()[0].empty());
  const pipe_pair p;
  { const wick::progress dropped(batches{5}, always(p.to->fd())); }
  for (const std::uint64_t b : wick::progress(batches{0}, always(p.to->fd()))) CHECK(b == 1);
  CHECK(p.from->take().empty());
}

TEST_CASE("an exception ends the line, and the loop may continue below it") {
  const variable kind("TERM", "xterm");
  terminal t(100);
  wick::progress bar(batches{6, 3}, always(t.fd()));
  for (int i = 0; i < 3; ++i) CHECK(bar.next());
  CHECK_THROWS_AS(bar.next(), std::runtime_error);
  t.look();
  CHECK(has(t.lines()[0], "| 3/5 ["));
  CHECK(t.lines().size() == 2);
  while (bar.next()) {
  }
  t.look();
  CHECK(has(t.lines()[1], "| 2/2 ["));
  CHECK(t.cursor() == 0);
}

TEST_CASE("a log gets plain lines, and a last one") {
  const pipe_pair p;
  for (const std::uint64_t b :
       wick::progress(batches{1000}, {.description = "epoch 0", .rank = 0, .fd = p.to->fd()}))
    static_cast<void>(b);
  const std::string text = p.from->take();
  CHECK(text.starts_with("epoch 0: 100% 1000/1000 ["));
  CHECK(text.ends_with("waiting]\n"));
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);  // it took less than a second
  for (const std::uint64_t b : wick::progress(batches{4}, always(p.to->fd()))) static_cast<void>(b);
  const std::string each = p.from->take();
  CHECK(std::count(each.begin(), each.end(), '\n') == 5);
  CHECK(each.starts_with(" 25% 1/4 ["));
  CHECK(!has(each, "\r"));
  CHECK(!has(each, "\x1b"));
}

TEST_CASE("a terminal that can do nothing gets plain lines, too") {
  for (const char* const kind : {"dumb", "", static_cast<const char*>(nullptr)}) {
    const variable told("TERM", kind);
    terminal t(60);
    for (const std::uint64_t b : wick::progress(batches{4}, {.rank = 0, .fd = t.fd()})) static_cast<void>(b);
    t.look();
    CHECK(t.lines().size() == 2);
    CHECK(!t.strange());
    CHECK(t.lines()[0].starts_with("100% 4/4 ["));
  }
}

TEST_CASE("COLUMNS counts where the terminal doesn't know its width") {
  const variable kind("TERM", "xterm");
  const auto width_with = [](const char* columns) {
    const variable told("COLUMNS", columns);
    terminal t(0);
    for (const std::uint64_t b : wick::progress(batches{4}, always(t.fd()))) static_cast<void>(b);
    t.look();
    return t.lines()[0].size();
  };
  CHECK(width_with("110") == 109);
  CHECK(width_with(nullptr) == 79);
  CHECK(width_with("none") == 79);
}

TEST_CASE("only the first rank shows anything") {
  const auto shows = [](const char* rank, wick::progress_options options) {
    const variable told("RANK", rank);
    const pipe_pair p;
    options.fd = p.to->fd();
    std::uint64_t came = 0;
    for (const std::uint64_t b : wick::progress(batches{4}, options)) came += b < 4 ? 1 : 0;
    CHECK(came == 4);
    return !p.from->take().empty();
  };
  CHECK(shows(nullptr, {}));
  CHECK(shows("0", {}));
  CHECK_FALSE(shows("3", {}));
  CHECK(shows("3", {.rank = 0}));
  CHECK_FALSE(shows("0", {.rank = 1}));
  CHECK_FALSE(shows("0", {.disable = true}));
}

TEST_CASE("a file that can't be written to keeps no loop from training") {
  const pipe_pair p;
  std::uint64_t came = 0;
  wick::progress bar(batches{4}, always(p.from->fd()));  // the end that reads
  while (bar.next()) ++came;
  bar.print("nobody sees this");
  CHECK(came == 4);
}

TEST_CASE("it goes with standard views") {
  const pipe_pair p;
  std::uint64_t came = 0;
  for (const std::uint64_t b : wick::progress(batches{9}, always(p.to->fd())) | std::views::take(4))
    came += b;
  CHECK(came == 8 + 7 + 6 + 5);
}

TEST_CASE("a loader's epochs are gone through with it, whole, left early, resumed, and without batch()") {
  std::vector<std::int64_t> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i);
  const auto pipeline = wick::from(values) | wick::shuffle() | wick::array_batch(32);
  wick::loader train(pipeline, {.workers = 2});
  wick::loader plain(pipeline, {.workers = 2});
  const pipe_pair p;
  const auto options = [&](std::string name) {
    return wick::progress_options{.description = std::move(name), .rank = 0, .fd = p.to->fd()};
  };
  for (std::uint64_t e = 0; e < 2; ++e) {
    for (auto& batch : wick::progress(train.epoch(e), options("epoch"))) CHECK(batch.extents()[0] > 0);
    for (auto& batch : plain.epoch(e)) CHECK(batch.extents()[0] > 0);
    CHECK(p.from->take().starts_with("epoch: 100% 32/32 ["));
    CHECK(train.fingerprint(e) == plain.fingerprint(e));
  }
  for (auto& batch : wick::progress(train.epoch(2), options("early"))) {
    static_cast<void>(batch);
    if (train.state() != plain.state()) break;
  }
  CHECK(p.from->take().starts_with("early:   3% 1/32 ["));
  plain.load_state(train.state());
  for (auto& batch : wick::progress(plain.epoch(2), options("on"))) static_cast<void>(batch);
  CHECK(p.from->take().starts_with("on: 100% 31/31 ["));

  wick::loader single(wick::from(values) | wick::shuffle(), {.workers = 2});
  std::int64_t sum = 0;
  for (const std::int64_t v : wick::progress(single.epoch(0), options("single"))) sum += v;
  CHECK(sum == 999 * 1000 / 2);
  CHECK(p.from->take().starts_with("single: 100% 1000/1000 ["));
  {
    wick::progress bar(single.epoch(1), options("some"));
    for (int i = 0; i < 100; ++i) CHECK(bar.next());
  }
  CHECK(p.from->take().starts_with("some:  10% 100/1000 ["));
  wick::loader resumed(wick::from(values) | wick::shuffle(), {.workers = 2});
  resumed.load_state(single.state());
  for (const std::int64_t v : wick::progress(resumed.epoch(1), options("rest"))) sum += v;
  CHECK(p.from->take().starts_with("rest: 100% 900/900 ["));

  wick::loader odd(wick::from(values) | wick::filter([](std::int64_t v) { return v % 2 == 1; }),
                   {.workers = 2});
  for (const std::int64_t v : wick::progress(odd.epoch(0), options("odd"))) sum += v;
  CHECK(p.from->take().starts_with("odd: 100% 500/500 ["));
}

TEST_CASE("the loader may be gone when the range is destroyed, and the range is kept and moved") {
  std::vector<std::int64_t> values(100, 1);
  const pipe_pair p;
  auto train = std::make_unique<decltype(wick::loader(wick::from(values) | wick::array_batch(10)))>(
      wick::from(values) | wick::array_batch(10), wick::loader_options{.workers = 1});
  {
    wick::progress bar(train->epoch(0), wick::progress_options{.rank = 0, .fd = p.to->fd()});
    CHECK(bar.next());
    auto moved = std::move(bar);
    CHECK(moved.next());
    train.reset();
  }
  CHECK(p.from->take().starts_with(" 20% 2/10 ["));
}

}  // namespace wick_test::progress_tests
