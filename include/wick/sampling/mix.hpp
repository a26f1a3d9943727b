// mix({source, weight}…): several sources interleaved by weight.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/ext/fingerprint.hpp>
#include <wick/ext/stage.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/pipeline.hpp>
#include <wick/sampling/concat.hpp>
#include <wick/sampling/detail/interleave.hpp>
#include <wick/sampling/order.hpp>

namespace wick::inline v0_1 {

/// When an epoch of a mix ends.
enum class mix_until {
  first_exhausted,  ///< as soon as a source would start over: no sample comes twice
  all_exhausted,    ///< when each source has completed a pass; sources that finish earlier start over
  forever           ///< never (2^48 positions); each source starts over as often as needed
};

namespace detail {

/// A source with order stages of its own.
template <class Source, class... Order>
class mix_part {
 public:
  mix_part(const Source& from, stage_list<Order...> order) : stages_(std::move(order)) {
    take(detail::samples_of(from));
  }

  /// Takes the current number of samples in the source.
  void take(std::uint64_t all) {
    std::uint64_t n = all;
    each([&](std::size_t i, const auto& s) {
      before_[i] = n;
      n = s.size(n);
    });
    all_ = all;
    size_ = n;
  }
  std::uint64_t size() const noexcept { return size_; }  // of one pass
  std::uint64_t all() const noexcept { return all_; }    // of the source
  /// Adds the stages to the hash. The source's fingerprint covers the number of samples.
  void add_to(fingerprint_hash& h) const {
    each([&](std::size_t, const auto& s) {
      h.add(detail::stage_name(s));
      if constexpr (requires { s.fingerprint(); }) h.add(s.fingerprint());
    });
  }

  /// The functions of one pass.
  auto prepare(std::uint64_t seed, std::uint64_t epoch, std::uint32_t stage) const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return stage_list<decltype(get_stage<I>(stages_).prepare(0, seed, epoch, stage))...>{
          {get_stage<I>(stages_).prepare(before_[I], seed, epoch, stage + static_cast<std::uint32_t>(I))}...};
    }(std::index_sequence_for<Order...>{});
  }

 private:
  template <class F>
  void each(F&& f) const {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (f(I, get_stage<I>(stages_)), ...);
    }(std::index_sequence_for<Order...>{});
  }
  stage_list<Order...> stages_;
  std::array<std::uint64_t, sizeof...(Order) + 1> before_{};
  std::uint64_t all_ = 0, size_ = 0;
};

/// \throws wick::error for a name that two sources share, or that has characters other than letters, digits,
/// and "._-/"
void check_names(std::span<const std::string> names);

