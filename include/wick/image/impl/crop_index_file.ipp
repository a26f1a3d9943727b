// The file that keeps the crop index of decode() from run to run. Included by impl/decode.ipp.
#pragma once

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <wick/codec/detail/crop_index.hpp>
#include <wick/io/detail/file_io.hpp>
#include <wick/io/detail/index_lock.hpp>
#include <wick/io/detail/plain_file.hpp>
#include <wick/io/detail/replace_file.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

/// Reads the file when it's constructed, and writes it when it's destroyed. A problem with the file never
/// stops the training.
class crop_index_file {
 public:
  crop_index_file(const std::string& path, std::size_t budget)
      : index_(budget), path_(std::filesystem::absolute(path).string()) {
    if (const std::string fault = load(); !fault.empty()) {
      index_.say_of_file(path + ": " + fault + "; it is not used, and is written again at the end");
    }
  }
  crop_index_file(const crop_index_file&) = delete;
  crop_index_file& operator=(const crop_index_file&) = delete;
  ~crop_index_file() {
    if (!index_.changed()) return;
    try {
      lock_file lock;
      wait_for_turn(lock, path_ + ".lock");
      // Another rank, which has seen other samples, may have written in the meantime.
      if (index_.dropped() == 0) (void)load();
      replace_file(path_, index_.saved(), "crop index");
    } catch (const std::exception& e) {
      std::fprintf(stderr, "wick: decode: %s\n", e.what());
    }
  }

  /// The index; it lives as long as any owner.
  static std::shared_ptr<crop_index> make(const std::string& path, std::size_t budget) {
    if (path.empty()) return std::make_shared<crop_index>(budget);
    auto whole = std::make_shared<crop_index_file>(path, budget);
    crop_index* const index = &whole->index_;
    return {std::move(whole), index};
  }

 private:
  /// Ranks that end at the same time take turns to read and write the file. A rank goes ahead if the lock
  /// can't be created, or if another rank holds it for half a minute.
  static void wait_for_turn(lock_file& lock, const std::string& path) {
    for (int tries = 3'000; tries > 0 && lock.try_take(path, 0666) == lock_file::busy; --tries)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }

  /// Describes what is wrong with the file; empty if it's fine or missing.
  std::string load() {
    const plain_file opened = open_plain(path_.c_str());
    if (opened.fault == ENOENT) return {};
    try {
      if (opened.fault != 0) throw_io("open", opened.fault);
      std::vector<std::byte> all(static_cast<std::size_t>(regular_size(opened.about)));
      all.resize(read_up_to(opened.file.get(), all.data(), all.size(), 0));
      return index_.load(all) ? "" : "damaged, or no crop index of this machine and version of wick";
    } catch (const error& e) {
      return e.what();
    }
  }

  crop_index index_;
  std::string path_;
};

}  // namespace wick::detail
