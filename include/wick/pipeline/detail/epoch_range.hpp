/// \file
/// What epoch() gives: a range for one pass over an epoch.
#pragma once

#include <cstddef>
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

 private:
  friend Loader;
  explicit epoch_range(Loader& of) : of_(&of) {}
  Loader* of_;
};

}  // namespace wick::detail
