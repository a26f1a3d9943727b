// with_index(): a sample carries its index and key into the batch.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include <wick/batch/detail/collate.hpp>
#include <wick/ext/stage.hpp>
#include <wick/pipeline/context.hpp>
#include <wick/pipeline/sample.hpp>

namespace wick::inline v0_1 {

/// A target, and the index and key of its sample. After batch(): a tensor of targets, one of indexes, int64
/// [N], and a std::vector of keys.
template <class Value, class Index = std::int64_t, class Key = std::string>
struct indexed {
  Value value;  ///< the unchanged target
  Index index;  ///< of the sample in the source
  Key key;      ///< the source's name for the sample, as in messages and the failure log
};
/// The index and key of a sample without a target.
template <class Index, class Key>
struct indexed<void, Index, Key> {
  Index index;
  Key key;
};

namespace detail {

template <class T, class A, class B, class C>
struct batch_shape_of<indexed<T>, A, B, C> {
  using type = indexed<A, B, C>;
};
template <class A, class B>
struct batch_shape_of<indexed<void>, A, B> {
  using type = indexed<void, A, B>;
};

struct with_index_stage {
  static constexpr stage_traits traits{.name = "with_index", .kind = stage_kind::sample, .has_check = true};

  template <class Data, class Target>
  sample<Data, indexed<Target>> operator()(sample<Data, Target> s, context& c) const {
    return {std::move(s.data), {std::move(s.target), static_cast<std::int64_t>(c.index()), c.key()}};
  }
  template <class Data>
    requires(!is_sample<Data>)
  sample<Data, indexed<void>> operator()(Data data, context& c) const {
    return {std::move(data), {static_cast<std::int64_t>(c.index()), c.key()}};
  }

  template <class Came, class... Before>
  static consteval bool check() {
    constexpr bool is_single = !(stage_of<Before, stage_kind::batching> || ...);
    static_assert(is_single,
                  "wick: with_index() says which sample it is, and the item is a batch; write it before "
                  "batch(n)");
    return is_single;
  }
};

}  // namespace detail

/// Makes the sample's index and key part of its target, which stages leave alone. After batch(),
/// `batch.target.index` is int64 [N], `batch.target.key` is a std::vector of N strings, and
/// `batch.target.value` is the former target. For samples without a target, `batch.data` is the former item.
/// Index and key are those of the sample that is in the slot in the end: a closed gap has no entry, and a
/// substitute has its own. With
/// `struct indexed_batch { torch::Tensor data, target, index; std::vector<std::string> key; };` and
/// `with_index() | batch<indexed_batch>(n)`, they are fields beside the others.
inline detail::with_index_stage with_index() noexcept { return {}; }

}  // namespace wick
