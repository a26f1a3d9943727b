// Loaders that fail, wait and stop, and the same pipeline run in C++, for loader.py.
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <nanobind/nanobind.h>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "bridge.hpp"
#include <wick/core.hpp>
#include <wick/python/add_loader.hpp>

namespace nb = nanobind;
using namespace nb::literals;

namespace {

std::atomic<bool> gate_is_open{false};

auto numbers(std::int64_t count) {
  std::vector<std::int64_t> all;
  for (std::int64_t i = 0; i < count; ++i) all.push_back(i);
  return wick::in_memory(std::move(all));
}

/// Random numbers of each sample's own.
auto noise(std::int64_t count, std::size_t batch) {
  return numbers(count) | wick::shuffle() |
         wick::map("noise",
                   [](std::int64_t i, wick::context& c) {
                     std::array<float, 16> row{};
                     for (float& x : row)
                       x = static_cast<float>(i) + static_cast<float>(c.random().uniform());
                     return wick::sample(row, i);
                   }) |
         wick::array_batch(batch);
}
using noise_batch = decltype(wick::loader(noise(1, 1)))::value_type;

/// Numbers whose fingerprint takes until the gate is open.
struct slow_to_hash {
  std::uint64_t size() const { return 12; }
  std::int64_t at(std::uint64_t i) const { return static_cast<std::int64_t>(i); }
  std::uint64_t fingerprint() const {
    while (!gate_is_open) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return 7;
  }
};

struct stages {
  static wick::task<std::int64_t> wait(std::int64_t i, wick::context& context) {
    while (!gate_is_open) co_await wick::sleep_for(std::chrono::milliseconds(1), context);
    co_return i;
  }
};

nb::bytes bytes_of(wick::loader<noise_batch>& l) {
  std::vector<std::byte> all;
  while (const auto batch = l.next()) {
    for (const wick::array& a : {batch->data, batch->target})
      all.insert(all.end(), a.data(), a.data() + a.bytes());
  }
  return nb::bytes(all.data(), all.size());
}

}  // namespace

void wick_bridge::add_running(nb::module_& m) {
  wick::python::add_loader(m, "noise", &noise, "count"_a, "batch"_a = 10);
  // The same without Python.
  m.def("noise_bytes", [](std::int64_t count, std::size_t batch, std::uint64_t seed, std::uint64_t epoch) {
    wick::loader l(noise(count, batch), {.seed = seed});
    l.epoch(epoch);
    return bytes_of(l);
  });
  m.def("noise_state", [](std::int64_t count, std::size_t batch, std::uint64_t seed, std::uint64_t batches) {
    wick::loader l(noise(count, batch), {.seed = seed});
    for (std::uint64_t i = 0; i < batches; ++i) l.next();
    const std::vector<std::byte> state = l.state();
    return nb::bytes(state.data(), state.size());
  });
  m.def("noise_rest", [](std::int64_t count, std::size_t batch, std::uint64_t seed, const nb::bytes& state) {
    wick::loader l(noise(count, batch), {.seed = seed});
    l.load_state({static_cast<const std::byte*>(state.data()), state.size()});
    return bytes_of(l);
  });

  wick::python::add_loader(
      m, "gated", [] { return numbers(12) | wick::map("wait", &stages::wait) | wick::array_batch(4); });
  wick::python::add_loader(m, "slow_to_hash",
                           [] { return wick::from(slow_to_hash{}) | wick::array_batch(4); });
  m.def("open_gate", [](bool open) { gate_is_open = open; });
  wick::python::add_loader(
      m, "failing",
      [](std::int64_t which) {
        return numbers(12) |
               wick::map("check",
                         [which](std::int64_t i) {
                           if (i == which) throw wick::error("is " + std::to_string(i) + "; give another");
                           return i;
                         }) |
               wick::array_batch(4);
      },
      "which"_a);
}
