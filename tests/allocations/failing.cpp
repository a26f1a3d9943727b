// No memory: any one allocation fails, or all for a while, on any thread. No thread terminates the process or
// waits without an end, every sample is delivered or reported as lost, and afterwards all is as before.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "support/doctest.hpp"
#include "support/future.hpp"
#include <wick/async/executor.hpp>
#include <wick/async/sync_wait.hpp>
#include <wick/async/when_all.hpp>
#include <wick/batch/batch.hpp>
#include <wick/codec/detail/crop_index.hpp>
#include <wick/loader/loader.hpp>
#include <wick/sampling/mix.hpp>
#include <wick/sampling/order.hpp>

namespace {

std::atomic<bool> armed{false};
thread_local bool here = false;  // of the thread that arms: where only its own allocations are to fail
std::atomic<bool> here_alone{false};
std::atomic<std::uint64_t> asked{0}, from{0}, until{0};

void* allocate(std::size_t size, std::size_t alignment) {
  if (armed.load(std::memory_order_relaxed) && (here || !here_alone.load(std::memory_order_relaxed))) {
    const std::uint64_t n = asked.fetch_add(1, std::memory_order_relaxed);
    if (n >= from.load(std::memory_order_relaxed) && n < until.load(std::memory_order_relaxed))
      throw std::bad_alloc();
  }
  void* const memory = alignment > alignof(std::max_align_t)
                           ? std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment)
                           : std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size, 0); }
