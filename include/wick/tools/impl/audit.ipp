// Implements tools/audit.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <wick/failures/detail/error_account.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/resume/detail/delivery_log.hpp>
#include <wick/resume/detail/state.hpp>
#include <wick/tools/audit.hpp>

namespace wick::inline v0_1 {

namespace detail {

namespace {

constexpr std::size_t most_problems = 100;

/// A batch's place in the whole training.
struct batch_place {
  std::uint64_t epoch = 0, batch = 0;
  friend auto operator<=>(const batch_place&, const batch_place&) = default;
};

std::string name_of(const batch_place& p) {
  return "batch " + std::to_string(p.batch) + " of epoch " + std::to_string(p.epoch);
}

/// The shares of a batch that the ranks of one world size have had.
struct shares {
  std::uint64_t data = 0, source = 0, world = 1;
  std::map<std::uint64_t, delivered_batch> of_rank;

  bool complete() const noexcept { return of_rank.size() == world; }
  /// Of all ranks together.
  delivered_batch sum() const noexcept {
    delivered_batch out;
    for (const auto& [rank, share] : of_rank) {
      out.batches = share.batches;
      out.count += share.count;
      out.samples += share.samples;
      out.replaced += share.replaced;
      out.order_hash += share.order_hash;
      out.samples_hash += share.samples_hash;
    }
    return out;
  }
  /// The first rank that hasn't had the batch.
  std::uint64_t missing() const noexcept {
    std::uint64_t rank = 0;
    while (of_rank.contains(rank)) ++rank;
    return rank;
  }
};

/// For example, "their samples differ"
const char* difference(const delivered_batch& a, const delivered_batch& b) noexcept {
  if (a.count != b.count) return "their numbers of samples differ";
  if (a.samples_hash != b.samples_hash || a.samples != b.samples || a.replaced != b.replaced)
    return "their samples differ";
  return "their samples are the same, but the order or the content differs";
}

std::string counted(std::uint64_t n, const char* one, const char* more) {
  return std::to_string(n) + " " + (n == 1 ? one : more);
}

class auditor {
 public:
  explicit auditor(const audit_options& options) noexcept : options_(options) {}

  void read(const std::string& file) {
    std::ifstream in(file, std::ios::binary);
    if (!in) throw error(printable(file) + ": can't be read; give the files of delivery_log_file");
    ++out_.logs;
    std::uint64_t number = 0;
    for (std::string line; std::getline(in, line);) {
      const std::string where = printable(file) + ":" + std::to_string(++number);
      if (auto b = read_delivered_batch(line))
        add(where, *b);
      else if (auto s = read_delivery_start(line))
        start(where, *s);
      else if (!std::string_view(line).starts_with(delivery_head) && !delivery_head.starts_with(line))
        throw error(where + ": this isn't a line of a delivery log; give the files of delivery_log_file");
      // Otherwise it is a partial line that a kill has left. If lines are missing, the next one shows it.
    }
    if (in.bad()) throw error(printable(file) + ": can't be read to its end");
  }

  audit_report finish() {
    if (out_.attempts.empty() && batches_.empty())
      throw error("wick-audit: the logs are empty: no batch was handed over");
    compare_attempts();
    const std::optional<batch_place> last = last_complete();
    if (!last)
      problem("no batch was handed to all of its ranks: give the logs of all ranks");
    else
      cover(*last);
    return std::move(out_);
  }

 private:
  /// The progress of a loader's lines.
  struct writer {
    delivery_start is;
    batch_place next;
  };

  void start(const std::string& where, const delivery_start& s) {
    if (s.world == 0 || s.rank >= s.world)
      throw error(where + ": rank " + std::to_string(s.rank) + " of " + std::to_string(s.world) +
                  " ranks makes no sense; the log is damaged");
    if (writers_.empty()) {
      first_ = s;
      out_.seed = s.seed;
      out_.batch_size = s.batch_size;
      begin_ = {s.epoch, s.batch};
    } else if (!s.same_training(first_)) {
      throw error(where + ": this loader has seed " + std::to_string(s.seed) + ", batches of " +
                  std::to_string(s.batch_size) + " and content_fingerprint " +
                  (s.content != 0 ? "on" : "off") + ", the first one seed " + std::to_string(first_.seed) +
                  ", batches of " + std::to_string(first_.batch_size) + " and content_fingerprint " +
                  (first_.content != 0 ? "on" : "off") +
                  "; give the logs of one training, and another loader a file of its own");
    }
    const batch_place from{s.epoch, s.batch};
    begin_ = std::min(begin_, from);
    writers_[s.loader] = {s, from};
    if (s.rank == 0) out_.attempts.push_back({s.epoch, s.batch, s.world, 0});
  }

