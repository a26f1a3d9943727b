// The plan of a pipeline's epochs: which positions make up which batch, and which sample of the source is at
// a position. All of it is computed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <numeric>
#include <optional>
#include <type_traits>
#include <utility>

#include <wick/loader/detail/batch_job.hpp>
#include <wick/loader/detail/erased_pipeline.hpp>
#include <wick/pipeline/detail/stage_list.hpp>
#include <wick/sampling/detail/group_plan.hpp>
#include <wick/sampling/order.hpp>

namespace wick::inline v0_1::detail {

/// Whether loader.set_mix_weights() can change the order: a mix, followed by no order stage but shard().
template <class Types>
consteval bool has_editable_mix() {
  if constexpr (Types::order_end == 0) {
    return false;
  } else {
    return []<std::size_t... I>(std::index_sequence<I...>) {
      return traits_of<typename Types::template stage_at<0>>.mixes &&
             (std::is_same_v<typename Types::template stage_at<I + 1>, shard_stage> && ...);
    }(std::make_index_sequence<Types::order_end - 1>{});
  }
}

/// The order stages of a pipeline, with the number of positions before each. Pipelines with the same order
/// stages share this class.
template <class Numbers, class... Stages>
class order_stages;
template <std::size_t... I, class... Stages>
class order_stages<std::index_sequence<I...>, Stages...> {
 public:
  /// What the stages give for one epoch.
  using functions = stage_list<decltype(std::declval<const Stages&>().prepare(0, 0, 0, 0u))...>;

  /// \param epoch  one that has its own weights; the weights that a mix was made with if not given
  order_stages(std::uint64_t samples, [[maybe_unused]] std::optional<std::uint64_t> epoch,
               const Stages&... stages)
      : stages_{{&stages}...}, positions_(samples) {
    (follow(stages, I, epoch), ...);
  }
  std::uint64_t positions() const noexcept { return positions_; }
  functions prepare([[maybe_unused]] std::uint64_t seed, [[maybe_unused]] std::uint64_t epoch) const {
    return {{get_stage<I>(stages_)->prepare(sizes_[I], seed, epoch, static_cast<std::uint32_t>(I))}...};
  }
  /// From positions to indexes of the source: the stage nearest to it comes last.
  static void map([[maybe_unused]] const functions& order, [[maybe_unused]] std::uint64_t* p,
                  [[maybe_unused]] std::size_t count) noexcept {
    (map_by(get_stage<sizeof...(I) - 1 - I>(order), p, count), ...);
  }
  /// The same for a position, with shuffle() left out.
  std::uint64_t unshuffled(std::uint64_t p) const {
    ((p = unshuffled_by<sizeof...(I) - 1 - I>(*get_stage<sizeof...(I) - 1 - I>(stages_), p)), ...);
    return p;
  }

 private:
  template <class Stage>
  void follow(const Stage& s, std::size_t i, [[maybe_unused]] std::optional<std::uint64_t> epoch) {
    sizes_[i] = positions_;
    if constexpr (traits_of<Stage>.mixes)
      positions_ = epoch ? s.size_in(*epoch) : s.size(positions_);
    else
      positions_ = s.size(positions_);
  }
  template <class F>
  static void map_by(const F& f, std::uint64_t* p, std::size_t count) noexcept {
    if constexpr (requires { f.map(p, count); }) {
      f.map(p, count);
    } else {
      for (std::size_t i = 0; i < count; ++i) p[i] = f(p[i]);
    }
  }
  template <std::size_t N, class Stage>
  std::uint64_t unshuffled_by(const Stage& s, std::uint64_t p) const {
    if constexpr (std::is_same_v<Stage, shuffle_stage>)
      return p;
    else
      return s.prepare(sizes_[N], 0, 0, std::uint32_t{N})(p);
  }

  stage_list<const Stages*...> stages_;
  std::uint64_t sizes_[sizeof...(Stages) + 1] = {};
  std::uint64_t positions_;
};

/// Not on a line with the count of its owners, which threads write for each batch.
template <class Order>
struct alignas(64) typed_order final : epoch_order {
  explicit typed_order(Order o) : of_stages(std::move(o)) {}
  Order of_stages;
};
template <class Order>
const Order& order_of(const batch_job& j) noexcept {
  return static_cast<const typed_order<Order>&>(*j.order).of_stages;
}

/// How batch() divides an epoch.
struct batch_rules {
  std::uint64_t size;  ///< over all ranks
  bool drop_last = false, pad_last = false;
  bool batched = false;  ///< or without batch()
};

/// Batches of consecutive positions.
template <class Stages>
class even_plan final : public erased_plan {
 public:
  using order_type = typename Stages::functions;

  even_plan(const Stages& stages, const batch_rules& rules, const shard_stage& shard, std::uint64_t samples)
      : erased_plan(shard), stages_(stages) {
    positions_ = ordered_ = stages.positions();
    batch_size_ = rules.size;
    divide_evenly(rules.drop_last, rules.pad_last);
    check(samples, rules.batched);
  }

  /// The indexes in the source of `count` positions from `first` on.
  void indexes(const order_type& order, std::uint64_t first, std::uint64_t count,
               std::uint64_t* out) const noexcept {
    std::iota(out, out + count, first);
    wrap_padding(first, count, out);
    Stages::map(order, out, static_cast<std::size_t>(count));
  }

