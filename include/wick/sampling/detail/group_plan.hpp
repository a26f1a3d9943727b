// The grouping in a pipeline that has bucket() or pack(): the lengths of its samples, and which part of an
// epoch a batch and a rank get.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/ext/source.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/sampling/bucket.hpp>
#include <wick/sampling/detail/grouping.hpp>
#include <wick/sampling/order.hpp>

namespace wick::inline v0_1::detail {

/// A range of numbered positions or rows.
struct position_range {
  std::uint64_t first = 0, count = 0;
};
/// A rank's share of `count`.
constexpr position_range share_of(std::uint64_t count, const shard_stage& shard) noexcept {
  const std::uint64_t from = count * shard.rank / shard.world;
  return {from, count * (shard.rank + 1) / shard.world - from};
}

/// Order stage I of Types, without const or reference.
template <class Types, std::size_t I>
using order_stage_at = std::remove_cvref_t<typename Types::template stage_at<I>>;

template <class Types>
consteval std::size_t find_bucket() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    std::size_t at = Types::order_end;
    ((std::is_same_v<order_stage_at<Types, I>, bucket_stage> ? void(at = I) : void()), ...);
    return at;
  }(std::make_index_sequence<Types::order_end>{});
}

/// Whether batches consist of rows in which samples follow one another.
template <class Types>
consteval bool finds_pack() {
  if constexpr (Types::batched)
    return traits_of<typename Types::template stage_at<Types::batching>>.packs;
  else
    return false;
}

template <class Types>
inline constexpr bool has_bucket = find_bucket<Types>() < Types::order_end;
template <class Types>
inline constexpr bool has_groups = has_bucket<Types> || finds_pack<Types>();

template <class Types>
consteval bool shuffles() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    return (std::is_same_v<order_stage_at<Types, I>, shuffle_stage> || ...);
  }(std::make_index_sequence<Types::order_end>{});
}

/// Whether nothing but shard() follows shuffle() and bucket(), and no stage before them changes from epoch to
/// epoch.
template <class Types>
consteval bool can_group() {
  return []<std::size_t... I>(std::index_sequence<I...>) {
    bool good = true, behind = false;
    [[maybe_unused]] const auto look = [&](bool keeps, bool is_shuffle, bool is_bucket, bool is_shard) {
      if (is_shuffle || is_bucket)
        behind = true;
      else if (!is_shard && behind)
        good = false;
      if (!keeps && !is_shuffle) good = false;
    };
    (look(traits_of<order_stage_at<Types, I>>.fixed_samples,
          std::is_same_v<order_stage_at<Types, I>, shuffle_stage>,
          std::is_same_v<order_stage_at<Types, I>, bucket_stage>,
          std::is_same_v<order_stage_at<Types, I>, shard_stage>),
     ...);
    return good;
  }(std::make_index_sequence<Types::order_end>{});
}

/// Whether each epoch has its own rows: pack() after stages that give different samples in each.
template <class Types>
inline constexpr bool packs_each_epoch = finds_pack<Types>() && !can_group<Types>();

/// The samples at an epoch's positions, as far as planning batches by length needs them.
struct lengths_source {
  const std::vector<std::uint32_t>& given;  ///< by index; empty if the source says them
  std::uint64_t size;
  const void* of;
  /// Null if the source doesn't say.
  std::uint64_t (*length)(const void* of, std::uint64_t index);
  std::string (*key)(const void* of, std::uint64_t index);
};
/// Looks up the indexes of `count` positions from `first` on.
struct index_lookup {
  const void* of;
  void (*find)(const void* of, std::uint64_t first, std::uint64_t count, std::uint64_t* out);
};
/// pack()'s rules for its rows.
struct row_rules {
  std::uint32_t length;
  bool splits, truncates;
  bool in_order;  ///< pieces of a sample follow one another; otherwise, remainders come last
};

/// \throws wick::error for samples without a length, and for those that don't fit
grouping plan_rows(const lengths_source& samples, const index_lookup& order, std::uint64_t positions,
                   std::uint64_t most, const row_rules& rules);
grouping plan_buckets(const lengths_source& samples, const index_lookup& order, std::uint64_t positions,
                      std::uint64_t most, std::uint64_t tokens, std::uint64_t multiple);

template <class Source>
lengths_source lengths_of(const Source& source, const std::vector<std::uint32_t>& given) {
  lengths_source out{given, detail::samples_of(source), &source, nullptr,
                     [](const void* of, std::uint64_t index) {
                       return detail::key_of(*static_cast<const Source*>(of), index);
                     }};
  if constexpr (says_length<Source>) {
    out.length = [](const void* of, std::uint64_t index) {
      return static_cast<std::uint64_t>(static_cast<const Source*>(of)->length(index));
    };
  }
  return out;
}

/// \param look_up  called with (first, count, out): finds the indexes of positions
/// \throws wick::error
template <class Path, class LookUp>
grouping make_grouping(const Path& path, const LookUp& look_up, std::uint64_t positions, std::uint64_t most) {
  using types = typename Path::types;
  const index_lookup order{&look_up,
                           [](const void* of, std::uint64_t first, std::uint64_t count, std::uint64_t* out) {
                             (*static_cast<const LookUp*>(of))(first, count, out);
                           }};
  if constexpr (finds_pack<types>()) {
    const auto& pack = path.template stage<types::batching>();
    return plan_rows(detail::lengths_of(path.source(), pack.lengths()), order, positions, most,
                     {pack.row_length(), pack.splits(), pack.truncates(), packs_each_epoch<types>});
  } else {
    const bucket_stage& bucket = path.template stage<find_bucket<types>()>();
    return plan_buckets(detail::lengths_of(path.source(), bucket.lengths()), order, positions, most,
                        bucket.tokens(), bucket.multiple());
  }
}

