// The user's cache folder, for files that can be made again.
#pragma once

#include <string>
#include <string_view>

namespace wick::inline v0_1::detail {

/// The path of a file in the user's cache folder that belongs to `what` alone. Creates the folder if
/// possible: $XDG_CACHE_HOME/wick, $HOME/.cache/wick, or wick-UID in $TMPDIR or /tmp. Empty if neither
/// variable is set and another user may write to the last.
std::string user_cache_path(std::string_view what, const char* extension);

}  // namespace wick::detail
