// Implements stores/detail/aws_signature.hpp. Included in exactly one file of a program, which links
// OpenSSL's libcrypto.
#pragma once

#include <algorithm>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <time.h>
#include <utility>

#include <wick/pipeline/error.hpp>
#include <wick/stores/detail/aws_signature.hpp>

namespace wick::inline v0_1::detail {

namespace {

using sha256_digest = std::array<unsigned char, 32>;

[[noreturn]] void refuse_sha256() {
  throw error("s3: OpenSSL refuses SHA-256; see that its configuration has it");
}

sha256_digest sha256_of(std::string_view text) {
  sha256_digest out;
  if (EVP_Digest(text.data(), text.size(), out.data(), nullptr, EVP_sha256(), nullptr) != 1) refuse_sha256();
  return out;
}

sha256_digest hmac_of(std::string_view key, std::string_view text) {
  sha256_digest out;
  const auto* const bytes = reinterpret_cast<const unsigned char*>(text.data());
  if (HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), bytes, text.size(), out.data(), nullptr) ==
      nullptr)
    refuse_sha256();
  return out;
}

std::string_view as_text(const sha256_digest& d) {
  return {reinterpret_cast<const char*>(d.data()), d.size()};
}

std::string hexadecimal(const sha256_digest& d) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out;
  for (const unsigned char u : d) out += {digits[u >> 4], digits[u & 15]};
  return out;
}

/// "20130524T000000Z"
std::string iso8601(std::time_t time) {
  std::tm utc = {};
  char text[32];
  if (::gmtime_r(&time, &utc) == nullptr || std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &utc) != 16)
    throw error("s3: the system clock is out of range for signatures; set it");
  return text;
}

/// Trims blanks, and merges adjacent ones.
std::string one_blank_each(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c != ' ' || (!out.empty() && out.back() != ' ')) out += c;
  }
  if (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

constexpr std::string_view sha256_of_nothing =
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

}  // namespace

aws_signer::aws_signer(aws_settings settings) : settings_(std::move(settings)) {}

name_values aws_signer::sign(const aws_request& request, std::time_t now) {
  name_values out = request.headers;
  if (settings_.anonymous) return out;
  if (settings_.is_token) {
    out.emplace_back("Authorization", "Bearer " + settings_.access_key);
    return out;
  }
  const std::string time = iso8601(now);
  out.emplace_back("x-amz-content-sha256", sha256_of_nothing);
  out.emplace_back("x-amz-date", time);
  if (!settings_.session_token.empty()) out.emplace_back("x-amz-security-token", settings_.session_token);

  name_values canonical = {{"host", std::string(request.host)}};
  for (const auto& [name, value] : out) canonical.emplace_back(lower_case(name), one_blank_each(value));
  std::sort(canonical.begin(), canonical.end());
  std::string names;
  for (const auto& [name, value] : canonical) names.append(names.empty() ? "" : ";").append(name);
  const std::string signature = signature_of(request, canonical, time, names);
  out.emplace_back("Authorization", "AWS4-HMAC-SHA256 Credential=" + settings_.access_key + '/' + day_ + '/' +
                                        settings_.region + "/s3/aws4_request,SignedHeaders=" + names +
                                        ",Signature=" + signature);
  return out;
}

std::string aws_signer::signature_of(const aws_request& request, const name_values& signed_headers,
                                     std::string_view time, std::string_view names) {
  const std::string_view day = time.substr(0, 8);
  if (day != day_) {
    sha256_digest key = hmac_of("AWS4" + settings_.secret_key, day);
    for (const std::string_view part :
         {std::string_view(settings_.region), std::string_view("s3"), std::string_view("aws4_request")})
      key = hmac_of(as_text(key), part);
    key_ = key;
    day_ = day;
  }
  std::string canonical(request.method);
  canonical.append(1, '\n').append(request.path);
  canonical.append(1, '\n').append(encoded_query(request.query)).append(1, '\n');
  for (const auto& [name, value] : signed_headers)
    canonical.append(name).append(1, ':').append(value).append(1, '\n');
  canonical.append(1, '\n').append(names).append(1, '\n').append(sha256_of_nothing);
  return hexadecimal(hmac_of(as_text(key_), "AWS4-HMAC-SHA256\n" + std::string(time) + '\n' + day_ + '/' +
                                                settings_.region + "/s3/aws4_request\n" +
                                                hexadecimal(sha256_of(canonical))));
}

}  // namespace wick::detail