  std::shared_ptr<const epoch_order> order(std::uint64_t seed, std::uint64_t epoch) const override {
    return shared_order(new typed_order<order_type>(stages_.prepare(seed, epoch)));
  }
  std::uint64_t passed(std::uint64_t batches) const noexcept override { return even_share(batches); }
  position_range slice(std::uint64_t batch, const batch_job&) const noexcept override {
    return even_slice(batch);
  }
  void indexes(const batch_job& of, std::uint64_t first, std::uint64_t count,
               std::uint64_t* out) const noexcept override {
    indexes(order_of<order_type>(of), first, count, out);
  }
  std::uint64_t substitute(const batch_job& of, std::uint64_t, random_stream& stream) const override {
    return index(of, stream.below(ordered_));
  }

 private:
  const Stages stages_;
};

/// Batches of groups: samples of similar length, or rows. bucket() or pack() made them when the plan was
/// made.
template <class Path>
class grouped_plan final : public erased_plan {
  using types = typename Path::types;

 public:
  using order_type = std::shared_ptr<const grouped_epoch>;

  template <class Stages>
  grouped_plan(const Path& path, const Stages& stages, const batch_rules& rules, const shard_stage& shard,
               [[maybe_unused]] std::uint64_t seed, [[maybe_unused]] std::optional<std::uint64_t> epoch)
      : erased_plan(shard) {
    positions_ = stages.positions();
    batch_size_ = rules.size;
    if (positions_ != 0) {
      if constexpr (packs_each_epoch<types>) {
        const auto order_of_epoch = stages.prepare(seed, *epoch);
        make_groups(path, rules, [&](std::uint64_t first, std::uint64_t count, std::uint64_t* out) {
          std::iota(out, out + count, first);
          Stages::map(order_of_epoch, out, static_cast<std::size_t>(count));
        });
      } else {
        make_groups(path, rules, [&](std::uint64_t first, std::uint64_t count, std::uint64_t* out) {
          for (std::uint64_t i = 0; i < count; ++i) out[i] = stages.unshuffled(first + i);
        });
      }
      batches_ = groups_.batches();
      if (batches_ != 0) positions_ = groups_.positions();
      slots_ = groups_.slots();
    }
    check(detail::samples_of(path.source()), true);
  }

  /// Tells the columns of packed rows how many rows there are, and where in them each slot is.
  template <class Columns>
  void arrange(const batch_job& j, Columns& to) const {
    groups_.arrange(j.number, order_of<order_type>(j), to);
  }
  void indexes(const order_type& order, std::uint64_t first, std::uint64_t count,
               std::uint64_t* out) const noexcept {
    order->indexes(first, count, out);
  }

  std::shared_ptr<const epoch_order> order(std::uint64_t seed, std::uint64_t epoch) const override {
    return shared_order(new typed_order<order_type>(groups_.order(seed, epoch)));
  }
  std::uint64_t passed(std::uint64_t batches) const noexcept override {
    return groups_.passed(batches) / shard_.world;
  }
  position_range slice(std::uint64_t batch, const batch_job& of) const noexcept override {
    return groups_.slice(batch, order_of<order_type>(of), shard_);
  }
  void indexes(const batch_job& of, std::uint64_t first, std::uint64_t count,
               std::uint64_t* out) const noexcept override {
    order_of<order_type>(of)->indexes(first, count, out);
  }
  /// One that was planned to be as long.
  std::uint64_t substitute(const batch_job& of, std::uint64_t position,
                           random_stream& stream) const override {
    const order_type& order = order_of<order_type>(of);
    return order->alike(position, stream.below(order->alike(position)));
  }

 private:
  template <class LookUp>
  void make_groups(const Path& path, const batch_rules& rules, const LookUp& look_up) {
    groups_.make(path, look_up, positions_, batch_size_, shard_, rules.drop_last, rules.pad_last);
  }

  group_plan<Path> groups_;
};

/// The plan of a pipeline, and what kind it is.
template <class Path>
struct planning {
  using types = typename Path::types;
  /// Whether batches consist of groups.
  static constexpr bool grouped = has_groups<types>;
  static constexpr bool packs = finds_pack<types>();
  /// Whether a plan is for one epoch only: another has other samples, and as many batches as they fill.
  static constexpr bool each_epoch = packs_each_epoch<types>;
  static constexpr bool editable = types::batched && (!grouped || each_epoch) && has_editable_mix<types>();
  static constexpr std::uint64_t unbatched_group = 16;

  template <std::size_t... I>
  static auto stages_of(std::index_sequence<I...>)
      -> order_stages<std::index_sequence<I...>, order_stage_at<types, I>...>;
  using numbers = std::make_index_sequence<types::order_end>;
  using stages = decltype(stages_of(numbers{}));
  using plan = typename std::conditional_t<grouped, std::type_identity<grouped_plan<Path>>,
                                           std::type_identity<even_plan<stages>>>::type;

  /// \param epoch  one that has its own weights, or is planned by itself; the first if not given
  /// \throws wick::error if an epoch would be empty, or a batch too small to be shared
  template <std::size_t... I>
  static erased_plan* make(const Path& path, const shard_stage& shard, [[maybe_unused]] std::uint64_t seed,
                           std::optional<std::uint64_t> epoch, std::index_sequence<I...>) {
    if constexpr (each_epoch) epoch = epoch.value_or(0);
    batch_rules rules{unbatched_group * shard.world};
    if constexpr (types::batched) {
      const auto& s = path.template stage<types::batching>();
      rules = {static_cast<std::uint64_t>(s.size()), s.drop_last(), s.pad_last(), true};
    }
    const std::uint64_t samples = detail::samples_of(path.source());
    const stages order(samples, epoch, path.template stage<I>()...);
    if constexpr (grouped)
      return new plan(path, order, rules, shard, seed, epoch);
    else
      return new plan(order, rules, shard, samples);
  }
};

}  // namespace wick::detail
