/// \file
/// Notices when a source has another size than all was planned for.
#pragma once

#include <cstdint>

namespace wick::detail {

/// Asked by the consumer.
template <class Source>
class source_size {
 public:
  explicit source_size(const Source& of) : of_(of), planned_(of.size()) {}
  std::uint64_t planned() const noexcept { return planned_; }
  std::uint64_t now() const { return of_.size(); }
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
