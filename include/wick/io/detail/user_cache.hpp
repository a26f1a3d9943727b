/// \file
/// The folder where programs keep for their user what they can make again.
#pragma once

#include <string>
#include <string_view>

namespace wick::inline v0_1::detail {

/// The path of a file in the user's cache folder that belongs to `what` alone. Makes the folder where it can:
/// $XDG_CACHE_HOME/wick, or $HOME/.cache/wick, or wick-UID in $TMPDIR or /tmp. Empty where there is neither
/// and another user may write to the last.
std::string user_cache_path(std::string_view what, const char* extension);

}  // namespace wick::detail
