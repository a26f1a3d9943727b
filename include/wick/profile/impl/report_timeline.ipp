// Implements profile/detail/report_timeline.hpp. Included in exactly one file of a program.
#pragma once

#include <utility>

#include <wick/profile/detail/report_timeline.hpp>

namespace wick::inline v0_1::detail {

void report_timeline::piece::add(const piece& next) noexcept {
  end = next.end;
  iterations += next.iterations;
  waited += next.waited;
  step += next.step;
  longest = std::max(longest, next.longest);
  readings += next.readings;
  ready += next.ready;
  in_flight += next.in_flight;
  bytes += next.bytes;
}

void report_timeline::add(const queue_depths& depths, std::uint64_t next_at) noexcept {
  ++now_.readings;
  now_.ready += depths.ready;
  now_.in_flight += depths.samples;
  now_.bytes += depths.bytes;
  next_ = next_at;
}

void report_timeline::close() noexcept {
  try {
    pieces_.reserve(most_pieces);
  } catch (...) {  // out of memory: the piece becomes longer
    return;
  }
  pieces_.push_back(std::exchange(now_, {}));
  if (pieces_.size() < most_pieces) return;
  // Any two neighbors together are longer than this, so at most half remain. Breaks between epochs stay.
  width_ = (pieces_.back().end - pieces_.front().begin) / (most_pieces / 4) + 1;
  auto last = pieces_.begin();
  for (auto p = last + 1; p != pieces_.end(); ++p) {
    if (p->end - last->begin <= width_)
      last->add(*p);
    else
      *++last = *p;
  }
  pieces_.erase(last + 1, pieces_.end());
}

std::vector<report::timeline_piece> report_timeline::take(std::uint64_t since, double tick) {
  std::vector<report::timeline_piece> out;
  out.reserve(pieces_.size() + 1);
  const auto in_seconds = [&](std::uint64_t ticks) { return static_cast<double>(ticks) * tick; };
  double ready = 0, in_flight = 0, bytes = 0;  // without a reading: the previous value
  const auto put = [&](const piece& p) {
    if (p.readings != 0) {
      const auto n = static_cast<double>(p.readings);
      ready = static_cast<double>(p.ready) / n;
      in_flight = static_cast<double>(p.in_flight) / n;
      bytes = static_cast<double>(p.bytes) / n;
    }
    const auto n = static_cast<double>(p.iterations);
    if (p.iterations == 0) return;
    out.push_back({in_seconds(p.begin - std::min(p.begin, since)), in_seconds(p.end - p.begin), p.iterations,
                   in_seconds(p.waited) / n, in_seconds(p.longest), in_seconds(p.step) / n, ready, in_flight,
                   bytes});
  };
  for (const piece& p : pieces_) put(p);
  put(now_);
  pieces_.clear();
  now_ = {};
  width_ = 0;
  next_ = 0;
  return out;
}

}  // namespace wick::detail
