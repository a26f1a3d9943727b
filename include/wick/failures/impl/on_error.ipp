// Implements failures/on_error.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>

#include <wick/failures/on_error.hpp>

namespace wick::inline v0_1 {

on_error::on_error(const rule& for_all, error_options options) : for_all_(for_all), options_(options) {
  if (!(options.rate >= 0 && options.rate <= 1)) {
    throw error("on_error: a rate of " + std::to_string(options.rate) +
                "; wanted is a share of the samples, 0 to 1");
  }
  if (options.substitutes == 0) {
    throw error(
        "on_error: substitutes = 0; replace draws at least one (use on_error::skip or on_error::fail to have "
        "none)");
  }
}

on_error& on_error::at(std::string stage, const rule& what) & {
  for (auto& [name, old] : stages_) {
    if (name == stage) {
      old = what;
      return *this;
    }
  }
  stages_.emplace_back(std::move(stage), what);
  return *this;
}

on_error&& on_error::at(std::string stage, const rule& what) && {
  at(std::move(stage), what);
  return std::move(*this);
}

on_error::rule on_error::rule_for(std::string_view stage) const noexcept {
  rule out = for_all_;
  for (const auto& [name, own] : stages_) {
    if (name == stage) out = own;
  }
  if (!out.action) out.action = for_all_.action.value_or(error_action::fail);
  return out;
}

bool on_error::only_fails() const noexcept {
  const auto fails = [&](const rule& r) {
    return r.retries == 0 && r.action.value_or(error_action::fail) == error_action::fail;
  };
  return fails(for_all_) && std::all_of(stages_.begin(), stages_.end(), [&](const auto& s) {
           return s.second.retries == 0 && rule_for(s.first).action == error_action::fail;
         });
}

bool on_error::ever(error_action a) const noexcept {
  return for_all_.action == a ||
         std::any_of(stages_.begin(), stages_.end(), [&](const auto& s) { return s.second.action == a; });
}

std::vector<std::string_view> on_error::stages() const {
  std::vector<std::string_view> out;
  for (const auto& s : stages_) out.emplace_back(s.first);
  return out;
}

std::chrono::duration<double> detail::pause_before(const on_error::rule& by, std::size_t number) noexcept {
  return by.backoff * std::ldexp(1.0, static_cast<int>(number) - 1);
}

on_error::rule on_error::retry(unsigned times, std::chrono::duration<double> backoff) {
  if (times == 0)
    throw error("on_error::retry(0): a retry is at least one more try; leave it out to have none");
  if (times > 1000) {
    throw error("on_error::retry(" + std::to_string(times) +
                "): at most 1000; a sample that fails as often does not get better");
  }
  if (!(backoff.count() >= 0))
    throw error("on_error::retry: a backoff of " + std::to_string(backoff.count()) +
                " seconds; wanted is 0 or more");
  return {times, backoff, std::nullopt};
}

}  // namespace wick
