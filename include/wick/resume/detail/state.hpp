// A training's progress in at most 4 KiB: the bytes that loader.state() gives and load_state() takes, on any
// number of workers and ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <wick/ext/fingerprint.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

/// A stage in a state: its name, and the fingerprint of its parameters if it has one.
struct stage_identity {
  std::string name;
  std::uint64_t parameters = 0;
  bool changes = false;  ///< whether it changes with the data, at each refresh(); not written
};

/// Must be the same for a state to be usable: then, the same position means the same sample. Workers,
/// prefetch, memory, error policies, and the number of ranks may differ.
struct pipeline_identity {
  std::uint64_t data = 0;     ///< fingerprint of the source
  std::uint64_t samples = 0;  ///< of the source
  std::uint64_t seed = 0;
  std::uint64_t batch = 0;  ///< samples of a batch over all ranks
  bool batched =
      true;  ///< false: the pipeline has no batch(), and `batch` is the number of samples planned at a time
  std::vector<stage_identity> stages;
  std::uint64_t rank = 0;  ///< without batch(): the one whose samples were handed over
};

/// The weights of a mix() that loader.set_mix_weights() has changed: those of epochs before `from`, and those
/// from there on. Both are empty if it was never called.
struct mix_weights {
  static constexpr std::size_t most_sources = 100;  // so that a state has room for them
  std::uint64_t from = 0;
  std::vector<double> before = {}, after = {};

  const std::vector<double>& in(std::uint64_t epoch) const noexcept { return epoch < from ? before : after; }
  friend bool operator==(const mix_weights&, const mix_weights&) = default;
};

/// A place in the training: `batch` batches of `epoch` were handed over.
struct loader_state {
  static constexpr std::size_t max_bytes = 4096;
  static constexpr std::uint32_t version = 6;  // wick wrote 1 to 5 before

  pipeline_identity of;
  std::uint64_t epoch = 0;
  std::uint64_t batch = 0;
  std::uint64_t sample =
      0;  ///< without batch(): samples of the next group that were handed over, on each rank
  std::uint64_t failures = 0;  ///< in the failure log of the rank that wrote it
  // Counted as in error_options.
  std::uint64_t counted_failures = 0, epoch_failures = 0, consecutive_failures = 0;
  std::uint64_t filtered = 0;  ///< left out by filter() on the rank that wrote it
  std::uint64_t rounds = 0;    ///< how often loader.refresh() updated the data
  mix_weights weights = {};    ///< set by loader.set_mix_weights()

  /// Moves from the end of an epoch's last batch to the next epoch.
  void begin_next_epoch() noexcept;

  /// Little-endian, with version, length, and checksum. Long names are shortened, and stages beyond 40 are
  /// written as one.
  std::vector<std::byte> to_bytes() const;
  /// \throws wick::error when these bytes aren't a state, are damaged, or are of another format
  static loader_state from_bytes(std::span<const std::byte> bytes);
};

inline constexpr std::string_view state_magic = "wick-st\n";
inline constexpr std::size_t max_state_name = 40;

class state_writer {
 public:
  template <class T>
  void number(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i)
      out_.push_back(static_cast<std::byte>(std::uint64_t{value} >> (8 * i)));
  }
  void text(std::string_view t);
  std::vector<std::byte>& bytes() noexcept { return out_; }

 private:
  std::vector<std::byte> out_;
};

class state_reader {
 public:
  explicit state_reader(std::span<const std::byte> in) noexcept : in_(in) {}
  template <class T>
  T number() {
    const auto raw = take(sizeof(T));
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(T); ++i)
      value |= std::uint64_t{std::to_integer<std::uint8_t>(raw[i])} << (8 * i);
    return static_cast<T>(value);
  }
  std::string text(std::size_t size);

 private:
  std::span<const std::byte> take(std::size_t n);
  std::span<const std::byte> in_;
};

std::uint64_t state_checksum(std::span<const std::byte> bytes) noexcept;

/// Shortened names of different stages still differ, and stages beyond the limit still count.
std::vector<stage_identity> shortened(const std::vector<stage_identity>& stages);

std::string hex(std::uint64_t n);

/// Describes the difference; empty if the loader can resume the state. `saved` is as it was read, with its
/// names already shortened. At the beginning of an epoch whose data loader.refresh() updates, size, contents,
/// and weights may differ.
std::string difference(const loader_state& saved, const pipeline_identity& mine);

// Magic, version, length, numbers, stages with the longest names, checksum.
static_assert(8 + 4 + 4 + 17 * 8 + 2 + 71 * (1 + detail::max_state_name + 8) + 8 <= loader_state::max_bytes);

}  // namespace wick::detail
