// Samples that are known to be bad: a file that one run writes and a later one loads, so that they aren't
// tried again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <wick/ext/source.hpp>

namespace wick::inline v0_1::detail {

/// Indexes in a source, each with the stage in which the sample failed. Any thread may ask it once it is
/// made.
class quarantine {
 public:
  struct entry {
    std::uint64_t index = 0;
    std::size_t stage = 0;  ///< its number in the pipeline's names
  };

  quarantine() = default;
  /// If an index has several entries, the first counts.
  explicit quarantine(std::vector<entry> entries, std::vector<std::string> stages = {});

  bool empty() const noexcept { return entries_.empty(); }
  std::size_t size() const noexcept { return entries_.size(); }
  /// By rising index.
  const std::vector<entry>& entries() const noexcept { return entries_; }
  bool has(std::uint64_t index) const noexcept;
  /// The stage in which it failed; empty if unknown.
  std::string stage_of(std::uint64_t index) const;

 private:
  static constexpr std::uint64_t no_index = ~std::uint64_t{0};
  std::size_t first_place(std::uint64_t index) const noexcept;
  std::vector<entry> entries_;
  std::vector<std::string> stages_;
  std::vector<std::uint64_t> places_;
};

std::string quarantine_head(std::uint64_t samples, std::uint64_t data);
std::string quarantine_line(std::uint64_t index, std::string_view key, std::string_view stage);

/// A source, for the duration of a call: what a list says about it, and a way to get keys from it.
struct listed_source {
  template <source Source>
  listed_source(const Source& from)  // NOLINT(google-explicit-constructor)
      : source(&from),
        samples(detail::samples_of(from)),
        data(detail::fingerprint_of(from)),
        key([](const void* s, std::uint64_t i) {
          return detail::key_of(*static_cast<const Source*>(s), i);
        }) {}

  listed_source(const void* from, std::uint64_t there, std::uint64_t fingerprint,
                std::string (*name)(const void* source, std::uint64_t index)) noexcept
      : source(from), samples(there), data(fingerprint), key(name) {}

  const void* source;
  std::uint64_t samples, data;  // the number of samples, and their fingerprint
  std::string (*key)(const void* source, std::uint64_t index);
};

/// Replaces the file at `path` with these samples of `from`: a line of JSON that identifies the data set, and
/// one for each sample with its index, its key, and the stage (a number in `stages`). A reader finds the old
/// file or the new one at any time. \throws wick::error
void write_quarantine(const std::string& path, const listed_source& from,
                      std::span<const quarantine::entry> entries, std::span<const std::string> stages);

/// The samples of `from` that a file of write_quarantine() names. A stage that isn't in `stages` (the
/// pipeline has changed since) is stages.size(). \throws wick::error when the file can't be read, isn't a
/// quarantine list, is of another data set, or names a sample by another key
std::vector<quarantine::entry> read_quarantine(const std::string& path, const listed_source& from,
                                               std::span<const std::string> stages);

/// All samples that several such files name. \throws what read_quarantine() throws
quarantine read_quarantines(const std::vector<std::string>& paths, const listed_source& from,
                            std::vector<std::string> stages);

}  // namespace wick::detail
