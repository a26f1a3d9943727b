// A machine of many processors, in which a program compiled with -fsanitize=thread runs: see machine.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sharing {

/// The counts between two calls of count().
struct counts {
  std::uint64_t moves = 0;  ///< of cache lines from one processor to another, copies made exclusive included
  std::uint64_t atomics = 0;  ///< operations: not plain loads and stores; locking a mutex is one
  std::uint64_t locks = 0;    ///< mutexes taken
  std::uint64_t sleeps = 0;   ///< threads that went to sleep
  std::uint64_t ns = 0;       ///< by the clock of the thread that counts
  std::uint64_t hottest = 0;  ///< moves of the line that moved most
  /// The places in the code that moved most, and their number of moves; those that moved the hottest line;
  /// and those with the most atomic operations.
  struct place {
    std::string where;
    std::uint64_t count = 0;
  };
  std::vector<place> places{}, hottest_places{}, atomic_places{};
};

/// How long a line takes from one processor to another, in nanoseconds: 100 within a socket, 250 between two.
void set_move(std::uint64_t ns);
/// The calling thread computes for so long.
void work(std::uint64_t ns) noexcept;
/// Returns the counts since the last call, and starts them again from 0. With `places`, the next ones say
/// where.
counts count(bool places = false);
/// Whether reads from the page cache are refused, so that I/O threads do them.
void refuse_cached_reads(bool refuse) noexcept;

}  // namespace sharing
