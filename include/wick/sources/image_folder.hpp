// A source of images in one sub-folder per class, as for torchvision's ImageFolder.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <wick/io/remote_list.hpp>
#include <wick/sources/class_folder.hpp>

namespace wick::inline v0_1 {

/// Options of image_folder.
struct image_folder_options {
  /// The file name endings of images, in lower or upper case. Empty: all files.
  std::vector<std::string> extensions = {".jpg", ".jpeg", ".png",  ".ppm", ".bmp",
                                         ".pgm", ".tif",  ".tiff", ".webp"};
  /// Accepts a class without images.
  bool allow_empty = false;
};

/// A class_folder of images, ROOT/CLASS/…/picture.jpg. The order, targets, and extensions are those of
/// torchvision, except that hidden files and folders are skipped.
class image_folder : public class_folder {
 public:
  /// \throws wick::error when the folder is missing, can't be listed, or has no class or no image, or when
  /// a class has no image
  explicit image_folder(const std::string& root, image_folder_options options = {})
      : class_folder(root, {std::move(options.extensions), options.allow_empty}, pictures()) {}
  /// \throws wick::error when `folder` isn't a folder, and as above
  explicit image_folder(const remote_list& folder, image_folder_options options = {})
      : class_folder(folder, {std::move(options.extensions), options.allow_empty}, pictures()) {}

 private:
  static constexpr words pictures() noexcept { return {"image_folder", "pictures"}; }
};

}  // namespace wick
