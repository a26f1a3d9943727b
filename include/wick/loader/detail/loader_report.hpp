/// \file
/// How a loader makes its report, and what it gives its trace.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include <wick/loader/detail/report_book.hpp>
#include <wick/observe/report.hpp>
#include <wick/run/detail/single_user.hpp>
#include <wick/sample/source.hpp>
#include <wick/trace/detail/trace_file.hpp>
#include <wick/trace/trace.hpp>

namespace wick::detail {

/// Of a loader, by its consumer.
template <class Loader>
struct loader_report {
  static report of(Loader& l) {
    auto& books = l.books_;
    report r = books.report.close(report_book::of(*l.feed_), l.feed_->path().stage_names(), l.ledger());
    r.filtered = books.drops.of_training - std::exchange(books.drops.reported, books.drops.of_training);
    for (std::string& note : l.feed_->path().notes()) r.notes.push_back(std::move(note));
    if (std::string note = note_of(l.source()); !note.empty()) r.notes.push_back(std::move(note));
    if (std::string trouble = books.account.trouble(); !trouble.empty())
      r.notes.push_back(std::move(trouble));
    return r;
  }

  static void trace(Loader& l, const std::string& path, const trace_options& options) {
    const single_user::hold mine(l.user_, "trace()");
    l.books_.report.trace(report_book::of(*l.feed_), l.feed_->path().stage_names(),
                          l.feed_->plan().positions(), path, options);
  }
  static void stop_trace(Loader& l) {
    const single_user::hold mine(l.user_, "stop_trace()");
    l.books_.report.stop_trace();
  }
  /// At a batch that was taken, and is still in its place.
  template <class Job>
  [[gnu::noinline]] static void look(Loader& l, const Job& j) noexcept {
    l.books_.report.look(depths(*l.feed_), {.sequence = j.sequence,
                                            .epoch = j.epoch,
                                            .number = j.number,
                                            .samples = j.count,
                                            .opened = j.opened,
                                            .published = j.published});
  }

 private:
  template <class Feed>
  static queue_depths depths(Feed& f) noexcept {
    queue_depths out;
    for (std::uint64_t s = f.done_.taken(); s < f.ahead_.count(); ++s)
      out.ready += f.ahead_.at(s).unfinished.load(std::memory_order_relaxed) == 0 ? 1u : 0u;
    out.samples = Feed::types::samples_suspend ? f.tokens_.taken() : f.crew_.at_work();
    out.bytes = f.runs_.budget.used();
    return out;
  }
};

}  // namespace wick::detail