/// Which groups a batch has, and which part of them this rank has.
template <class Path>
class group_plan {
  using types = typename Path::types;
  static constexpr bool packs = finds_pack<types>();
  static_assert(!has_bucket<types> || types::batched,
                "wick: bucket() groups samples for batches, and there are none; write batch(n, {.ragged = "
                "wick::pad_with(0)}) or group(n) after the stages");
  static constexpr bool each_epoch = packs_each_epoch<types>;
  static_assert(
      can_group<types>() || packs,
      "wick: bucket() sorts the samples of all epochs by length once, so the stages before it must give "
      "the same samples in each epoch, and shuffle() comes after them: write source | take(n) | shuffle() "
      "| bucket(); for weighted(), block_shuffle(), mix(), and orders of your own, leave bucket() out, or "
      "write pack(rows, length) in place of bucket() and batch()");
  static_assert(!(has_bucket<types> && packs),
                "wick: pack() groups samples by their lengths itself; leave bucket() out");

 public:
  using order_type = std::shared_ptr<const grouped_epoch>;

  /// \param look_up  called with (first, count, out): finds the indexes of positions, with shuffle() left out
  /// unless this is the plan of one epoch
  /// \throws wick::error
  template <class LookUp>
  void make(const Path& path, const LookUp& look_up, std::uint64_t positions, std::uint64_t batch_size,
            const shard_stage& shard, bool drop_last, bool pad_last) {
    if (pad_last) {
      throw error(
          "loader: pad_last with bucket() or pack(): nothing has the lengths that would fill up the last "
          "batch; "
          "use drop_last, or take the short one");
    }
    auto made = std::make_shared<grouping>(make_grouping(path, look_up, positions, batch_size));
    // With bucket(), only the last group may be short. In a shuffled epoch, it isn't the last.
    if (!packs && drop_last) made->drop_short();
    groups_ = std::move(made);
    step_ = packs ? batch_size : 1;
    const std::uint64_t groups = groups_->groups();
    batches_ = packs && drop_last ? groups / step_ : (groups + step_ - 1) / step_;
    share(batch_size, shard);
  }
  /// The same groups for another rank. \throws wick::error
  void share(std::uint64_t batch_size, const shard_stage& shard) {
    shard_ = shard;
    if (groups_ == nullptr) return;  // an empty epoch
    const std::uint64_t groups = groups_->groups();
    if (packs) {
      rows_ = static_cast<std::size_t>((std::min(batch_size, groups) + shard.world - 1) / shard.world);
      slots_ = static_cast<std::size_t>(groups_->largest(rows_));
    } else {
      slots_ = static_cast<std::size_t>((groups_->largest(1) + shard.world - 1) / shard.world);
      if (groups != 0 && groups_->smallest_full() < shard.world) {
        throw error("bucket: the longest samples make batches of " +
                    std::to_string(groups_->smallest_full()) + ", which can't be shared by " +
                    std::to_string(shard.world) + " ranks; make .tokens more");
      }
    }
  }

  std::uint64_t positions() const noexcept { return groups_->size(); }
  std::uint64_t batches() const noexcept { return batches_; }
  std::size_t slots() const noexcept { return slots_; }
  /// Approximate: takes all batches for equally large.
  std::uint64_t passed(std::uint64_t batches) const noexcept {
    return static_cast<std::uint64_t>(static_cast<double>(positions()) * static_cast<double>(batches) /
                                      static_cast<double>(batches_));
  }
  position_range slice(std::uint64_t batch, const order_type& order, const shard_stage& of) const noexcept {
    if constexpr (packs) {
      const position_range rows = rows_of(batch, of);
      const std::uint64_t from = order->begin(rows.first);
      return {from, order->begin(rows.first + rows.count) - from};
    } else {
      const std::uint64_t from = order->begin(batch);
      const position_range mine = share_of(order->begin(batch + 1) - from, of);
      return {from + mine.first, mine.count};
    }
  }
  template <class Columns>
  void arrange(std::uint64_t batch, const order_type& order, Columns& to) const {
    const position_range rows = rows_of(batch, shard_);
    to.arrange(static_cast<std::size_t>(rows.count), rows_);
    for (std::uint64_t row = 0; row < rows.count; ++row) {
      const std::uint64_t group = rows.first + row;
      std::uint32_t offset = 0;
      for (std::uint64_t p = order->begin(group); p < order->begin(group + 1); ++p) {
        const lengthy& one = order->sample(group, p);
        to.place(static_cast<std::uint32_t>(row), offset, one.length, one.from, one.whole);
        offset += one.length;
      }
    }
  }
  /// Takes about 10 ns per group.
  order_type order(std::uint64_t seed, std::uint64_t epoch) const {
    constexpr std::size_t stage = packs ? types::batching : find_bucket<types>();
    return std::make_shared<const grouped_epoch>(groups_, shuffles<types>() && !each_epoch, seed, epoch,
                                                 static_cast<std::uint32_t>(stage));
  }

 private:
  position_range rows_of(std::uint64_t batch, const shard_stage& of) const noexcept {
    const std::uint64_t begin = batch * step_;
    const position_range mine = share_of(std::min(step_, groups_->groups() - begin), of);
    return {begin + mine.first, mine.count};
  }

  shard_stage shard_;
  std::shared_ptr<const grouping> groups_;
  std::uint64_t step_ = 1, batches_ = 0;  // step_: groups per batch
  std::size_t rows_ = 0, slots_ = 0;
};

}  // namespace wick::detail
