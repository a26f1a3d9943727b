// Implements pipeline/detail/written_at.hpp. Included in exactly one file of a program.
#pragma once

#include <cstddef>
#include <string_view>

#include <wick/pipeline/detail/written_at.hpp>

namespace wick::inline v0_1::detail {

namespace writing {

inline std::string_view last_part(std::string_view path) { return path.substr(path.find_last_of("/\\") + 1); }

/// A name without the unnamed namespaces and classes in it.
inline std::string without_unnamed(std::string_view name) {
  std::string out(name);
  for (const std::string_view unnamed : {"{anonymous}::", "(anonymous namespace)::", "(anonymous class)::"})
    for (std::size_t at; (at = out.find(unnamed)) != std::string::npos;) out.erase(at, unnamed.size());
  return out;
}

/// The function that a lambda is in, without its parameters.
inline std::string_view function_name(std::string_view text) {
  const std::size_t call = text.find("operator()");
  const std::size_t from = call == std::string_view::npos ? 0 : call + std::string_view("operator()").size();
  return text.substr(0, text.find('(', from));
}

}  // namespace writing

std::string written_at::text() const {
  using namespace writing;
  constexpr std::size_t most = 60;
  if (line != 0) return " at " + std::string(last_part(file)) + ":" + std::to_string(line);
  if (type == nullptr) return {};
  const std::string_view signature = type;
  const std::size_t begin = signature.find("F = ");
  if (begin == std::string_view::npos) return {};
  const std::string name = without_unnamed(signature.substr(begin + 4, signature.rfind(']') - begin - 4));
  const std::string_view is = name;
  constexpr std::string_view clang_lambda = "(lambda at ", gcc_lambda = "::<lambda";
  if (const std::size_t at = is.find(clang_lambda); at != std::string_view::npos) {  // FILE:LINE:COLUMN)
    const std::string_view where = is.substr(at + clang_lambda.size());
    return " at " + std::string(last_part(where.substr(0, where.rfind(':'))));
  }
  if (const std::size_t at = is.find(gcc_lambda); at != std::string_view::npos) {
    const std::string_view in = function_name(is.substr(0, at));
    return in.empty() || in.size() > most ? " (lambda)" : " (lambda in " + std::string(in) + ")";
  }
  const bool is_name = is.find_first_of("(<*{ ") == std::string_view::npos;
  return is_name && is.size() <= most ? " (" + name + ")" : std::string();
}

}  // namespace wick::detail