void* operator new[](std::size_t size) { return allocate(size, 0); }
void* operator new(std::size_t size, std::align_val_t a) {
  return allocate(size, static_cast<std::size_t>(a));
}
void* operator new[](std::size_t size, std::align_val_t a) {
  return allocate(size, static_cast<std::size_t>(a));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

namespace {

struct numbers {
  std::uint64_t count;
  std::uint64_t size() const noexcept { return count; }
  std::int64_t at(std::uint64_t i) const noexcept { return static_cast<std::int64_t>(i); }
};

struct refused {};

std::int64_t plain(std::int64_t i) { return i; }
std::int64_t choosy(std::int64_t i) {
  if (i % 7 == 3) throw refused();
  return i;
}
wick::task<std::int64_t> inner(std::int64_t i, wick::executor* on) {
  co_await on->schedule();
  co_return i;
}
wick::task<std::int64_t> hop(std::int64_t i, wick::context& c) {
  wick::task<std::int64_t> child = inner(i, c.on());
  const std::int64_t got = co_await child;
  co_return got;
}
wick::task<std::int64_t> choosy_hop(std::int64_t i, wick::context& c) {
  wick::task<std::int64_t> child = inner(i, c.on());
  const std::int64_t got = co_await child;
  co_return choosy(got);
}
wick::task<wick::array> batch_hop(wick::array a, wick::context& c) {
  co_await c.on()->schedule();
  co_return a;
}

/// While it lives, the allocations number `first` to `first + count - 1` fail: of all threads, or of this one
/// alone.
class failing {
 public:
  failing(std::uint64_t first, std::uint64_t count, bool alone = false) {
    asked = 0;
    from = first;
    until = first + count;
    here_alone = alone;
    here = armed = true;
  }
  ~failing() { here = armed = here_alone = false; }
  /// Whether it came to that.
  bool any() const { return asked > from; }
};

void ids_of(const wick::array& a, std::vector<std::int64_t>& to) {
  for (std::int64_t i = 0; i < a.extents()[0]; ++i) to.push_back(a.as<std::int64_t>()[i]);
}
void ids_of(std::int64_t i, std::vector<std::int64_t>& to) { to.push_back(i); }

struct outcome {
  std::vector<std::int64_t> ids;
  std::size_t batches = 0, thrown = 0, told = 0;
};

/// One epoch to its end; what is thrown counts, and taking continues.
template <class Loader>
void run_epoch(Loader& l, std::uint64_t epoch, outcome& out) {
  for (bool begun = false; !begun;) {
    try {
      l.epoch(epoch);
      begun = true;
    } catch (const std::bad_alloc&) {
    }
  }
  for (;;) {
    try {
      auto batch = l.next();
      if (!batch) return;
      ids_of(*batch, out.ids);
      ++out.batches;
    } catch (const std::exception&) {
      ++out.thrown;
    }
  }
}

/// `batch` samples are lost with whatever is thrown, at most; 0: what fails is left out or replaced.
template <class Make>
void with_failing_allocations(const std::string& name, std::size_t batch, Make&& make) {
  CAPTURE(name);
  outcome whole, next;
  std::uint64_t allocations = 0;
  {
    auto l = make();
    run_epoch(l, 0, whole);
    asked = 0;
    from = until = 0;
    armed = true;
    run_epoch(l, 1, next);
    armed = false;
    allocations = asked;
  }
  const std::uint64_t step = allocations > 400 ? allocations / 400 : 1;
  for (const std::uint64_t burst : {1, 3, 40}) {
    for (std::uint64_t first = 0; first < allocations + 5; first += step * (burst == 1 ? 1 : 2)) {
      CAPTURE(burst);
      CAPTURE(first);
      outcome hit, after;
      hit.ids.reserve(1000);
      {
        auto l = make();
        asked = 0;
        from = first;
        until = first + burst;
        armed = true;
        run_epoch(l, 0, hit);
        armed = false;
        hit.told = l.failure_log().total();
        run_epoch(l, 1, after);
      }
      if (batch != 0) {
        CHECK(hit.ids.size() + batch * hit.thrown >= whole.ids.size());
        // The delivered samples are in order, and none comes twice.
        std::size_t at = 0;
        for (const std::int64_t id : hit.ids) {
          while (at < whole.ids.size() && whole.ids[at] != id) ++at;
          REQUIRE(at < whole.ids.size());
          ++at;
        }
      } else {
        CHECK(hit.batches + 16 * hit.thrown + hit.told + 1 >=
              whole.batches);  // 16: a group of single samples
      }
      CHECK(after.ids == next.ids);
      CHECK(after.thrown == next.thrown);
    }
  }
}

}  // namespace

TEST_CASE(
    "want of memory is an error of the samples it meets, in pipelines that suspend and in those that don't") {
  using wick::array_batch;
  for (const std::size_t workers : {1, 2}) {
    const wick::loader_options some{.workers = workers, .prefetch_next_epoch = false};
    with_failing_allocations(
        "plain", 8, [&] { return wick::loader(numbers{60} | wick::map("f", plain) | array_batch(8), some); });
    with_failing_allocations(
        "hop", 8, [&] { return wick::loader(numbers{60} | wick::map("f", hop) | array_batch(8), some); });
    with_failing_allocations("single", 16,
                             [&] { return wick::loader(numbers{60} | wick::map("f", plain), some); });
    with_failing_allocations("single hop", 16,
                             [&] { return wick::loader(numbers{60} | wick::map("f", hop), some); });
    with_failing_allocations("batch hop", 8, [&] {
      return wick::loader(numbers{60} | wick::map("f", hop) | array_batch(8) | wick::map("g", batch_hop),
                          some);
    });
  }
}

TEST_CASE("an index of places that finds no memory for a picture has all of it, or nothing") {
  std::vector<wick::detail::jpeg_place> places(40);
  for (std::size_t i = 0; i < places.size(); ++i) places[i].bit = static_cast<std::uint32_t>(100 * i);
  bool kept = false;
  for (std::uint64_t n = 0; !kept; ++n) {
    CAPTURE(n);
    REQUIRE(n < 20);
    wick::detail::crop_index index(std::size_t{1} << 20), other(std::size_t{1} << 20);
    {
      const failing one(n, 1, true);
      try {
        index.keep(1, places, places.size());
      } catch (const std::bad_alloc&) {
      }
    }
    kept = index.pictures() == 1;
    CHECK((index.bytes() != 0) == kept);
    index.keep(2, places, places.size());
    CHECK(other.load(index.saved()));
    CHECK(other.pictures() == index.pictures());
    CHECK(other.bytes() == index.bytes());
    if (n == 0) CHECK_FALSE(kept);
  }
}

TEST_CASE("want of memory is an error of the samples it meets under each policy for failing ones") {
  using wick::array_batch;
  const auto under = [](wick::on_error policy) {
    return wick::loader_options{.workers = 2, .prefetch_next_epoch = false, .on_error = policy};
  };
  const wick::loader_options all[] = {
      under(wick::on_error(wick::on_error::skip)),
      under(wick::on_error(wick::on_error::replace)),
      under(wick::on_error(wick::on_error::retry(2).then(wick::on_error::skip))),
  };
  for (const wick::loader_options& some : all) {
    with_failing_allocations("plain", 0, [&] {
      return wick::loader(numbers{60} | wick::map("f", choosy) | array_batch(8), some);
    });
    with_failing_allocations("hop", 0, [&] {
      return wick::loader(numbers{60} | wick::map("f", choosy_hop) | array_batch(8), some);
    });
    with_failing_allocations("single", 0,
                             [&] { return wick::loader(numbers{60} | wick::map("f", choosy_hop), some); });
  }
}

TEST_CASE("want of memory is thrown to who waits for a task, and nothing is left waiting") {
  wick::executor ex(2);
  const auto both = [](wick::executor* on) -> wick::task<std::int64_t> {
    auto pair = wick::when_all(inner(1, on), inner(2, on));
    const auto got = co_await std::move(pair);
    co_return std::get<0>(got) + std::get<1>(got);
  };
  CHECK(wick_test::as_future(ex, both(&ex)).get() == 3);
  for (std::uint64_t first = 0; first < 60; ++first) {
    for (const bool future : {false, true}) {
      std::int64_t got = 3;
      asked = 0;
      from = first;
      until = first + 1;
      armed = true;
      try {
        got = future ? wick_test::as_future(ex, both(&ex)).get() : wick::ext::sync_wait(both(&ex));
      } catch (const std::bad_alloc&) {
      }
      armed = false;
      CHECK(got == 3);
    }
  }
}

namespace {

/// The k-th allocation of epoch() fails, for each k; the batches after it must be as if it had not been
/// tried. Workers have theirs: a batch of theirs that finds no memory is lost, and says so.
template <class Make, class Check>
void with_failing_epoch(Make&& make, std::uint64_t epoch, Check&& check) {
  for (std::uint64_t first = 0; first < 40; ++first) {
    CAPTURE(first);
    auto l = make();
    bool threw = false;
    {
      const failing memory(first, 1, true);
      try {
        l.epoch(epoch);
      } catch (const std::bad_alloc&) {
        threw = true;
      }
    }
    check(l, threw);
  }
}

}  // namespace

TEST_CASE("an epoch() that finds no memory may be tried again, or continued from, and loses nothing") {
  const auto words = [](std::int64_t v, wick::context& c) {
    return std::to_string(v + 1000 * static_cast<int>(c.epoch()));
  };
  SUBCASE("the first one") {
    with_failing_epoch(
        [&] {
          return wick::loader(numbers{40} | wick::map("f", words) | wick::array_batch(4),
                              {.workers = 1, .prefetch = 2, .prefetch_next_epoch = false});
        },
        0,
        [](auto& l, bool) {
          std::size_t n = 0;
          while (l.next()) ++n;
          CHECK(n == 10);
        });
  }
  SUBCASE("another than was foreseen") {
    with_failing_epoch(
        [&] {
          wick::loader l(numbers{40} | wick::map("f", words) | wick::array_batch(4),
                         {.workers = 1, .prefetch = 2});
          l.epoch(0);
          REQUIRE(l.next());
          return l;
        },
        5,
        [](auto& l, bool threw) {
          if (threw && l.current_epoch() != 5) l.epoch(5);
          const auto batch = l.next();
          REQUIRE(batch);
          CHECK((*batch)[0] == "5000");
        });
  }
  SUBCASE("another, beside a range of the epoch before") {
    for (std::uint64_t first = 0; first < 40; ++first) {
      CAPTURE(first);
      wick::loader l(numbers{40} | wick::map("f", words) | wick::array_batch(4),
                     {.workers = 1, .prefetch = 2});
      auto range = l.epoch(0);
      REQUIRE(range.next());
      {
        const failing memory(first, 1, true);
        try {
          l.epoch(5);
        } catch (const std::bad_alloc&) {
        }
      }
      if (l.current_epoch() == 5)
        CHECK_THROWS_AS(range.next(), std::logic_error);
      else
        CHECK(range.next().value()[0] == "4");
    }
  }
}

namespace {

/// A loader of a mixture whose weights change after epoch 0, after its batch 5.
auto changed_loader() {
  using wick::weighted_source;
  wick::loader l(wick::mix(wick::mix_until::all_exhausted, weighted_source{numbers{60}, 1, "a"},
                           weighted_source{numbers{30}, 1, "b"}) |
                     wick::map("f", plain) | wick::array_batch(4),
                 {.workers = 1, .prefetch = 2});
  l.epoch(0);
  for (int i = 0; i < 3; ++i) REQUIRE(l.next());
  l.set_mix_weights({{"b", 3}});
  for (int i = 0; i < 2; ++i) REQUIRE(l.next());
  return l;
}
template <class Loader>
std::vector<std::int64_t> rest_of(Loader& l) {
  std::vector<std::int64_t> out;
  while (auto batch = l.next()) ids_of(*batch, out);
  return out;
}

/// The k-th allocation of `change` fails, for each k: the loader is where it was, or where it was to go, and
/// continues from there.
template <class Change>
void with_failing_change(Change&& change) {
  auto changed = changed_loader();
  change(changed);
  const std::vector<std::byte> there = changed.state(), here = changed_loader().state();
  REQUIRE(there != here);
  const std::vector<std::int64_t> behind = rest_of(changed);
  auto same = changed_loader();
  const std::vector<std::int64_t> before = rest_of(same);
  bool reached = true, threw = false;
  for (std::uint64_t first = 0; reached; ++first) {
    CAPTURE(first);
    auto l = changed_loader();
    bool failed = false;
    {
      const failing memory(first, 1, true);
      try {
        change(l);
      } catch (const std::bad_alloc&) {
        failed = threw = true;
      }
      reached = memory.any();
    }
    const std::vector<std::byte> now = l.state();
    CHECK((now == there || (failed && now == here)));
    CHECK(rest_of(l) == (now == there ? behind : before));
  }
  CHECK(threw);
}

}  // namespace

TEST_CASE("a change that finds no memory leaves a loader whole: where it was, or where it was to go") {
  std::vector<std::byte> state;
  {
    auto l = changed_loader();
    l.epoch(2);
    REQUIRE(l.next());
    state = l.state();
  }
  SUBCASE("load_state()") {
    with_failing_change([&](auto& l) { l.load_state(state); });
  }
  SUBCASE("epoch()") {
    with_failing_change([](auto& l) { l.epoch(3); });
  }
  SUBCASE("set_mix_weights()") {
    with_failing_change([](auto& l) { l.set_mix_weights({{"a", 5}}); });
  }
}

TEST_CASE("a next() that finds no memory to begin another batch begins it later") {
  // Of the places for 8 batches, epoch() takes memory for the first 5.
  const auto words = [](std::int64_t v) { return std::to_string(v); };
  for (const bool ahead : {false, true}) {
    bool reached = true;
    for (std::uint64_t first = 0; reached; ++first) {
      CAPTURE(ahead);
      CAPTURE(first);
      wick::loader l(numbers{40} | wick::map("f", words) | wick::array_batch(4),
                     {.workers = 1, .prefetch = 5, .prefetch_next_epoch = ahead});
      std::vector<std::string> last;
      for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
        l.epoch(epoch);
        std::size_t taken = 0, thrown = 0;
        {
          const failing memory(first, epoch == 0 ? 1 : 0, true);
          for (;;) {
            try {
              auto batch = l.next();
              if (!batch) break;
              ++taken;
              last = std::move(*batch);
            } catch (const std::bad_alloc&) {
              ++thrown;
            } catch (const wick::sample_error&) {
              ++thrown;
            }
          }
          if (epoch == 0) reached = memory.any();
        }
        CHECK(taken + thrown >= 10);
        CHECK(thrown <= 1);
        if (thrown == 0) {
          CHECK(taken == 10);
          CHECK(last.back() == "39");
        }
      }
    }
  }
}