  void add(const std::string& where, const delivered_batch& b) {
    const auto found = writers_.find(b.loader);
    if (found == writers_.end()) {
      problem(where + ": the loader's first line is missing, so its batches don't count");
      return;
    }
    writer& by = found->second;
    const batch_place here{b.epoch, b.batch};
    if (here != by.next) {
      problem(where + ": rank " + std::to_string(by.is.rank) + " of " + std::to_string(by.is.world) +
              " has " + name_of(here) + " where " + name_of(by.next) + " comes next: lines are missing");
    }
    by.next = b.batch + 1 < b.batches ? batch_place{b.epoch, b.batch + 1} : batch_place{b.epoch + 1, 0};
    shares& of = batches_[here][by.is.world];
    of.world = by.is.world;
    const auto [share, first] = of.of_rank.try_emplace(by.is.rank, b);
    if (by.is.rank == 0 && !out_.attempts.empty() && (!first || batches_[here].size() > 1))
      ++out_.attempts.back().again;
    if (of.data == 0 && of.source == 0) {
      of.data = by.is.data;
      of.source = by.is.source;
    } else if (of.data != by.is.data || of.source != by.is.source) {
      problem(where + ": " + name_of(here) + " is of other data than on another rank, or before");
    }
    if (first) return;
    again_.insert(here);
    if (!share->second.same_samples(b)) {
      problem(where + ": rank " + std::to_string(by.is.rank) + " of " + std::to_string(by.is.world) +
              " has " + name_of(here) + " a second time, and " + difference(share->second, b));
    }
  }

  /// Checks that different world sizes had the same samples.
  void compare_attempts() {
    for (const auto& [place, of_world] : batches_) {
      std::optional<delivered_batch> before;
      std::uint64_t before_world = 0;
      for (const auto& [world, s] : of_world) {
        if (!s.complete()) continue;
        const delivered_batch now = s.sum();
        if (before) {
          again_.insert(place);
          if (!before->same_samples(now)) {
            problem(name_of(place) + ": " + std::to_string(before_world) + " and " + std::to_string(world) +
                    " ranks have had it, and " + difference(*before, now));
          }
        }
        before = now;
        before_world = world;
      }
    }
    out_.compared = again_.size();
  }

  static const shares* complete_of(const std::map<std::uint64_t, shares>& of_world) noexcept {
    for (const auto& [world, s] : of_world) {
      if (s.complete()) return &s;
    }
    return nullptr;
  }

  std::optional<batch_place> last_complete() const {
    for (auto at = batches_.rbegin(); at != batches_.rend(); ++at) {
      if (complete_of(at->second) != nullptr) return at->first;
    }
    return std::nullopt;
  }

  /// Checks that each batch from the first to `last` was handed to all ranks.
  void cover(batch_place last) {
    std::uint64_t expected = begin_.epoch;
    for (auto at = batches_.lower_bound(begin_); at != batches_.end() && at->first.epoch <= last.epoch;) {
      const std::uint64_t number = at->first.epoch;
      if (number != expected) missing_epochs(expected, number - 1);
      expected = number + 1;
      const auto end = batches_.lower_bound({number + 1, 0});
      epoch(at, end, last);
      at = end;
    }
  }

  using cursor = std::map<batch_place, std::map<std::uint64_t, shares>>::const_iterator;

