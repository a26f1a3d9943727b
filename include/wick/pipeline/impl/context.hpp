/// \file
/// The bodies of what pipeline/context.hpp declares. Included in exactly one file of a program.
#pragma once

#include <string>

#include <wick/pipeline/context.hpp>

namespace wick::inline v0_1 {

std::string context::key() const {
  return names_ != nullptr ? names_->key(names_->source, index()) : "sample " + std::to_string(index());
}

}  // namespace wick
