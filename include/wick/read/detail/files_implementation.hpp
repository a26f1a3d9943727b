/// \file
/// The bodies of what read/files.hpp declares. Included in exactly one file of a program.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include <wick/read/files.hpp>
#include <wick/sample/source.hpp>

namespace wick {

std::uint64_t files::fingerprint() const noexcept {
  fingerprint_hash h;
  for (std::uint64_t i = 0; i < size(); ++i) h.add(std::string_view(path(i)).substr(data_->shared_prefix));
  return h.add(size()).value();
}

std::size_t files::shared_prefix(const table& data) noexcept {
  const std::string_view first(data.arena.data());
  std::size_t shared = first.rfind('/') + 1;
  for (const std::uint64_t offset : data.offsets) {
    const std::string_view path(data.arena.data() + offset);
    while (shared > 0 && path.substr(0, shared) != first.substr(0, shared)) {
      shared = shared == 1 ? 0 : first.rfind('/', shared - 2) + 1;
    }
  }
  return shared;
}

}  // namespace wick
