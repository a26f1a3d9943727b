/// \file
/// A loader of something that is no pipeline: what the compiler says then.
#pragma once

#include <cstddef>

#include <wick/loader/detail/pipeline_types.hpp>
#include <wick/loader/loader_options.hpp>
#include <wick/pipeline/pipeline.hpp>

namespace wick {

template <class Batch>
class loader;

/// A mistake, and one message: stages without a source.
template <class... S>
class loader<detail::chain<S...>> : public loader<int> {
  static_assert(sizeof...(S) == ~std::size_t{0},
                "wick: a loader needs a source, and this is a chain of stages; write loader(source | chain)");

 public:
  explicit loader(detail::chain<S...>, loader_options = {}) {}
};
template <class... S>
loader(detail::chain<S...>, loader_options) -> loader<detail::chain<S...>>;
template <class... S>
loader(detail::chain<S...>) -> loader<detail::chain<S...>>;

}  // namespace wick
