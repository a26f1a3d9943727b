/// \file
/// The bodies of what sample/context.hpp declares. Included in exactly one file of a program.
#pragma once

#include <string>

#include <wick/sample/context.hpp>

namespace wick {

std::string context::key() const {
  return names_ != nullptr ? names_->key(names_->source, index()) : "sample " + std::to_string(index());
}

}  // namespace wick
