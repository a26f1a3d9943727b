// Writes tokens to a file that gets its name once it is complete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <wick/text/detail/token_ids.hpp>

namespace wick::inline v0_1::detail {

class file_replacement;

class token_writer {
 public:
  /// \throws wick::error when the file can't be made
  explicit token_writer(const std::string& path);

  /// \throws wick::error when the token doesn't fit into a T, or can't be written
  template <token_number T, class Id>
  void add(const Id& id) {
    if (!std::in_range<T>(id)) refuse(static_cast<std::int64_t>(id), sizeof(T));
    const T token = static_cast<T>(id);
    const auto* p = reinterpret_cast<const std::byte*>(&token);
    buffer_.insert(buffer_.end(), p, p + sizeof(T));
    ++count_;
    if (buffer_.size() >= piece) flush();
  }
  /// Checks the token that ends each document, before writing any. \throws wick::error when it doesn't fit
  template <token_number T>
  static void require_end(std::int64_t id) {
    if (!std::in_range<T>(id)) refuse_end(id, sizeof(T));
  }
  /// Completes the file. \returns the number of tokens. \throws wick::error when there are none, or they
  /// can't be written to disk
  std::uint64_t finish();

 private:
  static constexpr std::size_t piece = std::size_t{1} << 20;

  void flush();
  [[noreturn]] void refuse(std::int64_t id, std::size_t size) const;
  [[noreturn]] static void refuse_end(std::int64_t id, std::size_t size);

  std::string path_;
  std::shared_ptr<file_replacement> file_;
  std::vector<std::byte> buffer_;
  std::uint64_t count_ = 0;
};

}  // namespace wick::detail
