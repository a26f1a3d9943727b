#include <atomic>
#include <vector>

#include "engine/peer.hpp"
#include <wick/async/detail/scope.hpp>
#include <wick/core.hpp>

namespace engine {

namespace {

wick::task<void> nothing() { co_return; }

wick::task<void> fib_of(wick::executor* on, int n, std::uint64_t* out) {
  if (n < 2) {
    *out = static_cast<std::uint64_t>(n);
    co_return;
  }
  std::uint64_t a = 0, b = 0;
  wick::detail::scope both(*on);
  both.fork(fib_of(on, n - 1, &a));
  co_await fib_of(on, n - 2, &b);
  co_await both.join();
  *out = a + b;
}

struct count_up {
  std::uint64_t count;
  std::uint64_t size() const noexcept { return count; }
  std::uint64_t at(std::uint64_t i) const noexcept { return i; }
};

struct posted : wick::detail::job {
  void (*what)(void*);
  void* with;
};

class wick_peer final : public peer {
 public:
  explicit wick_peer(std::size_t workers) : on_(workers) {}

  answer spawn(std::uint64_t bursts, std::uint64_t each) override {
    return wick::ext::sync_wait(wick::detail::starts_on(
        on_, [](wick::executor* on, std::uint64_t m, std::uint64_t n) -> wick::task<std::uint64_t> {
          std::uint64_t done = 0;
          for (std::uint64_t b = 0; b < m; ++b) {
            wick::detail::scope all(*on);
            for (std::uint64_t i = 0; i < n; ++i) all.spawn(nothing());
            co_await all.join();
            done += n;
          }
          co_return done;
        }(&on_, bursts, each)));
  }
  answer call(std::uint64_t n) override {
    return wick::ext::sync_wait(
        wick::detail::starts_on(on_, [](std::uint64_t m) -> wick::task<std::uint64_t> {
          std::uint64_t done = 0;
          for (; done < m; ++done) co_await nothing();
          co_return done;
        }(n)));
  }
  answer fib(int n) override {
    std::uint64_t out = 0;
    wick::ext::sync_wait(wick::detail::starts_on(on_, fib_of(&on_, n, &out)));
    return out;
  }
  answer pipeline(std::uint64_t tokens) override {
    const auto pass = [](std::uint64_t x) { return x + 1; };
    wick::loader out(count_up{tokens} | wick::map(pass) | wick::map(pass) | wick::map(pass),
                     {.prefetch = 4, .executor = &on_});
    std::uint64_t sum = 0;
    for (const std::uint64_t x : out.epoch(0)) sum = chain(sum, x);
    return sum;
  }
  answer loops(std::span<const std::uint32_t> lengths) override {
    std::atomic<std::uint64_t> sum{0};
    wick::ext::sync_wait(wick::detail::starts_on(
        on_,
        [](wick::executor* on, std::span<const std::uint32_t> all,
           std::atomic<std::uint64_t>* to) -> wick::task<void> {
          wick::detail::scope tasks(*on);
          for (const std::uint32_t n : all) {
            tasks.spawn([](std::uint32_t turns, std::atomic<std::uint64_t>* add) -> wick::task<void> {
              add->fetch_add(burn(turns), std::memory_order_relaxed);
              co_return;
            }(n, to));
          }
          co_await tasks.join();
        }(&on_, lengths, &sum)));
    return sum.load();
  }
  answer ping_pong(std::uint64_t n) override {
    return wick::ext::sync_wait(
        wick::detail::starts_on(on_, [](wick::executor* on, std::uint64_t m) -> wick::task<std::uint64_t> {
          std::uint64_t done = 0;
          for (; done < m; ++done) co_await on->io().run(*on, [] {});
          co_return done;
        }(&on_, n)));
  }
  bool post(void (*what)(void*), void* with) override {
    last_.what = what;
    last_.with = with;
    last_.execute = [](wick::detail::job* j) noexcept {
      static_cast<posted*>(j)->what(static_cast<posted*>(j)->with);
    };
    on_.post(&last_);
    return true;
  }

 private:
  wick::executor on_;
  posted last_;
};

}  // namespace

std::unique_ptr<peer> make_wick(std::size_t workers) { return std::make_unique<wick_peer>(workers); }

}  // namespace engine
