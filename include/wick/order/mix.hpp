/// \file
/// mix({source, weight}…): several sources interleaved by weight.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/order/concat.hpp>
#include <wick/order/order.hpp>
#include <wick/pipeline/pipeline.hpp>
#include <wick/sample/error.hpp>
#include <wick/sample/fingerprint.hpp>
#include <wick/sample/stage.hpp>

namespace wick {

/// When an epoch of a mix ends.
enum class mix_until {
  first_exhausted,  ///< as soon as a source would begin anew: no sample twice
  all_exhausted,    ///< when each source was gone through once; the others begin anew meanwhile
  forever           ///< never (2^48 positions); each source begins anew as often as needed
};

namespace detail {

/// Each source's share of what those before it leave, but for the last one's, in fractions of 2^64. A weight
/// of 0 has no turns. \throws wick::error for a weight that is not finite and at least 0, or when all are 0
void shares_of(std::span<const double> weights, std::span<std::uint64_t> shares);

/// Whose turn is it? A cascade of evenly spaced choices: the first source takes its share of the positions,
/// as evenly as whole numbers can be, the second its share of what is left, … Any position is reached at
/// once, and the number of a source's turns before it comes with it. Shares are fractions of 2^64, so that
/// every machine counts alike.
template <std::size_t N>
class interleave {
 public:
  struct turn {
    std::size_t source;
    std::uint64_t number;  // of this source's turns, from 0
  };

  explicit interleave(const std::array<double, N>& weights) { shares_of(weights, share_); }

  turn at(std::uint64_t p) const noexcept {
    for (std::size_t s = 0; s + 1 < N; ++s) {
      const std::uint64_t before = turns(s, p);
      if (turns(s, p + 1) != before) return {s, before};
      p -= before;
    }
    return {N - 1, p};
  }
  /// How many of the positions below p are source s's.
  std::uint64_t count(std::size_t s, std::uint64_t p) const noexcept {
    for (std::size_t i = 0; i < s; ++i) p -= turns(i, p);
    return s + 1 == N ? p : turns(s, p);
  }
  /// The lowest p ≤ endless with at least `n` turns of source s below it.
  std::uint64_t positions_for(std::size_t s, std::uint64_t n) const noexcept {
    std::uint64_t low = 0, high = endless;
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      if (count(s, middle) >= n)
        high = middle;
      else
        low = middle + 1;
    }
    return low;
  }

 private:
  /// p · share, rounded: its steps are 0 or 1, and half a period stands at the beginning.
  std::uint64_t turns(std::size_t s, std::uint64_t p) const noexcept {
    __extension__ using wide = unsigned __int128;
    return static_cast<std::uint64_t>((static_cast<wide>(p) * share_[s] + (std::uint64_t{1} << 63)) >> 64);
  }
  std::array<std::uint64_t, N> share_{};
};

/// A source with order stages of its own.
template <class Source, class... Order>
class mix_part {
 public:
  mix_part(const Source& from, std::tuple<Order...> order) : stages_(std::move(order)), all_(from.size()) {
    std::uint64_t n = all_;
    each([&](std::size_t i, const auto& s) {
      before_[i] = n;
      n = s.size(n);
    });
    size_ = n;
  }
  std::uint64_t size() const noexcept { return size_; }  // of one pass
  std::uint64_t all() const noexcept { return all_; }    // of the source
  void add_to(fingerprint_hash& h) const {
    h.add(size_);
    each([&](std::size_t, const auto& s) {
      h.add(s.name);
      if constexpr (requires { s.fingerprint(); }) h.add(s.fingerprint());
    });
  }

  /// The functions of one pass.
  auto prepare(std::uint64_t seed, std::uint64_t epoch, std::uint32_t stage) const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return std::tuple{
          std::get<I>(stages_).prepare(before_[I], seed, epoch, stage + static_cast<std::uint32_t>(I))...};
    }(std::index_sequence_for<Order...>{});
  }

 private:
  template <class F>
  void each(F&& f) const {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (f(I, std::get<I>(stages_)), ...);
    }(std::index_sequence_for<Order...>{});
  }
  std::tuple<Order...> stages_;
  std::array<std::uint64_t, sizeof...(Order) + 1> before_{};
  std::uint64_t all_, size_ = 0;
};

/// \throws wick::error for a name that two sources have, or of other characters than letters, digits, and
/// "._-/"
void check_names(std::span<const std::string> names);

/// The order of a mix over the sources end to end.
template <class... Parts>
class mix_stage {
  static constexpr std::size_t parts = sizeof...(Parts);
  struct table {
    std::tuple<Parts...> part;
    std::array<double, parts> weights;
    std::array<std::string, parts> names;
    mix_until until;
    std::array<std::uint64_t, parts> begin{};  // in the joined source
    std::uint64_t all = 0;
  };
  /// Positions of an epoch that have the same weights.
  struct segment {
    std::uint64_t begin;                      // its first position
    std::array<std::uint64_t, parts> before;  // turns that each source has had by then
    interleave<parts> turns;
    std::uint64_t end;  // of the epoch, if no edit comes behind
  };
  using segments = std::vector<segment>;
  struct edit_at {
    std::uint64_t epoch, position;
    std::array<double, parts> weights;
  };