TEST_CASE("a batch that finds no memory when it is handed over fails by itself") {
  // What nothing follows is made of its columns in next(): a vector of strings here.
  const auto words = [](std::int64_t v) { return std::to_string(v); };
  bool reached = true, met = false;
  for (std::uint64_t first = 0; reached; ++first) {
    CAPTURE(first);
    wick::loader l(numbers{40} | wick::map("f", words) | wick::array_batch(4), {.workers = 1});
    for (std::uint64_t epoch = 0; epoch < 2; ++epoch) {
      l.epoch(epoch);
      std::vector<std::int64_t> firsts;
      firsts.reserve(16);
      const failing memory(first, epoch == 0 ? 1 : 0, true);
      for (bool more = true; more;) {
        try {
          auto batch = l.next();
          more = batch.has_value();
          if (more) firsts.push_back(std::stoll(batch->front()));
        } catch (const wick::sample_error& e) {
          met = true;
          CHECK(e.stage() == "batch");
          firsts.push_back(-1);
        } catch (const std::bad_alloc&) {  // beside the batches: none is lost with it
        }
      }
      if (epoch == 0) reached = memory.any();
      REQUIRE(firsts.size() == 10);
      for (std::size_t i = 0; i < firsts.size(); ++i) {
        if (epoch != 0 || firsts[i] != -1) CHECK(firsts[i] == static_cast<std::int64_t>(4 * i));
      }
    }
  }
  CHECK(met);
}

