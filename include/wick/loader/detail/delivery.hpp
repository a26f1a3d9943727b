/// \file
/// What the consumer does with a batch that it has taken: its failures are told, what was delivered is
/// counted, and its place in the ring is given back. The two ways of handing over are in batch_delivery.hpp
/// and sample_delivery.hpp.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include <wick/failure/detail/drop_book.hpp>
#include <wick/failure/detail/error_account.hpp>
#include <wick/loader/detail/report_book.hpp>
#include <wick/run/executor.hpp>
#include <wick/schedule/detail/hang_watch.hpp>

namespace wick::detail {

/// What is kept of all that was handed over, epoch after epoch.
struct delivery_books {
  error_account account;
  print_book prints;
  report_book report;
  drop_book drops = {};
};

/// The next batch. The calling thread sleeps until it is there, or runs samples where these are short.
template <class Feed>
auto wait_for_batch(Feed& feed, report_book& book) {
  const std::uint64_t begun_at = book.begin_wait();
  auto* job = feed.try_take();
  if (job == nullptr) {
    const hang_watch::waiting waits(feed.watch());
    if (feed.short_samples()) {
      if (executor::helper slot(feed.on()); slot) {
        while ((job = feed.try_take()) == nullptr && feed.short_samples() && feed.help()) {
        }
        book.helped(begun_at);
      }
    }
    if (job == nullptr) job = feed.take();
  }
  book.waited(begun_at);
  return job;
}

/// A batch's place in the ring: free afterwards, whatever is thrown.
template <class Feed, class Job>
class taken_job {
 public:
  taken_job(Feed& of, Job* job) noexcept : of_(of), job_(job) {}
  taken_job(const taken_job&) = delete;
  taken_job& operator=(const taken_job&) = delete;
  ~taken_job() { release(); }
  Job* operator->() const noexcept { return job_; }
  Job& operator*() const noexcept { return *job_; }
  /// What is needed of it afterwards was copied.
  void release() noexcept {
    if (job_ != nullptr) of_.release(std::exchange(job_, nullptr));
  }

 private:
  Feed& of_;
  Job* job_;
};

/// What there is to tell of a batch, by rising slot.
template <class Feed, class Job>
void tell_in_order(const Feed& feed, const Job& job, std::vector<told_failure>& to) {
  to.clear();
  if (job.failures.empty() && !job.unlisted) return;
  tell_all<Feed::batched>(job, feed.path().stage_names(), feed.origin(), feed.runs().bad, feed.plan(), to);
  sort_by_slot(to);
}

}  // namespace wick::detail
