// Notices when a source's size is no longer the one that everything was planned for.
#pragma once

#include <cstdint>

#include <wick/loader/detail/erased_pipeline.hpp>

namespace wick::inline v0_1::detail {

/// Used by the consumer.
class source_size {
 public:
  explicit source_size(const erased_pipeline& of) : of_(of), planned_(of.samples()) {}
  std::uint64_t planned() const noexcept { return planned_; }
  /// \throws wick::error when it has changed, and what the source's size() throws
  void require_same() const;
  /// Called when the size was found to have changed. \throws wick::error
  [[noreturn]] void refuse() const;
  /// Adopts the source's current size.
  void reread() {
    planned_ = of_.samples();
    ++taken_;
  }
  bool changed() const noexcept;

 private:
  const erased_pipeline& of_;
  std::uint64_t planned_, taken_ = 0;
};

}  // namespace wick::detail
