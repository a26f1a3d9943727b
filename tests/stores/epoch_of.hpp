// What an epoch of a source gives, for tests of stores.
#pragma once

#include <string>
#include <vector>

#include <wick/batch/batch.hpp>
#include <wick/io/read.hpp>
#include <wick/loader/loader.hpp>
#include <wick/sampling/order.hpp>

namespace wick_test {

using contents = std::vector<std::string>;

/// What read() gives in an epoch, in its order.
template <class Source>
contents epoch_of(Source source, int epoch = 0, wick::loader_options options = {.seed = 1, .workers = 2}) {
  wick::loader train(source | wick::shuffle() | wick::read() | wick::group(4), options);
  contents out;
  for (auto& group : train.epoch(epoch)) {
    for (wick::bytes& b : group) out.emplace_back(b.text());
  }
  return out;
}

}  // namespace wick_test
