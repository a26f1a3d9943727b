// Any bytes as a picture, through decode(), any geometry and color, into a batch's slot: pixels or a
// wick::error come out, never anything else, the same ones each time, and every byte of the slot is written.
// Whether wick or libjpeg-turbo decodes a JPEG makes no difference, nor does what wick has noted at an
// earlier decoding.
//
// The first 16 bytes of an input choose what is done, the rest is the file.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <zlib.h>

#include <wick/codec/detail/byte_order.hpp>
#include <wick/codec/detail/jpeg.hpp>
#include <wick/codec/detail/libjpeg_turbo.hpp>
#include <wick/codec/detail/png_header.hpp>
#include <wick/codec/detail/signature.hpp>
#include <wick/codec/detail/stb.hpp>
#include <wick/image/decode.hpp>
#include <wick/pipeline/context.hpp>

namespace {

constexpr std::size_t choices = 16;
constexpr std::int64_t most_pixels = 1 << 18;

void demand(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

#ifdef WICK_TEST_LIBJPEG_TURBO
bool by_stb_image = false, by_libjpeg_turbo = false;
/// wick's own decoder, or libjpeg-turbo, which has to give the same.
const wick::ext::codec either{
    "wick or libjpeg-turbo",
    [](std::span<const std::byte> encoded, wick::ext::picture_info& info) {
      return !by_stb_image && wick::detail::jpeg_codec.probe(encoded, info);
    },
    wick::detail::jpeg_codec.check_complete, wick::detail::jpeg_codec.decode,
    [](std::span<const std::byte> encoded, const wick::ext::picture_info& info,
       const wick::ext::decode_request& request, wick::ext::row_sink& sink) {
      (by_libjpeg_turbo ? wick::detail::libjpeg_turbo_codec : wick::detail::jpeg_codec)
          .decode_rows(encoded, info, request, sink);
    }};
/// stb_image in the other rounds.
const wick::ext::codec stb_image{wick::detail::stb_codec.name,
                                 [](std::span<const std::byte> encoded, wick::ext::picture_info& info) {
                                   return by_stb_image && wick::detail::stb_codec.probe(encoded, info);
                                 },
                                 wick::detail::stb_codec.check_complete,
                                 wick::detail::stb_codec.decode,
                                 nullptr,
                                 wick::detail::stb_codec.decode_wide};
#endif

/// A changed PNG with the checksums of an unchanged one is refused at once, and its decoder would never be
/// reached.
void mend_checksums(std::span<std::byte> png) {
  using namespace wick::detail;
  if (!starts_with(png, png_signature)) return;
  for (std::size_t at = 8; png.size() - at >= 12;) {
    const std::size_t length = big32(png, at);
    if (png.size() - at - 12 < length) return;
    const std::uint32_t sum = crc32(png.subspan(at + 4, length + 4));
    for (std::size_t i = 0; i < 4; ++i)
      png[at + 8 + length + i] = static_cast<std::byte>(sum >> (24 - 8 * i));
    at += length + 12;
  }
}

void take_step(wick::lazy_image& picture, unsigned what, int a, int b) {
  const int width = picture.width(), height = picture.height();
  switch (what % 8) {
    case 0: {  // 0 and 255 touch the borders
      wick::rect part{0, 0, 1 + a * (width - 1) / 255, 1 + (what & 64 ? 255 - a : a) * (height - 1) / 255};
      part.x = b * (width - part.width) / 255;
      part.y = (what & 128 ? 255 - b : b) * (height - part.height) / 255;
      return picture.crop(part);
    }
    case 1:
    case 2:
      return picture.resize(1 + a, 1 + b, static_cast<wick::interpolation>(what / 8 % 3));
    case 3:
      return picture.mirror_x();
    case 4:
      return picture.mirror_y();
    case 5:
      return picture.apply({static_cast<wick::detail::pixel_op::kind>(a % 5), static_cast<float>(b) / 128});
    case 6:
      return picture.make_gray(a % 2 != 0 ? 1 : 3);
    default:
      return;
  }
}

struct slot {
  std::unique_ptr<std::byte[]> memory;
  std::string error;
};
/// What lies in the slot, which held `before` everywhere.
slot slot_of(const wick::lazy_image& picture, bool planar, int before, std::size_t size) {
  slot out{std::unique_ptr<std::byte[]>(new std::byte[size]),
           {}};  // of exactly that size, so that a byte too many is seen
  std::memset(out.memory.get(), before, size);
  try {
    picture.write_to({out.memory.get(), planar});
  } catch (const wick::error& e) {
    out.error = e.what();
    demand(!out.error.empty(), "an error without a word");
  }
  return out;
}

void run(std::span<const std::byte> choice, std::span<const std::byte> file) {
  const auto chosen = [&](std::size_t i) { return static_cast<unsigned>(choice[i]); };
  const unsigned flags = chosen(0);
#ifdef WICK_TEST_LIBJPEG_TURBO
  by_stb_image = flags % 2 == 0;
#endif
  wick::bytes encoded(file.size());
  if (!file.empty()) std::memcpy(encoded.data(), file.data(), file.size());
  if ((flags & 2) != 0) mend_checksums({encoded.data(), encoded.size()});

  const auto mode = static_cast<wick::color>(chosen(1) % 8 % 5);
  constexpr wick::dtype types[] = {wick::dtype::uint8, wick::dtype::int32, wick::dtype::float32,
                                   wick::dtype::uint8};
  const wick::dtype type = mode == wick::color::index ? types[chosen(1) / 8 % 2] : types[chosen(1) / 8 % 4];
  const bool reduce = type == wick::dtype::uint8 && mode != wick::color::index && (chosen(1) & 32) == 0;
  const wick::detail::decode_stage decode({.mode = mode,
                                           .type = type,
                                           .reduce_16_bits = reduce,
                                           .max_pixels = most_pixels,
                                           .allow_truncated = (flags & 4) != 0,
                                           .exact = (flags & 8) != 0,
                                           .orient = (flags & 16) != 0});
  wick::context context(wick::detail::place{1, 0, 0, 0});
  wick::lazy_image picture = decode(std::move(encoded), context);
  for (std::size_t i = 2; i + 2 < choices; i += 3) {
    take_step(picture, chosen(i), static_cast<int>(chosen(i + 1)), static_cast<int>(chosen(i + 2)));
  }
  if ((flags & 32) != 0) picture.normalize({{0.5f, 0.4f, 0.3f}, {0.25f, 0.2f, 0.1f}, 3});

  const bool planar = (flags & 64) != 0;
  const std::size_t size =
      static_cast<std::size_t>(picture.extents().count()) * wick::detail::size_of(picture.type());
  const slot first = slot_of(picture, planar, 0x00, size);
#ifdef WICK_TEST_LIBJPEG_TURBO
  by_libjpeg_turbo = true;
#endif
  const slot second = slot_of(picture, planar, 0xFF, size);
#ifdef WICK_TEST_LIBJPEG_TURBO
  by_libjpeg_turbo = false;
#endif
  const slot third = slot_of(picture, planar, 0x77, size);  // now the places in a JPEG are known
  demand(first.error == second.error && first.error == third.error,
         "two decodings of one picture fail otherwise");
  for (const slot* other : {&second, &third}) {
    demand(!first.error.empty() || std::memcmp(first.memory.get(), other->memory.get(), size) == 0,
           "two decodings of one picture differ");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
#ifdef WICK_TEST_LIBJPEG_TURBO
  static const bool added = (wick::ext::codecs().add(wick::detail::libjpeg_turbo_codec),
                             wick::ext::codecs().add(either), wick::ext::codecs().add(stb_image), true);
  static_cast<void>(added);
#endif
  if (size < choices) return 0;
  const auto input = std::as_bytes(std::span(data, size));
  try {
    run(input.first(choices), input.subspan(choices));
  } catch (const wick::error& e) {
    demand(*e.what() != '\0', "an error without a word");
  }
  return 0;
}
