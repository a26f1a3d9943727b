// Implements stores/detail/azure_locator.hpp. Included in exactly one file of a program, which links
// pugixml.
#pragma once

#include <charconv>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <pugixml.hpp>
#include <system_error>
#include <utility>

#include <wick/io/detail/source_file.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/sources/detail/glob.hpp>
#include <wick/stores/detail/azure_locator.hpp>
#include <wick/stores/detail/http_answer.hpp>
#include <wick/stores/detail/s3_listing.hpp>
#include <wick/stores/detail/url_parts.hpp>

namespace wick::inline v0_1::detail {

azure_address parse_azure_address(std::string_view text) {
  const auto refuse = [&](const std::string& what) {
    return source_error(shown_url(text), "az", what + "; write az://CONTAINER/BLOB");
  };
  if (scheme_of(text) != "az") throw refuse("does not begin with az://");
  const std::string_view name = text.substr(5);
  azure_address out;
  out.container = name.substr(0, name.find('/'));
  if (out.container.size() < name.size()) out.blob = name.substr(out.container.size() + 1);
  if (out.container.find_first_of(".@?") != std::string::npos)
    throw refuse(
        "has more than a container before its first /; the account and its signature are in "
        "AZURE_STORAGE_ACCOUNT and AZURE_STORAGE_SAS_TOKEN, or in .endpoint, which takes a SAS URL");
  const bool is_special = out.container == "$root" || out.container == "$web";
  if (!is_special && (out.container.size() < 3 || out.container.size() > 63 || !has_only(out.container, "-")))
    throw refuse("\"" + printable(out.container) +
                 "\" can't be a container's name: 3 to 63 lower-case letters, digits, and - inside");
  if (const std::size_t query = out.blob.find('?');
      query != std::string::npos && out.blob.find("sig=", query) != std::string::npos)
    throw refuse("has a signature; give that in AZURE_STORAGE_SAS_TOKEN, or a SAS URL as .endpoint");
  if (out.blob.size() > 1024 * 4) throw refuse("its blob's name has over 1,024 characters");
  return out;
}

azure_settings find_azure_settings(const std::string& endpoint, const settings_lookup& where) {
  const auto first = [&](std::initializer_list<const char*> names) {
    std::string out;
    for (const char* const name : names) {
      const char* const text = where.variable(name);
      if (out.empty() && text != nullptr) out = without_blanks(text);
    }
    return out;
  };
  std::string base = endpoint, signature;
  if (base.empty()) base = first({"AZURE_STORAGE_SERVICE_ENDPOINT"});
  if (const std::size_t query = base.find('?'); query != std::string::npos) {
    signature = base.substr(query + 1);
    base.resize(query);
  }
  if (base.empty()) {
    const std::string account = first({"AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_ACCOUNT_NAME"});
    if (account.empty())
      throw error(
          "az: no account in the environment; set AZURE_STORAGE_ACCOUNT, or give a SAS URL as .endpoint");
    if (!has_only(account, ""))
      throw error("az: AZURE_STORAGE_ACCOUNT is \"" + printable(account) +
                  "\", which can't be an account's name: lower-case letters and digits");
    base = "https://" + account + ".blob.core.windows.net";
  }
  const endpoint_url at(base, "az");
  if (signature.empty() && !where.anonymous) {
    signature = first({"AZURE_STORAGE_SAS_TOKEN"});
    signature.erase(0, signature.find_first_not_of('?'));
    if (signature.empty())
      throw error(
          "az: no signature in the environment; set AZURE_STORAGE_SAS_TOKEN (portal: Shared access tokens, "
          "with the permissions Read and List), or ask without one: .anonymous = true");
  }
  for (const char c : signature) {
    if (c <= ' ' || c >= '\x7F' || c == '#')
      throw error("az: the signature has a character that none has; copy AZURE_STORAGE_SAS_TOKEN again");
  }
  if (!signature.empty() && ("&" + signature).find("&sig=") == std::string::npos)
    throw error("az: the signature has no sig=; copy AZURE_STORAGE_SAS_TOKEN again");
  return {at.origin() + at.path, signature};
}

std::string url_of(const azure_address& address, const azure_settings& settings, const name_values& query) {
  std::string out = settings.origin;
  const std::string container = '/' + address.container;
  if (!out.ends_with(container)) out += container;  // a container's SAS URL includes it already
  if (!address.blob.empty()) out += '/' + percent_encoded(address.blob, slashes::kept);
  if (!query.empty()) out += '?' + encoded_query(query);
  if (!settings.signature.empty()) out += (query.empty() ? '?' : '&') + settings.signature;
  return out;
}

object_page parse_azure_page(std::string_view xml, std::string_view url) {
  pugi::xml_document document;
  const auto problem = [&](const std::string& what) {
    return source_error(url, "az", "the server's list of blobs " + what);
  };
  // The response may start with a byte order mark.
  const pugi::xml_parse_result parsed = document.load_buffer(
      xml.data(), xml.size(), pugi::parse_default | pugi::parse_ws_pcdata_single, pugi::encoding_utf8);
  if (!parsed)
    throw problem(std::string("isn't XML (") + parsed.description() +
                  "); see that the endpoint is Azure's Blob Storage");
  if (document.child("Error")) throw source_error(url, "az", parse_s3_error(xml).text());
  const pugi::xml_node list = document.child("EnumerationResults");
  if (!list)
    throw problem(std::string("is <") + printable(document.first_child().name()) +
                  ">, not <EnumerationResults>; see that the endpoint is Azure's Blob Storage");
  object_page out;
  for (const pugi::xml_node blob : list.child("Blobs").children("Blob")) {
    const pugi::xml_node name = blob.child("Name"), properties = blob.child("Properties");
    if (std::string_view(properties.child_value("ResourceType")) == "directory") continue;
    std::optional<std::string> key = name.text().get();
    if (name.attribute("Encoded").as_bool()) key = percent_decoded(*key, plus_signs::kept);
    const std::string_view digits = properties.child_value("Content-Length");
    std::uint64_t size = 0;
    const auto [end, fault] = std::from_chars(digits.data(), digits.data() + digits.size(), size);
    if (!key || key->empty()) throw problem("has a blob without a name");
    if (fault != std::errc() || end != digits.data() + digits.size())
      throw problem("has \"" + printable(digits) + "\" as the size of \"" + printable(*key) + '"');
    out.objects.push_back({std::move(*key), size, properties.child_value("Etag")});
  }
  out.next = list.child_value("NextMarker");
  return out;
}

azure_locator::azure_locator(const remote_options& options) : options_(options) {
  if (has_header(options_.headers, "authorization")) options_.anonymous = true;
}

azure_settings azure_locator::settings() const {
  return find_azure_settings(options_.endpoint, {.anonymous = options_.anonymous});
}

http_address azure_locator::address_of(const azure_address& blob, const name_values& query,
                                       const azure_settings& with) const {
  http_address out{url_of(blob, with, query), options_.headers};
  // A version that supports tokens and lists directories.
  if (!has_header(out.headers, "x-ms-version")) out.headers.emplace_back("x-ms-version: 2021-12-02");
  out.advice =
      "check AZURE_STORAGE_SAS_TOKEN: whether it has ended, and whether it allows to read, and to list";
  return out;
}

http_address azure_locator::locate(const char* url) {
  const azure_address blob = parse_azure_address(url);
  if (keys_ == 0) {
    now_ = settings();
    keys_ = 1;
  }
  http_address out = address_of(blob, {}, now_);
  out.keys = keys_;
  return out;
}

bool azure_locator::has_other_settings(const char*, std::uint64_t keys) {
  if (keys != keys_) return true;
  azure_settings found = settings();
  if (found == now_) return false;
  now_ = std::move(found);
  ++keys_;
  return true;
}

std::vector<remote_name> azure_locator::names(http_client& client, const std::string& pattern) {
  std::vector<remote_name> out;
  for (const std::string& each : expand_braces(pattern)) {
    if (has_wildcard(each) || each.ends_with('/')) {
      std::vector<remote_name> found = list(client, each);
      out.insert(out.end(), std::make_move_iterator(found.begin()), std::make_move_iterator(found.end()));
    } else {
      static_cast<void>(parse_azure_address(each));
      out.push_back({each});
    }
  }
  return out;
}

std::vector<remote_name> azure_locator::list(http_client& client, const std::string& pattern) const {
  constexpr std::size_t most_bytes = std::size_t{64} << 20;  // for a page of 5,000 blobs
  const azure_address wanted = parse_azure_address(pattern);
  object_list found(pattern, "az://" + wanted.container + '/', wanted.blob, options_.compare_sizes_only);
  std::string next;
  do {
    name_values query{{"restype", "container"}, {"comp", "list"}};
    if (!found.prefix().empty()) query.emplace_back("prefix", found.prefix());
    if (!next.empty()) query.emplace_back("marker", next);
    try {
      const http_address at = address_of({wanted.container, {}}, query, settings());
      next = found.add(parse_azure_page(client.get(at, most_bytes), pattern), next);
    } catch (const error& e) {
      if (std::string_view(e.what()).starts_with(printable(pattern))) throw;
      throw source_error(pattern, "az", std::string("the list of the container: ") + e.what());
    }
  } while (!next.empty());
  return std::move(found).names();
}

}  // namespace wick::detail
