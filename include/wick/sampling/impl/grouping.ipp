// Implements sampling/detail/grouping.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <bit>
#include <numeric>
#include <utility>

#include <wick/ext/fingerprint.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/sampling/detail/grouping.hpp>

namespace wick::inline v0_1::detail {

void grouping::sort(std::vector<lengthy>& samples) {
  std::stable_sort(samples.begin(), samples.end(),
                   [](const lengthy& a, const lengthy& b) { return a.length > b.length; });
}

/// A set of numbers up to a bound that finds the least one not below a given number: words of bits, and a bit
/// for each word that isn't empty.
class number_set {
 public:
  explicit number_set(std::uint32_t bound) : words_(bound / 64 + 1), marks_(words_.size() / 64 + 1) {}
  void insert(std::uint32_t n) noexcept {
    words_[n / 64] |= bit(n);
    marks_[n / 4096] |= bit(n / 64);
  }
  void erase(std::uint32_t n) noexcept {
    words_[n / 64] &= ~bit(n);
    if (words_[n / 64] == 0) marks_[n / 4096] &= ~bit(n / 64);
  }
  static constexpr std::uint32_t none = ~std::uint32_t{0};
  std::uint32_t from(std::uint32_t n) const noexcept {
    if (const std::uint64_t rest = words_[n / 64] & (~std::uint64_t{0} << n % 64); rest != 0) {
      return n / 64 * 64 + static_cast<std::uint32_t>(std::countr_zero(rest));
    }
    const std::uint32_t next = n / 64 + 1;
    for (std::uint32_t m = next / 64; m < marks_.size(); ++m) {
      const std::uint64_t here = m == next / 64 ? marks_[m] & (~std::uint64_t{0} << next % 64) : marks_[m];
      if (here == 0) continue;
      const std::uint32_t word = m * 64 + static_cast<std::uint32_t>(std::countr_zero(here));
      return word * 64 + static_cast<std::uint32_t>(std::countr_zero(words_[word]));
    }
    return none;
  }

 private:
  static std::uint64_t bit(std::uint32_t n) noexcept { return std::uint64_t{1} << n % 64; }
  std::vector<std::uint64_t> words_, marks_;
};

/// Rows of one length that are being filled.
class open_rows {
 public:
  explicit open_rows(std::uint32_t length)
      : length_(length), first_(std::size_t{length} + 1, none), there_(length) {}
  static constexpr std::uint32_t none = number_set::none;

  /// Puts `want` into the row where it leaves the least room; returns that row, or `none`.
  std::uint32_t take(std::uint32_t want) {
    const std::uint32_t fits = there_.from(want);
    if (fits == none) return none;
    const std::uint32_t row = first_[fits];
    first_[fits] = next_[row];
    if (first_[fits] == none) there_.erase(fits);
    fill(row, want);
    return row;
  }
  /// Begins a new row with `want`.
  std::uint32_t begin(std::uint32_t want) {
    const auto row = static_cast<std::uint32_t>(room_.size());
    room_.push_back(length_);
    next_.push_back(none);
    count_.push_back(0);
    fill(row, want);
    return row;
  }
  /// Closes the existing rows: nothing more goes into them.
  void close() {
    for (std::uint32_t left = there_.from(0); left != none; left = there_.from(left)) {
      first_[left] = none;
      there_.erase(left);
    }
  }
  std::uint64_t size() const noexcept { return room_.size(); }
  /// How many samples each row has.
  const std::vector<std::uint32_t>& count() const noexcept { return count_; }

 private:
  void fill(std::uint32_t row, std::uint32_t want) {
    ++count_[row];
    const std::uint32_t left = room_[row] -= want;
    if (left == 0) return;
    if (first_[left] == none) there_.insert(left);
    next_[row] = std::exchange(first_[left], row);
  }