TEST_CASE("a batch that finds no memory while its failures are settled leaves later batches alone") {
  // Which of 40 samples are left out, and which one fails its batch.
  struct kind {
    std::int64_t bad_from, bad_to, fatal;
  };
  using all_batches = std::vector<std::vector<std::int64_t>>;
  for (const kind k : {kind{0, 4, 39}, kind{33, 37, -1}}) {
    CAPTURE(k.bad_from);
    const auto choosy_here = [k](std::int64_t i) {
      if (i >= k.bad_from && i < k.bad_to) throw refused();
      return i;
    };
    const auto strict = [k](std::int64_t i) {
      if (i == k.fatal) throw refused();
      return i;
    };
    const auto make = [&] {
      return wick::loader(
          numbers{40} | wick::map("choosy", choosy_here) | wick::map("strict", strict) | wick::array_batch(8),
          {.workers = 1,
           .prefetch_next_epoch = false,
           .on_error = wick::on_error(wick::on_error::skip).at("strict", wick::on_error::fail)});
    };
    const auto take = [](auto& l, std::uint64_t epoch, all_batches& to) {
      std::size_t thrown = 0;
      for (bool begun = false;;) {
        try {
          if (!begun) l.epoch(epoch);
          begun = true;
          auto batch = l.next();
          if (!batch) return thrown;
          std::vector<std::int64_t> ids;
          ids.reserve(8);
          ids_of(*batch, ids);
          to.push_back(std::move(ids));
        } catch (const std::exception&) {
          ++thrown;
        }
      }
    };
    all_batches expected;
    auto untouched = make();
    const std::size_t lost = take(untouched, 1, expected);
    for (const std::uint64_t burst : {1, 3}) {
      bool reached = true;
      for (std::uint64_t first = 0; reached; ++first) {
        CAPTURE(burst);
        CAPTURE(first);
        auto l = make();
        all_batches batches, after;
        batches.reserve(8);
        {
          const failing memory(first, burst);
          take(l, 0, batches);
          reached = memory.any();
        }
        std::vector<int> seen(40);
        for (const auto& b : batches) {
          for (const std::int64_t i : b) ++seen[static_cast<std::size_t>(i)];
        }
        for (const auto& e : l.failure_log().entries()) {
          if (e.kind != wick::error_kind::batch) ++seen[e.position];
        }
        // Nothing is missing without a word in those of the batches in the middle that were delivered.
        for (const auto& b : batches) {
          const auto own = std::find_if(b.begin(), b.end(), [](std::int64_t i) { return i >= 8 && i < 32; });
          if (own == b.end()) continue;
          CAPTURE(*own);
          const auto i = seen.begin() + *own / 8 * 8;
          CHECK(std::all_of(i, i + 8, [](int n) { return n == 1; }));
        }
        CHECK(take(l, 1, after) == lost);
        CHECK(after == expected);
      }
    }
  }
}