/// The order of a mix, over its sources end to end.
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
  /// The turns of the sources in an epoch, and the end of the epoch.
  struct epoch_turns {
    interleave<parts> turns;
    std::uint64_t end;
  };
  using part_weights = std::array<double, parts>;

 public:
  static constexpr stage_traits traits{
      .name = "mix", .kind = stage_kind::order, .has_fingerprint = true, .mixes = true};

  mix_stage(std::tuple<Parts...> part, const std::array<double, parts>& weights,
            std::array<std::string, parts> names, mix_until until) {
    check_names(names);
    before_ = after_ = weights;
    go_by({std::move(part), weights, std::move(names), until});
  }

  /// The loader calls this when it is made and at each refresh(): the sizes of the sources may have changed.
  template <class... Sources>
  void follow(const concat_source<Sources...>& joined) {
    table next = *table_;
    bool same = true;
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      const auto take = [&](auto& part, std::uint64_t all) {
        same = same && part.all() == all;
        part.take(all);
      };
      (take(std::get<I>(next.part), detail::samples_of(joined.template get<I>())), ...);
    }(std::index_sequence_for<Parts...>{});
    if (!same) go_by(std::move(next));
  }

  /// The number of positions with the weights of the first epoch.
  std::uint64_t size(std::uint64_t) const noexcept { return size_; }

  // ---- weights that change, in the copy of the loader that changes them ----

  std::span<const std::string> names() const noexcept { return table_->names; }
  std::span<const double> weights() const noexcept { return table_->weights; }  // those at construction
  /// Sets the weights of the epochs before `from`, and from `from` on. Empty: the weights at construction.
  void set_weights(std::span<const double> before, std::uint64_t from,
                   std::span<const double> after) noexcept {
    const auto take = [this](std::span<const double> given) {
      part_weights out = table_->weights;
      std::copy(given.begin(), given.end(), out.begin());
      return out;
    };
    before_ = take(before);
    after_ = take(after);
    from_ = from;
  }
  /// The number of positions in an epoch.
  std::uint64_t size_in(std::uint64_t epoch) const { return turns_of(*table_, weights_in(epoch)).end; }
  std::uint64_t fingerprint() const {
    fingerprint_hash h;
    h.add(static_cast<std::uint64_t>(table_->until)).add(table_->weights.data(), sizeof(table_->weights));
    each(*table_, [&](std::size_t, const auto& p) { p.add_to(h); });
    return h.value();
  }

  /// Keeps the functions of each part's first passes. Those of a later pass are set up again for each
  /// position; map() sets them up once for neighboring positions.
  class mixed {
   public:
    std::uint64_t operator()(std::uint64_t p) const noexcept {
      later_passes none;
      return at(p, none);
    }
    void map(std::uint64_t* p, std::size_t count) const noexcept {
      later_passes last;
      for (std::size_t i = 0; i < count; ++i) p[i] = at(p[i], last);
    }

   private:
    friend class mix_stage;
    static constexpr std::uint64_t most_kept = 4096;  // passes of a part
    template <class Part>
    using functions_of = decltype(std::declval<const Part&>().prepare(0, 0, 0u));
    using kept_passes = std::tuple<std::vector<functions_of<Parts>>...>;
    /// The most recently used pass of a part, of those that aren't kept.
    template <class Part>
    struct later_pass {
      std::uint64_t pass = 0;  // 0: none; the first is always kept
      std::optional<functions_of<Part>> functions = {};
    };
    using later_passes = std::tuple<later_pass<Parts>...>;

    mixed(std::shared_ptr<const table> t, const epoch_turns& of, std::uint64_t seed, std::uint64_t epoch,
          std::uint32_t stage)
        : table_(std::move(t)), of_(of), seed_(seed), epoch_(epoch), stage_(stage) {
      auto kept = std::make_shared<kept_passes>();
      [&]<std::size_t... I>(std::index_sequence<I...>) {
        (keep<I>(std::get<I>(*kept)), ...);
      }(std::index_sequence_for<Parts...>{});
      kept_ = std::move(kept);
    }

    template <std::size_t I, class Kept>
    void keep(Kept& to) const {
      std::uint64_t passes = 1;
      if (of_.end != endless) {
        const std::uint64_t turns = of_.turns.count(I, of_.end);
        const std::uint64_t size = std::get<I>(table_->part).size();
        passes = std::clamp<std::uint64_t>((turns + size - 1) / size, 1, most_kept);
      }
      to.reserve(static_cast<std::size_t>(passes));
      for (std::uint64_t pass = 0; pass < passes; ++pass) to.push_back(functions<I>(pass));
    }
    template <std::size_t I>
    auto functions(std::uint64_t pass) const {
      return std::get<I>(table_->part).prepare(seed_of(I, pass), epoch_, stage_);
    }
    std::uint64_t at(std::uint64_t p, later_passes& later) const noexcept {
      const auto turn = of_.turns.at(p);
      return find<0>(turn.source, turn.number, later);
    }
    template <std::size_t I>
    std::uint64_t find(std::size_t source, std::uint64_t number, later_passes& later) const noexcept {
      if constexpr (I + 1 < parts) {
        if (source != I) return find<I + 1>(source, number, later);
      }
      const std::uint64_t size = std::get<I>(table_->part).size();
      const std::uint64_t pass = number < size ? 0 : number / size;
      const auto& kept = std::get<I>(*kept_);
      if (pass < kept.size())
        return table_->begin[I] + detail::index_behind(kept[pass], number - pass * size);
      auto& last = std::get<I>(later);
      if (last.pass != pass) {
        last.functions.emplace(functions<I>(pass));
        last.pass = pass;
      }
      return table_->begin[I] + detail::index_behind(*last.functions, number - pass * size);
    }
    std::uint64_t seed_of(std::uint64_t source, std::uint64_t pass) const noexcept {
      return fingerprint_hash().add(seed_).add(source).add(pass).value();
    }

    std::shared_ptr<const table> table_;
    epoch_turns of_;
    std::shared_ptr<const kept_passes> kept_;
    std::uint64_t seed_, epoch_;
    std::uint32_t stage_;
  };
  mixed prepare(std::uint64_t, std::uint64_t seed, std::uint64_t epoch, std::uint32_t stage) const {
    return mixed(table_, turns_of(*table_, weights_in(epoch)), seed, epoch, stage);
  }

 private:
  void go_by(table t) {
    t.all = 0;
    each(t, [&](std::size_t i, const auto& p) {
      if (p.size() == 0) throw error("mix: the " + ordinal(i) + " source is empty; leave it out");
      t.begin[i] = t.all;
      t.all += p.all();
    });
    auto next = std::make_shared<const table>(std::move(t));
    size_ = turns_of(*next, next->weights).end;
    table_ = std::move(next);
  }
  template <class F>
  static void each(const table& t, F&& f) {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (f(I, std::get<I>(t.part)), ...);
    }(std::index_sequence_for<Parts...>{});
  }
  const part_weights& weights_in(std::uint64_t epoch) const noexcept {
    return epoch < from_ ? before_ : after_;
  }
  /// A source of weight 0 neither ends the epoch nor holds it open.
  static epoch_turns turns_of(const table& t, const part_weights& weights) {
    epoch_turns out{interleave<parts>(weights), t.until == mix_until::all_exhausted ? 0 : endless};
    each(t, [&](std::size_t i, const auto& part) {
      if (weights[i] == 0) return;
      // The epoch ends before the turn at which source i would start over.
      if (t.until == mix_until::first_exhausted)
        out.end = std::min(out.end, out.turns.positions_for(i, part.size() + 1) - 1);
      if (t.until == mix_until::all_exhausted)
        out.end = std::max(out.end, out.turns.positions_for(i, part.size()));
    });
    return out;
  }

  std::shared_ptr<const table> table_;
  part_weights before_{}, after_{};  // of epochs before from_, and from from_ on
  std::uint64_t from_ = 0;
  std::uint64_t size_ = 0;
};

}  // namespace detail

