#include <string>
#include <string_view>
#include <vector>

#include "../support/doctest.hpp"
#include <wick/observe/detail/advice.hpp>

using wick::detail::advise;
using wick::detail::load_figures;

namespace {

/// Two workers, two processors, nothing to complain of but that the loop waits.
load_figures figures() {
  load_figures f;
  f.iterations = 100;
  f.wait = 0.4;
  f.workers = f.cpus = 2;
  f.io_threads = 4;
  f.slowest = "decode";
  f.slowest_share = 0.88;
  return f;
}

struct row {
  std::string_view what;
  void (*set)(load_figures&);
  std::vector<std::string_view> said;
  std::vector<std::string_view> unsaid;
};

const row table[] = {
    {"nothing was taken", [](load_figures& f) { f.iterations = 0; }, {"nothing was taken yet"}, {"wait"}},
    {"the loop is what takes long",
     [](load_figures& f) {
       f.wait = 0.009;
       f.processors = f.busy = f.running = 1;
     },
     {"the training loop hardly waits for data: the model sets the pace"},
     {"processors", "workers"}},
    {"reads wait, and all I/O threads are in one",
     [](load_figures& f) {
       f.suspended = 30;
       f.io_busy = 0.99;
       f.waits_in = "read";
       f.processors = f.busy = f.running = 0.1;
     },
     {"waits 40 % of its time", "the workers are idle and 30 samples at a time wait in 'read'",
      "raise io_threads (4 now, all in use)", "bring the data closer"},
     {"prefetch", "make that stage cheaper"}},
    {"samples wait for something else than I/O threads",
     [](load_figures& f) {
       f.suspended = 2.5;
       f.io_busy = 0.05;
       f.waits_in = "download";
       f.processors = f.busy = f.running = 0.1;
     },
     {"2.5 samples at a time wait in 'download'", "raise prefetch"},
     {"io_threads"}},
    {"all workers are busy, as many as processors",
     [](load_figures& f) { f.processors = 0.8, f.busy = f.running = 0.9; },
     {"the workers are busy, with 'decode' for 88 % of their time: make that stage cheaper"},
     {"more workers", "io_threads", "idle"}},
    {"all workers are busy, and there are more processors",
     [](load_figures& f) { f.cpus = 16, f.processors = 0.2, f.busy = f.running = 0.9; },
     {"the workers are busy", "'decode' for 88 %", "use more workers (2 now, 16 processors)"},
     {"make that stage cheaper", "io_threads", "idle"}},
    {"fewer processors than workers",
     [](load_figures& f) { f.workers = 8, f.processors = 0.97, f.busy = 1, f.running = 0.25; },
     {"all of the time of 2 processors is used, by 'decode' most", "make that stage cheaper",
      "more threads would only take turns, as the 8 workers do already"},
     {"use more workers", "io_threads", "idle", "a stage blocks"}},
    {"one worker on one processor",
     [](load_figures& f) { f.workers = f.cpus = 1, f.processors = f.busy = f.running = 0.95; },
     {"all of the time of 1 processor is used"},
     {"take turns, as", "idle"}},
    {"tiny samples from the page cache take all processors, workers and the helping loop together",
     [](load_figures& f) {
       f.wait = 0.98;
       f.helped = 0.9;
       f.processors = 0.97;
       f.busy = 0.6;
       f.running = 0.55;
       f.suspended = 0.7;
       f.waits_in = f.slowest = "read";
     },
     {"waits 98 % of its time, and runs samples itself meanwhile",
      "all of the time of 2 processors is used, by 'read' most", "more threads would only take turns"},
     {"idle", "io_threads", "prefetch"}},
    {"the model's own threads take the processors",
     [](load_figures& f) { f.processors = 1, f.pipeline = 0.2, f.busy = 0.9, f.running = 0.2; },
     {"80 % of it by the rest of the program", "share_cores"},
     {"make that stage cheaper", "more workers", "idle"}},
    {"the loop helps, and the workers have little to do",
     [](load_figures& f) {
       f.wait = 0.99;
       f.helped = 0.97;
       f.processors = 0.55;
       f.busy = f.running = 0.08;
       f.suspended = 2;
       f.waits_in = "read";
     },
     {"runs samples itself meanwhile", "the workers are free for 92 % of their time",
      "raise prefetch or make batches larger"},
     {"idle", "io_threads"}},
    {"other loaders have the workers, and processors are left",
     [](load_figures& f) {
       f.cpus = 16;
       f.processors = 0.2;
       f.busy = f.running = 0.95;
       f.own = 0.1;
       f.suspended = 20;
       f.waits_in = "read";
     },
     {"other loaders have this one's workers for 90 % of their work",
      "use more workers (2 now, 16 processors)"},
     {"idle", "io_threads", "'read'"}},
    {"other loaders have the workers, as many as processors",
     [](load_figures& f) { f.processors = 0.7, f.busy = f.running = 0.95, f.own = 0.1; },
     {"other loaders have this one's workers for 90 % of their work", "take from fewer loaders at a time"},
     {"more workers", "idle", "io_threads"}},
    {"other loaders have the workers, and these the processors",
     [](load_figures& f) { f.processors = 0.99, f.busy = 1, f.running = 0.7, f.own = 0.05; },
     {"all of the time of 2 processors is used",
      "other loaders have this one's workers for 95 % of their work", "take from fewer loaders at a time"},
     {"idle", "io_threads", "'decode'"}},
    {"a stage blocks its worker",
     [](load_figures& f) { f.processors = 0.2, f.busy = 0.98, f.running = 0.15, f.slowest = "lookup"; },
     {"at work for 98 % of their time, and have a processor for 15 %",
      "a stage blocks them, probably 'lookup'", "other programs have the processors"},
     {"more workers", "io_threads", "idle"}},
    {"nobody has anything to do",
     [](load_figures& f) { f.processors = f.busy = f.running = 0.05; },
     {"the workers are idle: raise prefetch"},
     {"io_threads"}},
    {"less than half a sample waits at a time: that is not what it is",
     [](load_figures& f) { f.suspended = 0.3, f.waits_in = "read", f.io_busy = 1; },
     {"the workers are idle: raise prefetch"},
     {"'read'", "io_threads"}},
    {"no stage has a clock",
     [](load_figures& f) {
       f.slowest.clear();
       f.processors = f.busy = f.running = 1;
     },
     {"make the stages cheaper"},
     {"''"}},
};

}  // namespace