TEST_CASE("what becomes of a sample that was replaced is reported when that finds no memory") {
  const auto every_other = [](std::int64_t i) {
    if (i % 2 == 1) throw refused();
    return i;
  };
  const auto check = [](auto make) {
    for (const std::uint64_t burst : {2, 8}) {
      bool reached = true;
      for (std::uint64_t first = 0; reached; ++first) {
        CAPTURE(burst);
        CAPTURE(first);
        auto l = make();
        std::size_t delivered = 0, told = 0, groups = 0;  // groups of 16 samples that are lost as a whole
        {
          const failing memory(first, burst);
          for (bool begun = false;;) {
            try {
              if (!begun) l.epoch(0);
              begun = true;
              if (!l.next()) break;
              ++delivered;
            } catch (const wick::sample_error& e) {
              std::string_view(e.what()).starts_with("batch ") ? ++groups : ++told;
            } catch (const std::bad_alloc&) {
              ++groups;
            }
          }
          reached = memory.any();
        }
        CHECK(delivered + told + 16 * groups >= 64);
        CHECK(delivered + told <= 64);
      }
    }
  };
  const wick::loader_options options{
      .workers = 1, .prefetch_next_epoch = false, .on_error = wick::on_error::replace};
  check([&] { return wick::loader(numbers{64} | wick::map("g", every_other), options); });
  check(
      [&] { return wick::loader(numbers{64} | wick::map("f", hop) | wick::map("g", every_other), options); });
}

