// Inflates the compressed pixels of a PNG. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <memory>
#include <new>
#include <utility>
#include <vector>
#include <zlib.h>
#ifdef WICK_HAS_LIBDEFLATE
#include <libdeflate.h>
#endif

#include <wick/codec/detail/png_header.hpp>
#include <wick/pixels/detail/block_cache.hpp>

namespace wick::inline v0_1::detail {

[[noreturn]] inline void throw_damaged_png(const std::string& what) {
  throw error("damaged PNG: " + what + "; write the file again" + or_leave_it_out);
}

#ifdef WICK_HAS_LIBDEFLATE
/// libdeflate's state, one per image.
class png_decompressor {
 public:
  png_decompressor() : of_(libdeflate_alloc_decompressor()) {
    if (of_ == nullptr) throw std::bad_alloc();
  }
  png_decompressor(const png_decompressor&) = delete;
  png_decompressor& operator=(const png_decompressor&) = delete;
  ~png_decompressor() { libdeflate_free_decompressor(of_); }

  /// False if `from` isn't a complete, undamaged stream of exactly `size` inflated bytes.
  bool inflate(std::span<const std::byte> from, std::uint8_t* to, std::size_t size) noexcept {
    return libdeflate_zlib_decompress(of_, from.data(), from.size(), to, size, nullptr) == LIBDEFLATE_SUCCESS;
  }

 private:
  libdeflate_decompressor* of_;
};
#endif

/// The inflated bytes of all IDAT chunks, `size` of them: at once by libdeflate if it's available and they
/// are few, otherwise piece by piece by zlib. Never inflates more than was asked for.
class png_data {
 public:
  png_data(std::span<const std::byte> encoded, std::size_t first, std::uint64_t size, bool at_once)
      : data_(encoded), chunk_(first) {
    if (at_once && size <= most_at_once && inflate_at_once(static_cast<std::size_t>(size))) return;
    const int status = inflateInit(&stream_);
    if (status == Z_MEM_ERROR) throw std::bad_alloc();
    if (status != Z_OK) throw error("zlib can't be used: it is of another version than its header");
  }
  png_data(const png_data&) = delete;
  png_data& operator=(const png_data&) = delete;
  ~png_data() {
    if (!inflated_) inflateEnd(&stream_);
  }

  /// The next bytes, valid until the next call; the caller may change them. Fewer than `size` at the end of
  /// the data, or if it's damaged. \throws std::bad_alloc
  std::span<std::uint8_t> next(std::size_t size) {
    if (inflated_) {
      const std::size_t got = std::min(size, left_);
      left_ -= got;
      return {std::exchange(next_, next_ + got), got};
    }
    if (size > capacity_) allocate(size);
    return {bytes_.get(), read(bytes_.get(), size)};
  }
  /// zlib's description of the damage that ended the data; empty if there was none.
  std::string damage() const {
    return stream_.msg != nullptr ? std::string(" (zlib says: ") + stream_.msg + ")" : std::string();
  }

 private:
  static constexpr std::uint64_t most_at_once = std::uint64_t{1} << 24;
  struct release {
    void operator()(std::uint8_t* block) const noexcept { release_block(block); }
  };

  void allocate(std::size_t size) {
    bytes_.reset();
    bytes_.reset(static_cast<std::uint8_t*>(allocate_block(size)));
    if (bytes_ == nullptr) throw std::bad_alloc();
    capacity_ = size;
  }

#ifdef WICK_HAS_LIBDEFLATE
  /// If it fails, zlib then finds and describes the damage.
  bool inflate_at_once(std::size_t size) {
    std::vector<std::byte> joined;
    const std::span<const std::byte> from = compressed(joined);
    png_decompressor by;
    allocate(size);
    inflated_ = by.inflate(from, bytes_.get(), size);
    next_ = bytes_.get();
    left_ = size;
    return inflated_;
  }
  /// The data of all chunks: in place if there is only one chunk, otherwise joined.
  std::span<const std::byte> compressed(std::vector<std::byte>& joined) const {
    std::span<const std::byte> one;
    for (std::size_t at = chunk_; at + 12 <= data_.size();) {
      const std::size_t length = big32(data_, at);
      if (big32(data_, at + 4) != chunk_type("IDAT") || length > data_.size() - at - 12) break;
      const std::span<const std::byte> more = data_.subspan(at + 8, length);
      if (!one.empty() && joined.empty()) joined.assign(one.begin(), one.end());
      if (one.empty())
        one = more;
      else
        joined.insert(joined.end(), more.begin(), more.end());
      at += 12 + length;
    }
    return joined.empty() ? one : joined;
  }
#else
  bool inflate_at_once(std::size_t) { return false; }
#endif

  std::size_t read(std::uint8_t* to, std::size_t size) {
    std::size_t got = 0;
    while (got < size && !ended_) {
      if (stream_.avail_in == 0) next_chunk();  // even without more input, zlib may have output left
      const auto room = static_cast<uInt>(std::min<std::size_t>(size - got, 1u << 30));
      stream_.next_out = to + got;
      stream_.avail_out = room;
      const int status = inflate(&stream_, Z_NO_FLUSH);
      if (status == Z_MEM_ERROR) throw std::bad_alloc();
      got += room - stream_.avail_out;
      ended_ = status != Z_OK;
    }
    return got;
  }
  void next_chunk() noexcept {
    while (chunk_ + 12 <= data_.size()) {
      const std::size_t length = big32(data_, chunk_), at = chunk_ + 8;
      if (big32(data_, chunk_ + 4) != chunk_type("IDAT") || length > data_.size() - at) return;
      chunk_ = at + length + 4;
      if (length == 0) continue;
      stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(data_.data() + at));
      stream_.avail_in = static_cast<uInt>(length);
      return;
    }
  }

  std::span<const std::byte> data_;
  std::size_t chunk_;
  std::unique_ptr<std::uint8_t[], release> bytes_;  // everything, or one piece
  std::size_t capacity_ = 0;
  bool inflated_ = false;  // everything at once; zlib isn't used
  std::uint8_t* next_ = nullptr;
  std::size_t left_ = 0;
  z_stream stream_{};
  bool ended_ = false;
};

}  // namespace wick::detail
