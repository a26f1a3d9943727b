/// \file
/// The bodies of what resume/mixture.hpp declares. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include <wick/base/detail/owned.hpp>
#include <wick/ext/fingerprint.hpp>
#include <wick/io/detail/line_file.hpp>
#include <wick/io/detail/line_reader.hpp>
#include <wick/io/detail/plain_file.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/random.hpp>
#include <wick/resume/detail/state.hpp>
#include <wick/resume/mixture.hpp>

namespace wick::inline v0_1::detail {

namespace {

constexpr std::string_view journal_head = "{\"";
constexpr std::string_view first_words = "{\"journal\":\"wick mixture 1\",\"of\":\"0x";
constexpr std::string_view line_end = "\"}";  // of whole lines alone

/// The name of a new file lies in its folder: it is on the disk when the folder is. 0, or errno.
int sync_folder_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  const std::string name = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const file_handle folder(::open(name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder || ::fsync(folder.get()) == 0 || errno == EINVAL) return 0;
  return errno;
}

/// What a regular file has from `offset` on; nothing when it is shorter. \throws wick::error
std::optional<std::string> journal_text(const std::string& path, std::uint64_t offset) {
  const plain_file opened = open_plain(path.c_str());
  if (opened.other != nullptr) throw error(printable(path) + ": journal: " + not_a_file(opened.other));
  int fault = opened.fault;
  if (fault == 0) {
    const ::off_t end = ::lseek(opened.file.get(), 0, SEEK_END);
    if (end >= 0 && static_cast<std::uint64_t>(end) < offset) return std::nullopt;
    if (end < 0 || ::lseek(opened.file.get(), static_cast<::off_t>(offset), SEEK_SET) < 0) fault = errno;
  }
  std::string out;
  char block[16384];
  while (fault == 0) {
    const ::ssize_t n = ::read(opened.file.get(), block, sizeof block);
    if (n == 0) break;
    if (n > 0)
      out.append(block, static_cast<std::size_t>(n));
    else if (errno != EINTR)
      fault = errno;
  }
  if (fault != 0) {
    throw error(printable(path) + ": journal: can't be read: " + std::generic_category().message(fault) +
                "; give the path that .journal_file had");
  }
  return out;
}

std::string place_name(std::uint64_t epoch, std::uint64_t batch) {
  return "batch " + std::to_string(batch) + " of epoch " + std::to_string(epoch);
}

}  // namespace

mixture_journal::mixture_journal(std::span<const std::string> names, std::span<const double> weights,
                                 std::uint64_t pipeline, std::uint64_t seed)
    : names_(names.begin(), names.end()),
      first_(weights.begin(), weights.end()),
      pipeline_(pipeline),
      seed_(seed) {}

std::size_t mixture_journal::number_of(const std::string& name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found == names_.end()) {
    std::string all;
    for (const std::string& n : names_) all += (all.empty() ? "" : ", ") + n;
    throw error("set_mix_weights: no source of the mix is called " + printable(name) + "; there are " + all +
                ". One that comes in later has its place in the mix from the beginning, with weight 0");
  }
  return static_cast<std::size_t>(found - names_.begin());
}

std::optional<mixture_edit> mixture_journal::resolve(std::span<const source_weight> to,
                                                     const edit_options& at, place here, bool alone) const {
  if (!alone && !at.at_batch && !at.at_epoch) {
    throw error(
        "set_mix_weights: on several ranks the next batch of one is not that of another; say .at_batch (and "
        ".at_epoch), the same on all ranks");
  }
  if (at.at_epoch && *at.at_epoch > last_epoch) {
    throw error("set_mix_weights: .at_epoch = " + std::to_string(static_cast<std::int64_t>(*at.at_epoch)) +
                ": epochs are counted from 0 to " + std::to_string(last_epoch));
  }
  place where = here;
  if (at.at_epoch) where = {*at.at_epoch, 0};
  if (at.at_batch) where.batch = *at.at_batch;
  mixture_edit out{where.epoch, where.batch, edits_.empty() ? first_ : edits_.back().weights};
  const auto place_of = [&](std::size_t i) { return place{edits_[i].epoch, edits_[i].batch}; };
  for (std::size_t i = 0; i < edits_.size(); ++i) {
    if (place_of(i) != where) continue;
    // Where another one came behind it, it is made to take that one back, unless a program that was started
    // again makes its edits again.
    const bool last = i + 1 == edits_.size() || place_of(i + 1) != where;
    const bool same = std::all_of(to.begin(), to.end(), [&](const source_weight& s) {
      return edits_[i].weights[number_of(s.name)] == s.weight;
    });
    if (same && (last || where < here || i < from_file_)) return std::nullopt;
  }
  if (to.empty())
    throw error("set_mix_weights: no weight is given; write set_mix_weights({{\"" + names_.front() +
                "\", 2}})");
  std::vector<bool> given(names_.size());
  double sum = 0;
  for (const source_weight& s : to) {
    if (!(s.weight >= 0) || !std::isfinite(s.weight))
      throw error("set_mix_weights: a weight of " + std::to_string(s.weight) + " for " + printable(s.name) +
                  "; weights are finite and not below 0");
    const std::size_t source = number_of(s.name);
    if (given[source]) throw error("set_mix_weights: " + printable(s.name) + " has two weights; give it one");
    given[source] = true;
    out.weights[source] = s.weight;
  }
  for (const double w : out.weights) sum += w;
  if (!(sum > 0) || !std::isfinite(sum))
    throw error("set_mix_weights: the weights are " + std::to_string(sum) +
                " together; one at least must be above 0, and the sum finite");
  if (where < here) {
    throw error("set_mix_weights: " + place_name(where.epoch, where.batch) +
                " was handed over already; the loader stands at " + place_name(here.epoch, here.batch) +
                ", which is the first that can be edited");
  }
  if (!edits_.empty() && where < place_of(edits_.size() - 1)) {
    throw error("set_mix_weights: " + place_name(where.epoch, where.batch) +
                " lies before the last edit, that of " +
                place_name(edits_.back().epoch, edits_.back().batch) +
                "; make edits in their order, or continue with a copy of the journal without its last lines");
  }
  return out;
}

