// Implements sources/detail/safetensors_header.hpp. Included in exactly one file of a program.
#pragma once

#include <utility>

#include <wick/io/detail/json_reader.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/sources/detail/safetensors_header.hpp>

namespace wick::inline v0_1::detail {

namespace {

safetensors_header::tensor tensor_of(std::string name, json_reader& json) {
  safetensors_header::tensor out;
  out.name = std::move(name);
  int offsets = 0;
  json.object([&](const std::string& member) {
    if (member == "dtype") {
      out.type = json.string();
    } else if (member == "shape") {
      json.array([&] {
        out.extents.push_back(static_cast<std::int64_t>(json.number() & ~(std::uint64_t{1} << 63)));
      });
    } else if (member == "data_offsets") {
      json.array([&] { (offsets++ == 0 ? out.begin : out.end) = json.number(); });
    } else {
      json.skip();
    }
  });
  if (offsets != 2 || out.type.empty() || out.end < out.begin) throw error("a tensor without type or place");
  return out;
}

}  // namespace

safetensors_header::safetensors_header(std::string_view text) try {
  json_reader json(text);
  json.object([&](std::string name) {
    if (name == "__metadata__") return json.skip();
    tensors_.push_back(tensor_of(std::move(name), json));
  });
  json.end();
} catch (const error& e) {
  throw error(std::string("has a header that safetensors does not write (") + e.what() +
              "); the file is damaged, or no safetensors file");
}

}  // namespace wick::detail
