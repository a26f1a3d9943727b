/// \file
/// Notices when a source has another size than all was planned for.
#pragma once

#include <cstdint>
#include <string>

#include <wick/sample/error.hpp>

namespace wick::detail {

/// Asked by the consumer.
template <class Source>
class source_size {
 public:
  explicit source_size(const Source& of) : of_(of), planned_(of.size()) {}
  std::uint64_t planned() const noexcept { return planned_; }
  std::uint64_t now() const { return of_.size(); }
  /// \throws wick::error when it has changed, and what the source's size() throws
  void require_same() const {
    const std::uint64_t found = now();
    if (found == planned_) return;
    throw error("loader: the source had " + std::to_string(planned_) +
                (taken_ == 0 ? " samples when this loader was made" : " samples at the last refresh()") +
                ", and has " + std::to_string(found) +
                " now; call refresh() to take data of another size, or make a new loader");
  }
  /// Where it was found to have changed. \throws wick::error
  [[noreturn]] void refuse() const {
    require_same();
    throw error(
        "loader: the source's size changes while an epoch is begun; see the concept source for when it may");
  }
  /// From now on it has the size that it has now.
  void take_anew() {
    planned_ = now();
    ++taken_;
  }
  bool changed() const noexcept {
    try {
      return now() != planned_;
    } catch (...) {
      return true;
    }
  }

 private:
  const Source& of_;
  std::uint64_t planned_, taken_ = 0;
};

}  // namespace wick::detail
