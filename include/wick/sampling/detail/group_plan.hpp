/// \file
/// The grouping of a pipeline that has bucket() or pack(): what lengths its samples have, and what of an
/// epoch a batch and a rank get.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
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

/// A part of what is numbered: positions, or rows.
struct position_range {
  std::uint64_t first = 0, count = 0;
};
/// A rank's share of `count`.
constexpr position_range share_of(std::uint64_t count, const shard_stage& shard) noexcept {
  const std::uint64_t from = count * shard.rank / shard.world;
  return {from, count * (shard.rank + 1) / shard.world - from};
}

/// Stage of order I of Types; what is no stage is none of them.
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

/// Whether batches are of rows in which samples follow one another.
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

/// Whether shuffle(), bucket() and shard() come last, and nothing before them changes from epoch to epoch.
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

/// Whether each epoch has rows of its own: pack() after stages that give other samples in each.
template <class Types>
inline constexpr bool packs_each_epoch = finds_pack<Types>() && !can_group<Types>();

/// The index of a position after the first N order stages, shuffle() left out.
template <std::size_t N, class Path>
std::uint64_t unshuffled_index(const Path& path, const std::uint64_t* sizes, std::uint64_t p) {
  if constexpr (N == 0) {
    return p;
  } else {
    using one = order_stage_at<typename Path::types, N - 1>;
    if constexpr (!std::is_same_v<one, shuffle_stage>) {
      p = path.template stage<N - 1>().prepare(sizes[N - 1], 0, 0, std::uint32_t{N - 1})(p);
    }
    return unshuffled_index<N - 1>(path, sizes, p);
  }
}

/// What `positions` positions are long. \throws wick::error
/// \param look_up  called with (first, count, out): the indexes of positions
template <class Path, class LookUp>
std::vector<lengthy> lengths_of(const Path& path, const char* stage, const LookUp& look_up,
                                std::uint64_t positions, const std::vector<std::uint32_t>& given) {
  const auto& source = path.source();
  const std::string said = std::string(stage) + ": ";
  constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
  if (positions > most || source.size() > most) {
    throw error(said + "an epoch has " + std::to_string(positions) +
                " samples, and lengths are planned for at most " + std::to_string(most) +
                "; leave repeat() and mix_until::forever out, or take a part");
  }
  if (!given.empty() && given.size() != source.size()) {
    throw error(said + std::to_string(given.size()) + " lengths for a source of " +
                std::to_string(source.size()) + " samples; each needs one");
  }
  std::vector<lengthy> out(static_cast<std::size_t>(positions));
  constexpr std::uint64_t block = 256;
  std::uint64_t indexes[block];
  for (std::uint64_t p = 0; p < positions; ++p) {
    if (p % block == 0) look_up(p, std::min(block, positions - p), indexes);
    const std::uint64_t index = indexes[p % block];
    std::uint64_t length = 0;
    if (!given.empty()) {
      length = given[static_cast<std::size_t>(index)];
    } else if constexpr (says_length<std::remove_cvref_t<decltype(source)>>) {
      length = static_cast<std::uint64_t>(source.length(index));
    } else {
      throw error(said +
                  "this source does not say how long its samples are, by `length(i)`; give them: {.lengths = "
                  "measure_lengths(source | stages)}");
    }
    if (length > most)
      throw error(key_of(source, index) + ": " + said + std::to_string(length) + " is no length");
    const auto l = static_cast<std::uint32_t>(length);
    out[static_cast<std::size_t>(p)] = {static_cast<std::uint32_t>(index), l, 0, l};
  }
  return out;
}

/// The samples as the batching stage wants them in its rows. \throws wick::error
/// \param in_order  the pieces of a sample follow one another; else the remainders come last
template <class Path, class Stage>
std::vector<lengthy> cut_to_rows(const Path& path, const Stage& pack, const std::vector<lengthy>& samples,
                                 bool in_order) {
  const std::uint32_t row = pack.row_length();
  std::uint64_t all = 0;
  for (const lengthy& l : samples) all += pack.splits() ? (l.length + std::uint64_t{row} - 1) / row : 1;
  constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
  if (all > most) {
    throw error("pack: " + std::to_string(samples.size()) + " samples split into rows of " +
                std::to_string(row) + " are " + std::to_string(all) + " pieces, and at most " +
                std::to_string(most) + " are planned for; make rows longer, or take a part");
  }
  std::vector<lengthy> out, remainders;
  out.reserve(static_cast<std::size_t>(all));
  for (const lengthy& l : samples) {
    out.push_back(l);
    if (l.length <= row) continue;
    out.back().length = row;
    if (pack.truncates()) continue;
    if (!pack.splits()) {
      throw error(key_of(path.source(), l.index) + ": pack: it is " + std::to_string(l.length) +
                  " long, and a row " + std::to_string(row) +
                  "; make rows longer, or say {.too_long = wick::too_long::split} or truncate");
    }
    for (std::uint32_t from = row; from < l.whole; from += std::min(row, l.whole - from)) {
      (in_order ? out : remainders).push_back({l.index, std::min(row, l.whole - from), from, l.whole});
    }
  }
  out.insert(out.end(), remainders.begin(), remainders.end());
  return out;
}

/// \throws wick::error
template <class Path, class LookUp>
grouping make_grouping(const Path& path, const LookUp& look_up, std::uint64_t positions, std::uint64_t most) {
  using types = typename Path::types;
  if constexpr (finds_pack<types>()) {
    constexpr bool in_order = packs_each_epoch<types>;
    const auto& pack = path.template stage<types::batching>();
    std::vector<lengthy> samples =
        cut_to_rows(path, pack, lengths_of(path, "pack", look_up, positions, pack.lengths()), in_order);
    if constexpr (in_order) return grouping::rows_in_order(std::move(samples), pack.row_length(), most);
    grouping::sort(samples);
    return grouping::rows(std::move(samples), pack.row_length());
  } else {
    const bucket_stage& bucket = path.template stage<find_bucket<types>()>();
    std::vector<lengthy> samples = lengths_of(path, "bucket", look_up, positions, bucket.lengths());
    grouping::sort(samples);
    if (bucket.tokens() != 0 && !samples.empty() && samples.front().length > bucket.tokens()) {
      throw error(key_of(path.source(), samples.front().index) + ": bucket: it is " +
                  std::to_string(samples.front().length) + " long, and a batch takes " +
                  std::to_string(bucket.tokens()) + "; make .tokens more, or cut such samples");
    }
    return grouping::buckets(std::move(samples), most, bucket.tokens(), bucket.multiple());
  }
}

/// In place of a group_plan where nothing is grouped.
template <class Order>
struct computed_plan {
  using order_type = Order;
};

/// What of the groups a batch has, and what this rank has of that.
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

  /// \param look_up  called with (first, count, out): the indexes of positions, shuffle() left out unless
  /// this is the plan of one epoch
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
    // Of bucket() only the last group may be short. It is not the last of an epoch that is shuffled.
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
    if (groups_ == nullptr) return;  // of an empty epoch
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
  /// About: all batches taken for equally large.
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
  /// Takes about 10 ns a group.
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
  std::uint64_t step_ = 1, batches_ = 0;  // groups a batch
  std::size_t rows_ = 0, slots_ = 0;
};

}  // namespace wick::detail
