// Implements stores/detail/hub_locator.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <utility>

#include <wick/io/detail/file_io.hpp>
#include <wick/io/detail/json_reader.hpp>
#include <wick/io/detail/percent_encoding.hpp>
#include <wick/io/detail/source_file.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/sources/detail/glob.hpp>
#include <wick/stores/detail/http_answer.hpp>
#include <wick/stores/detail/hub_locator.hpp>
#include <wick/stores/detail/url_parts.hpp>

namespace wick::inline v0_1::detail {

namespace {

constexpr std::string_view hub_scheme = "hf://datasets/";

/// Removes and returns the text before the first character of `end`.
std::string_view take_until(std::string_view& text, std::string_view end) {
  const std::string_view out = text.substr(0, text.find_first_of(end));
  text.remove_prefix(out.size());
  return out;
}

bool is_hub_name(std::string_view name) {
  return !name.empty() && name.size() <= 96 && has_only(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_.") &&
         name.find("..") == std::string_view::npos && !name.starts_with('.');
}

}  // namespace

bool hub_address::pinned() const noexcept {
  return revision.size() == 40 && revision.find_first_not_of("0123456789abcdef") == std::string::npos;
}

std::string hub_address::text() const {
  return std::string(hub_scheme) + data_set + '@' + percent_encoded(revision, slashes::encoded) + '/' + path;
}

hub_address parse_hub_address(std::string_view text) {
  const auto refuse = [&](const std::string& what) {
    return source_error(text, "hf", what + "; write hf://datasets/OWNER/NAME@REVISION/PATH");
  };
  if (!text.starts_with(hub_scheme)) throw refuse("does not begin with hf://datasets/");
  std::string_view rest = text.substr(hub_scheme.size());
  const std::string_view owner = take_until(rest, "/@");
  if (!rest.starts_with('/')) throw refuse("has no owner of the data set");
  rest.remove_prefix(1);
  const std::string_view name = take_until(rest, "/@");
  if (!is_hub_name(owner) || !is_hub_name(name))
    throw refuse("\"" + printable(owner) + "/" + printable(name) + "\" can't be a data set's name");
  hub_address out{std::string(owner) + '/' + std::string(name), "main", {}};
  if (rest.starts_with('@')) {
    rest.remove_prefix(1);
    std::string_view after = rest;
    // Only refs/convert/parquet, refs/pr/7, and the like have slashes, unless these are encoded.
    for (int part = 0; part < (rest.starts_with("refs/") ? 3 : 1); ++part) {
      if (part != 0 && !after.empty()) after.remove_prefix(1);
      take_until(after, "/");
    }
    const std::optional<std::string> revision =
        percent_decoded(rest.substr(0, rest.size() - after.size()), plus_signs::kept);
    if (!revision || revision->empty()) throw refuse("has no revision after its @");
    out.revision = *revision;
    rest = after;
  }
  if (!rest.starts_with('/')) throw refuse("has no path in the data set");
  out.path = rest.substr(1);
  return out;
}

hub_revision parse_hub_revision(std::string_view text) {
  hub_revision out;
  json_reader json(text);
  json.object([&](const std::string& member) {
    if (member == "sha") {
      out.commit = json.string();
    } else if (member == "siblings") {
      json.array([&] {
        listed_object file;
        json.object([&](const std::string& of_file) {
          if (of_file == "rfilename")
            file.key = json.string();
          else if (of_file == "size")
            file.size = json.number();
          else
            json.skip();
        });
        if (!file.key.empty()) out.files.objects.push_back(std::move(file));
      });
    } else {
      json.skip();
    }
  });
  if (!hub_address{{}, out.commit, {}}.pinned()) throw error("the answer names no commit (sha)");
  return out;
}

hub_settings find_hub_settings(const std::string& endpoint, const settings_lookup& where) {
  const auto variable = [&](const char* name) {
    const char* const text = where.variable(name);
    return text == nullptr ? std::string() : std::string(without_blanks(text));
  };
  const auto first = [](std::initializer_list<std::string> of) {
    const auto* const found =
        std::find_if(of.begin(), of.end(), [](const std::string& s) { return !s.empty(); });
    return found == of.end() ? std::string() : *found;
  };
  const endpoint_url at(first({endpoint, variable("HF_ENDPOINT"), "https://huggingface.co"}), "hf");
  hub_settings out{at.origin() + at.path, {}};
  if (where.anonymous) return out;
  out.token = variable("HF_TOKEN");
  if (out.token.empty()) {
    const std::string cache = first({variable("XDG_CACHE_HOME"), variable("HOME") + "/.cache"}),
                      home = first({variable("HF_HOME"), cache + "/huggingface"}),
                      path = first({variable("HF_TOKEN_PATH"), home + "/token"});
    try {
      const file_handle file = open_file(path.c_str());
      std::string text(4096, '\0');
      text.resize(read_up_to(file.get(), reinterpret_cast<std::byte*>(text.data()), text.size(), 0));
      out.token = without_blanks(text);
    } catch (const error&) {  // there is none, and a public data set needs none
    }
  }
  if (!std::all_of(out.token.begin(), out.token.end(), [](char c) { return c > ' ' && c < '\x7F'; }))
    throw error(
        "hf: the token has a character that none has; set HF_TOKEN, or write it again: hf auth login");
  return out;
}

hub_locator::hub_locator(const remote_options& options) : options_(options) {
  if (has_header(options_.headers, "authorization")) options_.anonymous = true;
}

hub_settings hub_locator::settings() const {
  return find_hub_settings(options_.endpoint, {.anonymous = options_.anonymous});
}

std::vector<std::string> hub_locator::headers(const hub_settings& with) const {
  std::vector<std::string> out = options_.headers;
  if (!with.token.empty()) out.push_back("Authorization: Bearer " + with.token);
  return out;
}

http_address hub_locator::locate(const char* url) {
  http_address out;
  out.same_size_is_same = true;  // a commit doesn't change, whichever server responds
  out.advice = "a private or gated data set needs a token in HF_TOKEN, which may read it";
  if (const auto at = places_.find(url); at != places_.end()) {
    out.url = at->second.url;
    out.keys = at->second.keys;
    return out;
  }
  if (keys_ == 0) {
    now_ = settings();
    keys_ = ++last_;
  }
  const hub_address of = parse_hub_address(url);
  out.url = now_.origin + "/datasets/" + of.data_set + "/resolve/" +
            percent_encoded(of.revision, slashes::encoded) + '/' + percent_encoded(of.path, slashes::kept);
  out.headers = headers(now_);
  out.keys = keys_;
  return out;
}

void hub_locator::redirected(const char* url, const char* to) {
  constexpr std::size_t most = 20'000;
  if (std::string_view(to).starts_with(now_.origin + '/')) return;  // a small file, which needs the token
  if (places_.size() == most) places_.clear();
  places_[url] = {to, ++last_};
}

bool hub_locator::has_other_settings(const char* url, std::uint64_t keys) {
  if (const auto at = places_.find(url); at != places_.end() && at->second.keys == keys) {
    places_.erase(at);  // its signature has expired
    return true;
  }
  if (keys != keys_) return true;
  hub_settings found = settings();
  if (found.token == now_.token) return false;
  now_ = std::move(found);
  keys_ = ++last_;
  return true;
}

hub_revision hub_locator::ask(http_client& client, const hub_address& of, const char* query) const {
  constexpr std::size_t most_bytes = std::size_t{512} << 20;  // for about two million files
  try {
    const hub_settings with = settings();
    http_address at{with.origin + "/api/datasets/" + of.data_set + "/revision/" +
                        percent_encoded(of.revision, slashes::encoded) + query,
                    headers(with)};
    at.advice = "check the name; a private or gated data set needs a token in HF_TOKEN, which may read it";
    return parse_hub_revision(client.get(at, most_bytes));
  } catch (const error& e) {
    throw source_error(of.text(), "hf", std::string("the Hub about the revision: ") + e.what());
  }
}

hub_address hub_locator::pin(http_client& client, hub_address of) {
  constexpr std::time_t good_for = 60;  // seconds, so that one request resolves many names to the same commit
  if (of.pinned()) return of;
  const std::string key = of.data_set + '@' + of.revision;
  const std::time_t now = std::time(nullptr);
  const std::lock_guard lock(mutex_);
  commit& known = commits_[key];
  if (known.of.empty() || now - known.since > good_for || now < known.since)
    known = {ask(client, of, "?expand=sha").commit, now};
  of.revision = known.of;
  return of;
}

std::string hub_locator::pinned(http_client& client, const std::string& pattern) {
  return pin(client, parse_hub_address(pattern)).text();
}

std::vector<remote_name> hub_locator::names(http_client& client, const std::string& pattern) {
  std::vector<remote_name> out;
  std::string listed;  // the commit that `files` lists
  object_page files;
  for (const std::string& each : expand_braces(pattern)) {
    const hub_address of = pin(client, parse_hub_address(each));
    if (!has_wildcard(of.path) && !of.path.ends_with('/') && !of.path.empty()) {
      out.push_back({of.text()});
      continue;
    }
    const hub_address root{of.data_set, of.revision, {}};
    if (listed != root.text()) {
      files = ask(client, of, "?blobs=true").files;
      listed = root.text();
    }
    object_list found(each, listed, of.path, true);
    found.add(files, {});
    std::vector<remote_name> some = std::move(found).names();
    out.insert(out.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
  }
  return out;
}

}  // namespace wick::detail
