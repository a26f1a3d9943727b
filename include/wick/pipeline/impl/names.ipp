// Implements pipeline/detail/names.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cstddef>

#include <wick/pipeline/detail/names.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1::detail {

namespace {

/// Takes the next UTF-8 character off. Each byte that isn't UTF-8 counts as a character, from 0x110000 on.
char32_t next_character(std::string_view& text) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const char32_t first = byte(0);
  const std::size_t more = first >= 0xF0 && first < 0xF8   ? 3
                           : first >= 0xE0 && first < 0xF0 ? 2
                           : first >= 0xC2 && first < 0xE0 ? 1
                                                           : 0;
  char32_t out = more == 0 ? first : first & (0x3F >> more);
  bool good = first < 0x80 || (more != 0 && text.size() > more);
  for (std::size_t i = 1; good && i <= more; ++i) {
    good = (byte(i) & 0xC0) == 0x80;
    out = out << 6 | (byte(i) & 0x3Fu);
  }
  text.remove_prefix(good ? more + 1 : 1);
  return good ? out : 0x110000 + first;
}

bool is_combining(char32_t c) noexcept {
  return (c >= 0x300 && c <= 0x36F) || (c >= 0x1AB0 && c <= 0x1AFF) || (c >= 0x1DC0 && c <= 0x1DFF) ||
         c == 0x3099 || c == 0x309A;
}
bool is_invisible(char32_t c) noexcept {
  return is_combining(c) || (c >= 0x80 && c <= 0xA0) || c == 0xAD || c == 0x3000 || c == 0xFEFF ||
         (c >= 0x2000 && c <= 0x200F) || (c >= 0x2028 && c <= 0x202F) || (c >= 0x205F && c <= 0x206F);
}

constexpr char32_t first_syllable = 0xAC00, syllables = 11172, vowels = 21, tails = 28;
bool is_syllable(char32_t c) noexcept { return c >= first_syllable && c < first_syllable + syllables; }

/// Takes off the letters of a Hangul syllable if `text` begins with them. The Unicode Standard, 3.12.
bool take_jamo(std::string_view& text, char32_t syllable) noexcept {
  const char32_t index = syllable - first_syllable, tail = index % tails;
  std::string_view left = text;
  const auto is = [&left](char32_t wanted) { return !left.empty() && next_character(left) == wanted; };
  if (!is(0x1100 + index / (vowels * tails)) || !is(0x1161 + index / tails % vowels)) return false;
  if (tail != 0 && !is(0x11A7 + tail)) return false;
  text = left;
  return true;
}

/// Takes off combining letters. Returns whether there were any.
bool take_combining(std::string_view& text) noexcept {
  bool any = false;
  for (std::string_view left = text; !left.empty() && is_combining(next_character(left)); text = left)
    any = true;
  return any;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}
std::string without_any_blanks(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::string_view before = text;
    const char32_t c = next_character(text);
    if (c > ' ' && (is_combining(c) || !is_invisible(c)))
      out += before.substr(0, before.size() - text.size());
  }
  return out;
}

}  // namespace

std::string shown_name(std::string_view name) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out = "\"";
  while (!name.empty()) {
    const std::string_view before = name;
    const char32_t c = next_character(name);
    const std::string_view one = before.substr(0, before.size() - name.size());
    if (c >= 0x110000)
      out += {'\\', 'x', digits[c >> 4 & 15], digits[c & 15]};
    else if (is_invisible(c))
      out += {'\\', 'u', digits[c >> 12 & 15], digits[c >> 8 & 15], digits[c >> 4 & 15], digits[c & 15]};
    else
      out += printable(one);
  }
  return out += '"';
}

std::string shown_names(const std::vector<std::string>& names) {
  constexpr std::size_t most = 20;
  std::string out;
  for (std::size_t i = 0; i < std::min(most, names.size()); ++i)
    out += (i == 0 ? "" : ", ") + shown_name(names[i]);
  if (names.size() > most) out += ", …";
  return out.empty() ? "none" : out;
}

bool same_but_for_form(std::string_view a, std::string_view b) noexcept {
  if (a == b) return false;
  while (!a.empty() && !b.empty()) {
    std::string_view rest_a = a, rest_b = b;
    const char32_t in_a = next_character(rest_a), in_b = next_character(rest_b);
    if (is_syllable(in_a) && !is_syllable(in_b)) {
      if (!take_jamo(b, in_a)) return false;
      a = rest_a;
      continue;
    }
    if (is_syllable(in_b) && !is_syllable(in_a)) {
      if (!take_jamo(a, in_b)) return false;
      b = rest_b;
      continue;
    }
    if (is_combining(in_a) || is_combining(in_b)) return false;
    a = rest_a;
    b = rest_b;
    const bool marks_a = take_combining(a), marks_b = take_combining(b);
    if (in_a == in_b) {
      if (marks_a != marks_b) return false;
      continue;
    }
    // One is composed, and the other has an extra mark.
    const bool composed_a = in_a >= 0xC0 && in_a < 0x110000, composed_b = in_b >= 0xC0 && in_b < 0x110000;
    if (!((composed_a && marks_b) || (composed_b && marks_a))) return false;
  }
  return a.empty() && b.empty();
}

std::string near_name(std::string_view wanted, const std::vector<std::string>& names) {
  const std::string bare = without_any_blanks(wanted), small = lower(wanted);
  for (const std::string& name : names) {
    const char* const by = same_but_for_form(wanted, name)    ? "in its Unicode form (NFC or NFD)"
                           : lower(name) == small             ? "in upper and lower case"
                           : without_any_blanks(name) == bare ? "in blanks or invisible characters"
                                                              : nullptr;
    if (by != nullptr) return "; " + shown_name(name) + " differs only " + by;
  }
  return {};
}

std::string no_such_name(std::string_view what, std::string_view wanted,
                         const std::vector<std::string>& names) {
  return "no " + std::string(what) + " is called " + shown_name(wanted) + "; there " +
         (names.size() == 1 ? "is " : "are ") + shown_names(names) + near_name(wanted, names);
}

}  // namespace wick::detail