/// The name and the weight of a source of a mix(), for loader.set_mix_weights().
struct source_weight {
  std::string name;   ///< the name in weighted_source; if it has none, the source's number, from 0
  double weight = 0;  ///< its share of the turns, relative to the sum of all weights; 0: none
  friend bool operator==(const source_weight&, const source_weight&) = default;
};

/// A source, or a source with order stages (`images | shuffle()`), and how often it gets a turn.
template <class Part>
struct weighted_source {
  Part part;              ///< the source, with its order stages
  double weight;          ///< its share of the turns, relative to the sum of all weights; 0: none until
                          ///< loader.set_mix_weights() gives it one
  std::string name = {};  ///< for loader.set_mix_weights(); default: the source's number, from 0
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
/// Names the sources without a name by their number.
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
/// three images, then a drawing, … A source gets its turns as evenly as its weight allows, regardless of
/// prefetching. Its samples come in its own order, a new one in each pass. `| shuffle()` after mix() shuffles
/// the whole mix. A mix can be sharded like any source. loader.set_mix_weights() changes the weights between
/// epochs. \throws wick::error for a weight below 0, when all weights are 0, or for an empty source
template <class... Parts>
  requires(sizeof...(Parts) > 0)
auto mix(mix_until until, weighted_source<Parts>... each) {
  static_assert((detail::can_be_mixed<Parts> && ...),
                "wick: mix() takes sources, or sources with order stages (shuffle, take, …): read(), "
                "decode() and all else "
                "that works on samples, and shard(), come after mix()");
  using stage = detail::mix_stage<decltype(detail::part_of(each.part))...>;
  stage order({detail::part_of(each.part)...}, {each.weight...},
              detail::numbered<sizeof...(Parts)>({std::move(each.name)...}), until);
  return from(detail::concat_source<std::remove_cvref_t<decltype(detail::source_of(each.part))>...>(
             std::move(detail::source_of(each.part))...)) |
         std::move(order);
}
/// The same, until the first source is exhausted.
template <class... Parts>
auto mix(weighted_source<Parts>... each) {
  return mix(mix_until::first_exhausted, std::move(each)...);
}

}  // namespace wick
