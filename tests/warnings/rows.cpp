// Rows in memory, orders, ragged samples, records and a saved state, as a user writes them.
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <wick/core.hpp>

int main(int argc, char** argv) {
  if (argc < 2) return 1;
  std::vector<std::string> texts(1000, "text");
  std::vector<std::int64_t> labels(1000, 1);
  wick::loader lengths(wick::in_memory(texts) | wick::block_shuffle(8, 4) | wick::repeat(2) |
                           [](const std::string& text) { return static_cast<float>(text.size()); } |
                           wick::array_batch(16),
                       {.seed = 1, .workers = 2, .prefetch = 4});
  while (auto batch = lengths.next()) std::printf("%zu\n", sizeof *batch);
  wick::write_state(argv[1], lengths.state());
  lengths.load_state(wick::read_state(argv[1]));

  wick::loader rows(wick::in_memory(labels) | wick::shuffle() | wick::take(100) |
                        [](std::int64_t label, wick::context& context) {
                          return std::pair<std::int64_t, double>(label, context.random().uniform(0, 1));
                        } |
                        wick::array_batch(10),
                    {.on_error = wick::on_error::replace});
  for (int epoch = 0; epoch < 2; ++epoch) {
    for (auto& batch : rows.epoch(epoch)) std::printf("%zu\n", sizeof batch);
  }

  wick::loader files(wick::files({argv[1]}) | wick::read() |
                     [](wick::bytes content) { return content.size(); } | wick::group(4));
  while (auto samples = files.next()) std::printf("%zu\n", samples->size());
  return 0;
}
