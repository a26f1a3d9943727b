// Implements io/record.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>

#include <wick/io/record.hpp>

namespace wick::inline v0_1::detail {

namespace {

std::string text_of(cache_reader& in) {
  std::string out(in.count(), '\0');
  in.take(out.data(), out.size());
  return out;
}

}  // namespace

std::shared_ptr<const record_names> record_names::load(cache_reader& in) {
  auto out = std::make_shared<record_names>();
  out->key = text_of(in);
  std::vector<std::string> wanted(in.count());
  for (std::string& name : wanted) name = text_of(in);
  if (!wanted.empty()) out->fields = make_owned<const record_fields>(wanted);
  return out;
}

record_fields::record_fields(const std::vector<std::string>& wanted) {
  if (wanted.empty() || wanted.size() > max_fields) {
    throw error("wick: a record has 1 to 8 members, found " + std::to_string(wanted.size()));
  }
  for (const std::string& field : wanted) add(field);
}

const std::vector<std::string>& record_fields::alternatives(std::size_t field) const noexcept {
  return alternatives_[field];
}

std::pair<std::size_t, std::size_t> record_fields::find_alternative(
    std::string_view extension) const noexcept {
  for (std::size_t f = 0; f < size(); ++f) {
    for (std::size_t a = 0; a < alternatives_[f].size(); ++a) {
      if (alternatives_[f][a] == extension) return {f, a};
    }
  }
  return {size(), 0};
}

void record_fields::add(std::string_view field) {
  std::vector<std::string>& list = alternatives_.emplace_back();
  names_.emplace_back(field);
  for (;;) {
    const std::size_t end = field.find(';');
    std::string extension(field.substr(0, end));
    extension.erase(0, std::min(extension.find_first_not_of(' '), extension.size()));  // "jpg; png"
    extension.erase(extension.find_last_not_of(' ') + 1);
    for (char& c : extension) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (extension.starts_with('.')) extension.erase(0, 1);
    if (extension.empty()) {
      throw error("wick: \"" + printable(names_.back()) +
                  "\" names an empty extension; write \"jpg\" or \"jpg;png\"");
    }
    if (find(extension) != size())
      throw error("wick: the member \"" + printable(extension) + "\" is asked for twice");
    list.push_back(std::move(extension));
    if (end == std::string_view::npos) return;
    field.remove_prefix(end + 1);
  }
}

}  // namespace wick::detail
