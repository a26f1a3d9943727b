// Writes scalars that TensorBoard shows. Not a part of wick: copy it.
#pragma once

#include <array>
#include <bit>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>

/// An event file: a chain of records (length, its checksum, an Event in protobuf's encoding, its checksum),
/// as tensorflow/core/lib/io/record_writer.h and tensorflow/core/util/event.proto describe them. Each has its
/// CRC-32C, masked.
class event_file {
 public:
  /// A new file in `folder`, which is made where it is missing; TensorBoard takes each folder as a run.
  /// \throws std::system_error when it can't be made
  explicit event_file(const std::filesystem::path& folder) {
    std::filesystem::create_directories(folder);
    path_ = folder / ("events.out.tfevents." + std::to_string(static_cast<std::int64_t>(now())) + "." +
                      std::to_string(getpid()) + ".wick");
    file_.reset(std::fopen(path_.c_str(), "wbx"));
    if (!file_) fail();
    record(field(1, now()) + field(3, "brain.Event:2"));
  }

  /// \throws std::system_error when it can't be written
  void add_scalar(std::string_view tag, double value, std::int64_t step) {
    const std::string one = field(1, tag) + field(2, static_cast<float>(value));
    record(field(1, now()) + field(2, step) + field(5, field(1, one)));
  }

  /// Makes the added values visible to TensorBoard. \throws std::system_error when it can't be written
  void flush() {
    if (std::fflush(file_.get()) != 0) fail();
  }

 private:
  struct closer {
    void operator()(std::FILE* f) const noexcept { std::fclose(f); }
  };

  static double now() {
    return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  }
  [[noreturn]] void fail() const { throw std::system_error(errno, std::generic_category(), path_.string()); }

  // Protobuf: a field's number and kind, then its value, little-endian.
  static std::string varint(std::uint64_t n) {
    std::string out;
    for (; n >= 0x80; n >>= 7) out += static_cast<char>(n | 0x80);
    return out + static_cast<char>(n);
  }
  template <class Word>
  static std::string little_endian(Word n) {
    std::string out;
    for (std::size_t i = 0; i < sizeof(n); ++i) out += static_cast<char>(n >> (8 * i));
    return out;
  }
  static std::string field(int number, std::int64_t v) {
    return varint(static_cast<std::uint64_t>(number) << 3) + varint(static_cast<std::uint64_t>(v));
  }
  static std::string field(int number, double v) {
    return varint(static_cast<std::uint64_t>(number) << 3 | 1) +
           little_endian(std::bit_cast<std::uint64_t>(v));
  }
  static std::string field(int number, float v) {
    return varint(static_cast<std::uint64_t>(number) << 3 | 5) +
           little_endian(std::bit_cast<std::uint32_t>(v));
  }
  static std::string field(int number, std::string_view bytes) {
    return varint(static_cast<std::uint64_t>(number) << 3 | 2) + varint(bytes.size()) + std::string(bytes);
  }

  /// CRC-32C (RFC 3720, B.4), masked so that a checksum of checksums stays one.
  static std::string checksum(std::string_view bytes) {
    static const std::array<std::uint32_t, 256> table = [] {
      std::array<std::uint32_t, 256> t{};
      for (std::uint32_t i = 0; i < 256; ++i) {
        t[i] = i;
        for (int bit = 0; bit < 8; ++bit) t[i] = t[i] >> 1 ^ (t[i] & 1 ? 0x82F63B78u : 0);
      }
      return t;
    }();
    std::uint32_t crc = ~0u;
    for (const char c : bytes) crc = crc >> 8 ^ table[(crc ^ static_cast<unsigned char>(c)) & 0xFF];
    crc = ~crc;
    return little_endian((crc >> 15 | crc << 17) + 0xA282EAD8u);
  }
  void record(const std::string& event) {
    const std::string length = little_endian(static_cast<std::uint64_t>(event.size()));
    const std::string all = length + checksum(length) + event + checksum(event);
    if (std::fwrite(all.data(), 1, all.size(), file_.get()) != all.size()) fail();
  }

  std::filesystem::path path_;
  std::unique_ptr<std::FILE, closer> file_;
};
