// Implements pipeline/with_others.hpp. Included in exactly one file of a program.
#pragma once

#include <wick/async/stop_token.hpp>
#include <wick/pipeline/detail/dropped.hpp>
#include <wick/pipeline/detail/failed_other.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/with_others.hpp>

namespace wick::inline v0_1 {

namespace detail {

with_others_stage::with_others_stage(std::size_t count, const with_others_options& options)
    : count_(count), options_(options) {
  if (count == 0 || count > 64)
    throw error("with_others: " + std::to_string(count) + " others; give a number from 1 to 64");
  if (!(options.p >= 0 && options.p <= 1))
    throw error("with_others: p = " + std::to_string(options.p) + "; give a probability, 0 to 1");
}
std::uint64_t with_others_stage::fingerprint() const noexcept {
  return fingerprint_hash::of(count_, options_.p);
}

// A sample's own index counts, so that a substitute doesn't get the others that its predecessor failed with.
other_draws::other_draws(const place& into, std::uint32_t stage) noexcept
    : base(into),
      stream(into.seed ^ into.drawn ^ fingerprint_hash::of(into.index, std::uint64_t{stage}), into.epoch,
             into.position, stage),
      salt(fingerprint_hash::of(into.drawn, into.index, std::uint64_t{stage})) {}

place other_draws::next(std::uint64_t index) noexcept {
  place out = base;
  out.index = index;
  out.drawn = fingerprint_hash::of(salt, ++number) | 1;
  return out;
}

void other_draws::leave_out() {
  if (++left_out < most_left_out) return;
  throw error(
      std::to_string(most_left_out) +
      " samples were drawn to go into this one, and filter() left out all of them, or they were tried "
      "and have failed; let it keep more, or write it after join()");
}

void other_draws::failed(const std::exception_ptr& cause, std::uint64_t index, std::uint32_t in_stage) {
  if (cause == dropped()) return leave_out();
  try {
    std::rethrow_exception(cause);
  } catch (const cancelled&) {
    throw;
  } catch (const failed_other&) {
    throw;
  } catch (...) {
    throw failed_other{index, in_stage, cause};
  }
}

}  // namespace detail

detail::with_others_stage with_others(std::size_t n, const with_others_options& options) {
  return {n, options};
}

}  // namespace wick
