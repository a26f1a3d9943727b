// The result of epoch(): a range for one pass over an epoch.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>

#include <wick/loader/detail/loader_of.hpp>

namespace wick::inline v0_1::detail {

/// Its iterators take batches as they advance. It refers to the loader's contents, so the loader may be moved
/// meanwhile.
template <class Batch>
class epoch_range {
 public:
  class iterator {
   public:
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    using iterator_concept = std::input_iterator_tag;
    iterator() = default;
    Batch& operator*() const noexcept { return *of_->current; }
    Batch* operator->() const noexcept { return &*of_->current; }
    iterator& operator++() {
      advance(*of_, pass_);
      return *this;
    }
    void operator++(int) { ++*this; }
    friend bool operator==(const iterator& i, std::default_sentinel_t) noexcept { return i.at_end(); }

   private:
    friend class epoch_range;
    bool at_end() const noexcept { return of_ == nullptr || !of_->current; }
    iterator(loader_of<Batch>* of, std::uint64_t pass) : of_(of), pass_(pass) {}
    loader_of<Batch>* of_ = nullptr;
    std::uint64_t pass_ = 0;
  };

  explicit epoch_range(loader_of<Batch>& of) : of_(&of), pass_(of.pass()) {}
  /// \throws what next() throws; std::logic_error when another epoch has been begun since
  iterator begin() {
    advance(*of_, pass_);
    return iterator(of_, pass_);
  }
  std::default_sentinel_t end() const noexcept { return {}; }
  /// The same, without iterators.
  std::optional<Batch> next() {
    of_->require_pass(pass_);
    return of_->next_value();
  }

  template <std::predicate Keep>
  std::optional<Batch> next(Keep keep) {
    of_->require_pass(pass_);
    return of_->next_value_while(keep);
  }

  /// The remaining batches; without batch(), samples, some of which may be left out. 0 once another epoch has
  /// been begun.
  std::uint64_t items_left() const noexcept { return of_->pass() == pass_ ? of_->items_left() : 0; }
  /// This rank's samples handed over so far, without those that failed or were left out.
  std::uint64_t samples_taken() const noexcept { return of_->samples_taken(); }
  /// Whether next() has a sample ready, so that there is no wait to measure.
  bool is_ready() const noexcept { return of_->is_ready(); }

 private:
  static void advance(loader_of<Batch>& of, std::uint64_t pass) {
    of.require_pass(pass);
    if (!of.user().still_this_thread()) of.require_outside("next()", "co_await next_async()");
    of.current.reset();  // frees its memory before waiting for the next
    of.current = of.next_value();
  }
  loader_of<Batch>* of_;
  std::uint64_t pass_;
};

}  // namespace wick::detail