 public:
  using stage_kind = on_order;
  using stage_hooks = hooks<hook::fingerprint>;
  static constexpr std::string_view name = "mix";
  static constexpr bool takes_edits = true;

  mix_stage(std::tuple<Parts...> part, const std::array<double, parts>& weights,
            std::array<std::string, parts> names, mix_until until) {
    check_names(names);
    auto t = std::make_shared<table>(table{std::move(part), weights, std::move(names), until});
    each(*t, [&](std::size_t i, const auto& p) {
      if (p.size() == 0)
        throw error("mix: source " + std::to_string(i) + " (counted from 0) is empty; leave it out");
      t->begin[i] = t->all;
      t->all += p.all();
    });
    table_ = std::move(t);
    size_ = size_in(0);
  }

  /// Without any edit.
  std::uint64_t size(std::uint64_t) const noexcept { return size_; }

  // ---- edits; the copy of the loader that makes them ----

  std::span<const std::string> names() const noexcept { return table_->names; }
  std::span<const double> weights() const noexcept { return table_->weights; }  // without any edit
  /// From this position of this epoch on, and in all later ones. Not before the last edit.
  void edit(std::uint64_t epoch, std::uint64_t position, std::span<const double> weights) {
    edit_at e{epoch, position, {}};
    std::copy(weights.begin(), weights.end(), e.weights.begin());
    edits_.push_back(e);
  }
  void take_back_edit() noexcept { edits_.pop_back(); }
  /// The positions of an epoch.
  std::uint64_t size_in(std::uint64_t epoch) const { return segments_of(epoch).back().end; }
  std::uint64_t fingerprint() const {
    fingerprint_hash h;
    h.add(static_cast<std::uint64_t>(table_->until)).add(table_->weights.data(), sizeof(table_->weights));
    each(*table_, [&](std::size_t, const auto& p) { p.add_to(h); });
    return h.value();
  }

  /// The functions of each part's first pass; those of a later one are set up for each position asked.
  class mixed {
   public:
    mixed() = default;
    std::uint64_t operator()(std::uint64_t p) const noexcept { return at(p, segment_of(p)); }
    /// Any position of the epoch as it was known at `position`: edits that come behind don't count.
    template <class Stream>
    std::uint64_t substitute(std::uint64_t position, Stream& stream) const {
      const segment& s = segment_of(position);
      const std::uint64_t p = stream.below(s.end);
      return at(p, p < s.begin ? segment_of(p) : s);
    }

   private:
    friend class mix_stage;
    mixed(std::shared_ptr<const table> t, segments of, std::uint64_t seed, std::uint64_t epoch,
          std::uint32_t stage)
        : table_(std::move(t)),
          segments_(std::make_shared<const segments>(std::move(of))),
          seed_(seed),
          epoch_(epoch),
          stage_(stage),
          first_(first(std::index_sequence_for<Parts...>{})) {}

    const segment& segment_of(std::uint64_t p) const noexcept {
      std::size_t i = segments_->size() - 1;
      while ((*segments_)[i].begin > p) --i;
      return (*segments_)[i];
    }
    std::uint64_t at(std::uint64_t p, const segment& in) const noexcept {
      const auto turn = in.turns.at(p - in.begin);
      return find<0>(turn.source, in.before[turn.source] + turn.number);
    }
    template <std::size_t... I>
    auto first(std::index_sequence<I...>) const {
      return std::tuple{std::get<I>(table_->part).prepare(seed_of(I, 0), epoch_, stage_)...};
    }
    template <std::size_t I>
    std::uint64_t find(std::size_t source, std::uint64_t number) const noexcept {
      if constexpr (I + 1 < parts) {
        if (source != I) return find<I + 1>(source, number);
      }
      const auto& part = std::get<I>(table_->part);
      if (number < part.size()) return table_->begin[I] + detail::index_behind(std::get<I>(first_), number);
      const std::uint64_t pass = number / part.size();
      return table_->begin[I] +
             detail::index_behind(part.prepare(seed_of(I, pass), epoch_, stage_), number % part.size());
    }
    std::uint64_t seed_of(std::uint64_t source, std::uint64_t pass) const noexcept {
      return fingerprint_hash().add(seed_).add(source).add(pass).value();
    }

    std::shared_ptr<const table> table_;
    std::shared_ptr<const segments> segments_;
    std::uint64_t seed_ = 0, epoch_ = 0;
    std::uint32_t stage_ = 0;
    std::tuple<decltype(std::declval<const Parts&>().prepare(0, 0, 0u))...> first_;
  };
  mixed prepare(std::uint64_t, std::uint64_t seed, std::uint64_t epoch, std::uint32_t stage) const {
    return mixed(table_, segments_of(epoch), seed, epoch, stage);
  }

