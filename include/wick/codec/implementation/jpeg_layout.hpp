/// \file
/// The bodies of what codec/detail/jpeg_layout.hpp declares. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include <wick/codec/detail/byte_order.hpp>
#include <wick/codec/detail/jpeg_header.hpp>
#include <wick/codec/detail/jpeg_layout.hpp>
#include <wick/codec/detail/signature.hpp>
#include <wick/sample/error.hpp>
#include <wick/sample/sample.hpp>

namespace wick::detail {

jpeg_layout::jpeg_layout(std::span<const std::byte> encoded) : data_(encoded) {
  jpeg_markers markers(encoded);
  for (unsigned marker = markers.next(); marker != jpeg_markers::none && marker != jpeg_markers::end_of_image;
       marker = markers.next()) {
    if (in_scan_) end_scan(markers);
    const std::size_t at = markers.payload(), size = markers.payload_size();
    if (marker == 0xC0 || marker == 0xC1 || marker == 0xC2) frame(marker == 0xC2, at);
    if (marker == 0xC9 || marker == 0xCA) unsupported("arithmetic coding");
    if (marker == 0xC4) huffman_tables(at, size);
    if (marker == 0xDB) quantization_tables(at, size);
    if (marker == 0xDD) restart_interval_ = big16(data_, at);
    if (marker == 0xE0 || marker == 0xEE) application(marker, at, size);
    if (marker == jpeg_markers::start_of_scan) scan(at);
  }
  if (in_scan_) end_scan(markers);
  for (std::uint32_t c = 0; c < components_; ++c) {
    if (!component_[c].begun) damaged("no pixels of component " + std::to_string(c + 1));
  }
}

void jpeg_layout::unsupported(const std::string& what) {
  throw error("JPEG with " + what +
              ", which stb_image does not read; build wick with libjpeg-turbo, or convert it" +
              or_leave_it_out);
}

void jpeg_layout::damaged(const std::string& what) {
  throw error("damaged JPEG: " + what + "; write the file again" + or_leave_it_out);
}

void jpeg_layout::frame(bool progressive, std::size_t at) {
  progressive_ = progressive;
  if (byte_at(data_, at) != 8) {
    unsupported(std::to_string(byte_at(data_, at)) + " bits a channel");
  }
  height_ = big16(data_, at + 1);
  width_ = big16(data_, at + 3);
  components_ = std::min(byte_at(data_, at + 5), 4u);
  if (components_ == 2) unsupported("2 components");
  for (std::uint32_t c = 0; c < components_; ++c) {
    const std::size_t k = at + 6 + std::size_t{3} * c;
    component_[c] = {byte_at(data_, k), std::max(1u, byte_at(data_, k + 1) >> 4),
                     std::max(1u, byte_at(data_, k + 1) & 15u), byte_at(data_, k + 2) & 3u, false};
  }
}

void jpeg_layout::huffman_tables(std::size_t at, std::size_t size) {
  for (const std::size_t end = at + size; at < end;) {
    const std::uint32_t name = byte_at(data_, at);
    huffman_[name >> 4 & 1] |= 1u << (name & 3);
    std::size_t codes = 0;
    for (std::size_t i = 1; i <= 16; ++i) codes += byte_at(data_, at + i);
    at += 17 + codes;
  }
}

void jpeg_layout::quantization_tables(std::size_t at, std::size_t size) {
  for (const std::size_t end = at + size; at < end;) {
    const std::uint32_t name = byte_at(data_, at) & 3u;
    const std::size_t length = byte_at(data_, at) >> 4 != 0 ? 129 : 65;
    if (end - at < length) return;  // stb_image says so
    const std::span<const std::byte> now = data_.subspan(at, length);
    // libjpeg keeps the table that was there when a component's first scan began, stb_image takes the last
    // one.
    if (progressive_ && !quantization_[name].empty() && begun(name) &&
        (now.size() != quantization_[name].size() ||
         std::memcmp(now.data(), quantization_[name].data(), length) != 0)) {
      unsupported("quantization tables that change between scans");
    }
    quantization_[name] = now;
    at += length;
  }
}

bool jpeg_layout::begun(std::uint32_t table) const noexcept {
  for (std::uint32_t c = 0; c < components_; ++c) {
    if (component_[c].table == table && component_[c].begun) return true;
  }
  return false;
}

void jpeg_layout::application(unsigned marker, std::size_t at, std::size_t size) noexcept {
  if (scans_ != 0) return;
  if (marker == 0xE0 && size >= 14 && starts_with(data_, std::string_view("JFIF\0", 5), at)) jfif_ = true;
  if (marker == 0xEE && size >= 12 && starts_with(data_, "Adobe", at)) {
    adobe_ = true;
    transform_ = byte_at(data_, at + 11);
  }
}

void jpeg_layout::scan(std::size_t at) {
  if (scans_++ == 0) colors_ = choose_colors();
  in_scan_ = true;
  const std::uint32_t count = byte_at(data_, at);
  const std::size_t more = at + 1 + std::size_t{2} * count;
  const bool first_bits = byte_at(data_, more + 2) >> 4 == 0, levels = byte_at(data_, more) == 0;
  std::uint64_t units = 0;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t id = byte_at(data_, at + 1 + std::size_t{2} * i),
                        tables = byte_at(data_, at + 2 + std::size_t{2} * i);
    std::uint32_t c = 0;
    while (c < components_ && component_[c].id != id) ++c;
    if (c == components_)
      damaged("a scan of a component " + std::to_string(id) + ", which its header does not have");
    if (quantization_[component_[c].table].empty()) {
      damaged("no quantization table " + std::to_string(component_[c].table));
    }
    component_[c].begun = true;
    if (!progressive_ || (levels && first_bits)) want_table(0, tables >> 4);
    if (!progressive_ || !levels) want_table(1, tables & 15u);
    if (count == 1) units = blocks(component_[c]);
  }
  if (count != 1)
    units = std::uint64_t{ceiling(width_, 8 * greatest(&component::across))} *
            ceiling(height_, 8 * greatest(&component::down));
  restarts_ = restart_interval_ == 0 || units == 0 ? 0 : (units - 1) / restart_interval_;
}

