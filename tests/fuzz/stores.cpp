// Any bytes as an answer of a store, an address, an endpoint, or a file of profiles: a value or a
// wick::error comes out. The first byte of an input chooses which, the rest is the text.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>

#include <wick/io/detail/percent_encoding.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/stores/detail/aws_credentials.hpp>
#include <wick/stores/detail/azure_locator.hpp>
#include <wick/stores/detail/google_credentials.hpp>
#include <wick/stores/detail/hub_locator.hpp>
#include <wick/stores/detail/s3_address.hpp>
#include <wick/stores/detail/s3_listing.hpp>

namespace {

namespace fs = std::filesystem;

void demand(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "%s\n", what);
  std::abort();
}

void page(std::string_view text) {
  const wick::detail::object_page page = wick::detail::parse_s3_page(text, "s3://bucket/");
  for (const wick::detail::listed_object& object : page.objects) demand(!object.key.empty(), "no key");
}

void failure(std::string_view text) {
  const wick::detail::s3_error e = wick::detail::parse_s3_error(text);
  demand(!e.text().empty(), "no reason");
  for (const std::string& part : {e.code, e.message, e.region}) {
    demand(part.size() <= 400, "a long reason");
    for (const char c : part) demand(static_cast<unsigned char>(c) >= ' ' && c != '\x7F', "not printable");
  }
}

void check(const wick::detail::s3_url& url) {
  for (const char c : url.origin + url.path) demand(c > ' ' && c < '\x7F', "no URL");
  demand(url.origin.ends_with(url.host) && url.path.starts_with('/'), "no URL");
}

void address(std::string_view text) {
  const wick::detail::s3_address a = wick::detail::parse_s3_address(text);
  for (const char* const endpoint : {"", "http://localhost:9000/below"}) {
    const wick::detail::s3_url url = url_of(a, {.endpoint = endpoint});
    check(url);
    const auto decoded = wick::detail::percent_decoded(url.path, wick::detail::plus_signs::kept);
    demand(decoded.has_value() && decoded->ends_with(a.key), "another key");
  }
}

void endpoint(std::string text) {
  wick::detail::aws_settings settings;
  settings.endpoint = std::move(text);
  check(url_of({.bucket = "bucket", .key = "key"}, settings));
}

/// A folder of this process, with one file.
struct folder {
  folder() : path((fs::temp_directory_path() / "wick-fuzz-XXXXXX").string()) {
    demand(::mkdtemp(path.data()) != nullptr, "no folder for the file");
    file = path + "/profiles";
  }
  ~folder() { fs::remove_all(path); }
  std::string path, file;
};

void profiles(std::string_view text) {
  static const folder mine;
  std::ofstream(mine.file, std::ios::binary | std::ios::trunc)
      .write(text.data(), static_cast<std::streamsize>(text.size()));
  const auto variable = [](const char* name) -> const char* {
    const std::string_view n = name;
    return n == "AWS_CONFIG_FILE" || n == "AWS_SHARED_CREDENTIALS_FILE" ? mine.file.c_str() : nullptr;
  };
  const wick::detail::aws_settings s = wick::detail::find_aws_settings({.variable = variable});
  demand(!s.access_key.empty() && !s.secret_key.empty() && !s.region.empty(), "settings without a key");
}

void hub_address(std::string_view text) {
  const wick::detail::hub_address of = wick::detail::parse_hub_address(text);
  const wick::detail::hub_address again = wick::detail::parse_hub_address(of.text());
  demand(of.data_set == again.data_set && of.revision == again.revision && of.path == again.path,
         "another address");
}

void run(unsigned which, std::string text) {
  switch (which % 10) {
    case 0:
      return page(text);
    case 1:
      return failure(text);
    case 2:
      return address(text);
    case 3:
      return endpoint(std::move(text));
    case 4:
      return profiles(text);
    case 5:
      for (const auto& blob : wick::detail::parse_azure_page(text, "az://data/").objects)
        demand(!blob.key.empty(), "no name");
      return;
    case 6:
      return demand(wick::detail::parse_hub_revision(text).commit.size() == 40, "no commit");
    case 7:
      return demand(!wick::detail::parse_google_token(text, 0).access_key.empty(), "no token");
    case 8:
      return hub_address(text);
    default:
      static_cast<void>(wick::detail::percent_decoded(text, wick::detail::plus_signs::are_blanks));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  try {
    run(data[0], std::string(reinterpret_cast<const char*>(data) + 1, size - 1));
  } catch (const wick::error& e) {
    demand(*e.what() != '\0', "an error without a word");
  }
  return 0;
}
