// Implements resume/detail/state.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <bit>
#include <utility>

#include <wick/resume/detail/state.hpp>

namespace wick::inline v0_1::detail {

void loader_state::begin_next_epoch() noexcept {
  ++epoch;
  batch = sample = epoch_failures = 0;
}

void state_writer::text(std::string_view t) {
  for (const char c : t) out_.push_back(static_cast<std::byte>(c));
}

std::string state_reader::text(std::size_t size) {
  const auto raw = take(size);
  return {reinterpret_cast<const char*>(raw.data()), raw.size()};
}

std::span<const std::byte> state_reader::take(std::size_t n) {
  if (n > in_.size())
    throw error("load_state: the state says that it has more than it holds; it was not written by wick");
  const auto taken = in_.first(n);
  in_ = in_.subspan(n);
  return taken;
}

std::uint64_t state_checksum(std::span<const std::byte> bytes) noexcept {
  return fingerprint_hash().add(bytes.data(), bytes.size()).value();
}

std::vector<stage_identity> shortened(const std::vector<stage_identity>& stages) {
  constexpr std::size_t most = 40;
  std::vector<stage_identity> out;
  for (std::size_t i = 0; i < stages.size() && i < most; ++i) {
    const auto& [name, parameters, changes] = stages[i];
    if (name.size() <= max_state_name)
      out.push_back(stages[i]);
    else
      out.push_back(
          {name.substr(0, max_state_name), fingerprint_hash().add(name).add(parameters).value(), changes});
  }
  if (stages.size() > most) {
    fingerprint_hash h;
    for (std::size_t i = most; i < stages.size(); ++i) h.add(stages[i].name).add(stages[i].parameters);
    out.push_back({"further stages", h.value()});
  }
  return out;
}

std::string hex(std::uint64_t n) {
  static constexpr char digits[] = "0123456789abcdef";
  std::string out = "0x";
  for (int shift = 60; shift >= 0; shift -= 4) out += digits[(n >> shift) & 15];
  return out;
}

std::string difference(const loader_state& state, const pipeline_identity& mine) {
  const pipeline_identity& saved = state.of;
  const bool may_change = state.rounds != 0 && state.batch == 0 && state.sample == 0;
  const auto number = [](std::uint64_t n) { return std::to_string(n); };
  if (saved.samples != mine.samples && !may_change) {
    return "another data set: it has " + number(saved.samples) + " samples, this loader's has " +
           number(mine.samples) + "; give the source that the state was made with";
  }
  if (saved.data != mine.data && !may_change) {
    return "another data set: of the same size, with fingerprint " + hex(saved.data) +
           ", this loader's has " + hex(mine.data) + "; names, labels or contents differ";
  }
  const std::vector<stage_identity>& before = saved.stages;
  const std::vector<stage_identity> now = shortened(mine.stages);
  for (std::size_t i = 0; i < std::max(before.size(), now.size()); ++i) {
    const std::string at = "another pipeline: the " + ordinal(i) + " stage";
    const auto differs = [&at](const std::string& how) {
      return at + how + "; build the pipeline as it was, or begin the next epoch without the state: epoch(e)";
    };
    if (i >= now.size())
      return differs(" was " + printable(before[i].name) + ", and this loader has no such stage");
    if (i >= before.size()) return differs(" is " + printable(now[i].name) + ", which it did not have");
    if (before[i].name != now[i].name)
      return differs(" was " + printable(before[i].name) + ", now it is " + printable(now[i].name));
    if (before[i].parameters != now[i].parameters && !(may_change && now[i].changes))
      return differs(", " + printable(now[i].name) + ", was made with other parameters");
  }
  if (saved.seed != mine.seed) {
    return "another seed: " + number(saved.seed) + ", this loader has " + number(mine.seed) +
           "; set loader_options::seed";
  }
  if (saved.batch != mine.batch) {
    if (!mine.batched) {
      return "another number of ranks (" + number(saved.batch) + " samples are planned at a time, here " +
             number(mine.batch) + "); a pipeline without batch() resumes only with as many ranks as before";
    }
    return "another global batch: " + number(saved.batch) + " samples over all ranks, this loader has " +
           number(mine.batch) + "; give batch() that number whatever the number of ranks is";
  }
  if (!mine.batched && saved.rank != mine.rank && (state.batch != 0 || state.sample != 0)) {
    return "another rank: " + number(saved.rank) + ", this loader's is " + number(mine.rank) +
           "; without batch() ranks are at different samples: each saves and loads a state of its own";
  }
  return {};
}

std::vector<std::byte> loader_state::to_bytes() const {
  detail::state_writer w;
  w.text(detail::state_magic);
  w.number(version);
  w.number(std::uint32_t{0});  // length, below
  // 1: batches; otherwise samples, of rank 0 (written as 0) or of another (written as its number plus 1)
  const std::uint64_t share = of.batched ? 1 : of.rank == 0 ? 0 : of.rank + 1;
  for (const std::uint64_t n :
       {of.data, of.samples, of.seed, of.batch, share, epoch, batch, sample, failures, counted_failures,
        epoch_failures, consecutive_failures, rounds, filtered, weights.from}) {
    w.number(n);
  }
  const auto stages = detail::shortened(of.stages);
  w.number(static_cast<std::uint16_t>(stages.size()));
  for (const stage_identity& s : stages) {
    w.number(static_cast<std::uint8_t>(s.name.size()));
    w.text(s.name);
    w.number(s.parameters);
  }
  w.number(static_cast<std::uint16_t>(weights.after.size()));
  for (const double weight : weights.before) w.number(std::bit_cast<std::uint64_t>(weight));
  for (const double weight : weights.after) w.number(std::bit_cast<std::uint64_t>(weight));
  auto& bytes = w.bytes();
  const std::uint64_t length = bytes.size() + sizeof(std::uint64_t);
  for (std::size_t i = 0; i < 4; ++i) bytes[12 + i] = static_cast<std::byte>(length >> (8 * i));
  w.number(detail::state_checksum(bytes));
  return std::move(bytes);
}

loader_state loader_state::from_bytes(std::span<const std::byte> bytes) {
  const std::string size = std::to_string(bytes.size()) + " bytes";
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(detail::state_magic.substr(0, bytes.size())) || bytes.empty()) {
    throw error("load_state: these " + size +
                " aren't the state of a wick loader, which begins with \"wick-st\"; is it the right file?");
  }
  if (bytes.size() < 16)
    throw error("load_state: the state was cut off after " + size + "; take an older one");
  detail::state_reader r(bytes.subspan(detail::state_magic.size()));
  const auto format = r.number<std::uint32_t>();
  if (format != version) {
    throw error("load_state: the state has format " + std::to_string(format) +
                ", and this wick knows format " + std::to_string(version) + "; " +
                (format == 0 || format >= 1000 ? "it is damaged: take an older one"
                 : format > version            ? "it was written by a newer wick"
                                               : "it was written by an older wick: begin its epoch again"));
  }
  const auto length = r.number<std::uint32_t>();
  if (length < 24 || length > max_bytes)
    throw error("load_state: the state is damaged (a length of " + std::to_string(length) +
                " bytes); take an older one");
  if (bytes.size() != length) {
    throw error(
        "load_state: the state has " + std::to_string(length) + " bytes, and there are " + size + "; " +
        (bytes.size() < length ? "it was cut off: take an older one" : "give exactly what state() gave"));
  }
  detail::state_reader end(bytes.last(8));
  if (end.number<std::uint64_t>() != detail::state_checksum(bytes.first(length - 8))) {
    throw error(
        "load_state: the state is damaged (its checksum is not that of its bytes); take an older one");
  }
  loader_state s;
  std::uint64_t share = 0;
  for (std::uint64_t* n : {&s.of.data, &s.of.samples, &s.of.seed, &s.of.batch, &share, &s.epoch, &s.batch,
                           &s.sample, &s.failures, &s.counted_failures, &s.epoch_failures,
                           &s.consecutive_failures, &s.rounds, &s.filtered, &s.weights.from}) {
    *n = r.number<std::uint64_t>();
  }
  s.of.batched = share == 1;
  s.of.rank = share < 2 ? 0 : share - 1;
  const auto stages = r.number<std::uint16_t>();
  for (std::size_t i = 0; i < stages; ++i) {
    const auto letters = r.number<std::uint8_t>();
    std::string name = r.text(letters);
    s.of.stages.push_back({std::move(name), r.number<std::uint64_t>()});
  }
  const auto sources = r.number<std::uint16_t>();
  for (std::vector<double>* const weights : {&s.weights.before, &s.weights.after}) {
    for (std::size_t i = 0; i < sources; ++i)
      weights->push_back(std::bit_cast<double>(r.number<std::uint64_t>()));
  }
  return s;
}

}  // namespace wick::detail
