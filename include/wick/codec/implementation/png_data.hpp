/// \file
/// The compressed pixels of a PNG, inflated piece by piece. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <zlib.h>

#include <wick/codec/detail/byte_order.hpp>
#include <wick/codec/detail/png_header.hpp>
#include <wick/codec/detail/signature.hpp>
#include <wick/sample/error.hpp>

namespace wick::detail {

[[noreturn]] inline void throw_damaged_png(const std::string& what) {
  throw error("damaged PNG: " + what + "; write the file again" + or_leave_it_out);
}

/// The inflated bytes of all IDAT chunks. Never more of them are made than were asked for.
class png_data {
 public:
  png_data(std::span<const std::byte> encoded, std::size_t first) : data_(encoded), chunk_(first) {
    const int status = inflateInit(&stream_);
    if (status == Z_MEM_ERROR) throw std::bad_alloc();
    if (status != Z_OK) throw error("zlib can't be used: it is of another version than its header");
  }
  png_data(const png_data&) = delete;
  png_data& operator=(const png_data&) = delete;
  ~png_data() { inflateEnd(&stream_); }

  /// How many bytes came: fewer than `size` when there are no more, or when they are damaged.
  std::size_t read(std::uint8_t* to, std::size_t size) {
    std::size_t got = 0;
    while (got < size && !ended_) {
      if (stream_.avail_in == 0) next_chunk();  // without one zlib may still hold something
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
  /// What zlib says of the damage that has ended the data; empty for none.
  std::string damage() const {
    return stream_.msg != nullptr ? std::string(" (zlib says: ") + stream_.msg + ")" : std::string();
  }

 private:
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
  z_stream stream_{};
  bool ended_ = false;
};

}  // namespace wick::detail
