// Implements loader/detail/epoch_plans.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>

#include <wick/async/executor.hpp>
#include <wick/loader/detail/epoch_plans.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

namespace {

std::size_t number_of(const erased_mix& mix, const std::string& name) {
  const auto names = mix.names();
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) {
    std::string all;
    for (const std::string& n : names) all += (all.empty() ? "" : ", ") + n;
    throw error("set_mix_weights: no source of the mix is called " + printable(name) + "; there are " + all +
                ". A source that joins later is in the mix from the beginning, with weight 0");
  }
  return static_cast<std::size_t>(found - names.begin());
}

/// Replaces weights in `in` with those in `to`. \throws wick::error
void replace_weights(const erased_mix& mix, const std::vector<source_weight>& to, std::vector<double>& in) {
  if (to.empty())
    throw error("set_mix_weights: no weight is given; write set_mix_weights({{\"" + mix.names().front() +
                "\", 2}})");
  std::vector<bool> given(in.size());
  for (const source_weight& s : to) {
    if (!(s.weight >= 0) || !std::isfinite(s.weight))
      throw error("set_mix_weights: a weight of " + std::to_string(s.weight) + " for " + printable(s.name) +
                  "; weights are finite and not below 0");
    const std::size_t source = number_of(mix, s.name);
    if (given[source]) throw error("set_mix_weights: " + printable(s.name) + " has two weights; give it one");
    given[source] = true;
    in[source] = s.weight;
  }
  double sum = 0;
  for (const double w : in) sum += w;
  if (!(sum > 0) || !std::isfinite(sum))
    throw error("set_mix_weights: the weights are " + std::to_string(sum) +
                " together; one at least must be above 0, and the sum finite");
}

}  // namespace

const erased_mix& epoch_plans::mix() const {
  if (const erased_mix* const found = settings_.pipeline->mix()) return *found;
  throw error(
      "set_mix_weights() and mixture() are for a mix() with batch() or pack(), and nothing but shard() "
      "between: shuffle the mix's sources instead, mix(weighted_source{a | shuffle(), 1}, …)");
}

std::vector<double> epoch_plans::weights_in(std::uint64_t epoch) const {
  if (!weights_.after.empty()) return weights_.in(epoch);
  const auto first = mix().weights();
  return {first.begin(), first.end()};
}

std::vector<source_weight> epoch_plans::mixture(std::uint64_t epoch) const {
  const auto names = mix().names();
  const std::vector<double> weights = weights_in(epoch);
  std::vector<source_weight> out;
  for (std::size_t i = 0; i < names.size(); ++i) out.push_back({names[i], weights[i]});
  return out;
}

void epoch_plans::set_weights(const std::vector<source_weight>& to, std::uint64_t from, std::uint64_t epoch) {
  if (mix().names().size() > mix_weights::most_sources)
    throw error("set_mix_weights: a mix of more than " + std::to_string(mix_weights::most_sources) +
                " sources: a state has no room for their weights; mix some of them before");
  mix_weights next{from, weights_in(from == 0 ? 0 : from - 1), weights_in(from)};
  replace_weights(mix(), to, next.after);
  require_place();
  change weights(*this, std::move(next));
  plan(from);  // an epoch that would be empty is an error here
  next_plan by = plan(epoch);
  weights.keep();
  go_by(std::move(by));
}

next_plan epoch_plans::plan_for(std::uint64_t epoch) const {
  const bool each = settings_.facts().plans_each_epoch;
  if (planned_ == epoch || !(each || settings_.pipeline->mix() != nullptr)) return {};
  if (!each && weights_.after.empty() && !planned_) return {};  // the scheduler still has its initial plan
  const bool known = planned_ && *planned_ != no_epoch;
  if (!each && known && (*planned_ < weights_.from) == (epoch < weights_.from))
    return {};  // the same weights
  require_place();
  return plan(epoch);
}

void epoch_plans::go_by(next_plan next) noexcept {
  planned_ = next.epoch;
  // The next epoch has the same weights, unless they change in this one.
  scheduler_.replan(std::move(next.plan), std::move(next.stop), *planned_ >= weights_.from);
}

next_plan epoch_plans::plan(std::uint64_t epoch) const {
  return {settings_.pipeline->plan(settings_.facts().shard, settings_.seed, epoch), make_owned<stop_source>(),
          epoch};
}

void epoch_plans::require_place() const {
  if (!scheduler_.idle())
    settings_.on.require_outside("a plan of another epoch", "take the epoch to its end before it");
}

// ---- a change ----

epoch_plans::change::change(epoch_plans& of, mix_weights to)
    : of_(of), other_(std::move(to)), planned_(of.planned_), changed_(other_ != of.weights_) {
  const erased_mix* const mix = of.settings_.pipeline->mix();
  const std::size_t sources = mix != nullptr ? mix->names().size() : 0;
  if (!other_.after.empty() && other_.after.size() != sources)
    throw error("load_state: the state has weights of " + std::to_string(other_.after.size()) +
                " sources, and this loader mixes " + std::to_string(sources) +
                "; it was not written by wick");
  if (changed_) swap();
}

epoch_plans::change::~change() {
  if (!changed_ || kept_) return;
  swap();
  of_.planned_ = planned_;
}

void epoch_plans::change::swap() noexcept {
  of_.scheduler_.stop_preparing();
  std::swap(of_.weights_, other_);
  of_.settings_.pipeline->mix()->set_weights(of_.weights_);
  of_.planned_ = no_epoch;  // the next epoch is planned again
}

}  // namespace wick::detail