namespace {

/// With six digits behind the point, whatever the locale is.
std::string decimals(double value) {
  std::array<char, 400> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed, 6).ptr;
  return {text.data(), end};
}

}  // namespace

std::string mixture_journal::line_of(const mixture_edit& e, std::size_t number, std::uint64_t before,
                                     std::uint64_t& after) const {
  std::string line = "{\"edit\":" + std::to_string(number) + ",\"epoch\":" + std::to_string(e.epoch) +
                     ",\"batch\":" + std::to_string(e.batch) + ",\"bits\":[";
  for (std::size_t i = 0; i < e.weights.size(); ++i)
    line += (i == 0 ? "\"" : ",\"") + hex(std::bit_cast<std::uint64_t>(e.weights[i])) + "\"";
  line += "],\"weights\":{";
  for (std::size_t i = 0; i < e.weights.size(); ++i)
    line += (i == 0 ? "\"" : ",\"") + names_[i] + "\":" + decimals(e.weights[i]);
  line += "}";
  after = fingerprint_hash().add(before).add(line).value();
  return line + ",\"hash\":\"" + hex(after) + "\"}";
}

void mixture_journal::add(mixture_edit e) {
  std::uint64_t after = 0;
  const std::string line = line_of(e, edits_.size() + 1, hashes_.empty() ? pipeline_ : hashes_.back(), after);
  edits_.reserve(edits_.size() + 1);
  hashes_.reserve(hashes_.size() + 1);
  if (file_) {
    const bool there = has_next(after);  // by another rank
    int fault = there ? 0 : file_->add(line);
    const bool written = fault == 0;
    if (written) fault = file_->sync();
    if (fault != 0) {
      throw error(printable(path_) + ": journal_file: an edit can't be " +
                  (written ? "brought to the disk" : "written") + ": " +
                  std::generic_category().message(fault) + "; the mixture is as it was" +
                  (written ? ", but the file may have the edit: make it again, or begin a new journal" : ""));
    }
    if (!has_next(after)) {
      throw error(printable(path_) + ": journal_file: an edit was written and is not there; the mixture is " +
                  "as it was. Leave the file alone while it is trained on");
    }
  }
  edits_.push_back(std::move(e));
  hashes_.push_back(after);
}

bool mixture_journal::has_next(std::uint64_t hash) {
  read_on(path_, true, in_file_);
  if (in_file_.edits.size() <= edits_.size()) return false;
  if (in_file_.hashes[edits_.size()] == hash) return true;
  const mixture_edit& other = in_file_.edits[edits_.size()];
  throw error(
      printable(path_) + ": journal_file: another process has made edit " +
      std::to_string(edits_.size() + 1) + " for " + place_name(other.epoch, other.batch) +
      ", and this one has another; the mixture is as it was. Make the same edits on all ranks, in the "
      "same order, and give another training a journal of its own");
}

void mixture_journal::refuse(const std::string& path, std::size_t line, const std::string& what) const {
  throw error(printable(path) + ": journal: line " + std::to_string(line) + " " + what);
}

