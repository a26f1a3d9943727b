// Implements resume/detail/delivery_log.hpp. Included in exactly one file of a program.
#pragma once

#include <concepts>
#include <random>
#include <type_traits>

#include <wick/base/detail/json.hpp>
#include <wick/io/detail/line_reader.hpp>
#include <wick/resume/detail/delivery_log.hpp>
#include <wick/resume/detail/state.hpp>

namespace wick::inline v0_1::detail {

namespace {

/// The members of a line, in order: `number(name, member)`, and `hash(name, member)` for values that are too
/// large for JSON's numbers.
template <class Start, class Visitor>
  requires std::same_as<std::remove_const_t<Start>, delivery_start>
void each_member(Start& s, Visitor& v) {
  v.hash("loader", s.loader);
  v.number("from_epoch", s.epoch);
  v.number("from_batch", s.batch);
  v.number("rank", s.rank);
  v.number("world", s.world);
  v.number("batch_size", s.batch_size);
  v.number("source", s.source);
  v.number("content", s.content);
  v.hash("seed", s.seed);
  v.hash("data", s.data);
}
template <class Batch, class Visitor>
  requires std::same_as<std::remove_const_t<Batch>, delivered_batch>
void each_member(Batch& b, Visitor& v) {
  v.hash("loader", b.loader);
  v.number("epoch", b.epoch);
  v.number("batch", b.batch);
  v.number("batches", b.batches);
  v.number("count", b.count);
  v.number("samples", b.samples);
  v.number("replaced", b.replaced);
  v.hash("order_hash", b.order_hash);
  v.hash("samples_hash", b.samples_hash);
}

struct member_writer {
  json_object line;
  void number(std::string_view name, std::uint64_t n) { line.add(name, n); }
  void hash(std::string_view name, std::uint64_t n) { line.add(name, hex(n)); }
};

struct member_reader {
  line_reader line;
  bool first = true;
  void number(std::string_view name, std::uint64_t& n) {
    begin(name);
    n = line.number();
  }
  void hash(std::string_view name, std::uint64_t& n) {
    begin(name);
    line.skip("\"0x");
    n = line.number(16);
    line.skip("\"");
  }
  void begin(std::string_view name) {
    line.skip(std::exchange(first, false) ? "{\"" : ",\"");
    line.skip(name);
    line.skip("\":");
  }
};

template <class Line>
std::string written(const Line& l) {
  member_writer w;
  each_member(l, w);
  return w.line.text();
}
template <class Line>
std::optional<Line> read_line(std::string_view text) {
  Line out;
  member_reader r{line_reader(text)};
  each_member(out, r);
  r.line.skip("}");
  return r.line.whole() ? std::optional<Line>(out) : std::nullopt;
}

}  // namespace

std::string to_json(const delivery_start& s) { return written(s); }
std::string to_json(const delivered_batch& b) { return written(b); }
std::optional<delivery_start> read_delivery_start(std::string_view line) {
  return read_line<delivery_start>(line);
}
std::optional<delivered_batch> read_delivered_batch(std::string_view line) {
  return read_line<delivered_batch>(line);
}

delivery_log::delivery_log(std::string path, bool content) : content_(content) {
  if (path.empty()) return;
  file_.emplace(std::move(path), "delivery_log_file", delivery_head);
  std::random_device random;
  loader_ = std::uint64_t{random()} << 32 | random();
}

void delivery_log::add(delivery_start whose, delivered_batch b) noexcept {
  if (!file_) return;
  whose.loader = b.loader = loader_;
  whose.content = content_;
  const std::pair<std::uint64_t, std::uint64_t> place{b.epoch, b.batch};
  const bool begins = next_ != place || last_.data != whose.data || last_.source != whose.source;
  next_.reset();  // after a lost line, a new start is written
  if (begins) {
    whose.epoch = b.epoch;
    whose.batch = b.batch;
    if (!file_->add([&] { return to_json(whose); })) return;  // without it, a batch's line is useless
    last_ = whose;
  }
  if (!file_->add([&] { return to_json(b); })) return;
  next_ =
      b.batch + 1 < b.batches ? std::pair{b.epoch, b.batch + 1} : std::pair{b.epoch + 1, std::uint64_t{0}};
}

}  // namespace wick::detail
