// All folders below a folder, and all wanted files in torchvision's order.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace wick::inline v0_1::detail {

struct folder_files {
  std::string folder;
  std::vector<std::string> names;
};

/// Whether `name` ends with one of `extensions` (lower case), ignoring case; always true if there are none.
bool has_extension(std::string_view name, const std::vector<std::string>& extensions) noexcept;

/// All files below `folder` with one of these extensions, sorted by folder, then by name, as strings: the
/// order of sorted(os.walk(folder)). \throws wick::error when a folder can't be listed
std::vector<folder_files> walk_files(const std::string& folder, std::string_view who,
                                     const std::vector<std::string>& extensions);

/// `folder` and all folders below it.
std::vector<std::string> walk_folders(const std::string& folder, std::string_view who);

}  // namespace wick::detail
