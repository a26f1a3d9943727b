/// \file
/// The bodies of what observe/detail/timeline_book.hpp declares. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <wick/observe/detail/timeline_book.hpp>
#include <wick/observe/report.hpp>

namespace wick::detail {

void timeline_book::add(reading r, std::uint64_t least) {
  if (begin_.at == 0) {
    width_ = least;
    now_ = {};
    next_ = r.at + width_;
    begin_ = std::move(r);
    return;
  }
  piece p = std::exchange(now_, {});
  p.begin = pieces_.empty() ? begin_.at : pieces_.back().until.at;
  next_ = r.at + width_;
  p.until = std::move(r);
  pieces_.push_back(std::move(p));
  if (pieces_.size() < most_pieces) return;
  width_ *= 2;
  for (std::size_t i = 0; 2 * i + 1 < pieces_.size(); ++i) {
    piece &first = pieces_[2 * i], &last = pieces_[2 * i + 1];
    last.begin = first.begin;
    last.iterations += first.iterations;
    last.waited += first.waited;
    last.longest = std::max(last.longest, first.longest);
    if (i != 2 * i + 1) pieces_[i] = std::move(last);
  }
  pieces_.resize(pieces_.size() / 2);
}

std::vector<timeline_piece> timeline_book::take(const report& of, const std::vector<std::size_t>& row_of,
                                                double tick) {
  std::vector<timeline_piece> out;
  const reading* before = &begin_;
  for (const piece& p : pieces_) {
    timeline_piece t;
    t.begin = static_cast<double>(p.begin - begin_.at) * tick;
    t.seconds = static_cast<double>(p.until.at - p.begin) * tick;
    t.iterations = p.iterations;
    t.waiting = static_cast<double>(p.waited) * tick;
    t.longest_wait = static_cast<double>(p.longest) * tick;
    t.ready = p.until.ready;
    t.in_flight = p.until.in_flight;
    t.bytes = p.until.bytes;
    for (const std::size_t row : row_of)
      t.stages.push_back(std::max(0.0, p.until.rows[row] - before->rows[row]));
    for (std::size_t w = 0; w < of.each_worker.size(); ++w)
      t.workers.push_back(std::max(0.0, p.until.workers[w] - before->workers[w]));
    before = &p.until;
    out.push_back(std::move(t));
  }
  // Short samples are timed now and then: how much there was of each is better known of all the time.
  const auto fit = [&](std::vector<double> timeline_piece::*member, std::size_t i, double busy) {
    double sum = 0;
    for (const timeline_piece& t : out) sum += (t.*member)[i];
    for (timeline_piece& t : out) (t.*member)[i] *= sum > 0 ? busy / sum : 0;
  };
  for (std::size_t i = 0; i < row_of.size(); ++i) fit(&timeline_piece::stages, i, of.stages[i].busy);
  for (std::size_t w = 0; w < of.each_worker.size(); ++w)
    fit(&timeline_piece::workers, w, of.each_worker[w].busy);
  if (!pieces_.empty()) begin_ = std::move(pieces_.back().until);
  pieces_.clear();
  return out;
}

}  // namespace wick::detail
