// Implements stores/detail/s3_locator.hpp. Included in exactly one file of a program.
#pragma once

#include <cstddef>
#include <ctime>
#include <iterator>
#include <string_view>
#include <utility>

#include <wick/io/detail/source_file.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/sources/detail/glob.hpp>
#include <wick/stores/detail/google_credentials.hpp>
#include <wick/stores/detail/http_answer.hpp>
#include <wick/stores/detail/s3_listing.hpp>
#include <wick/stores/detail/s3_locator.hpp>

namespace wick::inline v0_1::detail {

s3_locator::s3_locator(const remote_options& options, s3_service of) : options_(options), of_(of) {
  if (has_header(options_.headers, "authorization")) options_.anonymous = true;
}

aws_role_client* s3_locator::role() const {
  const std::lock_guard lock(role_mutex_);
  if (!knows_role_) {
    aws_role found = of_ == s3_service::amazon ? find_aws_role(where()) : find_google_role(where());
    if (found.of != aws_role::kind::none) role_ = make_owned<aws_role_client>(std::move(found));
    knows_role_ = true;
  }
  return role_.get();
}

aws_role_keys s3_locator::keys_of(aws_role_client& role) const {
  try {
    return role.get();
  } catch (const passing_error& e) {
    if (!role.is_last_resort()) throw;
    std::string all;
    try {
      settings_lookup keys = where();
      keys.anonymous = false;
      static_cast<void>(of_ == s3_service::amazon ? find_aws_settings(keys) : find_google_settings(keys));
    } catch (const error& none) {
      all = std::string(none.what()) + "; ";
    }
    throw passing_error(all + e.what());
  }
}

aws_settings s3_locator::settings() const {
  aws_role_client* const by = role();
  settings_lookup keys_at = where();
  keys_at.anonymous = options_.anonymous || by != nullptr;
  aws_settings out = of_ == s3_service::amazon ? find_aws_settings(keys_at) : find_google_settings(keys_at);
  if (by != nullptr) {
    aws_role_keys keys = keys_of(*by);
    out.anonymous = false;
    out.is_token = of_ == s3_service::google;
    out.access_key = std::move(keys.access_key);
    out.secret_key = std::move(keys.secret_key);
    out.session_token = std::move(keys.session_token);
  }
  if (!options_.region.empty()) out.region = options_.region;
  if (!options_.endpoint.empty()) out.endpoint = options_.endpoint;
  return out;
}

http_address s3_locator::address_of(const s3_address& object, const name_values& query,
                                    const aws_settings& with, aws_signer& signer) const {
  const s3_url url = url_of(object, with, options_.virtual_hosted);
  http_address out{url.origin + url.path, {}, with.ca_bundle};
  if (!query.empty()) out.url += "?" + encoded_query(query);
  aws_request request{.host = url.host, .path = url.path, .query = query};
  for (const std::string& line : options_.headers) {
    std::string name = lower_case(line.substr(0, line.find(':')));
    if (name.starts_with("x-amz-") && name.size() < line.size())  // S3 requires these to be signed
      request.headers.emplace_back(std::move(name),
                                   without_blanks(std::string_view(line).substr(name.size() + 1)));
    else
      out.headers.push_back(line);
  }
  for (const auto& [name, value] :
       signer.sign(request, std::time(nullptr) + clock_offset_.load(std::memory_order_relaxed)))
    out.headers.push_back(std::string(name).append(": ").append(value));
  return out;
}

bool s3_locator::ready(const char*) {
  try {
    aws_role_client* const by = role();
    return by == nullptr || by->ready();
  } catch (const error&) {
    return true;  // locate() reports it
  }
}

http_address s3_locator::locate(const char* url) {
  bool same = static_cast<bool>(signer_);
  if (aws_role_client* const by = role(); by != nullptr) {
    const aws_role_keys keys = keys_of(*by);
    same = same && keys.access_key == now_.access_key && keys.session_token == now_.session_token;
  }
  if (!same) {
    now_ = settings();
    signer_ = make_owned<aws_signer>(now_);
    ++keys_;
  }
  http_address out = address_of(parse_s3_address(url), {}, now_, *signer_);
  out.keys = keys_;
  if (of_ == s3_service::google) {
    out.advice =
        "check the credentials: GCS_KEY and GCS_SECRET, or whether the token has ended, and whether it may "
        "read "
        "the bucket";
  }
  return out;
}

bool s3_locator::has_other_settings(const char*, std::uint64_t keys) {
  if (keys != keys_) return true;
  if (aws_role_client* const by = role(); by != nullptr) return by->refused(now_.access_key);
  aws_settings found = settings();
  if (found == now_) return false;
  now_ = std::move(found);
  signer_ = make_owned<aws_signer>(now_);
  ++keys_;
  return true;
}

std::vector<remote_name> s3_locator::names(http_client& client, const std::string& pattern) {
  std::vector<remote_name> out;
  for (const std::string& each : expand_braces(pattern)) {
    if (!has_wildcard(each) && !each.ends_with('/')) {
      static_cast<void>(parse_s3_address(each));
      out.push_back({each});
      continue;
    }
    std::vector<remote_name> found = list(client, each);
    out.insert(out.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
  }
  return out;
}

std::vector<remote_name> s3_locator::list(http_client& client, const std::string& pattern) const {
  const s3_address wanted = parse_s3_address(pattern);
  const s3_address bucket{wanted.scheme, wanted.bucket, {}};
  object_list found(pattern, bucket.text(), wanted.key, options_.compare_sizes_only);
  std::string next;
  do next = found.add(page_of(client, pattern, bucket, s3_page_query(found.prefix(), next)), next);
  while (!next.empty());
  return std::move(found).names();
}

object_page s3_locator::page_of(http_client& client, const std::string& pattern, const s3_address& bucket,
                                const name_values& query) const {
  constexpr std::size_t most_bytes = std::size_t{16} << 20;  // for a page of 1,000 keys
  aws_settings with;
  try {
    with = settings();  // for each page, since the keys may have been replaced
  } catch (const error& e) {
    throw error(printable(pattern) + ": " + e.what());
  }
  const auto get = [&] {
    aws_signer signer(with);
    return client.get(address_of(bucket, query, with, signer), most_bytes);
  };
  try {
    const std::int64_t offset = clock_offset_;
    std::string answer;
    try {
      answer = get();
    } catch (const store_denial&) {
      if (clock_offset_ == offset) throw;
      answer = get();  // with the server's time
    }
    return parse_s3_page(answer, pattern);
  } catch (const error& e) {
    if (std::string_view(e.what()).starts_with(printable(pattern))) throw;
    throw source_error(pattern, bucket.scheme, std::string("the list of the bucket: ") + e.what());
  }
}

}  // namespace wick::detail
