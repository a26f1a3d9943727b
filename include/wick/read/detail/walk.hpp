/// \file
/// All folders below a folder, and all wanted files in the order in which torchvision lists them.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <wick/read/detail/folder.hpp>

namespace wick::detail {

struct folder_files {
  std::string folder;
  std::vector<std::string> names;
};

/// Whether `name` ends with one of `extensions` (lower case), in any case; always when there are none.
bool has_extension(std::string_view name, const std::vector<std::string>& extensions) noexcept;

/// Goes through the folders below one, links included.
///
/// A folder may have several names: each link that leads to it is one. As in os.walk(followlinks=True), its
/// files count under each of them. But there can be 2^n or n! ways through the links of n folders, so two
/// kinds of link are not followed: one back to a folder above it (a circle), and, inside of what a link led
/// to, one to a folder that was listed before. So m links among n folders make at most n (m + 1) listings.
class folder_walk {
 public:
  folder_walk(std::string_view who, bool (*wanted)(std::string_view name, const void* of), const void* of)
      : who_(who), wanted_(wanted), of_(of) {}

  /// The folders, with those of their files that are wanted, in no order that means anything.
  std::vector<folder_files> run(const std::string& start);

 private:
  struct link {
    std::string path;
    std::vector<folder_id> above;
    bool inside_a_link;
  };

  void visit(const std::string& folder, bool inside_a_link);

  std::string who_;
  bool (*wanted_)(std::string_view, const void*);
  const void* of_;
  std::vector<folder_id> above_;
  std::vector<link> links_;
  std::set<folder_id> listed_;
  std::vector<folder_files> found_;
};

/// All files below `folder` with one of these extensions, sorted by folder, then by name, as strings: the
/// order of sorted(os.walk(folder)). \throws wick::error when a folder can't be listed
std::vector<folder_files> walk_files(const std::string& folder, std::string_view who,
                                     const std::vector<std::string>& extensions);

/// `folder` and all folders below it.
std::vector<std::string> walk_folders(const std::string& folder, std::string_view who);

}  // namespace wick::detail