void mixture_journal::read_on(const std::string& path, bool of_this_run, contents& to) const {
  std::optional<std::string> text = journal_text(path, to.bytes);
  if (!text) {  // cut off since, or another file: read it from its beginning
    to = {};
    text = journal_text(path, 0);
  }
  for (std::size_t at = 0; at < text->size();) {
    const std::size_t end = text->find('\n', at);
    if (end == std::string::npos) break;  // torn by a kill: the edit was never said to hold
    read_line(path, std::string_view(*text).substr(at, end - at), of_this_run, to);
    ++to.lines;
    to.bytes += end + 1 - at;
    at = end + 1;
  }
}

void mixture_journal::read_line(const std::string& path, std::string_view line, bool of_this_run,
                                contents& to) const {
  const std::size_t number = to.lines + 1;
  // A torn line, ended by the writer of the next; when an edit is lost, the next one's number shows it.
  const bool of_line = line.starts_with(journal_head.substr(0, line.size())) || line.starts_with('\0');
  if (of_line && !line.ends_with(line_end)) return;
  line_reader r(line);
  if (line.starts_with("{\"journal\"") || !to.begun) {
    r.skip(first_words);
    const std::uint64_t of = r.number(16);
    r.skip("\",\"seed\":\"");
    const std::uint64_t seed = r.number();
    r.skip(line_end);
    if (!r.good()) refuse(path, number, "is not the beginning of a journal; is it the right file?");
    if (of != pipeline_) {
      refuse(path, number,
             "says that it is of another data set, pipeline or global batch (" + hex(of) +
                 ", this loader's is " + hex(pipeline_) + "); give a file of this training, or a new one");
    }
    if (of_this_run && seed != seed_) {
      refuse(path, number,
             "says that it is of another run, with seed " + std::to_string(seed) + ", and this one has " +
                 std::to_string(seed_) +
                 "; give a file of this training, or a new one, and replay_edits() that one into it");
    }
    to.begun = true;
    return;
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
  // Several ranks with one file have written the same edit, or another one that came too late.
  const bool again = r.good() && edit != 0 && edit <= to.edits.size();
  const std::size_t place = again ? edit - 1 : to.edits.size();
  std::uint64_t after = 0;
  if (!r.good() || edit != place + 1 ||
      line != line_of(e, place + 1, place == 0 ? pipeline_ : to.hashes[place - 1], after)) {
    refuse(path, number,
           "is damaged, is missing one before it, or is of another run's edits; take the file from a backup");
  }
  if (again) return;
  to.hashes.resize(place);  // where there was no memory for the edit before, the hash may be there
  to.hashes.push_back(after);
  to.edits.push_back(std::move(e));
}

std::vector<mixture_edit> mixture_journal::open(const std::string& path) {
  if (plain_file look = open_plain(path.c_str()); look.other != nullptr)
    throw error(printable(path) + ": journal_file: " + not_a_file(look.other));
  auto file = make_owned<line_file>(path.c_str(), journal_head);
  if (file->fault() != 0) {
    throw error(printable(path) +
                ": journal_file: can't be opened: " + std::generic_category().message(file->fault()) +
                "; give a path in a folder that exists and may be written to");
  }
  contents there;
  read_on(path, true, there);
  if (!there.begun) {
    int fault = file->add(std::string(first_words) + hex(pipeline_).substr(2) + "\",\"seed\":\"" +
                          std::to_string(seed_) + std::string(line_end));
    if (fault == 0) fault = file->sync();
    if (fault == 0) fault = sync_folder_of(path);
    if (fault != 0) {
      throw error(printable(path) + ": journal_file: can't be written: " +
                  std::generic_category().message(fault) + "; is there room?");
    }
  }
  std::vector<mixture_edit> out = there.edits;
  edits_ = there.edits;
  hashes_ = there.hashes;
  from_file_ = edits_.size();
  path_ = path;
  in_file_ = std::move(there);
  file_ = std::move(file);
  return out;
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
                "; give loader_options::journal_file the training's journal, or replay_edits() it before");
  }
  if (s.edits != 0 && hashes_[s.edits - 1] != s.journal) {
    throw error("load_state: the state was written behind other edits of the mixture than this loader has (" +
                std::to_string(s.edits) + " of them differ); give the journal of the same training");
  }
  for (std::size_t i = static_cast<std::size_t>(s.edits); i < edits_.size(); ++i) {
    const mixture_edit& e = edits_[i];
    if (place{e.epoch, e.batch} >= place{s.epoch, s.batch}) continue;
    throw error(
        "load_state: the mixture was edited at " + place_name(e.epoch, e.batch) +
        " after the state was written, which stands behind that, at " + place_name(s.epoch, s.batch) +
        ": its batches were of another order; load a state that is not behind the edit, or give a copy "
        "of the journal without its last lines");
  }
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
      "journal, or replay_edits() it before");
}

}  // namespace wick::detail
