// TensorFlow's record files as a source, and the tf.train.Example messages that most of them contain.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <wick/ext/file_range.hpp>
#include <wick/ext/stage.hpp>
#include <wick/io/read.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/sample.hpp>
#include <wick/sources/files.hpp>
#include <wick/sources/framed_records.hpp>

namespace wick::inline v0_1 {

namespace detail {

/// A record followed by its checksum.
struct checked_file_range {
  file_range all;
};

/// Removes the checksum. \throws wick::error unless the last four bytes are the checksum of the bytes before
/// them
void take_off_checksum(bytes& record);

template <>
struct read_shape<checked_file_range> {
  static constexpr std::size_t usual = 1;
  template <class F>
  static void split(const checked_file_range& where, F&& f) {
    f(where.all);
  }
  static bytes join(const checked_file_range&, std::span<range_part> parts) {
    take_off_checksum(parts[0].content);
    return std::move(parts[0].content);
  }
};
template <>
struct once_read<checked_file_range> {
  using type = bytes;
};

/// Made by tfrecords(files).
class tf_records {
 public:
  tf_records(const files& of, const framed_options& options);
  std::uint64_t size() const noexcept { return records_.size(); }
  checked_file_range at(std::uint64_t i) const noexcept { return {records_.at(i)}; }
  std::string key(std::uint64_t i) const { return records_.key(i); }
  std::uint64_t fingerprint() const noexcept { return records_.fingerprint(); }
  const std::string& note() const noexcept { return records_.note(); }
  std::uint64_t bytes_scanned() const noexcept { return records_.bytes_scanned(); }

 private:
  framed_records records_;
};

/// CRC-32C of Castagnoli, Bräuer and Herrmann: "Optimization of cyclic redundancy-check codes with 24 and 32
/// parity bits", 1993.
std::uint32_t crc32c(const std::byte* data, std::size_t size) noexcept;

}  // namespace detail

/// Each record of these files is a sample, for read(), which checks its checksum:
/// `tfrecords("train-*.tfrecord") | shuffle() | read() | decode_tf_example() | …`. tfrecords() finds the
/// beginnings of the records once and keeps them in memory, in about 4 bytes a record. With `.index =
/// "train.index"` it keeps them on disk, too, as lines() does. Compressed files aren't supported. Format:
/// TensorFlow, "TFRecord and tf.train.Example". \throws wick::error when a file is missing, truncated,
/// damaged, or compressed, when there is no record, or when the file at `.index` isn't an index
detail::tf_records tfrecords(const files& of, const framed_options& options = {});
template <class Paths>
  requires requires(const Paths& p) { files(p); }
detail::tf_records tfrecords(const Paths& paths, const framed_options& options = {}) {
  return tfrecords(files(paths), options);
}

/// A tf.train.Example: features by name, each a list of texts (or bytes), of integers, or of floats.
class tf_example {
 public:
  tf_example() = default;
  /// Takes ownership of a message. \throws wick::error when the bytes aren't a tf.train.Example
  explicit tf_example(bytes message);

  bool has(std::string_view feature) const noexcept;
  /// The only text of a feature, as a view into this message. \throws wick::error when there is no such
  /// feature, or when it has another type or doesn't have exactly one value
  std::string_view text(std::string_view feature) const;
  std::int64_t integer(std::string_view feature) const;
  float number(std::string_view feature) const;
  /// A copy of the text, for decode().
  bytes data(std::string_view feature) const;
  /// All values of a feature, possibly none. \throws wick::error when there is no such feature, or when it
  /// has another type
  std::vector<std::string_view> texts(std::string_view feature) const;
  std::vector<std::int64_t> integers(std::string_view feature) const;
  std::vector<float> numbers(std::string_view feature) const;

 private:
  enum class kind : std::uint8_t { none, texts, floats, integers };
  struct feature {
    std::string_view name;
    kind is = kind::none;
    std::string_view list;  // the message of its values
  };
  const feature& find(std::string_view name, kind wanted) const;

  bytes message_;
  std::vector<feature> features_;
};

namespace detail {

class decode_tf_example_stage {
 public:
  static constexpr stage_traits traits{.name = "decode_tf_example", .kind = stage_kind::data};
  tf_example operator()(bytes message, context&) const { return tf_example(std::move(message)); }
};

}  // namespace detail

/// Decodes the bytes of a record into a wick::tf_example. A callable then takes the features it needs:
/// `[](tf_example e) { return sample<bytes, std::int64_t>{e.data("image/encoded"), e.integer("label")}; }`.
/// \throws wick::error for a sample that isn't such a message
detail::decode_tf_example_stage decode_tf_example() noexcept;

}  // namespace wick
