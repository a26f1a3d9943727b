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

/// Computed from the size of the source, the order stages, the global batch, and this rank's share of it. If
/// bucket() or pack() groups samples by length, that happens when the plan is made.
template <class Path>
class typed_plan final : public erased_plan {
  using types = typename Path::types;
  using groups_type =
      std::conditional_t<has_groups<types>, group_plan<Path>, computed_plan<typename types::order>>;

 public:
  /// Whether batches consist of groups: samples of similar length, or rows.
  static constexpr bool grouped = has_groups<types>;
  static constexpr bool packs = finds_pack<types>();
  /// Whether a plan is for one epoch only: another has other samples, and as many batches as they fill.
  static constexpr bool each_epoch = packs_each_epoch<types>;
  static constexpr bool editable = types::batched && (!grouped || each_epoch) && has_editable_mix<types>();
  /// The order stages' functions for one epoch, or its groups.
  using order_type = typename groups_type::order_type;

  /// \param epoch  one that has its own weights, or is planned by itself; the first if not given
  /// \throws wick::error if an epoch would be empty, or a batch too small to be shared
  typed_plan(const Path& path, const shard_stage& shard, std::uint64_t seed,
             std::optional<std::uint64_t> epoch)
      : erased_plan(shard), path_(path) {
    if constexpr (each_epoch) epoch = epoch.value_or(0);
    positions_ = samples_of(path.source());
    set_sizes(epoch, std::make_index_sequence<types::order_end>{});
    ordered_ = positions_;
    bool drop_last = false, pad_last = false;
    batch_size_ = unbatched_group * shard.world;
    if constexpr (types::batched) {
      const auto& s = path.template stage<types::batching>();
      batch_size_ = s.size();
      drop_last = s.drop_last();
      pad_last = s.pad_last();
    }
    if constexpr (grouped) {
      if (positions_ != 0) {
        if constexpr (each_epoch) {
          const auto of_stages = stage_orders(seed, *epoch, std::make_index_sequence<types::order_end>{});
          make_groups(drop_last, pad_last, [&](std::uint64_t first, std::uint64_t count, std::uint64_t* out) {
            std::iota(out, out + count, first);
            map_behind<types::order_end>(of_stages, out, static_cast<std::size_t>(count));
          });
        } else {
          make_groups(drop_last, pad_last, [&](std::uint64_t first, std::uint64_t count, std::uint64_t* out) {
            for (std::uint64_t i = 0; i < count; ++i)
              out[i] = unshuffled_index<types::order_end>(path_, sizes_, first + i);
          });
        }
        batches_ = groups_.batches();
        if (batches_ != 0) ordered_ = positions_ = groups_.positions();
        slots_ = groups_.slots();
      }
    } else {
      divide_evenly(drop_last, pad_last);
    }
    check(path.source().size(), types::batched);
  }

  static const order_type& order_of(const batch_job& j) noexcept {
    return static_cast<const typed_order&>(*j.order).of_stages;
  }
  /// Tells the columns of packed rows how many rows there are, and where in them each slot is.
  template <class Columns>
  void arrange(const batch_job& j, Columns& to) const {
    groups_.arrange(j.number, order_of(j), to);
  }
  /// The same as index() for `count` positions from `first` on.
  void indexes(const order_type& order, std::uint64_t first, std::uint64_t count,
               std::uint64_t* out) const noexcept {
    if constexpr (grouped) {
      order->indexes(first, count, out);
    } else {
      std::iota(out, out + count, first);
      wrap_padding(first, count, out);
      map_behind<types::order_end>(order, out, static_cast<std::size_t>(count));
    }
  }

  std::shared_ptr<const epoch_order> order(std::uint64_t seed, std::uint64_t epoch) const override {
    if constexpr (grouped)
      return shared_order(new typed_order(groups_.order(seed, epoch)));
    else
      return shared_order(
          new typed_order(stage_orders(seed, epoch, std::make_index_sequence<types::order_end>{})));
  }
  std::uint64_t passed(std::uint64_t batches) const noexcept override {
    if constexpr (grouped)
      return groups_.passed(batches) / shard_.world;
    else
      return even_share(batches);
  }
  position_range slice(std::uint64_t batch, const batch_job& of) const noexcept override {
    if constexpr (grouped)
      return groups_.slice(batch, order_of(of), shard_);
    else
      return even_slice(batch);
  }
  std::uint64_t index(const batch_job& of, std::uint64_t position) const noexcept override {
    std::uint64_t out = 0;
    indexes(order_of(of), position, 1, &out);
    return out;
  }
  void indexes(const batch_job& of, std::uint64_t first, std::uint64_t count,
               std::uint64_t* out) const noexcept override {
    indexes(order_of(of), first, count, out);
  }
  /// If lengths count, one that was planned to be as long.
  std::uint64_t substitute(const batch_job& of, std::uint64_t position,
                           random_stream& stream) const override {
    if constexpr (grouped) {
      const order_type& order = order_of(of);
      return order->alike(position, stream.below(order->alike(position)));
    } else {
      return index(of, stream.below(ordered_));
    }
  }

 private:
  static constexpr std::uint64_t unbatched_group = 16;
  struct typed_order final : epoch_order {
    explicit typed_order(order_type o) : of_stages(std::move(o)) {}
    order_type of_stages;
  };

  template <std::size_t... I>
  void set_sizes([[maybe_unused]] std::optional<std::uint64_t> epoch, std::index_sequence<I...>) {
    (set_size(sizes_[I], path_.template stage<I>(), epoch), ...);
  }
  template <class Stage>
  void set_size(std::uint64_t& before, const Stage& s, [[maybe_unused]] std::optional<std::uint64_t> epoch) {
    before = positions_;
    if constexpr (traits_of<Stage>.mixes)
      positions_ = epoch ? s.size_in(*epoch) : s.size(positions_);
    else
      positions_ = s.size(positions_);
  }
  template <std::size_t... I>
  typename types::order stage_orders([[maybe_unused]] std::uint64_t seed,
                                     [[maybe_unused]] std::uint64_t epoch, std::index_sequence<I...>) const {
    return {{path_.template stage<I>().prepare(sizes_[I], seed, epoch, static_cast<std::uint32_t>(I))}...};
  }
  template <class LookUp>
  void make_groups(bool drop_last, bool pad_last, const LookUp& look_up) {
    groups_.make(path_, look_up, positions_, batch_size_, shard_, drop_last, pad_last);
  }
  /// The stage nearest to the source is applied last.
  template <std::size_t N>
  static void map_behind(const typename types::order& order, std::uint64_t* p, std::size_t count) noexcept {
    if constexpr (N != 0) {
      const auto& f = get_stage<N - 1>(order);
      if constexpr (requires { f.map(p, count); }) {
        f.map(p, count);
      } else {
        for (std::size_t i = 0; i < count; ++i) p[i] = f(p[i]);
      }
      map_behind<N - 1>(order, p, count);
    }
  }

  const Path& path_;
  std::uint64_t sizes_[types::order_end + 1] = {};  // before each order stage
  [[no_unique_address]] groups_type groups_;
};

}  // namespace wick::detail