TEST_CASE(
    "the advice goes by processors, other loaders and the loop's own share before it goes by idle workers") {
  for (const row& r : table) {
    load_figures f = figures();
    r.set(f);
    const std::string text = advise(f);
    CAPTURE(r.what);
    CAPTURE(text);
    for (const std::string_view part : r.said)
      CHECK_MESSAGE(text.find(part) != text.npos, "should say: " << part);
    for (const std::string_view part : r.unsaid)
      CHECK_MESSAGE(text.find(part) == text.npos, "should not say: " << part);
    CHECK(text.find("  ") == text.npos);
    CHECK(text.find("nan") == text.npos);
  }
}

TEST_CASE("whatever the figures are, the advice is one sentence that contradicts itself nowhere") {
  load_figures f = figures();
  f.waits_in = "read";
  for (f.wait = 0.005; f.wait < 1; f.wait += 0.33)
    for (f.helped = 0; f.helped <= f.wait; f.helped += 0.2)
      for (f.processors = 0; f.processors <= 1; f.processors += 0.25)
        for (f.pipeline = 0; f.pipeline <= 1; f.pipeline += 0.5)
          for (f.busy = 0; f.busy <= 1; f.busy += 0.25)
            for (f.running = 0; f.running <= f.busy; f.running += 0.25)
              for (f.own = 0; f.own <= 1; f.own += 0.5)
                for (f.io_busy = 0; f.io_busy <= 1; f.io_busy += 0.5)
                  for (f.suspended = 0; f.suspended < 40; f.suspended = 5 * f.suspended + 0.4)
                    for (f.cpus = 1; f.cpus <= 4; f.cpus *= 2) {
                      const std::string text = advise(f);
                      const auto has = [&](std::string_view part) { return text.find(part) != text.npos; };
                      CAPTURE(text);
                      REQUIRE_FALSE((has("idle") && has("runs samples itself")));
                      REQUIRE_FALSE((has("idle") && f.busy >= 0.75));
                      REQUIRE_FALSE((has("io_threads") && (f.processors >= 0.85 || f.io_busy < 0.7)));
                      REQUIRE_FALSE((has("use more workers") && f.workers >= f.cpus));
                      REQUIRE(text.size() < 320);
                    }
}
