// batch(n): from samples to batches. Position p of the epoch goes into slot p mod n of batch p / n.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/batch/detail/collate.hpp>
#include <wick/batch/detail/named_fields.hpp>
#include <wick/ext/stage.hpp>
#include <wick/pipeline/detail/apply.hpp>
#include <wick/pipeline/error.hpp>

namespace wick::inline v0_1 {

/// Options of batch().
struct batch_options {
  /// Leave out the last batch of an epoch when it isn't full.
  bool drop_last = false;
  /// The memory layout of images: contiguous as [N, C, H, W], or channels_last, which suits many
  /// convolutions best.
  wick::layout layout = wick::layout::nchw;
  /// Fill the last batch of an epoch from the epoch's beginning. Each such sample has a position of its own,
  /// and so different random numbers. Without this or drop_last, the last batch is short. All ranks always
  /// have the same number of batches. With this, they also have the same number of samples if the ranks share
  /// a batch evenly.
  bool pad_last = false;
};

namespace detail {

/// \throws wick::error
inline batch_options checked(const char* stage, std::size_t size, batch_options options) {
  if (size == 0) throw error(std::string(stage) + "(0): a " + stage + " has at least one sample");
  if (size > std::size_t{1} << 40) {
    throw error(std::string(stage) + "(" + std::to_string(size) + "): a " + stage +
                " has at most 2^40 samples; was a number below 0 converted?");
  }
  if (options.drop_last && options.pad_last) {
    throw error(std::string(stage) +
                ": the last one can't be dropped and padded; write drop_last or pad_last");
  }
  return options;
}

struct array_output;

}  // namespace detail

/// A column of a batch without Torch: numbers of one type. All copies of this value share its memory, which
/// returns to the loader's pool with the last of them.
class array {
 public:
  array() noexcept = default;

  /// [N, …]; images have the batch's layout.
  const shape& extents() const noexcept { return extents_; }
  /// In elements.
  const shape& strides() const noexcept { return strides_; }
  dtype type() const noexcept { return type_; }
  std::byte* data() const noexcept { return memory_ ? memory_->data() : nullptr; }
  std::size_t bytes() const noexcept {
    return static_cast<std::size_t>(extents_.count()) * detail::size_of(type_);
  }
  /// The elements as T. \throws wick::error when they have another type
  template <class T>
  T* as() const {
    if (detail::dtype_of<T>() != type_) {
      throw error("array: as<" + std::string(to_string(detail::dtype_of<T>())) + "> of an array of " +
                  std::string(to_string(type_)) +
                  (type_ == dtype::uint8
                       ? "; pictures are bytes, write normalize() before array_batch() for floats"
                       : ""));
    }
    return reinterpret_cast<T*>(data());
  }

 private:
  friend struct detail::array_output;
  array(detail::slab memory, const detail::column_description& about)
      : memory_(std::make_shared<detail::slab>(std::move(memory))),
        extents_(about.extents()),
        strides_(about.strides()),
        type_(about.type) {}

  std::shared_ptr<detail::slab> memory_;
  shape extents_, strides_;
  dtype type_ = dtype::uint8;
};

namespace detail {

template <>
inline constexpr bool is_column<array> = true;

struct array_output {
  static array make(slab memory, const column_description& about) { return array(std::move(memory), about); }
};

/// Makes batches with columns that Output makes. Unless Named is void, they become its fields.
template <class Output, class Named = void>
class batch_stage {
 public:
  static constexpr stage_traits traits{
      .name = "batch", .kind = stage_kind::batching, .has_fingerprint = true, .has_check = true};

  /// \throws wick::error when size is 0
  batch_stage(std::size_t size, batch_options options)
      : size_(size), options_(detail::checked("batch", size, options)) {}
  std::size_t size() const noexcept { return size_; }
  bool drop_last() const noexcept { return options_.drop_last; }
  bool pad_last() const noexcept { return options_.pad_last; }
  std::uint64_t fingerprint() const noexcept { return (drop_last() ? 1u : 0u) | (pad_last() ? 2u : 0u); }
  layout order() const noexcept { return options_.layout; }

  template <class Item>
  using collator = std::conditional_t<std::is_void_v<Named>, detail::column_of<Item, Output>,
                                      detail::named_columns<Item, Output, Named>>;
  template <class Item>
  using batch_of = typename collator<Item>::output;

