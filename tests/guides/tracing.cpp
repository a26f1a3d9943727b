// The code of docs/guides/tracing.md. Compiled; a test compares the two.
#include <cstddef>

#include <wick/wick.hpp>

namespace {

template <class Batch>
void train_on(const Batch&) {}

template <class Loader>
[[maybe_unused]] void traced(Loader& train) {
  train.trace("trace.json");
  for (int step = 0; step < 100; ++step) train_on(*train.next());
  train.stop_trace();
}

template <class Loader>
[[maybe_unused]] void sampled(Loader& train) {
  train.trace("trace.json", {.max_bytes = std::size_t{1} << 30, .every = 10});
}

[[maybe_unused]] void both() {
  wick::loader train(wick::image_folder("photos/train") | wick::shuffle() | wick::read() | wick::decode() |
                     wick::resize(224) | wick::batch(256));
  traced(train);
  sampled(train);
}

}  // namespace
