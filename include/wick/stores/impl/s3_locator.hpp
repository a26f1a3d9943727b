/// \file
/// The bodies of what stores/detail/s3_locator.hpp declares. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <fnmatch.h>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <wick/async/detail/owned.hpp>
#include <wick/io/detail/object_store.hpp>
#include <wick/io/detail/percent_encoding.hpp>
#include <wick/io/detail/source_file.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/sources/detail/glob.hpp>
#include <wick/stores/detail/aws_credentials.hpp>
#include <wick/stores/detail/aws_signature.hpp>
#include <wick/stores/detail/http_answer.hpp>
#include <wick/stores/detail/s3_address.hpp>
#include <wick/stores/detail/s3_listing.hpp>
#include <wick/stores/detail/s3_locator.hpp>

namespace wick::inline v0_1::detail {

aws_role_client* s3_locator::role() const {
  const std::lock_guard lock(role_mutex_);
  if (!knows_role_) {
    aws_role found = find_aws_role({.profile = options_.profile, .anonymous = options_.anonymous});
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
      find_aws_settings({.profile = options_.profile});
    } catch (const error& none) {
      all = std::string(none.what()) + "; ";
    }
    throw passing_error(all + e.what());
  }
}

aws_settings s3_locator::settings() const {
  aws_role_client* const by = role();
  aws_settings out =
      find_aws_settings({.profile = options_.profile, .anonymous = options_.anonymous || by != nullptr});
  if (by != nullptr) {
    aws_role_keys keys = keys_of(*by);
    out.anonymous = false;
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
    if (name.starts_with("x-amz-") && name.size() < line.size())  // S3 wants these signed
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

bool s3_locator::ready(const char* url) {
  if (!std::string_view(url).starts_with("s3://")) return true;
  try {
    aws_role_client* const by = role();
    return by == nullptr || by->ready();
  } catch (const error&) {
    return true;  // locate() says it
  }
}

http_address s3_locator::locate(const char* url) {
  if (!std::string_view(url).starts_with("s3://")) return {url, options_.headers};
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
  return out;
}

bool s3_locator::has_other_settings(std::uint64_t keys) {
  if (keys == 0) return false;
  if (keys != keys_) return true;
  if (aws_role_client* const by = role(); by != nullptr) return by->refused(now_.access_key);
  aws_settings found = settings();
  if (found == now_) return false;
  now_ = std::move(found);
  signer_ = make_owned<aws_signer>(now_);
  ++keys_;
  return true;
}

namespace {

/// How a pattern stands for an object: a name that has brackets itself wins over a set of characters.
enum class match : unsigned char { none, by_pattern, by_name };

/// By the rules of glob_files() for paths.
match matches(std::string_view pattern, std::string_view key) {
  const std::size_t slash = pattern.find('/'), end = key.find('/');
  const bool last = slash == std::string_view::npos;
  const std::string part(pattern.substr(0, slash)), name(key.substr(0, end));
  if (part == "**" && !last) {
    for (;;) {  // below any folder
      if (const match below = matches(pattern.substr(3), key); below != match::none) return below;
      const std::size_t next = key.find('/');
      if (next == std::string_view::npos || key.starts_with('.')) return match::none;
      key.remove_prefix(next + 1);
    }
  }
  if (part.find("**") != std::string::npos) {  // the last name: in any folder
    const bool hidden = key.starts_with('.') || key.find("/.") != std::string_view::npos;
    return !hidden && ::fnmatch(part.c_str(), std::string(key).c_str(), 0) == 0 ? match::by_pattern
                                                                                : match::none;
  }
  if (last != (end == std::string_view::npos)) return match::none;
  const bool by_name = part == name;
  if (!by_name &&
      (!has_wildcard(part) || name.starts_with('.') || ::fnmatch(part.c_str(), name.c_str(), 0) != 0))
    return match::none;
  const match own = by_name && has_wildcard(part) ? match::by_name : match::by_pattern;
  if (last) return own;
  const match below = matches(pattern.substr(slash + 1), key.substr(end + 1));
  return below == match::none ? match::none : std::max(own, below);
}

/// Of web servers.
std::vector<remote_name> web_names(const std::string& pattern) {
  if (!pattern.starts_with("https://") && !pattern.starts_with("http://")) {
    throw source_error(
        is_url(pattern) ? shown_url(pattern) : pattern, "remote",
        "does not begin with https://, http:// or s3://; give a local path to the source itself");
  }
  if (std::string_view(pattern).substr(0, pattern.find('?')).find('*') != std::string_view::npos ||
      pattern.ends_with('/')) {
    throw source_error(shown_url(pattern), "remote",
                       "stands for several names, and a web server lists no names; write them with braces: "
                       "train-{000..146}.tar");
  }
  std::vector<remote_name> out;
  for (std::string& url : expand_braces(pattern)) {
    require_encoded(url, "remote");
    out.push_back({std::move(url)});
  }
  return out;
}

}  // namespace

std::vector<remote_name> s3_locator::names(http_client& client, const std::string& pattern) {
  if (!pattern.starts_with("s3://")) return web_names(pattern);
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
  constexpr std::size_t most_bytes = std::size_t{16} << 20;      // of a page of 1,000 keys
  constexpr std::uint64_t most_listed = std::uint64_t{4} << 30;  // bytes of keys
  constexpr unsigned most_empty = 1000;  // pages in a row; a store may have deleted what stood there
  const s3_address wanted = parse_s3_address(pattern);
  const bool all = wanted.key.ends_with('/') || !has_wildcard(wanted.key);
  const std::string prefix = all ? wanted.key : wanted.key.substr(0, wanted.key.find_first_of("*?["));
  for (std::size_t at = wanted.key.find("**"); at != std::string::npos; at = wanted.key.find("**", at + 2)) {
    const std::size_t slash = wanted.key.find('/', at);
    if (slash != std::string::npos && (slash != at + 2 || (at != 0 && wanted.key[at - 1] != '/')))
      throw source_error(pattern, "s3", "has ** within the name of a folder; write /**/");
  }
  std::vector<remote_name> out, by_name;
  std::string token;
  std::uint64_t listed = 0;
  unsigned empty = 0;
  do {
    s3_page page;
    aws_settings with;
    try {
      with = settings();  // again for each page: the keys may have been replaced
    } catch (const error& e) {
      throw error(printable(pattern) + ": " + e.what());
    }
    const auto get = [&] {
      aws_signer signer(with);
      return client.get(address_of({wanted.bucket, {}}, s3_page_query(prefix, token), with, signer),
                        most_bytes);
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
      page = parse_s3_page(answer, pattern);
    } catch (const error& e) {
      if (std::string_view(e.what()).starts_with(printable(pattern))) throw;
      throw source_error(pattern, "s3", std::string("the list of the bucket: ") + e.what());
    }
    empty = page.objects.empty() ? empty + 1 : 0;
    listed += 1024;  // so that pages end, too, whatever is on them
    for (s3_object& o : page.objects) {
      listed += o.key.size();
      if (o.key.ends_with('/')) continue;  // what consoles make for folders
      const match how = all ? match::by_pattern : matches(wanted.key, o.key);
      if (how == match::none) continue;
      (how == match::by_name ? by_name : out)
          .push_back({s3_address{wanted.bucket, std::move(o.key)}.text(), o.size,
                      options_.compare_sizes_only ? version_of_size(o.size) : version_of(o.etag)});
    }
    if (!token.empty() && page.next_continuation_token == token) {
      throw source_error(pattern, "s3",
                         "the list of the bucket: the server says after each page that the same one follows; "
                         "check that it speaks ListObjectsV2");
    }
    if (empty == most_empty || listed > most_listed) {
      throw source_error(pattern, "s3",
                         std::string("the list of the bucket: ") +
                             (empty == most_empty ? "1,000 pages in a row name no object"
                                                  : "the keys take more than 4 GiB") +
                             "; name a longer prefix, and check that the server speaks ListObjectsV2");
    }
    token = std::move(page.next_continuation_token);
  } while (!token.empty());
  if (!by_name.empty()) out = std::move(by_name);
  if (out.empty()) throw source_error(pattern, "s3", "matches no object; check the bucket and the prefix");
  std::sort(out.begin(), out.end(),
            [](const remote_name& a, const remote_name& b) { return natural_less(a.url, b.url); });
  return out;
}

}  // namespace wick::detail
