// The keys and tokens of Google Cloud Storage, which is accessed like S3.
#pragma once

#include <cstdint>
#include <string_view>

#include <wick/stores/detail/aws_credentials.hpp>
#include <wick/stores/detail/aws_role.hpp>

namespace wick::inline v0_1::detail {

/// From the environment: HMAC keys (GCS_KEY, GCS_SECRET), else an OAuth 2.0 token (GOOGLE_OAUTH_ACCESS_TOKEN,
/// CLOUDSDK_AUTH_ACCESS_TOKEN). STORAGE_EMULATOR_HOST is the endpoint.
///
/// Google: Cloud Storage, XML API, "Simple migration from Amazon S3", and "Authentication". \throws
/// wick::error that never shows a secret
aws_settings find_google_settings(const settings_lookup& where = {});

/// Of kind `none` if the environment has keys or a token, else the virtual machine's, whose metadata server
/// gives tokens (GCE_METADATA_HOST, NO_GCE_CHECK). Google: Compute Engine, "About VM metadata".
aws_role find_google_role(const settings_lookup& where = {});

/// The metadata server's response: the token is the access key. \throws wick::error, without a secret
/// \param now  seconds since 1970
aws_role_keys parse_google_token(std::string_view json, std::int64_t now);

}  // namespace wick::detail
