/// \file
/// Looking into all files of a source: one after the other on this machine, and some at a time on servers,
/// where each waits for the network. For bodies, which are compiled once.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <wick/async/detail/signal_mask.hpp>
#include <wick/sources/detail/opened_files.hpp>

namespace wick::detail {

/// Calls f(0), …, f(count - 1), on so many threads. \throws what the first of them throws, in their order
template <class F>
void at_once(std::size_t count, std::size_t threads, F f) {
  std::atomic<std::size_t> next{0};
  std::vector<std::exception_ptr> failed(count);
  const auto work = [&]() noexcept {
    for (std::size_t i; (i = next.fetch_add(1, std::memory_order_relaxed)) < count;) {
      try {
        f(i);
      } catch (...) {
        failed[i] = std::current_exception();
        next.store(count, std::memory_order_relaxed);  // the others would be in vain
      }
    }
  };
  {
    const signals_blocked quiet;
    std::vector<std::jthread> others;
    for (std::size_t t = 1; t < std::min(count, threads); ++t) others.emplace_back(work);
    work();
  }
  for (const std::exception_ptr& each : failed) {
    if (each) std::rethrow_exception(each);
  }
}

/// Opens each file, calls look_into(number, look), and keeps it. On servers several calls run at a time.
template <class F>
void look_into_each(opened_files& all, F look_into) {
  constexpr std::size_t most_threads = 8;
  if (!all.on_servers()) {
    for (std::size_t f = 0; f < all.size(); ++f) {
      opened_files::look file = all.open(f);
      look_into(f, file);
      all.keep(std::move(file));
    }
    return;
  }
  std::vector<std::optional<opened_files::look>> looks(all.size());
  at_once(all.size(), most_threads, [&](std::size_t f) {
    looks[f].emplace(all.open(f));
    look_into(f, *looks[f]);
  });
  for (auto& looked : looks) all.keep(std::move(*looked));
}

}  // namespace wick::detail
