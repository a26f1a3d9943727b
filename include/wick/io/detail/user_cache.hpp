/// \file
/// The folder where programs keep for their user what they can make again.
#pragma once

#include <string>
#include <string_view>

namespace wick::inline v0_1::detail {

/// The path of a file in the user's cache folder ($XDG_CACHE_HOME/wick, or ~/.cache/wick) that belongs to
/// `what` alone. Makes the folder where it can.
std::string user_cache_path(std::string_view what, const char* extension);

}  // namespace wick::detail
