/// \file
/// A source of files that lie in one sub-folder per class: sounds, texts, anything that read() reads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <wick/ext/file_range.hpp>
#include <wick/io/remote_list.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/sample.hpp>

namespace wick::inline v0_1 {

/// Options of class_folder.
struct class_folder_options {
  /// Which files are samples, by the end of their names, in lower or upper case: {".wav", ".flac"}; all files
  /// when empty.
  std::vector<std::string> extensions = {};
  /// Let a class be without files.
  bool allow_empty = false;
};

/// Files that lie as ROOT/CLASS/…/file: the classes are the sub-folders of ROOT in the order of their names,
/// and a sample's target is the index of its class. Hidden files and folders (._a.wav, .ipynb_checkpoints)
/// are left out. Links are followed, and a folder with several names counts under each. Two links are not
/// followed: one that leads back to a folder above it, and one to a folder that was already listed, when a
/// link led to where it lies. Files directly in ROOT aren't samples. The folders are listed once, here; 8
/// bytes and the path are kept for each sample. ROOT may be a folder in S3: "s3://bucket/train/", where the
/// program includes <wick/stores/remote.hpp>, or what wick::remote() gives for it.
class class_folder {
 public:
  /// \throws wick::error when the folder is missing or can't be listed, has no class or no file, or a class
  /// has none
  explicit class_folder(const std::string& root, class_folder_options options = {});
  /// \throws wick::error for no folder, and as above
  explicit class_folder(const remote_list& folder, class_folder_options options = {});

  std::uint64_t size() const noexcept;
  sample<file_range, std::int64_t> at(std::uint64_t i) const noexcept;
  std::string key(std::uint64_t i) const { return detail::printable(at(i).data.path); }
  /// What a server was asked for.
  std::string note() const;
  /// The names of the sub-folders; a target is an index into them.
  const std::vector<std::string>& classes() const noexcept;
  /// Of class names and of paths below the root, so that the data may move; in S3 of sizes and ETags, too.
  std::uint64_t fingerprint() const noexcept;

 protected:
  /// What messages call the source and its files.
  struct words {
    const char* source = "class_folder";
    const char* files = "files";
  };
  class_folder(const std::string& root, class_folder_options options, words in_messages);
  class_folder(const remote_list& folder, class_folder_options options, words in_messages);

 private:
  struct table;
  void keep(const remote_list& objects, class_folder_options options, words in_messages);
  std::shared_ptr<const table> data_;
};

}  // namespace wick
