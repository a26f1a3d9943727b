// Whether wick's Huffman decoder may stand in for libjpeg's is found out by decoding: here with libjpegs that
// are not as their headers say.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include "../support/doctest.hpp"
#include "../support/jpeg_writer.hpp"
#include "../support/message_of.hpp"
#include "../support/picture.hpp"
#include <wick/codec/detail/libjpeg_turbo.hpp>

#ifdef WICK_TEST_LIBJPEG_TURBO

#include <wick/codec/impl/jpeg_self_test.hpp>

using namespace wick_test;
using wick::image;
using wick::detail::jpeg_decompressor;
using wick::detail::jpeg_scan_reader;
using wick::detail::jpeg_self_test;

namespace {

using slot = jpeg_scan_reader::mcu_decoder*;

/// A libjpeg in which wick doesn't know the place.
slot nowhere(j_decompress_ptr) { return nullptr; }
/// One that keeps the function elsewhere: what is put in the second word is never called.
slot elsewhere(j_decompress_ptr) {
  static jpeg_scan_reader::mcu_decoder unused = nullptr;
  return &unused;
}
/// One in which the second word is the decoder, and something else hangs on it too: here the scale of the
/// first component's coefficients.
slot with_more_to_it(j_decompress_ptr info) {
  std::memset(info->comp_info[0].dct_table, 1, 2);
  return jpeg_scan_reader::second_word(info);
}

image decoded(jpeg_scan_reader::find_slot find, const std::string& file, bool own_scan) {
  const auto data = std::as_bytes(std::span(file));
  wick::picture_info info;
  REQUIRE(wick::detail::libjpeg_turbo_codec.probe(data, info));
  const wick::detail::rect all{0, 0, static_cast<int>(info.width), static_cast<int>(info.height)};
  wick::detail::image_sink sink;
  jpeg_decompressor(find).decode(data, info, {all, 1.0, 3}, sink, own_scan);
  return std::move(sink.picture.pixels);
}

}  // namespace

TEST_CASE("the libjpeg-turbo of this build passes the test, and its JPEGs are read by wick") {
  CHECK(jpeg_self_test().passed());
  CHECK(jpeg_self_test::here().passed());
  CHECK(jpeg_self_test::here().note().empty());
  CHECK(wick::detail::libjpeg_turbo_codec.note().empty());
  const std::string file = encode_jpeg(photo(64, 48), jpeg_kind{});
  const auto data = std::as_bytes(std::span(file));
  wick::picture_info info;
  REQUIRE(wick::detail::libjpeg_turbo_codec.probe(data, info));
  jpeg_decompressor decompressor;
  for (const bool own_scan : {true, false}) {
    wick::detail::image_sink sink;
    decompressor.decode(data, info, {{0, 0, 64, 48}, 1.0, 3}, sink, own_scan);
    CHECK(decompressor.own_mcus() == (own_scan ? 12 : 0));
  }
}

TEST_CASE(
    "a libjpeg that is not as its headers say fails the test, and is used through its interface alone") {
  const std::string file = encode_jpeg(photo(64, 48), jpeg_kind{});
  const image expected = decoded(&jpeg_scan_reader::second_word, file, false);
  REQUIRE(decoded(&jpeg_scan_reader::second_word, file, true) == expected);
  CHECK(decoded(&with_more_to_it, file, true) != expected);  // what the test is for
  for (const jpeg_scan_reader::find_slot find : {&nowhere, &elsewhere, &with_more_to_it}) {
    const jpeg_self_test test(find);
    CHECK_FALSE(test.passed());
    CHECK(decoded(find, file, test.passed()) == expected);
    CHECK(contains(test.note(), "JPEGs take up to twice as long", "libjpeg", "link the libjpeg-turbo"));
  }
  CHECK(contains(jpeg_self_test(&elsewhere).note(), "not where its headers have it"));
  CHECK(contains(jpeg_self_test(&with_more_to_it).note(), "comes out otherwise"));
}

TEST_CASE("functions that are not libjpeg's own are not taken for its decoder") {
  jpeg_error_mgr errors;
  jpeg_decompress_struct info{};
  info.err = jpeg_std_error(&errors);
  CHECK(jpeg_scan_reader::second_word_of_library(&info) == nullptr);
  struct {
    void (*start_pass)(j_decompress_ptr) = [](j_decompress_ptr) {};
    jpeg_scan_reader::mcu_decoder decode_mcu = [](j_decompress_ptr, JBLOCKROW*) -> boolean { return TRUE; };
    long long more[8]{};
  } mine;
  info.entropy = reinterpret_cast<jpeg_entropy_decoder*>(&mine);
  CHECK(jpeg_scan_reader::second_word_of_library(&info) == nullptr);
  mine.decode_mcu = reinterpret_cast<jpeg_scan_reader::mcu_decoder>(reinterpret_cast<void*>(mine.start_pass));
  CHECK(jpeg_scan_reader::second_word_of_library(&info) == nullptr);
  // Neither is what is no function at all.
  mine.decode_mcu = reinterpret_cast<jpeg_scan_reader::mcu_decoder>(&mine);
  CHECK(jpeg_scan_reader::second_word_of_library(&info) == nullptr);
}

TEST_CASE("a libjpeg of another version is an error that says so") {
  const auto created = [](int version, std::size_t size) {
    return message_of([&] { return jpeg_decompressor(&jpeg_scan_reader::second_word, version, size), 0; });
  };
  CHECK(created(JPEG_LIB_VERSION, sizeof(jpeg_decompress_struct)).empty());
  CHECK(contains(created(JPEG_LIB_VERSION + 18, sizeof(jpeg_decompress_struct)), "Wrong JPEG library version",
                 std::to_string(JPEG_LIB_VERSION), std::to_string(JPEG_LIB_VERSION + 18),
                 "compile wick again"));
  CHECK(contains(created(JPEG_LIB_VERSION, sizeof(jpeg_decompress_struct) + 8), "compile wick again"));
}

#endif
