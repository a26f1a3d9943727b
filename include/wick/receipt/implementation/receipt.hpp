/// \file
/// The bodies of what receipt/receipt.hpp and receipt/detail/receipt_writer.hpp declare. Included in exactly
/// one file of a program.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include <wick/failure/detail/ledger_file.hpp>
#include <wick/receipt/detail/draw_notes.hpp>
#include <wick/receipt/detail/receipt_writer.hpp>
#include <wick/receipt/receipt.hpp>
#include <wick/sample/context.hpp>
#include <wick/sample/random.hpp>

namespace wick {

namespace detail {

namespace {

using noted = std::vector<draw_notes::line>;

/// A stream gives its numbers again.
receipt::draw draw_of(const draw_notes::line& l, const std::vector<std::string>& stages) {
  receipt::draw out{l.stage < stages.size() ? stages[l.stage] : "loader", l.stage, l.count, {}};
  random_stream again(l.where.seed ^ l.where.drawn, l.where.epoch, l.where.position, l.stage);
  out.values.resize(static_cast<std::size_t>(std::min<std::uint64_t>(l.count, receipt_writer::most_values)));
  for (std::uint32_t& value : out.values) value = again();
  return out;
}

/// What was noted of the sample with this number of a draw: of itself, and of what went into it.
template <class To, class Key>
void add_noted(To& to, std::uint64_t drawn, const noted& lines, const std::vector<std::string>& stages,
               std::size_t end, const Key& key) {
  for (const draw_notes::line& l : lines) {
    if (l.kind == draw_notes::what::drew && l.where.drawn == drawn && l.stage < end)
      to.draws.push_back(draw_of(l, stages));
    if (l.kind == draw_notes::what::other && l.into == drawn) {
      receipt::other o{l.where.index, key(l.where.index), stages[l.stage], l.stage, {}, {}};
      add_noted(o, l.where.drawn, lines, stages, end, key);
      to.others.push_back(std::move(o));
    }
  }
}

template <class List, class F>
std::string json_list(const char* name, const List& list, F&& json) {
  std::string out = std::string(",\"") + name + "\":[";
  bool first = true;
  for (const auto& one : list) {
    if (!std::exchange(first, false)) out += ',';
    out += json(one);
  }
  return out + "]";
}
std::string json_of(const receipt::draw& d) {
  std::string out = "{\"stage\":" + json_string(d.stage) + ",\"number\":" + std::to_string(d.number) +
                    ",\"count\":" + std::to_string(d.count);
  return out + json_list("values", d.values, [](std::uint32_t v) { return std::to_string(v); }) + "}";
}
/// What samples and others have in common.
template <class Part>
std::string json_of_part(const Part& p) {
  std::string out = "\"index\":" + std::to_string(p.index) + ",\"key\":" + json_string(p.key);
  out += json_list("draws", p.draws, [](const receipt::draw& d) { return json_of(d); });
  return out + json_list("others", p.others, [](const receipt::other& o) {
           return "{\"stage\":" + json_string(o.stage) + ",\"number\":" + std::to_string(o.number) + "," +
                  json_of_part(o) + "}";
         });
}

}  // namespace

std::string receipt_writer::key(std::uint64_t index) const {
  try {
    return names_.key(names_.source, index);
  } catch (const std::exception&) {
    return "sample " + std::to_string(index);
  }
}

void receipt_writer::add(receipt::sample s) {
  s.key = key(s.index);
  s.planned_key = s.substitute() ? key(s.planned) : s.key;
  add_noted(s, 0, notes_.of(s.position), stages_, batching_, [&](std::uint64_t i) { return key(i); });
  to_.samples.push_back(std::move(s));
}

void receipt_writer::add_batch(std::uint64_t position) {
  for (const draw_notes::line& l : notes_.of(position)) {
    if (l.kind == draw_notes::what::drew && l.stage > batching_) to_.draws.push_back(draw_of(l, stages_));
  }
}

}  // namespace detail

std::string receipt::to_json() const {
  std::string out = "{\"seed\":" + std::to_string(seed) + ",\"epoch\":" + std::to_string(epoch) +
                    ",\"batch\":" + std::to_string(batch);
  out += detail::json_list("samples", samples, [](const sample& s) {
    std::string one = "{\"slot\":" + std::to_string(s.slot) + ",\"position\":" + std::to_string(s.position) +
                      ",\"rank\":" + std::to_string(s.rank) + "," + detail::json_of_part(s);
    if (s.substitute())
      one += ",\"in_place_of\":{\"index\":" + std::to_string(s.planned) +
             ",\"key\":" + detail::json_string(s.planned_key) + "}";
    return one + "}";
  });
  out += detail::json_list("draws", draws, [](const draw& d) { return detail::json_of(d); });
  out += detail::json_list("failures", failures, [](const ledger_entry& e) { return detail::to_json(e); });
  return out + "}";
}

}  // namespace wick
