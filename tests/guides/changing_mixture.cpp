// The code of docs/guides/changing_mixture.md. Compiled; a test compares the two.
#include <cstdint>
#include <vector>

#include <wick/wick.hpp>

namespace {

[[maybe_unused]] void changed_while_trained_on() {
  const auto step = [](const auto&) {};
  const std::vector<float> web(9000), books(3000), code(3000);
  auto data =
      wick::mix(wick::mix_until::all_exhausted, wick::weighted_source{web | wick::shuffle(), 3, "web"},
                wick::weighted_source{books | wick::shuffle(), 1, "books"},
                wick::weighted_source{code | wick::shuffle(), 0, "code"});
  wick::loader train(data | wick::batch(256), {.seed = 1});

  for (std::uint64_t epoch = 0; epoch < 10; ++epoch) {
    if (epoch == 2) train.set_mix_weights({{"web", 1}, {"code", 2}});
    if (epoch == 5) train.set_mix_weights({{"books", 0}});
    for (auto& batch : train.epoch(epoch)) step(batch);
  }
}

}  // namespace
