/// \file
/// The crop index of decode(), kept in a file from run to run. Included by impl/decode.hpp.
#pragma once

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

#include <wick/codec/detail/crop_index.hpp>
#include <wick/io/detail/file_io.hpp>
#include <wick/io/detail/plain_file.hpp>
#include <wick/io/detail/replace_file.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

/// Read when it is made, written when it goes. Nothing of the file is ever an error of the training.
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
      const turn mine(path_ + ".lock");
      // Another rank, which has seen other samples, may have written meanwhile.
      if (index_.dropped() == 0) (void)load();
      replace_file(path_, index_.saved(), "crop index");
    } catch (const std::exception& e) {
      std::fprintf(stderr, "wick: decode: %s\n", e.what());
    }
  }

  /// The index, which lives as long as one has it.
  static std::shared_ptr<crop_index> make(const std::string& path, std::size_t budget) {
    if (path.empty()) return std::make_shared<crop_index>(budget);
    auto whole = std::make_shared<crop_index_file>(path, budget);
    crop_index* const index = &whole->index_;
    return {std::move(whole), index};
  }

 private:
  /// Of ranks that end at the same time, one after the other reads the file and writes it. A rank doesn't
  /// wait where there can't be a lock, or another one keeps it for long.
  class turn {
   public:
    explicit turn(std::string path) : path_(std::move(path)) {
      constexpr int most = 3'000;  // times 10 ms
      for (int i = 0; i < most && !held_; ++i) {
        file_handle file(::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
        if (!file) return;
        if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
          if (errno != EWOULDBLOCK && errno != EINTR) return;
          std::this_thread::sleep_for(std::chrono::milliseconds(10));
          continue;
        }
        // The one before may have removed the file between the two.
        struct ::stat here {
        }, named{};
        held_ = ::fstat(file.get(), &here) == 0 && ::stat(path_.c_str(), &named) == 0 &&
                here.st_ino == named.st_ino && here.st_dev == named.st_dev;
        if (held_) file_ = std::move(file);
      }
    }
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;
    ~turn() {
      if (held_) ::unlink(path_.c_str());
    }

   private:
    std::string path_;
    file_handle file_;
    bool held_ = false;
  };

  /// What is wrong with the file; empty also when there is none.
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