  void epoch(cursor at, cursor end, batch_place last) {
    audit_report::epoch e;
    e.number = at->first.epoch;
    const bool to_its_end = e.number != last.epoch;
    std::uint64_t expected = e.number == begin_.epoch ? begin_.batch : 0;
    const bool from_its_beginning = expected == 0;
    std::uint64_t order = 0, samples_hash = 0;
    const shares* any = nullptr;
    for (; at != end && (to_its_end || at->first <= last); ++at) {
      if (at->first.batch != expected) missing_batches(e.number, expected, at->first.batch - 1);
      expected = at->first.batch + 1;
      const shares* const s = complete_of(at->second);
      if (s == nullptr) {
        for (const auto& [world, some] : at->second) {
          problem(name_of(at->first) + ": rank " + std::to_string(some.missing()) + " of " +
                  std::to_string(world) +
                  " has not had it, and no attempt has handed it to all of its ranks");
        }
        continue;
      }
      if (any != nullptr && (any->data != s->data || any->source != s->source))
        problem(name_of(at->first) + " is of other data than the batches before it");
      any = s;
      const delivered_batch b = s->sum();
      ++e.batches;
      e.of_batches = b.batches;
      e.samples += b.samples;
      e.left_out += b.count - b.samples;
      e.replaced += b.replaced;
      order += b.order_hash;
      samples_hash += b.samples_hash;
    }
    if (to_its_end && any != nullptr && expected < e.of_batches)
      missing_batches(e.number, expected, e.of_batches - 1);
    if (any != nullptr && from_its_beginning && e.batches == e.of_batches) {
      e.fingerprint = order * fingerprint_recorder::factor_of(e.number, any->data, first_.batch_size);
      e.each_once = e.samples == any->source && e.left_out == 0 && e.replaced == 0 &&
                    samples_hash == hash_of_all(any->source);
      if (options_.each_once && !e.each_once) {
        problem("epoch " + std::to_string(e.number) + ": not each sample of the source came exactly once: " +
                std::to_string(e.samples) + " came, the source has " + std::to_string(any->source) + ", " +
                std::to_string(e.left_out) + " were left out, " + std::to_string(e.replaced) + " replaced");
      }
    }
    out_.epochs.push_back(e);
  }

  std::uint64_t hash_of_all(std::uint64_t samples) {
    if (known_.first != samples) {
      known_ = {samples, 0};
      for (std::uint64_t i = 0; i < samples; ++i) known_.second += hash_of_sample(i);
    }
    return known_.second;
  }

  void missing_batches(std::uint64_t epoch, std::uint64_t from, std::uint64_t to) {
    problem((from == to ? "batch " + std::to_string(from)
                        : "batches " + std::to_string(from) + " to " + std::to_string(to)) +
            " of epoch " + std::to_string(epoch) +
            (from == to ? ": no rank has had it" : ": no rank has had them"));
  }
  void missing_epochs(std::uint64_t from, std::uint64_t to) {
    problem((from == to ? "epoch " + std::to_string(from)
                        : "epochs " + std::to_string(from) + " to " + std::to_string(to)) +
            ": no rank has had a batch");
  }
  void problem(std::string what) {
    if (out_.problems.size() < most_problems)
      out_.problems.push_back(std::move(what));
    else
      ++out_.more_problems;
  }

  const audit_options options_;
  audit_report out_;
  delivery_start first_;
  batch_place begin_;
  std::map<std::uint64_t, writer> writers_;                         // by loader
  std::map<batch_place, std::map<std::uint64_t, shares>> batches_;  // by world size
  std::set<batch_place> again_;
  std::pair<std::uint64_t, std::uint64_t> known_{0, 0};
};

}  // namespace

}  // namespace detail

audit_report audit(const std::vector<std::string>& files, const audit_options& options) {
  detail::auditor a(options);
  for (const std::string& file : files) a.read(file);
  return a.finish();
}

std::string audit_report::to_string() const {
  std::string out = detail::counted(logs, "log", "logs") + " of seed " + std::to_string(seed) +
                    ", batches of " + std::to_string(batch_size) + "\n";
  for (const attempt& a : attempts) {
    out += "  from batch " + std::to_string(a.batch) + " of epoch " + std::to_string(a.epoch) + " on " +
           detail::counted(a.ranks, "rank", "ranks");
    if (a.again != 0) out += ": " + detail::counted(a.again, "batch", "batches") + " again";
    out += "\n";
  }
  for (const epoch& e : epochs) {
    out += "epoch " + std::to_string(e.number) + ": ";
    out += e.batches == e.of_batches
               ? detail::counted(e.batches, "batch", "batches")
               : std::to_string(e.batches) + " of " + detail::counted(e.of_batches, "batch", "batches");
    out += ", " + detail::counted(e.samples, "sample", "samples");
    if (e.each_once) out += ", each of the source exactly once";
    if (e.left_out != 0) out += ", " + std::to_string(e.left_out) + " left out";
    if (e.replaced != 0) out += ", " + std::to_string(e.replaced) + " replaced";
    if (e.fingerprint != 0) out += ", fingerprint " + detail::hex(e.fingerprint);
    out += "\n";
  }
  for (const std::string& p : problems) out += "problem: " + p + "\n";
  if (more_problems != 0) out += "and " + detail::counted(more_problems, "problem", "problems") + " more\n";
  if (ok()) {
    out += "nothing lost, nothing repeated";
    if (compared != 0)
      out +=
          "; " + detail::counted(compared, "batch", "batches") + " made more than once, each time the same";
    out += "\n";
  }
  return out;
}

}  // namespace wick
