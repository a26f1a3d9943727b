/// \file
/// A source of pictures that lie in one sub-folder per class, as for torchvision's ImageFolder.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <wick/io/remote_list.hpp>
#include <wick/sources/class_folder.hpp>

namespace wick::inline v0_1 {

/// Options of image_folder.
struct image_folder_options {
  /// Which files are pictures, by the end of their names, in lower or upper case; all files when empty.
  std::vector<std::string> extensions = {".jpg", ".jpeg", ".png",  ".ppm", ".bmp",
                                         ".pgm", ".tif",  ".tiff", ".webp"};
  /// Let a class be without pictures.
  bool allow_empty = false;
};

/// A class_folder of pictures, ROOT/CLASS/…/picture.jpg. Order, targets and extensions are those of
/// torchvision, except that hidden files and folders are left out.
class image_folder : public class_folder {
 public:
  /// \throws wick::error when the folder is missing or can't be listed, has no class or no picture, or a
  /// class has none
  explicit image_folder(const std::string& root, image_folder_options options = {})
      : class_folder(root, {std::move(options.extensions), options.allow_empty}, pictures()) {}
  /// \throws wick::error for no folder, and as above
  explicit image_folder(const remote_list& folder, image_folder_options options = {})
      : class_folder(folder, {std::move(options.extensions), options.allow_empty}, pictures()) {}

 private:
  static constexpr words pictures() noexcept { return {"image_folder", "pictures"}; }
};

}  // namespace wick
