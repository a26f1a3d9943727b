// The lengths of a pipeline's samples, measured by making each sample once.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <wick/batch/detail/fields.hpp>
#include <wick/loader/loader.hpp>
#include <wick/loader/loader_options.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/pipeline/pipeline.hpp>

namespace wick::inline v0_1 {

namespace detail {

/// Whether there is a std::vector in a sample. length_in() gives the length of the first one.
template <class T>
constexpr bool has_length() {
  if constexpr (ragged<T>) {
    return true;
  } else if constexpr (composite<T>) {
    return []<class... F>(std::type_identity<std::tuple<F...>>) {
      return (has_length<F>() || ...);
    }(std::type_identity<typename field_types<T>::type>{});
  } else {
    return false;
  }
}
template <class T>
std::size_t length_in(const T& value) {
  if constexpr (ragged<T>) {
    return value.size();
  } else {
    return detail::with_fields(value, [](const auto&... field) {
      std::size_t out = 0;
      bool found = false;
      const auto look = [&](const auto& f) {
        using type = std::remove_cvref_t<decltype(f)>;
        if constexpr (has_length<type>()) {
          if (!std::exchange(found, true)) out = detail::length_in(f);
        }
      };
      (look(field), ...);
      return out;
    });
  }
}

}  // namespace detail

/// The length of each sample, for bucket() and pack(): `measure_lengths(source | read() | tokenize)` makes
/// every sample once, on all workers, and gives the size of its first std::vector field, in the source's
/// order. Keep the sizes in a file, 4 bytes each. Stages that draw lengths at random can't be measured.
/// \throws wick::sample_error for a sample that can't be made
template <class Source, class... S>
std::vector<std::uint32_t> measure_lengths(pipeline<Source, S...> what, loader_options options = {}) {
  using types = detail::pipeline_types<Source, S...>;
  static_assert(types::order_end == 0 && !types::batched,
                "wick: measure_lengths() wants all samples in the source's order; leave order stages and "
                "batch() out: source | read() | tokenize");
  static_assert(detail::has_length<typename types::delivered>(),
                "wick: measure_lengths() measures std::vector fields, and the item has none; put the stage "
                "that makes them (a tokenizer) at the end");
  static_assert(!types::filters,
                "wick: measure_lengths() gives a length for each sample of the source, and filter() leaves "
                "some out; measure without it, it may stand in front of bucket() or pack() all the same");
  options.on_error = {};
  options.prefetch_next_epoch = false;
  loader from(std::move(what), std::move(options));
  std::vector<std::uint32_t> out;
  out.reserve(from.samples());
  while (auto one = from.next()) {
    const std::size_t length = detail::length_in(*one);
    if (length > std::numeric_limits<std::uint32_t>::max()) {
      throw error("measure_lengths: sample " + std::to_string(out.size()) + " is longer than 2^32 - 1");
    }
    out.push_back(static_cast<std::uint32_t>(length));
  }
  return out;
}

}  // namespace wick
