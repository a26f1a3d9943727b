// The delivery log: a line for each batch that is handed over, with hashes of its samples. wick-audit reads
// the logs of all ranks, and reports whether a training has lost or repeated any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <wick/batch/epoch_fingerprint.hpp>
#include <wick/io/detail/log_file.hpp>

namespace wick::inline v0_1::detail {

/// The beginning of each line.
inline constexpr std::string_view delivery_head = "{\"loader\":\"0x";

/// Identifies the loader, and the first of the batches that follow: a loader's first line, and the line
/// before each batch that doesn't follow the last one or is of other data.
struct delivery_start {
  std::uint64_t loader = 0;  ///< a random number: lines of several loaders may be in one file
  std::uint64_t rank = 0, world = 1;
  std::uint64_t epoch = 0, batch = 0;  ///< of the first batch that follows
  std::uint64_t seed = 0;
  std::uint64_t batch_size = 0;  ///< of the global batch
  std::uint64_t source = 0;      ///< the number of samples in the source
  std::uint64_t data = 0;        ///< identifies the data set
  std::uint64_t content = 0;     ///< 1: the hashes cover the samples' bytes, too

  /// Whether the batches are of one training. Their ranks and places may differ, and the data may change.
  bool same_training(const delivery_start& o) const noexcept {
    return seed == o.seed && batch_size == o.batch_size && content == o.content;
  }
};

/// A rank's share of a batch.
struct delivered_batch {
  std::uint64_t loader = 0;
  std::uint64_t epoch = 0, batch = 0;
  std::uint64_t batches = 0;       ///< of the epoch
  std::uint64_t count = 0;         ///< positions of the share
  std::uint64_t samples = 0;       ///< the number handed over
  std::uint64_t replaced = 0;      ///< of these, substitutes for samples that failed
  std::uint64_t order_hash = 0;    ///< of the samples by position, summed as in epoch_fingerprint
  std::uint64_t samples_hash = 0;  ///< the sum of hash_of_sample() over them, at any positions

  bool same_samples(const delivered_batch& o) const noexcept {
    return count == o.count && samples == o.samples && replaced == o.replaced && order_hash == o.order_hash &&
           samples_hash == o.samples_hash;
  }
};

inline std::uint64_t hash_of_sample(std::uint64_t index) noexcept { return print_of(left_out, index); }

std::string to_json(const delivery_start& s);
std::string to_json(const delivered_batch& b);
/// Nothing if the line is of the other kind.
std::optional<delivery_start> read_delivery_start(std::string_view line);
std::optional<delivered_batch> read_delivered_batch(std::string_view line);

/// Writes the lines of a loader.
class delivery_log {
 public:
  delivery_log() = default;
  /// Appends to the file, if there is a path. \throws wick::error when it can't be opened
  delivery_log(std::string path, bool content);

  explicit operator bool() const noexcept { return file_.has_value(); }
  /// \param whose  its loader, place and content are filled in here, as is the loader of `b`
  void add(delivery_start whose, delivered_batch b) noexcept;
  /// A description of what went wrong; empty if nothing did.
  std::string trouble() const {
    return file_ ? file_->trouble("wick-audit misses their batches") : std::string();
  }

 private:
  std::optional<log_file> file_;
  std::uint64_t loader_ = 0;
  bool content_ = false;
  delivery_start last_;                                          // the last one written
  std::optional<std::pair<std::uint64_t, std::uint64_t>> next_;  // the expected epoch and batch
};

}  // namespace wick::detail
