/// \file
/// The bodies of what resume/mixture.hpp declares. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <wick/resume/mixture.hpp>
#include <wick/resume/state.hpp>
#include <wick/sample/error.hpp>
#include <wick/sample/fingerprint.hpp>
#include <wick/system/detail/line_file.hpp>
#include <wick/system/detail/owned.hpp>

namespace wick::detail {

namespace {

/// Takes a line apart from its beginning; at the first thing that is not as written nothing is good anymore.
class line_reader {
 public:
  explicit line_reader(std::string_view text) noexcept : text_(text) {}
  bool good() const noexcept { return good_; }
  void skip(std::string_view what) noexcept {
    good_ = good_ && text_.starts_with(what);
    if (good_) text_.remove_prefix(what.size());
  }
  std::uint64_t number(int base = 10) noexcept {
    std::uint64_t n = 0;
    const auto [end, fault] = std::from_chars(text_.data(), text_.data() + text_.size(), n, base);
    good_ = good_ && fault == std::errc();
    if (good_) text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return n;
  }

 private:
  std::string_view text_;
  bool good_ = true;
};

constexpr std::string_view journal_head = "{\"";
constexpr std::string_view first_words = "{\"journal\":\"wick mixture 1\",\"of\":\"0x";

std::string place_name(std::uint64_t epoch, std::uint64_t batch) {
  return "batch " + std::to_string(batch) + " of epoch " + std::to_string(epoch);
}

}  // namespace

mixture_journal::mixture_journal(std::span<const std::string> names, std::span<const double> weights,
                                 std::uint64_t pipeline)
    : names_(names.begin(), names.end()), first_(weights.begin(), weights.end()), pipeline_(pipeline) {}

std::optional<mixture_edit> mixture_journal::resolve(std::span<const source_weight> to,
                                                     const edit_options& at, place here, bool alone) const {
  if (!alone && !at.at_batch && !at.at_epoch) {
    throw error(
        "edit: on several ranks the next batch of one is not that of another; say .at_batch (and .at_epoch), "
        "the "
        "same on all ranks");
  }
  place where = here;
  if (at.at_epoch) where = {*at.at_epoch, 0};
  if (at.at_batch) where.batch = *at.at_batch;
  mixture_edit out{where.epoch, where.batch, edits_.empty() ? first_ : edits_.back().weights};
  const auto number_of = [&](const std::string& name) {
    const auto found = std::find(names_.begin(), names_.end(), name);
    if (found == names_.end()) {
      std::string all;
      for (const std::string& n : names_) all += (all.empty() ? "" : ", ") + n;
      throw error("edit: no source of the mix is called " + printable(name) + "; there are " + all);
    }
    return static_cast<std::size_t>(found - names_.begin());
  };
  // A program that was started again makes its edits again.
  for (const mixture_edit& e : edits_) {
    const bool same =
        place{e.epoch, e.batch} == where && std::all_of(to.begin(), to.end(), [&](const source_weight& s) {
          return e.weights[number_of(s.name)] == s.weight;
        });
    if (same) return std::nullopt;
  }
  double sum = 0;
  for (const source_weight& s : to) {
    if (!(s.weight >= 0) || !std::isfinite(s.weight))
      throw error("edit: a weight of " + std::to_string(s.weight) + " for " + printable(s.name) +
                  "; weights are finite and not below 0");
    out.weights[number_of(s.name)] = s.weight;
  }
  for (const double w : out.weights) sum += w;
  if (!(sum > 0) || !std::isfinite(sum))
    throw error("edit: the weights are " + std::to_string(sum) +
                " together; one at least must be above 0, and the sum finite");
  if (where < here) {
    throw error("edit: " + place_name(where.epoch, where.batch) +
                " was handed over already; the loader stands at " + place_name(here.epoch, here.batch) +
                ", which is the first that can be edited");
  }
  if (!edits_.empty() && where < place{edits_.back().epoch, edits_.back().batch}) {
    throw error("edit: " + place_name(where.epoch, where.batch) + " lies before the last edit, that of " +
                place_name(edits_.back().epoch, edits_.back().batch) + "; make edits in their order");
  }
  return out;
}

std::string mixture_journal::line_of(const mixture_edit& e, std::size_t number, std::uint64_t before,
                                     std::uint64_t& after) const {
  std::string line = "{\"edit\":" + std::to_string(number) + ",\"epoch\":" + std::to_string(e.epoch) +
                     ",\"batch\":" + std::to_string(e.batch) + ",\"bits\":[";
  for (std::size_t i = 0; i < e.weights.size(); ++i)
    line += (i == 0 ? "\"" : ",\"") + hex(std::bit_cast<std::uint64_t>(e.weights[i])) + "\"";
  line += "],\"weights\":{";
  for (std::size_t i = 0; i < e.weights.size(); ++i)
    line += (i == 0 ? "\"" : ",\"") + names_[i] + "\":" + std::to_string(e.weights[i]);
  line += "}";
  after = fingerprint_hash().add(before).add(line).value();
  return line + ",\"hash\":\"" + hex(after) + "\"}";
}

void mixture_journal::keep(mixture_edit e, std::uint64_t hash) {
  hashes_.reserve(hashes_.size() + 1);
  edits_.push_back(std::move(e));
  hashes_.push_back(hash);
}

void mixture_journal::add(mixture_edit e) {
  std::uint64_t after = 0;
  const std::string line = line_of(e, edits_.size() + 1, hashes_.empty() ? pipeline_ : hashes_.back(), after);
  edits_.reserve(edits_.size() + 1);
  if (file_) {
    int fault = file_->add(line);
    if (fault == 0) fault = file_->sync();
    if (fault != 0) {
      throw error(printable(path_) + ": journal_file: an edit can't be written: " +
                  std::generic_category().message(fault) + "; the mixture is as it was");
    }
  }
  keep(std::move(e), after);
}

void mixture_journal::refuse(const std::string& path, std::size_t line, const std::string& what) const {
  throw error(printable(path) + ": journal: line " + std::to_string(line) + " " + what);
}

std::vector<mixture_edit> mixture_journal::read(const std::string& path) const {
  std::ifstream in(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), {}};
  if (!in) throw error(printable(path) + ": journal: can't be read; give the path that .journal_file had");
  std::vector<mixture_edit> out;
  std::vector<std::uint64_t> hashes;
  std::size_t number = 0;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find('\n', at);
    if (end == std::string::npos) break;  // torn by a kill: nobody was told that it holds
    const std::string_view line(text.data() + at, end - at);
    at = end + 1;
    ++number;
    line_reader r(line);
    if (line.starts_with("{\"journal\"") || number == 1) {
      r.skip(first_words);
      const std::uint64_t of = r.number(16);
      r.skip("\"}");
      if (!r.good()) refuse(path, number, "is not the beginning of a journal; is it the right file?");
      if (of != pipeline_) {
        refuse(path, number,
               "says that it is of another data set, pipeline or global batch (" + hex(of) +
                   ", this loader's is " + hex(pipeline_) + "); give a file of this training, or a new one");
      }
      continue;
    }
    mixture_edit e;
    r.skip("{\"edit\":");
    const std::uint64_t edit = r.number();
    r.skip(",\"epoch\":");
    e.epoch = r.number();
    r.skip(",\"batch\":");
    e.batch = r.number();
    r.skip(",\"bits\":[");
    for (std::size_t i = 0; i < names_.size(); ++i) {
      r.skip(i == 0 ? "\"0x" : ",\"0x");
      e.weights.push_back(std::bit_cast<double>(r.number(16)));
      r.skip("\"");
    }
    // Several ranks with one file have written the same edit.
    const bool again = r.good() && edit != 0 && edit <= out.size();
    const std::size_t place = again ? edit - 1 : out.size();
    std::uint64_t after = 0;
    if (!r.good() || edit != place + 1 ||
        line != line_of(e, place + 1, place == 0 ? pipeline_ : hashes[place - 1], after)) {
      refuse(
          path, number,
          "is damaged, is missing one before it, or is of another run's edits; take the file from a backup");
    }
    if (again) continue;
    hashes.push_back(after);
    out.push_back(std::move(e));
  }
  return out;
}

