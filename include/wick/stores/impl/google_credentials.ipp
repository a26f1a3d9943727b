// Implements stores/detail/google_credentials.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <string>

#include <wick/io/detail/json_reader.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/stores/detail/google_credentials.hpp>
#include <wick/stores/detail/http_answer.hpp>

namespace wick::inline v0_1::detail {

namespace {

/// The environment's settings for Google Cloud Storage.
struct google_environment {
  explicit google_environment(const settings_lookup& where)
      : key(value(where, "GCS_KEY")),
        secret(value(where, "GCS_SECRET")),
        token(value(where, "GOOGLE_OAUTH_ACCESS_TOKEN")),
        endpoint(value(where, "STORAGE_EMULATOR_HOST")) {
    if (token.empty()) token = value(where, "CLOUDSDK_AUTH_ACCESS_TOKEN");
    if (endpoint.empty()) endpoint = "https://storage.googleapis.com";
    if (endpoint.find("://") == std::string::npos) endpoint.insert(0, "http://");
  }
  static std::string value(const settings_lookup& where, const char* name) {
    const char* const text = where.variable(name);
    return text == nullptr ? std::string() : std::string(without_blanks(text));
  }

  std::string key, secret, token, endpoint;
};

bool is_printed(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7F'; });
}

}  // namespace

aws_settings find_google_settings(const settings_lookup& where) {
  google_environment of(where);
  aws_settings out;
  out.region = "auto";
  out.endpoint = of.endpoint;
  out.anonymous = where.anonymous;
  if (where.anonymous) return out;
  if (of.key.empty() != of.secret.empty())
    throw error("gs: the environment: GCS_KEY or GCS_SECRET is missing; give both, or none of them");
  for (const std::string* const text : {&of.key, &of.secret, &of.token}) {
    if (!is_printed(*text))
      throw error(
          "gs: the environment: a key or a token has a character that none has; copy GCS_KEY, GCS_SECRET or "
          "GOOGLE_OAUTH_ACCESS_TOKEN again");
  }
  out.is_token = of.key.empty();
  out.access_key = out.is_token ? of.token : of.key;
  out.secret_key = of.secret;
  if (!out.access_key.empty()) return out;
  throw error(
      "gs: no keys in the environment; set HMAC keys (GCS_KEY, GCS_SECRET) or a token "
      "(GOOGLE_OAUTH_ACCESS_TOKEN=\"$(gcloud auth print-access-token)\"), or ask without a signature: "
      ".anonymous = true");
}

aws_role find_google_role(const settings_lookup& where) {
  const google_environment of(where);
  aws_role out;
  const std::string off = google_environment::value(where, "NO_GCE_CHECK");
  if (where.anonymous || !of.key.empty() || !of.secret.empty() || !of.token.empty() || off == "true")
    return out;
  out.of = aws_role::kind::google_instance;
  const std::string host = google_environment::value(where, "GCE_METADATA_HOST");
  out.url = "http://" + (host.empty() ? "metadata.google.internal" : host);
  return out;
}

aws_role_keys parse_google_token(std::string_view text, std::int64_t now) {
  aws_role_keys out;
  std::uint64_t seconds = 0;
  json_reader json(text);
  json.object([&](const std::string& name) {
    if (name == "access_token")
      out.access_key = json.string();
    else if (name == "expires_in")
      seconds = json.number();
    else
      json.skip();
  });
  if (out.access_key.empty() || !is_printed(out.access_key)) throw error("the answer has no access_token");
  constexpr std::uint64_t year = 366 * 24 * 3600;
  out.ends = now + static_cast<std::int64_t>(std::min(seconds, year));
  return out;
}

}  // namespace wick::detail
