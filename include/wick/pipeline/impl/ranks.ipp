// Implements pipeline/ranks.hpp. Included in exactly one file of a program.
#pragma once

#include <utility>

#include <wick/base/detail/launch.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/ranks.hpp>

namespace wick::inline v0_1 {

process_ranks ranks() {
  detail::launch found = detail::find_launch();
  if (!found.fault.empty()) {
    throw error("shard: the environment says " + detail::printable(found.fault) +
                "; set RANK (from 0 to WORLD_SIZE - 1) and WORLD_SIZE as torchrun does, unset what is wrong, "
                "or write "
                "shard(rank, world)");
  }
  return {found.rank, found.world, found.local_rank, found.local_world, std::move(found.launcher)};
}

namespace detail {

namespace {
ranks_scope*& innermost() noexcept {
  thread_local ranks_scope* of_thread = nullptr;
  return of_thread;
}
}  // namespace

ranks_scope::ranks_scope(std::optional<process_ranks> given)
    : given_(std::move(given)), outer_(std::exchange(innermost(), this)) {}

ranks_scope::~ranks_scope() { innermost() = outer_; }

ranks_scope* ranks_scope::current() noexcept { return innermost(); }

process_ranks ranks_scope::take() {
  taken_ = given_ ? *given_ : ranks();
  return *taken_;
}

}  // namespace detail
}  // namespace wick
