// A source of files in one sub-folder per class: sounds, texts, or anything else that read() reads.
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
  /// The file name endings of samples, in lower or upper case: {".wav", ".flac"}. Empty: all files.
  std::vector<std::string> extensions = {};
  /// Accepts a class without files.
  bool allow_empty = false;
};

/// Files in the layout ROOT/CLASS/…/file. The classes are the sub-folders of ROOT, sorted by name, and a
/// sample's target is the index of its class. Hidden files and folders (._a.wav, .ipynb_checkpoints) are
/// skipped. Links are followed, and a folder with several names counts under each name. Two kinds of link
/// aren't followed: a link back to a folder above it, and a link inside a linked folder that leads to a
/// folder already listed. Files directly in ROOT aren't samples. The constructor lists the folders once and
/// keeps 8 bytes and the path for each sample. ROOT may be a folder in S3: "s3://bucket/train/" if the
/// program includes <wick/stores/remote.hpp>, or the result of wick::remote() for it.
class class_folder {
 public:
  /// \throws wick::error when the folder is missing, can't be listed, or has no class or no file, or when a
  /// class has no file
  explicit class_folder(const std::string& root, class_folder_options options = {});
  /// \throws wick::error when `folder` isn't a folder, and as above
  explicit class_folder(const remote_list& folder, class_folder_options options = {});

  std::uint64_t size() const noexcept;
  sample<ext::file_range, std::int64_t> at(std::uint64_t i) const noexcept;
  std::string key(std::uint64_t i) const { return detail::printable(at(i).data.path); }
  /// A line for the report: the requests to the server.
  std::string note() const;
  /// The names of the sub-folders; a target is an index into them.
  const std::vector<std::string>& classes() const noexcept;
  /// A hash of the class names and of the paths below the root, so the data may move. In S3, sizes and ETags
  /// count, too.
  std::uint64_t fingerprint() const noexcept;

 protected:
  /// The names of the source and its files in messages.
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
