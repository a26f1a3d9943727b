// Second requests for late responses, and how long http_transfers may wait. Used only by http_client.ipp.
#pragma once

#include <cmath>

#include <wick/stores/impl/http_transfers.ipp>

namespace wick::inline v0_1::detail {

inline bool http_transfers::may_hedge() const noexcept {
  constexpr std::uint64_t of = 33;  // at most one request in 33
  return options.hedge && !in_trouble() && std::isfinite(pace.answers.late()) &&
         of * (twice.load(std::memory_order_relaxed) + 1) <= requests.load(std::memory_order_relaxed);
}

inline int http_transfers::milliseconds_to_wait(http_clock::time_point now) const noexcept {
  // While requests are under way, waits at most a second, to notice when the process was stopped.
  const bool idling = active.empty() && waiting.empty();
  http_clock::time_point until = now + std::chrono::seconds(idling ? 60 : 1);
  if (in_trouble()) {
    const http_clock::duration left = pace.probe_of(index) - http_clock::now(), zero{};
    if (active.empty() && !waiting.empty() && (pace.threads == 1 || left > zero))
      until = std::min(until, now + left);
    if (pace.threads > 1 && !waiting.empty())  // another one may probe, or end the trouble, and wakes no one
      until = std::min(until, now + std::chrono::milliseconds(50));
  } else if (active.size() < pace.limit_of(index)) {
    for (const http_request* r : waiting) until = std::min(until, r->due);
  }
  if (may_hedge()) {
    const http_clock::duration late = in_seconds(pace.answers.late());
    for (const http_request* r : active) {
      if (r->twin == nullptr && r->sent + late > now) until = std::min(until, r->sent + late);
    }
  }
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - now).count();
  return static_cast<int>(std::max<std::int64_t>(left, 0));
}

inline void http_transfers::hedge(http_clock::time_point now) {
  constexpr std::uint64_t most_bytes = std::uint64_t{8} << 20;  // in addition to the loader's memory bound
  const http_clock::duration late = in_seconds(pace.answers.late());
  http_request* longest = nullptr;
  std::size_t overdue = 0;
  for (http_request* r : active) {
    if (r->second() || now - r->sent < late) continue;
    ++overdue;
    const bool could = r->twin == nullptr && r->whole == nullptr && !r->complete() &&
                       r->end() - r->read->first() <= most_bytes;
    if (could && (longest == nullptr || r->sent < longest->sent)) longest = r;
  }
  // If many are late, the store itself is slow, and more requests would make it slower.
  const std::size_t some = pace.used() == 1 ? 2 : 1;
  if (longest == nullptr || overdue > std::max(some, active.size() / 8)) return;
  try {
    const std::optional<http_address> to = address_of(*longest);
    if (!to) return;
    active.reserve(active.size() + 1);
    auto* const second = new http_request(*longest);
    active.push_back(second);
    start(*second, *to);
    twice.fetch_add(1, std::memory_order_relaxed);
  } catch (...) {  // the first one is still under way
    drop_second(*longest);
  }
}

inline void http_transfers::drop_second(http_request& r) noexcept {
  const std::unique_ptr<http_request> second(std::exchange(r.twin, nullptr));
  if (second == nullptr) return;
  std::erase(active, second.get());
  release(*second);
}

inline void http_transfers::second_ended(http_request& second, CURLcode code) {
  http_request& r = *second.twin;
  if (!second.has_all(code)) return drop_second(r);
  std::erase(active, &r);
  release(r);
  r.place = second.copy.first();
  r.take(reinterpret_cast<const char*>(second.own.data()), second.copy.got);
  r.first_byte = second.first_byte;
  drop_second(r);
  succeeded(r);
  finish(r, nullptr);
}

}  // namespace wick::detail