TEST_CASE(
    "a batch that ends on the consumer's thread is reported when there is no memory to end it elsewhere") {
  // The second batch has one sample, which another rank has: it has ended when it is begun.
  const auto on_slots_only = [](wick::array a, wick::context& c) {
    if (c.on()->this_slot() == wick::executor::none) throw wick::error("no slot");
    return a;
  };
  const auto make = [&] {
    return wick::loader(numbers{9} | wick::shard(0, 4) | wick::map("f", plain) | wick::array_batch(8) |
                            wick::map("g", on_slots_only),
                        {.workers = 1, .prefetch = 2, .prefetch_next_epoch = false});
  };
  outcome whole;
  {
    auto l = make();
    run_epoch(l, 0, whole);
    REQUIRE(whole.batches == 2);
    REQUIRE(whole.thrown == 0);
  }
  std::size_t told = 0;
  bool reached = true;
  for (std::uint64_t first = 0; reached; ++first) {
    CAPTURE(first);
    auto l = make();
    outcome hit, after;
    hit.ids.reserve(100);
    {
      const failing memory(first, 1, true);
      run_epoch(l, 0, hit);
      reached = memory.any();
    }
    CHECK(hit.batches + hit.thrown >= 2);
    for (const auto& e : l.failure_log().entries()) {
      CHECK(e.text == "std::bad_alloc");
      if (e.kind != wick::error_kind::batch) continue;  // a sample that the consumer ran
      CHECK(e.stage == "batch");
      if (e.key == "batch 1") ++told;
    }
    run_epoch(l, 1, after);
    CHECK(after.ids == whole.ids);
    CHECK(after.batches == 2);
    CHECK(after.thrown == 0);
  }
  CHECK(told != 0);
}
