/// \file
/// Writes the receipt of a batch from the notes taken while it was made again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <wick/loader/detail/draw_notes.hpp>
#include <wick/loader/receipt.hpp>
#include <wick/pipeline/context.hpp>

namespace wick::inline v0_1::detail {

/// Fills a receipt from draw_notes.
class receipt_writer {
 public:
  static constexpr std::size_t most_values = 256;

  /// \param batching  the number of the stage that makes batches
  receipt_writer(receipt& to, const draw_notes& notes, const std::vector<std::string>& stages,
                 std::size_t batching, const sample_names& names) noexcept
      : to_(to), notes_(notes), stages_(stages), batching_(batching), names_(names) {}
  /// A sample, of which all but keys, draws and others is known.
  void add(receipt::sample s);
  /// Draws for the whole batch, whose first position this is.
  void add_batch(std::uint64_t position);

 private:
  std::string key(std::uint64_t index) const;

  receipt& to_;
  const draw_notes& notes_;
  const std::vector<std::string>& stages_;
  const std::size_t batching_;
  const sample_names& names_;
};

}  // namespace wick::detail
