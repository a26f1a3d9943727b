// The progress of an epoch: one line on a terminal, plain lines in a log.
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
#include <wick/base/detail/duration.hpp>
#include <wick/base/detail/owned.hpp>
#include <wick/profile/detail/progress_line.hpp>

namespace wick::inline v0_1 {

/// Options of progress(): `wick::progress(train.epoch(e), {.description = "train"})`.
struct progress_options {
  /// The text before the figures: "epoch 3". Bytes in it that aren't printable UTF-8 become '?'.
  std::string description = {};
  /// The rank of this process: only rank 0 shows anything. Default: what the launcher says (wick::ranks()),
  /// else 0.
  std::optional<int> rank = {};
  /// The least time between two updates. Default: 0.1 s on a terminal; elsewhere a line after 10 % of the
  /// epoch or 30 s, whichever comes first, but no two within a second.
  std::optional<std::chrono::nanoseconds> interval = {};
  /// The file descriptor that it writes to; 2 is stderr.
  int fd = 2;
  /// Shows nothing.
  bool disable = false;
};

/// Shows the progress of an epoch: `for (auto& batch : wick::progress(train.epoch(e)))`. On a terminal, it is
/// one line, rewritten in place as tqdm does:
///
///     epoch 3:  45%|#########           | 450/1000 [00:12<00:15, 9.31k samples/s, 3% waiting]
///
/// The line shows the batches done and in all (without batch(): samples), the time elapsed and left, the rate
/// (with pack(): in rows), and the share of time that the loop waits for data. The last three cover about
/// the last ten seconds, and at the end the whole epoch. The line is never wider than the terminal (or
/// COLUMNS). It stays when the epoch ends, a loop is left, or something is thrown; if no batch came, it is
/// removed. Elsewhere (a file, a pipe, TERM=dumb), there are plain lines without the bar, and a last one at
/// the end. It looks at the clock only when a batch comes, so it shows nothing during a long step.
///
/// Other text that is printed on the terminal meanwhile appears after the line: print() or clear() avoid
/// that. After a resume and loader.set_mix_weights(), the total is the number that is left. Use it on the
/// thread that takes the batches. The loader may be destroyed before it.
template <class Range>
class progress {
 public:
  /// A batch, or a sample if there is no batch().
  using value_type = typename std::remove_cvref_t<decltype(std::declval<Range&>().next())>::value_type;

  /// \param range  the result of loader.epoch()
  /// \throws wick::error for a rank or an interval below 0
  explicit progress(Range range, const progress_options& options = {})
      : range_(std::move(range)),
        line_(detail::make_owned<detail::progress_line>(
            options.description, options.fd, interval_of(options),
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
    const bool is_ready = range_.is_ready();  // nothing to wait for, and no time to look at clocks
    const std::uint64_t begun = is_ready ? 0 : detail::now_ticks();
    std::optional<value_type> batch;
    try {
      batch = range_.next();
    } catch (...) {
      line_->close(left());
      throw;
    }
    if (!batch)
      line_->close(left());
    else if (is_ready)
      line_->came();
    else
      line_->came(begun, detail::now_ticks(), left());
    return batch;
  }

  /// Prints a line of text above the progress line: "loss 0.31". Also if nothing else is shown.
  void print(std::string_view text) { line_->print(text); }
  /// Removes the line until it is shown again, for a program that prints by itself.
  void clear() noexcept { line_->clear(); }

 private:
  static std::optional<double> interval_of(const progress_options& options) {
    if (!options.interval) return std::nullopt;
    detail::progress_line::require_not_negative("interval", options.interval->count());
    return std::chrono::duration<double>(*options.interval).count();
  }
  detail::progress_left left() const noexcept { return {range_.items_left(), range_.samples_taken()}; }
  void advance() {
    current_.reset();  // returns its memory before waiting for the next batch
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
