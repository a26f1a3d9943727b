// Implements sampling/class_weights.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <map>

#include <wick/pipeline/error.hpp>
#include <wick/sampling/class_weights.hpp>

namespace wick::inline v0_1::detail {

void refuse_label(const std::string& key, std::int64_t label) {
  throw error(key + ": class_weights: has the label " + std::to_string(label) +
              ", and classes count from 0; leave such samples out, or give class_weights() a function that "
              "gives them a class");
}

std::vector<double> weights_of_classes(const std::vector<std::int64_t>& labels,
                                       const std::vector<std::string>* names) {
  if (labels.empty()) throw error("class_weights: the source has no samples");
  std::map<std::uint64_t, double> counts;
  for (const std::int64_t label : labels) ++counts[static_cast<std::uint64_t>(label)];
  const std::uint64_t highest = counts.rbegin()->first;
  const std::uint64_t classes = std::max<std::uint64_t>(highest + 1, names == nullptr ? 0 : names->size());
  if (counts.size() != classes) {
    std::uint64_t missing = 0;
    while (counts.contains(missing)) ++missing;
    const bool named = names != nullptr && missing < names->size();
    throw error("class_weights: class " + std::to_string(missing) +
                (named ? " (" + printable((*names)[missing]) + ")" : "") + " of " + std::to_string(classes) +
                " has no samples, so it can't be drawn; remove the class, or give class_weights() a function "
                "that numbers the classes without a gap");
  }
  std::vector<double> weights;
  weights.reserve(labels.size());
  const double share = static_cast<double>(labels.size()) / static_cast<double>(classes);
  for (const std::int64_t label : labels)
    weights.push_back(share / counts[static_cast<std::uint64_t>(label)]);
  return weights;
}

}  // namespace wick::detail
