// A program whose sources, samples, and stages are in an unnamed namespace, as most programs of one file have
// them. With g++, coroutines that are function templates of such a type give -Wsubobject-linkage.
#include <chrono>
#include <cstdint>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include <wick/async/sleep.hpp>
#include <wick/async/sync_wait.hpp>
#include <wick/async/when_all.hpp>
#include <wick/core.hpp>

namespace {

struct mine {
  int a = 0;
};
struct source {
  std::uint64_t size() const { return 10; }
  mine at(std::uint64_t i) const { return {static_cast<int>(i)}; }
};
struct numbers {
  std::uint64_t size() const { return 10; }
  int at(std::uint64_t i) const { return static_cast<int>(i); }
};
struct row {
  int number = 0;
  using read_type = mine;
  wick::task<mine> read(wick::context&, const wick::read_options&) const { return make(number); }
  static wick::task<mine> make(int n) { co_return mine{n}; }
};
struct rows {
  std::uint64_t size() const { return 10; }
  row at(std::uint64_t i) const { return {static_cast<int>(i)}; }
};

wick::task<mine> later(mine m) { co_return m; }
wick::task<std::tuple<mine, mine>> both() { return wick::when_all(later({1}), later({2})); }
wick::task<std::vector<mine>> all() {
  std::vector<wick::task<mine>> tasks;
  tasks.push_back(later({1}));
  return wick::when_all(std::move(tasks));
}

wick::task<mine> slowly(mine m, wick::context& c) {
  auto call = c.run_blocking([m] { return m; });
  const mine out = co_await call;
  auto nap = wick::sleep_for(std::chrono::milliseconds(1), c);
  co_await nap;
  co_return out;
}

}  // namespace

int main() {
  static_cast<void>(wick::ext::sync_wait(both()));
  static_cast<void>(wick::ext::sync_wait(all()));
  wick::loader memory(source() | wick::shuffle() | wick::map("slowly", slowly) | wick::cache_in_memory() |
                          wick::with_others(1) | wick::join([](mine a, std::span<mine>) { return a; }) |
                          wick::group(2),
                      {.workers = 1});
  for (auto& batch : memory) static_cast<void>(batch);
  wick::loader disk(numbers() | wick::shuffle() | wick::map("twice", [](int n) { return 2 * n; }) |
                        wick::cache_on_disk("cache") | wick::array_batch(2),
                    {.workers = 1});
  static_cast<void>(wick::ext::sync_wait(disk.next_async()));
  wick::loader read(wick::zip(rows(), source()) | wick::read() | wick::group(2), {.workers = 1});
  for (auto& batch : read) static_cast<void>(batch);
}