void jpeg_layout::want_table(std::size_t kind, std::uint32_t name) {
  if (name < 4 && (huffman_[kind] >> name & 1) != 0) return;
  if (name > 1 || progressive_) damaged("no Huffman table " + std::to_string(name));
  wants_standard_tables_ = true;
}

void jpeg_layout::end_scan(const jpeg_markers& markers) {
  in_scan_ = false;
  if (markers.restarts() < restarts_) {
    damaged(std::to_string(markers.restarts()) + " restart markers where " + std::to_string(restarts_) +
            " should be, and stb_image can't go on behind the first that is missing");
  }
}

std::uint32_t jpeg_layout::greatest(std::uint32_t component::*factor) const noexcept {
  std::uint32_t most = 1;
  for (std::uint32_t c = 0; c < components_; ++c) most = std::max(most, component_[c].*factor);
  return most;
}

std::uint64_t jpeg_layout::blocks(const component& c) const noexcept {
  return std::uint64_t{ceiling(ceiling(width_ * c.across, greatest(&component::across)), 8)} *
         ceiling(ceiling(height_ * c.down, greatest(&component::down)), 8);
}

jpeg_color_model jpeg_layout::choose_colors() const noexcept {
  if (components_ == 1) return jpeg_color_model::gray;
  if (components_ == 4) return adobe_ && transform_ != 0 ? jpeg_color_model::ycck : jpeg_color_model::cmyk;
  if (jfif_) return jpeg_color_model::ycc;
  if (adobe_) return transform_ == 0 ? jpeg_color_model::rgb : jpeg_color_model::ycc;
  const bool rgb = component_[0].id == 'R' && component_[1].id == 'G' && component_[2].id == 'B';
  return rgb ? jpeg_color_model::rgb : jpeg_color_model::ycc;
}

bytes with_standard_tables(std::span<const std::byte> encoded) {
  constexpr std::size_t more = sizeof standard_huffman_tables;
  bytes out(encoded.size() + more);
  std::memcpy(out.data(), encoded.data(), 2);
  std::memcpy(out.data() + 2, standard_huffman_tables, more);
  std::memcpy(out.data() + 2 + more, encoded.data() + 2, encoded.size() - 2);
  return out;
}

}  // namespace wick::detail
