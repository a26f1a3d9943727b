/// \file
/// How far an epoch is: one line on a terminal, plain lines in a log.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <wick/base/detail/clock.hpp>
#include <wick/base/detail/owned.hpp>
#include <wick/profile/detail/progress_line.hpp>

namespace wick::inline v0_1 {

/// Options of progress(): `wick::progress(train.epoch(e), {.description = "train"})`.
struct progress_options {
  /// Stands before the figures: "epoch 3". What is no printable UTF-8 in it becomes '?'.
  std::string description = {};
  /// Of this process: only rank 0 shows anything. -1: what the launcher says (wick::ranks()), else 0.
  int rank = -1;
  /// Seconds between two updates, at least. 0: 0.1 on a terminal; elsewhere a line after 10 % of the epoch or
  /// 30 s, whichever comes first, but no two within a second.
  double interval = 0;
  /// Where it is written: a file descriptor. 2: stderr.
  int fd = 2;
  /// Shows nothing.
  bool disable = false;
};

/// Shows how far an epoch is: `for (auto& batch : wick::progress(train.epoch(e)))`. On a terminal one line,
/// rewritten in place as tqdm does:
///
///     epoch 3:  45%|#########           | 450/1000 [00:12<00:15, 9.31k samples/s, 3% waiting]
///
/// batches done and in all (without batch(): samples), time gone and left, the rate (of pack(): in rows), and
/// which share of the time the loop waits for data; the last three are of the last ten seconds or so, at the
/// end of all. The line is
/// never wider than the terminal (or COLUMNS), and stays when the epoch ends, a loop is left, or something is
/// thrown; where no batch came there is none. Elsewhere (a file, a pipe, TERM=dumb) there are plain lines
/// without the bar, and a last one. It only looks at the clock when a batch comes: nothing is shown during a
/// long step.
///
/// Text that is printed on the terminal meanwhile stands behind the line: print() or clear() avoid that.
/// After a resume and loader.set_mix_weights() the total is what is left. Used by the thread that takes the
/// batches; the loader may be gone when it is destroyed.
template <class Range>
class progress {
 public:
  /// A batch, or a sample where there is no batch().
  using value_type = typename std::remove_cvref_t<decltype(std::declval<Range&>().next())>::value_type;

  /// \param range  what loader.epoch() gives
  explicit progress(Range range, const progress_options& options = {})
      : range_(std::move(range)),
        line_(detail::make_owned<detail::progress_line>(
            options.description, options.fd, options.interval,
            !options.disable && detail::progress_line::is_first_rank(options.rank))) {}

  /// Takes batches as it advances.
  class iterator {
   public:
    using value_type = typename progress::value_type;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::input_iterator_tag;
    iterator() = default;
    value_type& operator*() const noexcept { return *of_->current_; }
    value_type* operator->() const noexcept { return &*of_->current_; }
    iterator& operator++() {
      of_->advance();
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const iterator& i, std::default_sentinel_t) noexcept { return i.at_end(); }

   private:
    friend class progress;
    explicit iterator(progress* of) : of_(of) {}
    bool at_end() const noexcept { return of_ == nullptr || !of_->current_; }
    progress* of_ = nullptr;
  };
  iterator begin() {
    advance();
    return iterator(this);
  }
  std::default_sentinel_t end() const noexcept { return {}; }

  /// The same without iterators: the next batch, or nothing at the end.
  std::optional<value_type> next() {
    if (!line_->shown()) return range_.next();
    if (!line_->under_way()) line_->begin(left());
    const bool at_hand = range_.at_hand();  // nothing to wait for, and no time to look at clocks
    const std::uint64_t begun = at_hand ? 0 : detail::now_ticks();
    std::optional<value_type> batch;
    try {
      batch = range_.next();
    } catch (...) {
      line_->close(left());
      throw;
    }
    if (!batch)
      line_->close(left());
    else if (at_hand)
      line_->came();
    else
      line_->came(begun, detail::now_ticks(), left());
    return batch;
  }

  /// Prints a line of text above: "loss 0.31". Also where nothing else is shown.
  void print(std::string_view text) { line_->print(text); }
  /// Takes the line away until it is shown again, for a program that prints by itself.
  void clear() noexcept { line_->clear(); }

 private:
  detail::progress_left left() const noexcept { return {range_.items_left(), range_.samples_taken()}; }
  void advance() {
    current_.reset();  // gives its memory back before the next is waited for
    current_ = next();
  }

  Range range_;
  detail::owned<detail::progress_line> line_;
  std::optional<value_type> current_;
};

template <class Range>
progress(Range) -> progress<Range>;
template <class Range>
progress(Range, progress_options) -> progress<Range>;

}  // namespace wick
