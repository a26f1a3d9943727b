// A decoder and its memory, which each thread keeps from image to image.
#pragma once

#include <memory>
#include <utility>

namespace wick::inline v0_1::detail {

/// Takes the thread's decoder while it's in use, since a sink may decode another image. Only for code that is
/// compiled once.
template <class Decoder>
class decoder_lease {
 public:
  decoder_lease() : mine_(std::move(kept())) {
    if (mine_ == nullptr) mine_ = std::make_unique<Decoder>();
  }
  decoder_lease(const decoder_lease&) = delete;
  decoder_lease& operator=(const decoder_lease&) = delete;
  ~decoder_lease() { kept() = std::move(mine_); }
  Decoder& operator*() noexcept { return *mine_; }

 private:
  [[gnu::noinline]] static std::unique_ptr<Decoder>& kept() noexcept {
    static thread_local std::unique_ptr<Decoder> mine;
    return mine;
  }
  std::unique_ptr<Decoder> mine_;
};

}  // namespace wick::detail
