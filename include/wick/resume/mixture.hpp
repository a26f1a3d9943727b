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

#include <wick/resume/state.hpp>
#include <wick/system/detail/line_file.hpp>
#include <wick/system/detail/owned.hpp>

namespace wick {

/// A source of a mix() and its share of the turns.
struct source_weight {
  std::string name;   ///< as weighted_source has it; its number from 0 where that has none
  double weight = 0;  ///< of the sum of all weights; 0: it has no turns
  friend bool operator==(const source_weight&, const source_weight&) = default;
};

/// From where on loader.edit() holds: `{.at_epoch = 2, .at_batch = 40}`. Without at_batch: from the beginning
/// of at_epoch. Without at_epoch: in the epoch of the next batch that is handed over. Without both: from the
/// next batch on, which several ranks must be told.
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
/// file: of several lines with one number the first holds, and who wrote another one is told so.
class mixture_journal {
 public:
  struct place {
    std::uint64_t epoch = 0, batch = 0;
    friend auto operator<=>(const place&, const place&) = default;
  };

  /// `pipeline` tells the data set, the stages and the global batch.
  mixture_journal(std::span<const std::string> names, std::span<const double> weights, std::uint64_t pipeline,
                  std::uint64_t seed);

  /// What edit() would add; nothing when that edit was made already. \throws wick::error for a name that
  /// there is not, weights that make no sense, or a place that was passed or lies before the last edit
  std::optional<mixture_edit> resolve(std::span<const source_weight> to, const edit_options& at, place here,
                                      bool alone) const;
  /// \throws wick::error when it can't be written, or another process has written another one in its place;
  /// it is not added then
  void add(mixture_edit e);
  /// The edits of this file, which may be another run's. \throws wick::error when it can't be read, is of
  /// another pipeline, or is damaged
  std::vector<mixture_edit> read(const std::string& path) const { return read(path, false).edits; }
  /// From now on all are written there, behind the edits that it has. \throws wick::error
  std::vector<mixture_edit> open(const std::string& path);

  const std::vector<mixture_edit>& edits() const noexcept { return edits_; }
  std::vector<source_weight> weights_of(const mixture_edit& e) const;
  /// What holds at a batch.
  std::vector<source_weight> at(place where) const;

  void write(loader_state& to) const noexcept;
  /// \throws wick::error when the state was written behind other edits
  void require_same(const loader_state& s) const;

 private:
  struct contents {
    std::vector<mixture_edit> edits;
    std::vector<std::uint64_t> hashes;  // behind each
    bool begun = false;                 // has its first line
  };
  contents read(const std::string& path, bool of_this_run) const;
  /// Whether the file has this as edit number edits_.size() + 1. \throws wick::error when it has another one
  bool has_next(std::uint64_t hash) const;
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
  owned<line_file> file_;
};

[[noreturn]] void refuse_when_compact();
[[noreturn]] void refuse_journal_file();
template <bool Editable>
consteval void require_editable_mix() {
  static_assert(
      Editable,
      "wick: edit(), replay_edits(), mixture() are for a mix() with batch(n), and nothing but shard() "
      "between: shuffle the mix's sources instead, mix(weighted_source{a | shuffle(), 1}, …)");
}
/// \throws wick::error when the state has edits, and this loader has none
void require_no_edits(const loader_state& s);

/// A loader's edits: keeps the feed's plan that of the epoch under way.
template <class Feed>
class mixture_edits {
 public:
  using place = mixture_journal::place;

  /// \throws wick::error when the state was written behind other edits
  void require_same(const loader_state& s) const {
    journal_ ? journal_->require_same(s) : require_no_edits(s);
  }
  std::vector<source_weight> at(const Feed& feed, place where) const {
    if (journal_) return journal_->at(where);
    const auto& mix = feed.path().template stage<0>();
    return mixture_journal(mix.names(), mix.weights(), 0, 0).at(where);
  }
  bool any() const noexcept { return journal_ && !journal_->edits().empty(); }
  const mixture_journal* journal() const noexcept { return journal_.get(); }

  /// \param identity of the pipeline; asked for once
  template <class F>
  mixture_journal& open(Feed& feed, F&& identity) {
    if (!journal_) {
      const pipeline_identity of = identity();
      fingerprint_hash h;
      h.add(of.data).add(of.samples).add(of.batch);
      for (const stage_identity& s : of.stages) h.add(s.name).add(s.parameters);
      const auto& mix = feed.path().template stage<0>();
      for (const std::string& name : mix.names()) h.add(name);
      journal_ = make_owned<mixture_journal>(mix.names(), mix.weights(), h.value(), of.seed);
    }
    return *journal_;
  }
  /// True when the feed is planned anew, and what was prefetched is gone.
  bool plan_for(Feed& feed, std::uint64_t epoch) {
    if (!any() || planned_ == epoch) return false;
    plan(feed, epoch);
    return true;
  }
  /// Where the loader is: the batch handed over next, the epoch under way and how many batches of it are
  /// left.
  struct stand {
    place next;
    std::uint64_t epoch;
    std::uint64_t& left;
    bool& sought;
  };
  /// Takes an edit into the order, and then into the journal unless it is there. As if nothing had been when
  /// it throws. What was handed over of the epoch stays so, whatever number of batches it has now.
  void add(Feed& feed, mixture_edit e, stand at, bool to_journal = true) {
    auto& mix = feed.path().template stage<0>();
    require_reached(mix, e, feed.plan().batch_size());
    if (e.epoch == at.next.epoch && at.next.batch != 0 && feed.runs().policy.options().compact)
      refuse_when_compact();
    const bool ended = at.left == 0;
    const std::uint64_t taken = feed.plan().batches() - at.left;
    at.sought = ended;
    mix.edit(e.epoch, e.batch * feed.plan().batch_size(), e.weights);
    planned_.reset();
    try {
      plan(feed, at.epoch);
      if (to_journal) journal_->add(std::move(e));
    } catch (...) {
      mix.take_back_edit();
      plan(feed, at.epoch);
      throw;
    }
    if (!ended) at.left = feed.plan().batches() - taken;
  }

 private:
  void plan(Feed& feed, std::uint64_t epoch) {
    if (!feed.idle())
      feed.on().require_outside("a change of the mixture", "take the epoch to its end before it");
    feed.path().template stage<0>().plan_for(epoch);
    feed.refresh(false);
    planned_ = epoch;
  }
  template <class Mix>
  static void require_reached(const Mix& mix, const mixture_edit& e, std::uint64_t batch_size) {
    const std::uint64_t size = mix.size_in(e.epoch), batches = (size + batch_size - 1) / batch_size;
    if (e.batch == 0 || e.batch < batches) return;
    throw error("edit: epoch " + std::to_string(e.epoch) + " has " + std::to_string(batches) +
                " batches, and the edit is for batch " + std::to_string(e.batch) +
                " (from 0); edit the beginning of the next epoch");
  }

  owned<mixture_journal> journal_;
  std::optional<std::uint64_t> planned_;  // what epoch the feed is planned for
};

}  // namespace detail
}  // namespace wick
