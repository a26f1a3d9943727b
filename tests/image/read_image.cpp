#include <cstddef>
#include <span>
#include <string>

#include "../support/doctest.hpp"
#include "../support/message_of.hpp"
#include "../support/picture.hpp"
#include "../support/temp_dir.hpp"
#include <wick/image/read_image.hpp>

namespace wick_test::read_image_tests {

using wick::image;

TEST_CASE("a picture is decoded outside of a pipeline, from memory and from a file") {
  const image from = photo(40, 30);
  const std::string png = encode_png(from), jpeg = encode_jpeg(from);
  const temp_dir dir;
  dir.write("a.png", png);
  dir.write("a.jpg", jpeg);
  CHECK(wick::decode_image(std::as_bytes(std::span(png))) == from);
  CHECK(wick::read_image(dir / "a.png") == from);
  const image got = wick::read_image(dir / "a.jpg");
  CHECK(compare(got, from).mean <= 6);
  CHECK(got == wick::decode_image(std::as_bytes(std::span(jpeg))));
  const image gray = wick::read_image(dir / "a.jpg", {.mode = wick::color::gray});
  CHECK(gray.channels() == 1);
  CHECK(gray.width() == 40);
}

TEST_CASE("a picture that can't be read is an error that names the file and what to do") {
  const temp_dir dir;
  const std::string jpeg = encode_jpeg(photo(40, 30));
  dir.write("half.jpg", jpeg.substr(0, jpeg.size() / 2));
  dir.write("text.jpg", "not a picture");
  const auto refusal = [&](const char* name, const wick::decode_options& options = {}) {
    return message_of([&] { return wick::read_image(dir / name, options); });
  };
  CHECK(contains(refusal("half.jpg"), (dir / "half.jpg").string(), "truncated JPEG"));
  CHECK(contains(refusal("text.jpg"), (dir / "text.jpg").string(), "not a JPEG"));
  CHECK(contains(refusal("none.jpg"), (dir / "none.jpg").string(), "can't open it"));
  CHECK(refusal("half.jpg", {.allow_truncated = true}).empty());
  CHECK(contains(refusal("half.jpg", {.type = wick::dtype::float32}), "levels of 8 bits", "leave .type out"));
  CHECK_FALSE(contains(refusal("half.jpg"), "on_error"));
  CHECK(contains(message_of([] { return wick::decode_image({}); }), "0 bytes"));
}

}  // namespace wick_test::read_image_tests
