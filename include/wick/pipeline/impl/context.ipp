// Implements pipeline/context.hpp. Included in exactly one file of a program.
#pragma once

#include <wick/pipeline/context.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1 {

std::string context::key() const {
  return names_ != nullptr ? names_->key(names_->source, index()) : "sample " + std::to_string(index());
}

std::string detail::sample_context::stage_text(std::uint32_t number) const {
  const bool named = names_ != nullptr && names_->stage != nullptr;
  return (named ? names_->stage(names_->source, number) + ", " : "") + "the " + detail::ordinal(number) +
         " stage" + (named ? "," : "");
}

}  // namespace wick
