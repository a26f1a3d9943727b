#ifdef WICK_BENCH_LIBFORK
#include <atomic>
#include <libfork.hpp>

#include "engine/peer.hpp"

namespace engine {

namespace {

inline constexpr auto fib_of = [](auto self, int n) -> lf::task<std::uint64_t> {
  if (n < 2) co_return static_cast<std::uint64_t>(n);
  std::uint64_t a = 0, b = 0;
  co_await lf::fork(&a, self)(n - 1);
  co_await lf::call(&b, self)(n - 2);
  co_await lf::join;
  co_return a + b;
};
inline constexpr auto nothing = [](auto) -> lf::task<void> { co_return; };
inline constexpr auto spawn_all = [](auto, std::uint64_t bursts,
                                     std::uint64_t each) -> lf::task<std::uint64_t> {
  std::uint64_t done = 0;
  for (std::uint64_t b = 0; b < bursts; ++b) {
    for (std::uint64_t i = 0; i < each; ++i) co_await lf::fork(nothing)();
    co_await lf::join;
    done += each;
  }
  co_return done;
};
inline constexpr auto call_all = [](auto, std::uint64_t n) -> lf::task<std::uint64_t> {
  std::uint64_t done = 0;
  for (; done < n; ++done) co_await lf::call(nothing)();
  co_await lf::join;
  co_return done;
};

class libfork_peer final : public peer {
 public:
  explicit libfork_peer(std::size_t workers) : pool_(workers) {}
  answer spawn(std::uint64_t bursts, std::uint64_t each) override {
    return lf::sync_wait(pool_, spawn_all, bursts, each);
  }
  answer call(std::uint64_t n) override { return lf::sync_wait(pool_, call_all, n); }
  answer fib(int n) override { return lf::sync_wait(pool_, fib_of, n); }

 private:
  lf::lazy_pool pool_;
};

}  // namespace

std::unique_ptr<peer> make_libfork(std::size_t workers) { return std::make_unique<libfork_peer>(workers); }

}  // namespace engine
#endif