  template <class Item>
  static consteval bool check() {
    if constexpr (!can_batch<Item>::value) {
      constexpr bool is_read = !has_unread<Item>::value;
      constexpr bool is_decoded = !is_read || !has_bytes<Item>::value;
      constexpr bool only_ragged = can_pad<Item>::value;
      constexpr bool has_a_shape = !is_read || !is_decoded || only_ragged;
      static_assert(is_read,
                    "wick: batch() makes tensors, and the item only says where bytes lie (see 'Item'); write "
                    "read() before it, and for pictures read() | decode()");
      static_assert(is_decoded,
                    "wick: batch() makes tensors, and the item is bytes as they were read (see 'Item'); "
                    "write decode() before it for pictures, decode_mask() for masks, else a stage that "
                    "makes numbers of them");
      static_assert(
          !only_ragged,
          "wick: batch() makes tensors, and a field that came (see 'Item') has any length "
          "(std::vector); write batch(n, {.ragged = wick::pad_with(0)}) to fill it up to the longest "
          "of the batch, {.ragged = wick::concatenated} to put them one after the other, or group(n) to keep "
          "the samples as they are");
      static_assert(has_a_shape,
                    "wick: batch() can't put the item into a tensor (see 'Item'): it takes numbers, "
                    "std::array of them, std::string, pictures, and sample<>, tuples and plain structs of up "
                    "to 8 fields of these; write group(n) for what has no fixed shape, or a stage before "
                    "batch() that gives it one");
      return false;
    } else {
      return check_named<Named, Item, Output>();
    }
  }

 private:
  std::size_t size_;
  batch_options options_;
};

}  // namespace detail

/// Batches of `size` samples as arrays, without Torch: sample<array, array> for sample<image, label>, and
/// field by field for tuples and plain structs. With shard(), `size` counts the samples of all ranks.
/// \throws wick::error when size is 0
inline detail::batch_stage<detail::array_output> array_batch(std::size_t size, batch_options options = {}) {
  return {size, options};
}

/// The same as a struct of yours: `struct steps { wick::array observation, reward; };` and
/// `array_batch<steps>(64)`. The sample's fields go into those of `Named` in their order; a field that has
/// fields itself counts as those. The compiler checks the number and the types of the fields, but can't check
/// their names.
template <class Named>
detail::batch_stage<detail::array_output, Named> array_batch(std::size_t size, batch_options options = {}) {
  return {size, options};
}

namespace detail {

/// Decodes the images in the fields of a struct, in vectors, and in optionals. Their types stay the same.
template <class T>
void carry_out_fields(T& value) {
  if constexpr (requires { value.carry_out(); })
    value.carry_out();
  else if constexpr (composite<T> || container_like<T> || optional_like<T>)
    detail::for_each_inside(value, [](auto& inner) { detail::carry_out_fields(inner); });
}

/// A column of objects that are materialized before they are put, so no undecoded image leaves a batch.
template <class Item>
class group_column : public object_column<materialized_t<Item>> {
 public:
  void put(std::size_t i, Item&& value) {
    auto made = materialized<Item>::make(std::move(value));
    detail::carry_out_fields(made);
    object_column<materialized_t<Item>>::put(i, std::move(made));
  }
};

/// Makes a std::vector of the unchanged samples.
class group_stage {
 public:
  static constexpr stage_traits traits{.name = "group",
                                       .kind = stage_kind::batching,
                                       .has_fingerprint = true,
                                       .has_check = true,
                                       .keeps_objects = true};
  /// The samples stay objects, each in memory of its own: there are no blocks.
  group_stage(std::size_t size, batch_options options)
      : size_(size), options_(detail::checked("group", size, options)) {}
  std::size_t size() const noexcept { return size_; }
  bool drop_last() const noexcept { return options_.drop_last; }
  bool pad_last() const noexcept { return options_.pad_last; }
  std::uint64_t fingerprint() const noexcept { return (drop_last() ? 1u : 0u) | (pad_last() ? 2u : 0u); }
  layout order() const noexcept { return options_.layout; }
  template <class Item>
  using collator = detail::group_column<Item>;
  template <class Item>
  using batch_of = std::vector<detail::materialized_t<Item>>;
  template <class Item>
  static consteval bool check() {
    return true;
  }

 private:
  std::size_t size_;
  batch_options options_;
};

}  // namespace detail

/// Groups of `size` samples, each group a std::vector: for samples without a fixed shape.
/// \throws wick::error when size is 0
inline detail::group_stage group(std::size_t size, batch_options options = {}) { return {size, options}; }

}  // namespace wick
