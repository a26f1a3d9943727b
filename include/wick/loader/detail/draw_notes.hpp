/// \file
/// What is noted while a batch is made again for its receipt: which numbers stages drew, and what went into
/// what.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include <wick/pipeline/context.hpp>

namespace wick::inline v0_1::detail {

/// The numbers themselves are not kept: a stream gives them again. Any thread, several samples at a time.
class draw_notes {
 public:
  enum class what : std::uint8_t { begun, drew, other };
  struct line {
    what kind = what::begun;
    std::uint32_t stage = 0;
    place where = {};         ///< of which sample
    std::uint64_t count = 0;  ///< of numbers that were drawn
    std::uint64_t into = 0;   ///< place::drawn of the sample that an other went into
    bool frozen = false;      ///< they hang on the sample alone, see context::freeze()
  };

  /// A sample begins, or is tried again: earlier notes of its position count no more.
  void begin(const context& c) { add({what::begun, c.stage(), c.where()}); }
  /// The stage that ran just now may have drawn something.
  void drew(const context& c) {
    if (const std::uint64_t n = c.drawn(); n != 0) add({what::drew, c.stage(), c.where(), n, 0, c.frozen()});
  }
  /// Another sample went into this one, in this stage.
  void went_in(const context& other, const context& into, std::uint32_t stage) {
    add({what::other, stage, other.where(), 0, into.where().drawn});
  }

  /// The notes of a position that count, in their order. To be called after the last note.
  std::vector<line> of(std::uint64_t position) const;
  /// By position; to be called before of().
  void sort();

 private:
  void add(const line& l);
  std::mutex mutex_;
  std::vector<line> lines_;
};

}  // namespace wick::detail
