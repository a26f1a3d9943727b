// Implements sources/tfrecords.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <wick/io/detail/endian.hpp>
#include <wick/pipeline/detail/names.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/sources/tfrecords.hpp>

namespace wick::inline v0_1::detail {

namespace {

// ---- checksums ----

constexpr std::array<std::uint32_t, 256> crc32c_table = [] {
  std::array<std::uint32_t, 256> out{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t c = i;
    for (int bit = 0; bit < 8; ++bit) c = c >> 1 ^ (c & 1 ? 0x82F63B78u : 0u);
    out[i] = c;
  }
  return out;
}();

std::uint32_t crc32c_by_table(std::uint32_t c, const std::byte* data, std::size_t size) noexcept {
  for (; size != 0; ++data, --size) c = c >> 8 ^ crc32c_table[(c ^ static_cast<std::uint32_t>(*data)) & 0xFF];
  return c;
}

#ifdef __x86_64__
[[gnu::target("sse4.2")]] std::uint32_t crc32c_by_processor(std::uint32_t begin, const std::byte* data,
                                                            std::size_t size) noexcept {
  std::uint64_t c = begin;
  for (; size >= 8; data += 8, size -= 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, data, 8);
    c = __builtin_ia32_crc32di(c, word);
  }
  return crc32c_by_table(static_cast<std::uint32_t>(c), data, size);
}
#endif

std::uint64_t little_endian(const std::byte* from, std::size_t size) noexcept {
  return load_little_endian({reinterpret_cast<const char*>(from), size}, 0, size);
}

/// TFRecord masks a checksum, so that checksums of data that contain checksums still work well.
std::uint32_t masked(std::uint32_t crc) noexcept { return (crc >> 15 | crc << 17) + 0xA282EAD8u; }

bool has_checksum(const std::byte* data, std::size_t size) noexcept {
  return masked(crc32c(data, size)) == little_endian(data + size, 4);
}

constexpr std::size_t length_size = 8, checksum_size = 4, head_size = length_size + checksum_size;

record_frame frame_of_tfrecord(const void*, std::span<const std::byte> head) {
  if (head.size() < head_size) throw error("the file ends within a record; it is cut off");
  if (!has_checksum(head.data(), length_size))
    throw error("the checksum of the record's length is wrong; the file is damaged, or no TFRecord file");
  const std::uint64_t length = little_endian(head.data(), length_size);
  if (length > ~std::uint64_t{0} - head_size - checksum_size) throw error("a length that no file has");
  return {.offset = head_size, .length = length + checksum_size, .size = head_size + length + checksum_size};
}

// ---- messages ----

/// Protocol Buffers' wire format: "Encoding", protobuf.dev.
class message_reader {
 public:
  explicit message_reader(std::string_view message) noexcept : left_(message) {}

  enum wire : unsigned { varint = 0, fixed64 = 1, text = 2, fixed32 = 5 };
  struct field {
    std::uint64_t number = 0;
    unsigned type = 0;
    std::uint64_t value = 0;   // of a varint
    std::string_view bytes{};  // of any other
  };
  bool next(field& out) {
    if (left_.empty()) return false;
    const std::uint64_t tag = integer();
    out = {.number = tag >> 3, .type = static_cast<unsigned>(tag & 7)};
    switch (out.type) {
      case varint:
        out.value = integer();
        return true;
      case fixed64:
        out.bytes = take(8);
        return true;
      case fixed32:
        out.bytes = take(4);
        return true;
      case text:
        out.bytes = take(integer());
        return true;
      default:
        damaged();
    }
  }
  bool more() const noexcept { return !left_.empty(); }
  std::uint64_t integer() {
    std::uint64_t out = 0;
    for (unsigned shift = 0; shift < 70 && !left_.empty(); shift += 7) {
      const auto byte = static_cast<unsigned char>(left_.front());
      left_.remove_prefix(1);
      if (shift < 64) out |= std::uint64_t{byte & 0x7Fu} << shift;
      if (byte < 0x80) return out;
    }
    damaged();
  }

 private:
  std::string_view take(std::uint64_t size) {
    if (size > left_.size()) damaged();
    const std::string_view out = left_.substr(0, static_cast<std::size_t>(size));
    left_.remove_prefix(out.size());
    return out;
  }
  [[noreturn]] static void damaged() {
    throw error(
        "the bytes aren't a tf.train.Example, or are a damaged one; read them with a callable of your own");
  }

  std::string_view left_;
};

float float_of(std::string_view four) noexcept {
  const auto bits = static_cast<std::uint32_t>(load_little_endian(four, 0, 4));
  float out = 0;
  std::memcpy(&out, &bits, sizeof out);
  return out;
}

[[noreturn]] void not_one(std::string_view feature, std::size_t found) {
  throw error("the feature \"" + printable(feature) + "\" has " + std::to_string(found) +
              " values, and one is wanted; ask for all: texts(), integers() or numbers()");
}

}  // namespace

std::uint32_t crc32c(const std::byte* data, std::size_t size) noexcept {
#ifdef __x86_64__
  static const bool fast = __builtin_cpu_supports("sse4.2") != 0;
  if (fast) return ~crc32c_by_processor(~0u, data, size);
#endif
  return ~crc32c_by_table(~0u, data, size);
}

