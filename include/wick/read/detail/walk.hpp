/// \file
/// All wanted files below a folder, in the order in which torchvision lists them.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wick/read/detail/folder.hpp>

namespace wick::detail {

struct folder_files {
  std::string folder;
  std::vector<std::string> names;  // sorted
};

/// Whether `name` ends with one of `extensions` (lower case), in any case; always when there are none.
inline bool has_extension(std::string_view name, const std::vector<std::string>& extensions) noexcept {
  const auto same = [](char a, char lower) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == lower; };
  return extensions.empty() || std::any_of(extensions.begin(), extensions.end(), [&](std::string_view e) {
           return name.size() >= e.size() &&
                  std::equal(e.begin(), e.end(), name.end() - static_cast<std::ptrdiff_t>(e.size()),
                             [&](char lower, char a) { return same(a, lower); });
         });
}

class file_walk {
 public:
  file_walk(std::string_view who, const std::vector<std::string>& extensions)
      : who_(who), extensions_(extensions) {}

  /// Sorted by folder, then by name, as strings: the order of sorted(os.walk(folder)).
  std::vector<folder_files> run(const std::string& folder) {
    found_.clear();
    visit(folder);
    std::sort(found_.begin(), found_.end(), [](const auto& a, const auto& b) { return a.folder < b.folder; });
    return std::move(found_);
  }

 private:
  void visit(const std::string& folder) {
    folder_files here{folder, {}};
    std::vector<std::string> below;
    const folder_id self = list_folder(folder, who_, [&](std::string_view name, entry_kind kind) {
      if (kind == entry_kind::folder) below.emplace_back(name);
      if (kind == entry_kind::file && has_extension(name, extensions_)) here.names.emplace_back(name);
    });
    if (std::find(above_.begin(), above_.end(), self) != above_.end())
      return;  // a link to a folder that we are in
    std::sort(here.names.begin(), here.names.end());
    if (!here.names.empty()) found_.push_back(std::move(here));
    above_.push_back(self);
    for (const std::string& name : below) visit(join_path(folder, name));
    above_.pop_back();
  }

  std::string who_;
  const std::vector<std::string>& extensions_;
  std::vector<folder_id> above_;
  std::vector<folder_files> found_;
};

}  // namespace wick::detail
