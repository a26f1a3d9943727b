#include <future>
#include <vector>

#include "engine/peer.hpp"

namespace engine {

namespace {

/// A thread a task: what the language gives. It has no number of workers to choose.
class std_async_peer final : public peer {
 public:
  answer spawn(std::uint64_t bursts, std::uint64_t each) override {
    if (bursts * each > 20'000) return std::nullopt;  // 40 µs each: it would take minutes
    std::uint64_t done = 0;
    for (std::uint64_t b = 0; b < bursts; ++b) {
      std::vector<std::future<void>> all;
      for (std::uint64_t i = 0; i < each; ++i) all.push_back(std::async(std::launch::async, [] {}));
      for (auto& f : all) f.get(), ++done;
    }
    return done;
  }
  answer ping_pong(std::uint64_t n) override {
    std::uint64_t done = 0;
    for (; done < n; ++done) std::async(std::launch::async, [] {}).get();
    return done;
  }
  bool post(void (*what)(void*), void* with) override {
    last_ = std::async(std::launch::async, [what, with] { what(with); });
    return true;
  }

 private:
  std::future<void> last_;
};

}  // namespace

std::unique_ptr<peer> make_std_async(std::size_t) { return std::make_unique<std_async_peer>(); }

}  // namespace engine