  std::uint32_t length_;
  std::vector<std::uint32_t> room_, next_, count_;  // next: another row with as much room
  std::vector<std::uint32_t> first_;
  number_set there_;
};

grouping grouping::rows(std::vector<lengthy> sorted, std::uint32_t length) {
  numbers row_of(sorted.size());
  open_rows open(length);
  for (std::size_t s = 0; s < sorted.size(); ++s) {
    row_of[s] = open.take(sorted[s].length);
    if (row_of[s] == open_rows::none) row_of[s] = open.begin(sorted[s].length);
  }
  return of_rows(std::move(sorted), row_of, open.count());
}

grouping grouping::rows_in_order(std::vector<lengthy> samples, std::uint32_t length, std::uint64_t rows) {
  constexpr std::size_t most_waiting = 64;
  const std::size_t n = samples.size();
  numbers row_of(n), waiting, still;
  open_rows open(length);
  std::uint64_t end = rows;  // the end of this batch's rows
  const auto place = [&](std::uint32_t s) {
    row_of[s] = open.take(samples[s].length);
    if (row_of[s] != open_rows::none) return true;
    if (open.size() == end) return false;
    row_of[s] = open.begin(samples[s].length);
    return true;
  };
  for (std::uint32_t s = 0; s < n || !waiting.empty();) {
    // The oldest first, so that none waits for more than 64 batches; then the longest, which fits in the
    // fewest places.
    if (waiting.size() > 2) {
      std::stable_sort(waiting.begin() + 1, waiting.end(), [&](std::uint32_t a, std::uint32_t b) {
        return samples[a].length > samples[b].length;
      });
    }
    still.clear();
    for (const std::uint32_t w : waiting) {
      if (!place(w)) still.push_back(w);
    }
    std::sort(still.begin(), still.end());
    waiting.swap(still);
    for (; s < n && waiting.size() < most_waiting; ++s) {
      if (!place(s)) waiting.push_back(s);
    }
    open.close();
    end += rows;
  }
  // Sorted by length, as sort() does; each keeps its row.
  numbers by_length(n);
  std::iota(by_length.begin(), by_length.end(), std::uint32_t{0});
  std::stable_sort(by_length.begin(), by_length.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return samples[a].length > samples[b].length; });
  std::vector<lengthy> sorted(n);
  numbers sorted_row(n);
  for (std::size_t i = 0; i < n; ++i) {
    sorted[i] = samples[by_length[i]];
    sorted_row[i] = row_of[by_length[i]];
  }
  return of_rows(std::move(sorted), sorted_row, open.count());
}

grouping grouping::of_rows(std::vector<lengthy> sorted, const numbers& row_of, const numbers& count) {
  grouping out;
  const std::size_t n = sorted.size();
  out.group_begin_.assign(count.size() + 1, 0);
  for (std::size_t r = 0; r < count.size(); ++r) out.group_begin_[r + 1] = out.group_begin_[r] + count[r];
  out.at_place_.resize(n);
  numbers at(out.group_begin_.begin(), out.group_begin_.end());
  for (std::size_t s = 0; s < n; ++s) out.at_place_[at[row_of[s]]++] = static_cast<std::uint32_t>(s);
  for (std::size_t s = 0; s < n; ++s) {
    if (s == 0 || sorted[s].length != sorted[s - 1].length) {
      out.class_begin_.push_back(static_cast<std::uint32_t>(s));
    }
  }
  out.class_begin_.push_back(static_cast<std::uint32_t>(n));
  out.samples_ = std::move(sorted);
  out.smallest_full_ = 1;
  return out;
}

grouping grouping::buckets(std::vector<lengthy> sorted, std::uint64_t most, std::uint64_t tokens,
                           std::uint64_t multiple) {
  grouping out;
  const std::uint64_t n = sorted.size();
  const auto fit = [&](std::uint64_t s) {
    const std::uint64_t longest = std::max<std::uint64_t>(sorted[s].length, 1);
    const std::uint64_t size = tokens == 0 ? most : std::min(most, tokens / longest);
    return size < multiple ? size : size / multiple * multiple;
  };
  out.smallest_full_ = fit(0);
  for (std::uint64_t s = 0; s < n;) {
    out.class_begin_.push_back(static_cast<std::uint32_t>(s));
    const std::uint64_t size = fit(s), longest = sorted[s].length;
    std::uint64_t alike = s;
    while (alike < n && std::uint64_t{sorted[alike].length} * 8 >= longest * 7) ++alike;
    if (n - alike < 4 * size) alike = n;  // few and short: dropped samples are then drawn from more
    out.last_full_ = size;
    const std::uint64_t last = std::min(n, s + (alike - s + size - 1) / size * size);
    for (; s < last; s += size) out.group_begin_.push_back(static_cast<std::uint32_t>(s));
    s = last;
  }
  out.class_begin_.push_back(static_cast<std::uint32_t>(n));
  out.group_begin_.push_back(static_cast<std::uint32_t>(n));
  out.samples_ = std::move(sorted);
  return out;
}

void grouping::drop_short() {
  const std::size_t g = groups();
  if (g != 0 && group_begin_[g] - group_begin_[g - 1] < last_full_) group_begin_.pop_back();
}

std::uint64_t grouping::largest(std::uint64_t count) const {
  numbers sizes(groups());
  for (std::size_t g = 0; g < sizes.size(); ++g) sizes[g] = group_begin_[g + 1] - group_begin_[g];
  count = std::min<std::uint64_t>(count, sizes.size());
  std::partial_sort(sizes.begin(), sizes.begin() + static_cast<std::ptrdiff_t>(count), sizes.end(),
                    [](std::uint32_t a, std::uint32_t b) { return a > b; });
  std::uint64_t sum = 0;
  for (std::size_t g = 0; g < count; ++g) sum += sizes[g];
  return sum;
}

