/// \file
/// The bodies of what loader/receipt.hpp and loader/detail/receipt_writer.hpp declare. Included in
/// exactly one file of a program.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include <wick/base/detail/json.hpp>
#include <wick/failures/detail/failure_log_file.hpp>
#include <wick/loader/detail/draw_notes.hpp>
#include <wick/loader/detail/receipt_writer.hpp>
#include <wick/loader/receipt.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/random.hpp>

namespace wick::inline v0_1 {

namespace detail {

namespace {

using noted = std::vector<draw_notes::line>;

/// A stream gives its numbers again.
receipt::draw draw_of(const draw_notes::line& l, const std::vector<std::string>& stages) {
  receipt::draw out{l.stage < stages.size() ? stages[l.stage] : "loader", l.stage, l.count, {}};
  random_stream again = context::stream_of(l.where, l.stage, l.frozen);
  out.values.resize(static_cast<std::size_t>(std::min<std::uint64_t>(l.count, receipt_writer::most_values)));
  for (std::uint32_t& value : out.values) value = again();
  return out;
}

/// Adds the notes of the sample with this number of a draw: its own, and those of its others.
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

std::string json_of(const receipt::draw& d) {
  return json_object()
      .add("stage", d.stage)
      .add("number", d.number)
      .add("count", d.count)
      .raw("values", json_array(d.values, [](std::uint32_t v) { return std::to_string(v); }))
      .text();
}
std::string json_of(const std::vector<receipt::draw>& all) {
  return json_array(all, [](const receipt::draw& d) { return json_of(d); });
}
/// What samples and others have in common.
template <class Part>
void add_part(json_object& to, const Part& p) {
  to.add("index", p.index).add("key", p.key).raw("draws", json_of(p.draws));
  to.raw("others", json_array(p.others, [](const receipt::other& o) {
           json_object one;
           one.add("stage", o.stage).add("number", o.number);
           add_part(one, o);
           return one.text();
         }));
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
  using detail::json_array;
  detail::json_object out;
  out.add("seed", seed).add("epoch", epoch).add("batch", batch);
  out.raw("samples", json_array(samples, [](const sample& s) {
            detail::json_object one;
            one.add("slot", s.slot).add("position", s.position).add("rank", s.rank);
            detail::add_part(one, s);
            if (s.substitute()) {
              one.raw("in_place_of",
                      detail::json_object().add("index", s.planned).add("key", s.planned_key).text());
            }
            return one.text();
          }));
  out.raw("draws", detail::json_of(draws));
  out.raw("failures", json_array(failures, [](const failure_log_entry& e) { return detail::to_json(e); }));
  return out.text();
}

}  // namespace wick
