/// \file
/// Edits of a mixture in mid-run: which weights hold from which batch on, and the journal that keeps them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <wick/base/detail/owned.hpp>
#include <wick/io/detail/line_file.hpp>
#include <wick/resume/detail/state.hpp>

namespace wick::inline v0_1 {

/// A source of a mix() and its share of the turns.
struct source_weight {
  std::string name;   ///< as weighted_source has it; its number from 0 where that has none
  double weight = 0;  ///< of the sum of all weights; 0: it has no turns
  friend bool operator==(const source_weight&, const source_weight&) = default;
};

/// From where on loader.set_mix_weights() holds: `{.at_epoch = 2, .at_batch = 40}`. Without at_batch: from
/// the beginning of at_epoch. Without at_epoch: in the epoch of the next batch that is handed over. Without
/// both: from the next batch on, which several ranks must name.
struct edit_options {
  std::optional<std::uint64_t> at_epoch = {};  ///< counted as epoch() does
  std::optional<std::uint64_t> at_batch = {};  ///< of that epoch, from 0
};

namespace detail {

/// All weights from a batch on.
struct mixture_edit {
  std::uint64_t epoch = 0, batch = 0;
  std::vector<double> weights;
};

/// The edits of a training, by rising position, in memory and in a file: a JSON object a line, each with its
/// number and a hash of all before it. A line is on the disk before its edit holds. Processes may share the
/// file: of several lines with one number the first holds, and the writer of another edit gets an error.
class mixture_journal {
 public:
  struct place {
    std::uint64_t epoch = 0, batch = 0;
    friend auto operator<=>(const place&, const place&) = default;
  };

  /// `pipeline` tells the data set, the stages and the global batch.
  mixture_journal(std::span<const std::string> names, std::span<const double> weights, std::uint64_t pipeline,
                  std::uint64_t seed);

  /// What set_mix_weights() would add; nothing when that edit was made already. \throws wick::error for a
  /// name that there is not, weights that make no sense, or a place that was passed or lies before the last
  /// edit
  std::optional<mixture_edit> resolve(std::span<const source_weight> to, const edit_options& at, place here,
                                      bool alone) const;
  /// \throws wick::error when it can't be written, or another process has written another one in its place;
  /// it is not added then
  void add(mixture_edit e);
  /// The edits of this file, which may be another run's. \throws wick::error when it can't be read, is of
  /// another pipeline, or is damaged
  std::vector<mixture_edit> read(const std::string& path) const {
    contents there;
    read_on(path, false, there);
    return std::move(there.edits);
  }
  /// From now on all are written there, behind the edits that it has. \throws wick::error
  std::vector<mixture_edit> open(const std::string& path);

  const std::vector<mixture_edit>& edits() const noexcept { return edits_; }
  std::vector<source_weight> weights_of(const mixture_edit& e) const;
  /// What holds at a batch.
  std::vector<source_weight> at(place where) const;

  void write(loader_state& to) const noexcept;
  /// \throws wick::error when the state was written behind other edits, or without one that lies before it
  void require_same(const loader_state& s) const;

 private:
  struct contents {
    std::vector<mixture_edit> edits;
    std::vector<std::uint64_t> hashes;  // behind each
    bool begun = false;                 // has its first line
    std::uint64_t bytes = 0;            // of its whole lines
    std::size_t lines = 0;
  };
  /// Reads what a file has behind `to`, and checks it.
  void read_on(const std::string& path, bool of_this_run, contents& to) const;
  void read_line(const std::string& path, std::string_view line, bool of_this_run, contents& to) const;
  /// Whether the file has this as edit number edits_.size() + 1. \throws wick::error when it has another one
  bool has_next(std::uint64_t hash);
  std::size_t number_of(const std::string& name) const;
  std::string line_of(const mixture_edit& e, std::size_t number, std::uint64_t before,
                      std::uint64_t& after) const;
  [[noreturn]] void refuse(const std::string& path, std::size_t line, const std::string& what) const;

  std::vector<std::string> names_;
  std::vector<double> first_;
  std::uint64_t pipeline_, seed_;
  std::vector<mixture_edit> edits_;
  std::vector<std::uint64_t> hashes_;  // behind each
  std::size_t from_file_ = 0;          // of them were there when the file was opened
  std::string path_;
  contents in_file_;  // read so far
  owned<line_file> file_;
};

[[noreturn]] void refuse_journal_file();
/// \throws wick::error when the state has edits, and this loader has none
void require_no_edits(const loader_state& s);

}  // namespace detail
}  // namespace wick
