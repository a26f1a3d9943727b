// The decoding seam: the request to a decoder, its answer, and the choice of a decoder for a sample's bytes.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include <wick/ext/row_sink.hpp>
#include <wick/pixels/geometry.hpp>
#include <wick/pixels/image.hpp>
#include <wick/pixels/wide_rows.hpp>

namespace wick::inline v0_1::ext {

struct codec;

/// The notes that one of wick's own decoders keeps about files from epoch to epoch.
struct decoder_notes {};

/// The contents of an encoded image's header. No pixel is decoded for it.
struct picture_info {
  std::string_view format;             ///< "JPEG", "PNG", …
  std::int64_t width = 0, height = 0;  ///< in pixels, as stored
  int channels = 3;                    ///< as stored: 1 gray, 2 gray and alpha, 3 RGB (a palette too), 4 RGBA
  int bits = 8;                        ///< per channel, as stored
  const codec* decoder = nullptr;      ///< the decoder that knows the format
  bool palette = false;  ///< the file stores numbers of colors, which decode_request::indexes asks for
};

/// A request to a decoder.
struct decode_request {
  rect wanted;       ///< the part that is needed, in pixels of the encoded image
  double scale = 1;  ///< the smallest that suffices, in (0, 1]: delivered pixels per source pixel
  int channels = 3;  ///< 1 gray, 2 gray and alpha, 3 RGB, 4 RGBA
  /// Asks for the numbers as stored, in one channel: of a palette's colors, or levels of gray.
  bool indexes = false;
  decoder_notes* notes = nullptr;  ///< for wick's own JPEG decoder; other decoders don't use them
};

/// The result of a decoder: any part that contains the wanted one, at any scale that suffices.
struct decoded_picture {
  image pixels;           ///< of the decoded part
  int left = 0, top = 0;  ///< source pixel at which `pixels` starts; times `scale` it is a whole number
  double scale = 1;       ///< delivered pixels per source pixel
};

/// A decoder of one or more formats: functions and a name. Many threads may call the functions at once.
struct codec {
  std::string_view name;  ///< for messages and the report
  /// Fills `info` from the header and returns true, or returns false for another format. \throws wick::error
  /// if the header is broken
  bool (*probe)(std::span<const std::byte> encoded, picture_info& info);
  /// Walks markers or chunks without decoding; may be null. \throws wick::error if the file is truncated
  void (*check_complete)(std::span<const std::byte> encoded, const picture_info& info);
  /// Decodes the requested part, or more. \throws wick::error if the data is damaged
  decoded_picture (*decode)(std::span<const std::byte> encoded, const picture_info& info,
                            const decode_request& request);
  /// The same, row by row: begins the part, then fills it from the top until it is complete or the sink wants
  /// no more rows. Preferred to decode(); may be null. \throws wick::error if the data is damaged
  void (*decode_rows)(std::span<const std::byte> encoded, const picture_info& info,
                      const decode_request& request, row_sink& sink) = nullptr;
  /// Decodes 16-bit levels of an image that has them: at least the rows of `wanted`. Null for a decoder
  /// without them. \throws wick::error if the data is damaged
  wide_rows (*decode_wide)(std::span<const std::byte> encoded, const picture_info& info,
                           const decode_request& request) = nullptr;
  /// A note about this decoder for the report, empty if there is none; may be null.
  std::string (*note)() = nullptr;
};

}  // namespace wick::ext

namespace wick::inline v0_1::detail {

using namespace ext;

/// The decoders of this program. The last one added is asked first. Reading takes no lock.
class codec_list {
 public:
  static constexpr std::size_t capacity = 16;

  /// The first is asked last. At most sixteen.
  explicit codec_list(std::span<const codec* const> known) noexcept;
  codec_list(const codec_list&) = delete;
  codec_list& operator=(const codec_list&) = delete;

  /// `c` must live as long as the program. Adding it again does nothing. \throws wick::error past sixteen
  void add(const codec& c);

  /// Reads the header. \throws wick::error with the first bytes and their likely format if no decoder knows
  /// them, or if the header says that there are no pixels
  picture_info probe(std::span<const std::byte> encoded) const;

  /// The decoders' notes for the report.
  std::string note() const;

 private:
  std::array<const codec*, capacity> codecs_{};
  std::atomic<std::size_t> count_;
  std::mutex adding_;
};

/// The decoders that wick was built with: its own for baseline JPEGs, libjpeg-turbo if the build found it,
/// and stb_image. Defined in codec/impl/builtin_codecs.ipp.
std::span<const codec* const> builtin_codecs() noexcept;

/// Rejects an image before any memory is allocated for it. \throws wick::error if the header claims more
/// than `max_pixels`
void check_size(const picture_info& info, std::int64_t max_pixels);

}  // namespace wick::detail

namespace wick::inline v0_1::ext {

/// The decoders that decode() asks: first those that a program adds with `wick::ext::codecs().add(...)`
/// before its first loader starts, then the fastest that wick was built with.
detail::codec_list& codecs() noexcept;

}  // namespace wick::ext
