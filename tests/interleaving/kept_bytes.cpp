// The bytes of a budget that workers keep ready: a request that needs them finds them, and none is lost or
// made.
#include <algorithm>
#include <cstddef>
#include <mutex>

#include "faults.hpp"
#include "support/doctest.hpp"
#include "support/interleaving.hpp"
#include <wick/pipeline/detail/kept_bytes.hpp>

using namespace wick_test::interleaving;

namespace {

using kept_bytes = wick::detail::basic_kept_bytes<model>;

/// A budget of `all` bytes whose waiter wants every one of them.
struct budget {
  budget() { kept.allow(); }
  static constexpr std::size_t all = 32;
  mutex guard;
  kept_bytes kept{2, 16};
  plain<std::size_t> left{all};
  plain<bool> waits{false}, served{false};
  atomic<std::size_t> out{0};

  void serve() {  // under the mutex
    if (!waits.read() || left.read() < all) return;
    waits.write(false);
    served.write(true);
  }
  /// Takes 2 bytes, uses them, and gives them back, as byte_budget does.
  void use(std::size_t slot) {
    if (!kept.take(slot, 2)) {
      const std::lock_guard lock(guard);
      if (waits.read() || left.read() < 2) return;
      left.write(left.read() - 2);
      const std::size_t more = std::min(kept.more_for(slot, 2), left.read());
      if (more != 0) {
        left.write(left.read() - more);
        kept.add(slot, more);
      }
    }
    expect(out.fetch_add(2, std::memory_order_relaxed) <= all - 2, "more is out than there is");
    out.fetch_sub(2, std::memory_order_relaxed);
    const std::size_t back = kept.keep(slot, 2);
    if (back == 0) return;
    const std::lock_guard lock(guard);
    left.write(left.read() + back);
    serve();
  }
  void want_all() {
    const std::lock_guard lock(guard);
    waits.write(true);
    left.write(left.read() + kept.collect());
    serve();
  }
};

void end(budget& b) {
  join();
  expect(b.served.read(), "the waiter isn't served");
  expect(b.left.read() + b.kept.sum() == budget::all, "bytes are lost, or came from nowhere");
}

/// Threads that use bytes while another wants all of them.
void one_wants_all(std::size_t threads, std::size_t times) {
  budget b;
  for (std::size_t i = 0; i < threads; ++i) {
    spawn([&, i] {
      for (std::size_t n = 0; n < times; ++n) b.use(i);
    });
  }
  spawn([&] { b.want_all(); });
  end(b);
}

/// What is kept again after a first collection comes back, too.
void wants_all_twice() {
  budget b;
  spawn([&] {
    b.use(0);
    b.use(0);
  });
  spawn([&] {
    {
      const std::lock_guard lock(b.guard);
      b.left.write(b.left.read() + b.kept.collect());
      b.kept.allow();
    }
    b.want_all();
  });
  end(b);
}

/// What one thread has put into its place is there for the next with that slot.
void one_after_the_other() {
  budget b;
  spawn([&] { b.use(0); });
  join();
  spawn([&] { b.use(0); });
  join();
  spawn([&] { b.want_all(); });
  end(b);
}

/// A thread alone takes from its place and keeps there what it has room for; after a collection, nothing,
/// until it may again.
void one_alone() {
  kept_bytes kept(1, 8);
  spawn([&] {
    expect(!kept.allowed() && kept.keep(0, 1) == 1 && kept.more_for(0, 1) == 0, "nothing is kept at first");
    kept.allow();
    expect(!kept.take(0, 1), "an empty place has nothing");
    expect(kept.more_for(0, 1) == 4, "a thread may take half of what it may keep");
    expect(kept.more_for(0, 2) == 0, "a large request takes no more than it needs");
    kept.add(0, 3);
    expect(kept.more_for(0, 1) == 1, "what is kept already counts");
    expect(kept.take(0, 2), "what is kept can be taken");
    expect(!kept.take(0, 2) && kept.sum() == 1, "and not twice");
    expect(kept.keep(0, 7) == 0, "what there is room for is kept");
    expect(kept.keep(0, 1) == 1 && kept.sum() == 8, "and no more");
    expect(kept.allowed() && kept.collect() == 8 && !kept.allowed(), "all is collected");
    expect(kept.keep(0, 2) == 2 && !kept.take(0, 1) && kept.more_for(0, 1) == 0, "nothing is kept any more");
    kept.allow();
    expect(kept.allowed() && kept.keep(0, 2) == 0 && kept.take(0, 2), "and then it is again");
  });
  join();
}

const scenarios all{
    one_alone,       [] { one_wants_all(1, 1); }, [] { one_wants_all(1, 2); }, [] { one_wants_all(2, 1); },
    wants_all_twice, one_after_the_other};

}  // namespace

TEST_CASE("in every interleaving who wants all bytes gets those that workers keep") {
  for (const auto& body : all) {
    const outcome o = explore({.preemptions = 2, .stale_reads = 1, .spurious = 1}, body);
    CHECK_MESSAGE(!o.failed, o.report());
    CHECK(o.complete);
  }
}

TEST_CASE("each memory order of the kept bytes is needed: a weaker one is found") {
  each_order_is_needed("pipeline/detail/kept_bytes.hpp", all, {});
}

TEST_CASE("each operation of the kept bytes is needed: a fault in it is found") {
  each_operation_is_needed("pipeline/detail/kept_bytes.hpp", all,
                           {
                               // Under the mutex, by the only thread that has the place.
                               "add rmw split",
                           });
}
