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
                " samples when this loader was made, and has " + std::to_string(found) +
                " now; make a new loader for data of another size");
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
  const std::uint64_t planned_;
};

}  // namespace wick::detail
