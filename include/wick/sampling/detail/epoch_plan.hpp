// Which positions make up which batch, and which sample of the source is at a position.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include <wick/pipeline/error.hpp>
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

/// Everything is computed: from the size of the source, the order stages, the global batch, and this rank's
/// share of it. If bucket() or pack() groups samples by length, that happens when the plan is made.
template <class Path>
class epoch_plan {
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
  /// What a batch needs to know about its epoch.
  using order_type = typename groups_type::order_type;
  using range = position_range;

  /// \param epoch  one that has its own weights, or is planned by itself; the first if not given
  /// \throws wick::error if an epoch would be empty, or a batch too small to be shared
  epoch_plan(const Path& path, const shard_stage& shard, std::uint64_t seed,
             std::optional<std::uint64_t> epoch)
      : path_(path), shard_(shard) {
    if constexpr (each_epoch) epoch = epoch.value_or(0);
    positions_ = samples_of(path.source());
    each_order_stage([&](auto i, const auto& s) {
      sizes_[i] = positions_;
      if constexpr (traits_of<decltype(s)>.mixes)
        positions_ = epoch ? s.size_in(*epoch) : s.size(positions_);
      else
        positions_ = s.size(positions_);
    });
    ordered_ = positions_;
    bool drop_last = false, pad_last = false;
    if constexpr (types::batched) {
      const auto& s = path.template stage<types::batching>();
      batch_size_ = s.size();
      drop_last = s.drop_last();
      pad_last = s.pad_last();
    } else {
      batch_size_ = unbatched_group * shard_.world;
    }
    if constexpr (grouped) {
      if (positions_ != 0) {
        if constexpr (each_epoch) {
          const auto of_stages = stage_orders(seed, *epoch);
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
      }
    } else {
      batches_ = drop_last ? positions_ / batch_size_ : (positions_ + batch_size_ - 1) / batch_size_;
      if (pad_last) positions_ = batches_ * batch_size_;
    }
    check();
  }
  /// The number of positions in an epoch, over all ranks.
  std::uint64_t positions() const noexcept { return positions_; }
  std::uint64_t batches() const noexcept { return batches_; }
  /// Samples (or packed rows) per batch over all ranks; without batch(), those that are planned at a time.
  std::uint64_t batch_size() const noexcept { return batch_size_; }
  /// The most samples of a batch that a rank has: its share of a full one, or of all samples if they don't
  /// fill one.
  std::size_t slots() const noexcept {
    if constexpr (grouped)
      return groups_.slots();
    else
      return static_cast<std::size_t>((std::min(batch_size_, positions_) + shard_.world - 1) / shard_.world);
  }
  /// This rank's positions in a batch.
  range slice(std::uint64_t batch, const order_type& order) const noexcept {
    if constexpr (grouped) {
      return groups_.slice(batch, order, shard_);
    } else {
      const std::uint64_t begin = batch * batch_size_;
      const range mine = share_of(std::min(batch_size_, positions_ - begin), shard_);
      return {begin + mine.first, mine.count};
    }
  }
  /// Tells the columns of packed rows how many rows there are, and where in them each slot is.
  template <class Columns>
  void arrange(std::uint64_t batch, const order_type& order, Columns& to) const {
    groups_.arrange(batch, order, to);
  }

  /// How many positions this rank has in the first `batches`; approximate for groups.
  std::uint64_t passed(std::uint64_t batches) const noexcept {
    if constexpr (grouped)
      return groups_.passed(batches) / shard_.world;
    else
      return shares(std::min(batches * batch_size_, positions_));
  }

  /// The order stages' functions for one epoch.
  order_type order(std::uint64_t seed, std::uint64_t epoch) const {
    if constexpr (grouped) {
      return groups_.order(seed, epoch);
    } else {
      return stage_orders(seed, epoch);
    }
  }
  /// The source index of a position; the stage nearest to the source is applied last.
  std::uint64_t index(const order_type& order, std::uint64_t position) const noexcept {
    std::uint64_t out = 0;
    if constexpr (grouped) {
      order->indexes(position, 1, &out);
    } else {
      if (position >= ordered_) position %= ordered_;  // padding of the last batch
      out = index_behind(order, position);
    }
    return out;
  }
  /// A sample of the epoch, drawn from `stream`, that may replace one that failed; if lengths count, one that
  /// was planned to be as long.
  template <class Stream>
  std::uint64_t substitute(const order_type& order, std::uint64_t position, Stream& stream) const {
    if constexpr (grouped)
      return order->alike(position, stream.below(order->alike(position)));
    else
      return index(order, stream.below(ordered_));
  }

  /// The same as index() for `count` positions from `first` on.
  void indexes(const order_type& order, std::uint64_t first, std::uint64_t count,
               std::uint64_t* out) const noexcept {
    if constexpr (grouped) {
      order->indexes(first, count, out);
    } else {
      std::iota(out, out + count, first);
      if (first + count > ordered_) {
        for (std::uint64_t i = 0; i < count; ++i) out[i] %= ordered_;
      }
      map_behind<types::order_end>(order, out, static_cast<std::size_t>(count));
    }
  }

 private:
  static constexpr std::uint64_t unbatched_group = 16;

  typename types::order stage_orders(std::uint64_t seed, std::uint64_t epoch) const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return typename types::order{
          path_.template stage<I>().prepare(sizes_[I], seed, epoch, static_cast<std::uint32_t>(I))...};
    }(std::make_index_sequence<types::order_end>{});
  }
  template <class LookUp>
  void make_groups(bool drop_last, bool pad_last, const LookUp& look_up) {
    groups_.make(path_, look_up, positions_, batch_size_, shard_, drop_last, pad_last);
  }

  /// This rank's part of the first `positions`: a share of each batch.
  std::uint64_t shares(std::uint64_t positions) const noexcept {
    return positions / batch_size_ * share_of(batch_size_, shard_).count +
           share_of(positions % batch_size_, shard_).count;
  }
  template <std::size_t N>
  static void map_behind(const typename types::order& order, std::uint64_t* p, std::size_t count) noexcept {
    if constexpr (N != 0) {
      const auto& f = std::get<N - 1>(order);
      if constexpr (requires { f.map(p, count); }) {
        f.map(p, count);
      } else {
        for (std::size_t i = 0; i < count; ++i) p[i] = f(p[i]);
      }
      map_behind<N - 1>(order, p, count);
    }
  }
  template <class F>
  void each_order_stage(F&& f) const {
    [&]<std::size_t... I>(std::index_sequence<I...>) {
      (f(I, path_.template stage<I>()), ...);
    }(std::make_index_sequence<types::order_end>{});
  }

  void check() const {
    if (positions_ == 0 && path_.source().size() != 0) {
      throw error("loader: the source has " + std::to_string(path_.source().size()) +
                  " samples, and the order stages leave none of them (take(0), skip() of as many, an empty "
                  "subset())");
    }
    if (positions_ == 0) throw error("loader: the source is empty; an epoch would have no sample");
    if (batches_ == 0) {
      throw error("loader: " + std::to_string(positions_) + " samples make no full batch of " +
                  std::to_string(batch_size_) + "; make it smaller, or leave drop_last out");
    }
    if constexpr (types::batched) {
      if (batch_size_ < shard_.world) {
        throw error("loader: a global batch of " + std::to_string(batch_size_) +
                    " samples can't be shared by " + std::to_string(shard_.world) +
                    " ranks; batch() takes the size for all ranks together");
      }
    }
  }

  const Path& path_;
  shard_stage shard_;
  std::uint64_t sizes_[types::order_end + 1] = {};  // before each order stage
  std::uint64_t ordered_ = 0;                       // positions that the order stages give
  std::uint64_t positions_ = 0, batch_size_ = 0, batches_ = 0;
  [[no_unique_address]] groups_type groups_;
};

}  // namespace wick::detail
