/// \file
/// The decoding seam: what a decoder is asked, what it answers, and how the right one is found for a sample's
/// bytes.
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

namespace wick::inline v0_1 {

struct codec;

/// What a decoder of wick's own keeps of files from epoch to epoch.
struct decoder_notes {};

/// What the header of an encoded picture says; no pixel has been decoded for it.
struct picture_info {
  std::string_view format;             ///< "JPEG", "PNG", …
  std::int64_t width = 0, height = 0;  ///< in pixels, as stored
  int channels = 3;                    ///< as stored: 1 gray, 2 gray and alpha, 3 RGB (a palette too), 4 RGBA
  int bits = 8;                        ///< a channel, as stored
  const codec* decoder = nullptr;      ///< the one that knew the format
  bool palette = false;  ///< stored are numbers of colors, which decode_request::indexes asks for
};

/// What a decoder is asked for.
struct decode_request {
  rect wanted;       ///< the part that is needed, in pixels of the encoded picture
  double scale = 1;  ///< the least that suffices, in (0, 1]: delivered pixels a source pixel
  int channels = 3;  ///< 1 gray, 2 gray and alpha, 3 RGB, 4 RGBA
  bool indexes =
      false;  ///< the numbers as they are stored, in one channel: of a palette's colors, or levels of gray
  decoder_notes* notes = nullptr;  ///< for wick's own decoder of JPEGs, others have no use for them
};

/// What a decoder delivers: any part that contains the wanted one, at any scale that suffices.
struct decoded_picture {
  image pixels;           ///< of the decoded part
  int left = 0, top = 0;  ///< source pixel at which `pixels` starts; times `scale` it is a whole number
  double scale = 1;       ///< delivered pixels a source pixel
};

/// A decoder of one or more formats: some functions and a name. Any thread may call them, many at a time.
struct codec {
  std::string_view name;  ///< for messages and the report
  /// Fills `info` from the header and answers true; false when it is another format. \throws wick::error when
  /// the header is broken
  bool (*probe)(std::span<const std::byte> encoded, picture_info& info);
  /// A walk over markers or chunks, without decoding; may be null. \throws wick::error when the file breaks
  /// off
  void (*check_complete)(std::span<const std::byte> encoded, const picture_info& info);
  /// Decodes what is asked for, or more. \throws wick::error when the data is damaged
  decoded_picture (*decode)(std::span<const std::byte> encoded, const picture_info& info,
                            const decode_request& request);
  /// The same, row by row: the part is begun, then filled from the top until the sink wants no more or all of
  /// it is there. Preferred to decode(); may be null. \throws wick::error when the data is damaged
  void (*decode_rows)(std::span<const std::byte> encoded, const picture_info& info,
                      const decode_request& request, row_sink& sink) = nullptr;
  /// Levels of 16 bits, of a picture that has them: at least the rows of `wanted`. Null for a decoder that
  /// has none. \throws wick::error when the data is damaged
  wide_rows (*decode_wide)(std::span<const std::byte> encoded, const picture_info& info,
                           const decode_request& request) = nullptr;
  /// What the report should say about this decoder, empty when there is nothing; may be null.
  std::string (*note)() = nullptr;
};

namespace detail {

/// The decoders of this program, the last added asked first. Reading takes no lock.
class codec_list {
 public:
  static constexpr std::size_t capacity = 16;

  /// The first is asked last. At most sixteen.
  explicit codec_list(std::span<const codec* const> known) noexcept;
  codec_list(const codec_list&) = delete;
  codec_list& operator=(const codec_list&) = delete;

  /// `c` must live as long as the program. Adding it again does nothing. \throws wick::error past sixteen
  void add(const codec& c);

  /// Reads the header. \throws wick::error with the first bytes and what they look like, when no decoder
  /// knows them, or when the header says there are no pixels
  picture_info probe(std::span<const std::byte> encoded) const;

  /// What the decoders have to say for the report.
  std::string note() const;

 private:
  std::array<const codec*, capacity> codecs_{};
  std::atomic<std::size_t> count_;
  std::mutex adding_;
};

/// Those that wick was built with: its own for baseline JPEGs, libjpeg-turbo where it was found, and
/// stb_image. Defined in codec/impl/builtin_codecs.ipp.
std::span<const codec* const> builtin_codecs() noexcept;
}  // namespace detail

/// The decoders that decode() asks: the fastest that wick was built with, and before them what a program
/// adds with `wick::codecs().add(...)` before its first loader starts.
detail::codec_list& codecs() noexcept;

namespace detail {

/// Refuses a picture before any memory is taken for it. \throws wick::error when the header claims more than
/// `max_pixels`
void check_size(const picture_info& info, std::int64_t max_pixels);

}  // namespace detail

}  // namespace wick
