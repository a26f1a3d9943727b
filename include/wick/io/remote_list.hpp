// Objects on servers, by name.
#pragma once

#include <wick/io/detail/object_store.hpp>

namespace wick::inline v0_1 {

/// The result of wick::remote(), which sources take in place of paths. A value.
struct remote_list : detail::remote_objects {};

}  // namespace wick
