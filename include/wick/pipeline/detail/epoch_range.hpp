/// \file
/// What epoch() gives: a range for one pass over an epoch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>

namespace wick::detail {

/// Its iterators take batches as they advance.
template <class Loader>
class epoch_range {
 public:
  class iterator {
   public:
    using value_type = typename Loader::value_type;
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
    friend class epoch_range;
    bool at_end() const noexcept { return of_ == nullptr || !of_->current_; }
    explicit iterator(Loader* of) : of_(of) {}
    Loader* of_ = nullptr;
  };

  iterator begin() {
    of_->advance();
    return iterator(of_);
  }
  std::default_sentinel_t end() const noexcept { return {}; }
  /// The same without iterators.
  std::optional<typename Loader::value_type> next() { return of_->next(); }

  /// Batches that are left of it; without batch() samples, some of which may be left out.
  std::uint64_t items_left() const noexcept { return Loader::place::items_left(*of_); }
  /// This rank's samples in them, as they were planned.
  std::uint64_t samples_left() const noexcept { return Loader::place::samples_left(*of_); }
  /// Whether next() has a sample at hand, so that nobody need measure how long it takes.
  bool at_hand() const noexcept { return Loader::place::at_hand(*of_); }

 private:
  friend Loader;
  explicit epoch_range(Loader& of) : of_(&of) {}
  Loader* of_;
};

}  // namespace wick::detail
