// Implements sources/detail/walk.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <set>
#include <sys/stat.h>
#include <utility>

#include <wick/async/detail/interruption.hpp>
#include <wick/sources/detail/folder.hpp>
#include <wick/sources/detail/walk.hpp>

namespace wick::inline v0_1::detail {

bool has_extension(std::string_view name, const std::vector<std::string>& extensions) noexcept {
  const auto same = [](char a, char lower) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == lower; };
  return extensions.empty() || std::any_of(extensions.begin(), extensions.end(), [&](std::string_view e) {
           return name.size() >= e.size() &&
                  std::equal(e.begin(), e.end(), name.end() - static_cast<std::ptrdiff_t>(e.size()),
                             [&](char lower, char a) { return same(a, lower); });
         });
}

/// Walks the folders below one, and follows links.
///
/// A folder may have several names: each link to it is one. As in os.walk(followlinks=True), its files count
/// under each of them. But there can be 2^n or n! ways through the links of n folders, so two kinds of links
/// aren't followed: a link back to a folder above it (a cycle, even if that folder is above the starting
/// folder), and, inside a linked folder, a link to a folder that was listed before. So m links among n
/// folders cause at most n (m + 1) listings.
class folder_walk {
 public:
  folder_walk(std::string_view who, bool (*wanted)(std::string_view name, const void* of), const void* of)
      : who_(who), wanted_(wanted), of_(of) {}

  /// The folders with their wanted files, in no particular order.
  std::vector<folder_files> run(const std::string& start);

 private:
  struct link {
    std::string path;
    std::vector<folder_id> above;
    bool inside_a_link;
  };

  void visit(const std::string& folder, bool inside_a_link);
  /// Adds a folder to those above; note_above() adds all folders that contain it.
  void note(const std::string& folder);
  void note_above(std::string folder);

  std::string who_;
  bool (*wanted_)(std::string_view, const void*);
  const void* of_;
  std::vector<folder_id> above_;
  std::vector<link> links_;
  std::set<folder_id> listed_;
  std::vector<folder_files> found_;
};

std::vector<folder_files> folder_walk::run(const std::string& start) {
  found_.clear();
  listed_.clear();
  above_.clear();
  // A link has two parents: the folder that contains it, and its target's parent.
  const std::size_t slash = start.find_last_not_of('/') == std::string::npos
                                ? std::string::npos
                                : start.rfind('/', start.find_last_not_of('/'));
  note_above(start.empty() ? "." : start);
  if (!start.empty()) {
    const std::string in = slash == std::string::npos ? "." : start.substr(0, slash + 1);
    note(in);
    note_above(in);
  }
  visit(start, false);
  // Folders reached through fewer links come first, each row sorted by name. So which of several links is
  // followed doesn't depend on the file system's order.
  while (!links_.empty()) {
    std::vector<link> row = std::move(links_);
    links_.clear();
    std::sort(row.begin(), row.end(), [](const link& a, const link& b) { return a.path < b.path; });
    for (link& l : row) {
      above_ = std::move(l.above);
      struct ::stat status {};
      const bool there = ::stat(l.path.c_str(), &status) == 0;
      if (there && l.inside_a_link && listed_.count({status.st_dev, status.st_ino}) != 0) continue;
      visit(l.path, true);
    }
  }
  return std::move(found_);
}

void folder_walk::note(const std::string& folder) {
  struct ::stat status {};
  if (::stat(folder.c_str(), &status) == 0) above_.push_back({status.st_dev, status.st_ino});
}

void folder_walk::note_above(std::string folder) {
  constexpr std::size_t deepest = 1000;
  for (std::size_t i = 0; i < deepest; ++i) {
    const std::size_t before = above_.size();
    note(folder += "/..");
    // The root is its own parent.
    if (above_.size() == before || (before != 0 && above_[before] == above_[before - 1] && i != 0)) return;
  }
}

void folder_walk::visit(const std::string& folder, bool inside_a_link) {
  check_interruption();
  folder_files here{folder, {}};
  std::vector<std::string> below, links;
  const folder_id self =
      list_folder(folder.empty() ? "." : folder, who_, [&](std::string_view name, entry_kind kind) {
        if (kind == entry_kind::folder) below.emplace_back(name);
        if (kind == entry_kind::link) links.emplace_back(name);
        if (kind == entry_kind::file && wanted_(name, of_)) here.names.emplace_back(name);
      });
  if (std::find(above_.begin(), above_.end(), self) != above_.end()) return;
  listed_.insert(self);
  found_.push_back(std::move(here));
  above_.push_back(self);
  for (const std::string& name : links) links_.push_back({join_path(folder, name), above_, inside_a_link});
  for (const std::string& name : below) visit(join_path(folder, name), inside_a_link);
  above_.pop_back();
}

std::vector<folder_files> walk_files(const std::string& folder, std::string_view who,
                                     const std::vector<std::string>& extensions) {
  folder_walk walk(
      who,
      [](std::string_view name, const void* of) {
        return has_extension(name, *static_cast<const std::vector<std::string>*>(of));
      },
      &extensions);
  std::vector<folder_files> found = walk.run(folder);
  std::erase_if(found, [](const folder_files& f) { return f.names.empty(); });
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.folder < b.folder; });
  for (folder_files& f : found) std::sort(f.names.begin(), f.names.end());
  return found;
}

std::vector<std::string> walk_folders(const std::string& folder, std::string_view who) {
  folder_walk walk(
      who, [](std::string_view, const void*) { return false; }, nullptr);
  std::vector<std::string> out;
  for (folder_files& f : walk.run(folder)) out.push_back(std::move(f.folder));
  return out;
}

}  // namespace wick::detail