permutation exchange_of(std::uint64_t which, std::uint64_t size, std::uint64_t seed, std::uint64_t epoch,
                        std::uint32_t stage) noexcept {
  return permutation(size, fingerprint_hash().add(seed).add(which + 1).value(), epoch, stage);
}
constexpr std::uint64_t most_kept = 4096;

grouped_epoch::grouped_epoch(std::shared_ptr<const grouping> of, bool shuffled, std::uint64_t seed,
                             std::uint64_t number, std::uint32_t stage)
    : kept_alive_(std::move(of)),
      of_(*kept_alive_),
      shuffled_(shuffled),
      seed_(seed),
      number_(number),
      stage_(stage) {
  const std::uint64_t groups = of_.groups();
  begins_.resize(groups + 1);
  if (!shuffled) {
    std::copy(of_.group_begin_.begin(), of_.group_begin_.end(), begins_.begin());
    return;
  }
  order_ = permutation(groups, seed, number, stage);
  const std::uint64_t classes = std::min<std::uint64_t>(of_.class_begin_.size() - 1, most_kept);
  kept_.reserve(classes);
  for (std::uint64_t c = 0; c < classes; ++c) {
    kept_.push_back(exchange_of(c, of_.class_begin_[c + 1] - of_.class_begin_[c], seed, number, stage));
  }
  constexpr std::uint64_t stride = 64;
  std::uint64_t which[stride];
  std::uint32_t position = 0;
  for (std::uint64_t g = 0; g < groups; g += stride) {
    const std::uint64_t n = std::min(stride, groups - g);
    for (std::uint64_t i = 0; i < n; ++i) which[i] = g + i;
    order_.map(which, n);
    for (std::uint64_t i = 0; i < n; ++i) {
      begins_[g + i] = position;
      position += of_.group_begin_[which[i] + 1] - of_.group_begin_[which[i]];
    }
  }
  begins_[groups] = position;
}

std::uint64_t grouped_epoch::group_of(std::uint64_t position) const noexcept {
  const auto next = std::upper_bound(begins_.begin(), begins_.end(), position);
  return static_cast<std::uint64_t>(next - begins_.begin()) - 1;
}

std::uint64_t grouped_epoch::place(std::uint64_t group, std::uint64_t position) const noexcept {
  const std::uint64_t where = shuffled_ ? order_(group) : group;
  const std::uint64_t at = of_.group_begin_[where] + (position - begins_[group]);
  return of_.at_place_.empty() ? at : of_.at_place_[at];
}

std::uint64_t grouped_epoch::class_of(std::uint64_t sample) const noexcept {
  const auto next = std::upper_bound(of_.class_begin_.begin(), of_.class_begin_.end(), sample);
  return static_cast<std::uint64_t>(next - of_.class_begin_.begin()) - 1;
}

const lengthy& grouped_epoch::sample(std::uint64_t group, std::uint64_t position) const noexcept {
  const std::uint64_t s = place(group, position);
  if (!shuffled_) return of_.samples_[s];
  const std::uint64_t c = class_of(s), begin = of_.class_begin_[c];
  const std::uint64_t size = of_.class_begin_[c + 1] - begin;
  if (size == 1) return of_.samples_[s];
  const std::uint64_t other =
      c < kept_.size() ? kept_[c](s - begin) : exchange_of(c, size, seed_, number_, stage_)(s - begin);
  return of_.samples_[begin + other];
}

void grouped_epoch::indexes(std::uint64_t first, std::uint64_t count, std::uint64_t* out) const noexcept {
  std::uint64_t group = group_of(first);
  for (std::uint64_t i = 0; i < count; ++i) {
    while (first + i >= begins_[group + 1]) ++group;
    out[i] = sample(group, first + i).index;
  }
}

std::uint64_t grouped_epoch::alike(std::uint64_t position) const noexcept {
  const std::uint64_t c = class_of(place(group_of(position), position));
  return of_.class_begin_[c + 1] - of_.class_begin_[c];
}
std::uint64_t grouped_epoch::alike(std::uint64_t position, std::uint64_t which) const noexcept {
  const std::uint64_t group = group_of(position), c = class_of(place(group, position));
  const lengthy& planned = sample(group, position);
  const lengthy* const all = of_.samples_.data() + of_.class_begin_[c];
  const std::uint64_t size = of_.class_begin_[c + 1] - of_.class_begin_[c];
  // The part that pack() has cut off must be as long, too. The planned sample's is, so this ends.
  const auto cut = [](const lengthy& l) { return l.whole - l.length; };
  while (cut(all[which]) != cut(planned)) which = which + 1 < size ? which + 1 : 0;
  return all[which].index;
}

}  // namespace wick::detail
