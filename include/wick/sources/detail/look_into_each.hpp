// Looks into all files of a source: local files one after the other, and files on servers, where each waits
// for the network, several at a time. For code that is compiled once.
#pragma once

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include <wick/async/detail/at_once.hpp>
#include <wick/async/detail/interruption.hpp>
#include <wick/sources/detail/opened_files.hpp>

namespace wick::inline v0_1::detail {

/// Opens each file, calls look_into(number, look), and keeps it. For files on servers, several calls run at a
/// time.
template <class F>
void look_into_each(opened_files& all, F look_into) {
  constexpr std::size_t most_threads = 8;
  std::vector<std::optional<opened_files::look>> remote(all.on_servers() ? all.size() : 0);
  at_once(remote.size(), most_threads, [&](std::size_t f) {
    if (!all.on_server(f)) return;
    remote[f].emplace(all.open(f));
    look_into(f, *remote[f]);
  });
  for (std::size_t f = 0; f < all.size(); ++f) {
    if (!remote.empty() && remote[f]) {
      all.keep(*std::exchange(remote[f], std::nullopt));
      continue;
    }
    check_interruption();
    opened_files::look file = all.open(f);
    look_into(f, file);
    all.keep(std::move(file));
  }
}

}  // namespace wick::detail