std::vector<mixture_edit> mixture_journal::open(const std::string& path) {
  auto file = make_owned<line_file>(path.c_str(), journal_head);
  if (file->fault() != 0) {
    throw error(printable(path) + ": journal_file: can't be opened: " +
                (file->other() != nullptr ? std::string("it is ") + file->other()
                                          : std::generic_category().message(file->fault())) +
                "; give a path in a folder that exists and may be written to");
  }
  std::ifstream in(path, std::ios::binary);
  if (in.peek() == std::ifstream::traits_type::eof()) {
    int fault = file->add(std::string(first_words) + hex(pipeline_).substr(2) + "\"}");
    if (fault == 0) fault = file->sync();
    if (fault != 0)
      throw error(printable(path) +
                  ": journal_file: can't be written: " + std::generic_category().message(fault));
  }
  std::vector<mixture_edit> there = read(path);
  std::uint64_t hash = pipeline_;
  for (std::size_t i = 0; i < there.size(); ++i) {
    line_of(there[i], i + 1, hash, hash);
    keep(there[i], hash);
  }
  path_ = path;
  file_ = std::move(file);
  return there;
}

std::vector<source_weight> mixture_journal::at(place where) const {
  const std::vector<double>* weights = &first_;
  for (const mixture_edit& e : edits_) {
    if (place{e.epoch, e.batch} <= where) weights = &e.weights;
  }
  return weights_of({0, 0, *weights});
}

std::vector<source_weight> mixture_journal::weights_of(const mixture_edit& e) const {
  std::vector<source_weight> out;
  for (std::size_t i = 0; i < names_.size(); ++i) out.push_back({names_[i], e.weights[i]});
  return out;
}

void mixture_journal::write(loader_state& to) const noexcept {
  to.edits = edits_.size();
  to.journal = hashes_.empty() ? 0 : hashes_.back();
}

void mixture_journal::require_same(const loader_state& s) const {
  if (s.edits > edits_.size()) {
    throw error("load_state: the state was written behind " + std::to_string(s.edits) +
                " edits of the mixture, and this loader has " + std::to_string(edits_.size()) +
                "; give loader_options::journal_file the training's journal, or replay() it before");
  }
  if (s.edits != 0 && hashes_[s.edits - 1] != s.journal) {
    throw error("load_state: the state was written behind other edits of the mixture than this loader has (" +
                std::to_string(s.edits) + " of them differ); give the journal of the same training");
  }
}

void refuse_when_compact() {
  throw error(
      "edit: with error_options::compact samples of this epoch's end may stand in the batches before; edit "
      "the "
      "next epoch, with .at_epoch");
}

void refuse_journal_file() {
  throw error(
      "loader: .journal_file is given, and there is no mixture that can be edited: a mix() with batch(n) and "
      "nothing but shard() between; leave it out");
}

void require_no_edits(const loader_state& s) {
  if (s.edits == 0) return;
  throw error(
      "load_state: the state was written behind " + std::to_string(s.edits) +
      " edits of the mixture, and this loader has 0; give loader_options::journal_file the training's "
      "journal, or replay() it before");
}

}  // namespace wick::detail
