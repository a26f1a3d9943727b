#include <string>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/picture.hpp"
#include <wick/codec/detail/stb.hpp>
#include <wick/ext/codec.hpp>

namespace wick_test::codec_tests {

namespace {

std::span<const std::byte> span_of(const std::string& s) {
  return std::as_bytes(std::span(s.data(), s.size()));
}
std::string refusal(const std::string& s) {
  return message_of([&] { return wick::ext::codecs().probe(span_of(s)); });
}

bool probe_dots(std::span<const std::byte> encoded, wick::ext::picture_info& info) {
  if (encoded.empty() || encoded[0] != std::byte{'.'}) return false;
  info.format = "dots";
  info.width = static_cast<std::int64_t>(encoded.size());
  info.height = 1;
  return true;
}
wick::ext::decoded_picture decode_dots(std::span<const std::byte>, const wick::ext::picture_info& info,
                                       const wick::ext::decode_request& request) {
  return {flat(static_cast<int>(info.width), 1, request.channels, 46), 0, 0, 1.0};
}
constexpr wick::ext::codec dots{"dots", &probe_dots, nullptr, &decode_dots};

}  // namespace

TEST_CASE("bytes that are no picture are named by their first bytes and what they look like") {
  CHECK(contains(refusal("PK\x03\x04 and so on"), "not a JPEG, PNG, BMP or GIF", "50 4b 03 04, a zip",
                 "wick::on_error"));
  CHECK(contains(refusal("RIFF....WEBPVP8 "), "a WebP"));
  CHECK(contains(refusal("<!DOCTYPE html><html>404"), "an HTML page"));
  CHECK(contains(refusal("version https://git-lfs.github.com/spec/v1"), "git lfs pull"));
  CHECK(contains(refusal("just some words\n"), "text"));
  CHECK(contains(refusal(std::string(100, '\0')), "00 00 00 00", "never written"));
  CHECK(contains(refusal("\x01\x02"), "(starts with 01 02)"));
  CHECK(contains(refusal(std::string("\xFF\xD8\x01\x01")), "nearly a JPEG"));
}

TEST_CASE("zero bytes and zero pixels are errors of their own") {
  CHECK(contains(refusal(""), "0 bytes"));
  CHECK(contains(refusal(make_png({.width = 0, .height = 5})), "PNG of 0 x 5 px has no pixels"));
  CHECK(contains(refusal(with_jpeg_size(encode_jpeg(photo(16, 16)), 16, 0)), "JPEG of 16 x 0 px"));
}

TEST_CASE("a codec that is added is asked before the ones that were there") {
  const wick::ext::codec* const known[] = {&wick::detail::stb_codec};
  wick::detail::codec_list list(known);
  const std::string jpeg = encode_jpeg(photo(16, 16));
  CHECK(list.probe(span_of(jpeg)).decoder == &wick::detail::stb_codec);
  list.add(dots);
  list.add(dots);
  const wick::ext::picture_info info = list.probe(span_of("....."));
  CHECK(info.decoder == &dots);
  CHECK(info.width == 5);
  CHECK(list.probe(span_of(jpeg)).decoder == &wick::detail::stb_codec);
}

TEST_CASE("a header may not claim more pixels than the limit, whatever the numbers") {
  wick::ext::picture_info info;
  info.format = "PNG";
  const auto claim = [&](std::int64_t w, std::int64_t h, std::int64_t limit) {
    info.width = w;
    info.height = h;
    return message_of([&] { return wick::detail::check_size(info, limit), 0; });
  };
  CHECK(claim(100, 100, 10'000).empty());
  CHECK(contains(claim(100, 101, 10'000), "100 x 101", "limit of 10000", "max_pixels"));
  CHECK(contains(claim(100'000, 100'000, 178'956'970), "100000 x 100000"));
  CHECK_FALSE(claim(4294967295, 4294967295, INT64_MAX).empty());
  CHECK_FALSE(claim(4294967295, 1, INT64_MAX).empty());
}

}  // namespace wick_test::codec_tests