 private:
  template <class F>
  static void each(const table& t, F&& f) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (f(I, std::get<I>(t.part)), ...);
    }(std::index_sequence_for<Parts...>{});
  }
  segments segments_of(std::uint64_t epoch) const {
    const std::array<double, parts>* weights = &table_->weights;
    for (const edit_at& e : edits_) {
      if (e.epoch < epoch) weights = &e.weights;
    }
    segments out{begin_at(0, {}, *weights)};
    for (const edit_at& e : edits_) {
      if (e.epoch != epoch) continue;
      const segment& last = out.back();
      std::array<std::uint64_t, parts> before = last.before;
      for (std::size_t s = 0; s < parts; ++s) before[s] += last.turns.count(s, e.position - last.begin);
      segment next = begin_at(e.position, before, e.weights);
      out.push_back(next);
    }
    return out;
  }
  /// Sources go on where they stood. One without a weight neither ends the epoch nor is waited for.
  segment begin_at(std::uint64_t p, const std::array<std::uint64_t, parts>& before,
                   const std::array<double, parts>& weights) const {
    segment out{p, before, interleave<parts>(weights), 0};
    std::uint64_t more = table_->until == mix_until::all_exhausted ? 0 : endless;
    each(*table_, [&](std::size_t i, const auto& part) {
      if (weights[i] == 0) return;
      const std::uint64_t left = part.size() - std::min(part.size(), before[i]);
      // The turn that would begin source i anew is not taken any more.
      if (table_->until == mix_until::first_exhausted)
        more = std::min(more, out.turns.positions_for(i, left + 1) - 1);
      if (table_->until == mix_until::all_exhausted) more = std::max(more, out.turns.positions_for(i, left));
    });
    out.end = p + std::min(more, endless - std::min(p, endless));
    return out;
  }

  std::shared_ptr<const table> table_;
  std::vector<edit_at> edits_;  // by rising epoch and position
  std::uint64_t size_ = 0;
};

}  // namespace detail

/// A source, or a source with order stages (`images | shuffle()`), and how often it has its turn.
template <class Part>
struct weighted_source {
  Part part;      ///< the source, with its order stages
  double weight;  ///< its share of the turns, of the sum of all weights; 0: none until loader.edit() says so
  std::string name = {};  ///< for loader.edit(); without one it is the source's number, from 0
};
template <class Part>
weighted_source(Part, double) -> weighted_source<Part>;
template <class Part>
weighted_source(Part, double, std::string) -> weighted_source<Part>;

namespace detail {

template <class T>
inline constexpr bool can_be_mixed = source<T>;
template <class Src, class... S>
inline constexpr bool can_be_mixed<pipeline<Src, S...>> =
    only_order_stages<S...> && !(std::is_same_v<S, shard_stage> || ...);

template <class T>
decltype(auto) source_of(T& part) {
  if constexpr (is_pipeline<T>)
    return (part.origin);
  else
    return (part);
}
template <class Src, class... S>
mix_part<Src, S...> part_of(const pipeline<Src, S...>& p) {
  return {p.origin, p.stages};
}
template <source Src>
mix_part<Src> part_of(const Src& s) {
  return {s, {}};
}
/// Those without a name are called by their number.
template <std::size_t N>
std::array<std::string, N> numbered(std::array<std::string, N> names) {
  for (std::size_t i = 0; i < N; ++i) {
    if (names[i].empty()) names[i] = std::to_string(i);
  }
  return names;
}
}  // namespace detail

/// Several sources interleaved by weight:
/// `mix(mix_until::all_exhausted, weighted_source{images | shuffle(), 3}, weighted_source{drawings, 1})` is
/// three images, then a drawing, … A source has its turns as evenly as its weight allows, whatever is
/// prefetched, and goes through its samples in the order it has itself, another one each time it begins anew.
/// `| shuffle()` behind mix() shuffles the whole. A mix can be sharded as any source can.
/// Weights can be changed while it is trained on: see loader.edit().
/// \throws wick::error for a weight below 0, when all are 0, or for an empty source
template <class... Parts>
  requires(sizeof...(Parts) > 0)
auto mix(mix_until until, weighted_source<Parts>... each) {
  static_assert((detail::can_be_mixed<Parts> && ...),
                "wick: mix() takes sources, or sources with order stages (shuffle, take, …): read(), "
                "decode() and all else "
                "that works on samples, and shard(), stand behind mix()");
  using stage = detail::mix_stage<decltype(detail::part_of(each.part))...>;
  stage order({detail::part_of(each.part)...}, {each.weight...},
              detail::numbered<sizeof...(Parts)>({std::move(each.name)...}), until);
  return from(detail::concat_source<std::remove_cvref_t<decltype(detail::source_of(each.part))>...>(
             std::move(detail::source_of(each.part))...)) |
         std::move(order);
}
/// The same until the first source is exhausted.
template <class... Parts>
auto mix(weighted_source<Parts>... each) {
  return mix(mix_until::first_exhausted, std::move(each)...);
}

}  // namespace wick