void take_off_checksum(bytes& record) {
  if (record.size() < checksum_size || !has_checksum(record.data(), record.size() - checksum_size))
    throw error("the record's checksum is wrong; the file is damaged");
  record.shrink(record.size() - checksum_size);
}

tf_records::tf_records(const files& of, const framed_options& options)
    : records_(of, {head_size, nullptr, frame_of_tfrecord}, "tfrecords", options) {}

}  // namespace wick::detail

namespace wick::inline v0_1 {

detail::tf_records tfrecords(const files& of, const framed_options& options) { return {of, options}; }

detail::decode_tf_example_stage decode_tf_example() noexcept { return {}; }

tf_example::tf_example(bytes message) : message_(std::move(message)) {
  constexpr std::size_t most_features = 65'536;
  using detail::message_reader;
  message_reader example(message_.text());
  message_reader::field features{}, entry{}, part{}, list{};
  while (example.next(features)) {
    if (features.number != 1 || features.type != message_reader::text) continue;
    for (message_reader map(features.bytes); map.next(entry);) {
      if (entry.number != 1 || entry.type != message_reader::text) continue;
      feature one;
      for (message_reader pair(entry.bytes); pair.next(part);) {
        if (part.type != message_reader::text) continue;
        if (part.number == 1) one.name = part.bytes;
        if (part.number != 2) continue;
        for (message_reader value(part.bytes); value.next(list);) {
          if (list.type != message_reader::text || list.number < 1 || list.number > 3) continue;
          one.is = static_cast<kind>(list.number);
          one.list = list.bytes;
        }
      }
      if (one.name.empty()) continue;
      // If a map has two entries with the same key, protobuf takes the last.
      const auto same = std::find_if(features_.begin(), features_.end(),
                                     [&](const feature& f) { return f.name == one.name; });
      if (same != features_.end()) {
        *same = one;
        continue;
      }
      if (features_.size() == most_features) {
        throw error("the record has more than " + std::to_string(most_features) +
                    " features; is it a tensorflow.Example?");
      }
      features_.push_back(one);
    }
  }
}

bool tf_example::has(std::string_view feature) const noexcept {
  return std::any_of(features_.begin(), features_.end(), [&](const auto& f) { return f.name == feature; });
}

const tf_example::feature& tf_example::find(std::string_view name, kind wanted) const {
  const auto found =
      std::find_if(features_.begin(), features_.end(), [&](const feature& f) { return f.name == name; });
  if (found == features_.end()) {
    std::vector<std::string> all;
    for (const feature& f : features_) all.emplace_back(f.name);
    throw error(detail::no_such_name("feature", name, all));
  }
  if (found->is != wanted && found->is != kind::none) {  // an empty list of any type has kind none
    constexpr const char* what[] = {"nothing", "texts", "floats", "integers"};
    constexpr const char* ask[] = {"", "text() or texts()", "number() or numbers()",
                                   "integer() or integers()"};
    throw error("the feature \"" + detail::printable(name) + "\" has " +
                what[static_cast<std::size_t>(found->is)] + "; ask for them by " +
                ask[static_cast<std::size_t>(found->is)]);
  }
  return *found;
}

std::vector<std::string_view> tf_example::texts(std::string_view feature) const {
  std::vector<std::string_view> out;
  detail::message_reader::field f{};
  for (detail::message_reader list(find(feature, kind::texts).list); list.next(f);) {
    if (f.number == 1 && f.type == detail::message_reader::text) out.push_back(f.bytes);
  }
  return out;
}

std::vector<std::int64_t> tf_example::integers(std::string_view feature) const {
  std::vector<std::int64_t> out;
  detail::message_reader::field f{};
  for (detail::message_reader list(find(feature, kind::integers).list); list.next(f);) {
    if (f.number != 1) continue;
    if (f.type == detail::message_reader::varint) out.push_back(static_cast<std::int64_t>(f.value));
    if (f.type != detail::message_reader::text) continue;
    for (detail::message_reader packed(f.bytes); packed.more();)
      out.push_back(static_cast<std::int64_t>(packed.integer()));
  }
  return out;
}

std::vector<float> tf_example::numbers(std::string_view feature) const {
  std::vector<float> out;
  detail::message_reader::field f{};
  for (detail::message_reader list(find(feature, kind::floats).list); list.next(f);) {
    if (f.number != 1) continue;
    for (; f.bytes.size() >= 4; f.bytes.remove_prefix(4)) out.push_back(detail::float_of(f.bytes));
  }
  return out;
}

std::string_view tf_example::text(std::string_view feature) const {
  const auto all = texts(feature);
  if (all.size() != 1) detail::not_one(feature, all.size());
  return all.front();
}

std::int64_t tf_example::integer(std::string_view feature) const {
  const auto all = integers(feature);
  if (all.size() != 1) detail::not_one(feature, all.size());
  return all.front();
}

float tf_example::number(std::string_view feature) const {
  const auto all = numbers(feature);
  if (all.size() != 1) detail::not_one(feature, all.size());
  return all.front();
}

bytes tf_example::data(std::string_view feature) const {
  const std::string_view all = text(feature);
  return {all.data(), all.size()};
}

}  // namespace wick
