// The program of docs/guides/any_length.md.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <torch/torch.h>

#include <wick/wick.hpp>

/// A text as numbers; any tokenizer would do.
static std::vector<std::int64_t> tokenize(const wick::bytes& text) {
  std::vector<std::int64_t> tokens;
  for (const std::byte b : text.span()) tokens.push_back(std::to_integer<std::int64_t>(b));
  return tokens;
}

struct model {
  at::Tensor forward(const at::Tensor& tokens, const at::Tensor& lengths);
  at::Tensor forward_packed(const at::Tensor& tokens, const at::Tensor& positions, const at::Tensor& borders,
                            std::int64_t longest);
  at::Tensor embed(const at::Tensor& values, const at::Tensor& offsets);
};

void padded(model& m);
void concatenated(model& m);
void bucketed(model& m);
void packed(model& m);
void packed_mixture(model& m);

void padded(model& m) {
  wick::loader train(wick::files("texts/*.txt") | wick::shuffle() | wick::read() | tokenize |
                     wick::batch(32, {.ragged = wick::pad_with(0, {.multiple = 8})}));
  for (auto& batch : train.epoch(0)) m.forward(batch.values, batch.lengths);
}

void concatenated(model& m) {
  wick::loader bags(wick::files("texts/*.txt") | wick::shuffle() | wick::read() | tokenize |
                    wick::batch(32, {.ragged = wick::concatenated}));
  for (auto& batch : bags.epoch(0)) m.embed(batch.values, batch.offsets);
}

void bucketed(model& m) {
  const auto lengths = wick::measure_lengths(wick::files("texts/*.txt") | wick::read() | tokenize);

  wick::loader train(wick::files("texts/*.txt") | wick::shuffle() |
                     wick::bucket({.tokens = 16384, .lengths = lengths}) | wick::read() | tokenize |
                     wick::batch(256, {.ragged = wick::pad_with(0)}));
  for (auto& batch : train.epoch(0)) m.forward(batch.values, batch.lengths);
}

void packed(model& m) {
  const auto lengths = wick::measure_lengths(wick::files("texts/*.txt") | wick::read() | tokenize);

  wick::loader train(wick::files("texts/*.txt") | wick::shuffle() | wick::shard() | wick::read() | tokenize |
                     wick::pack(8, 2048, {.too_long = wick::too_long::split, .lengths = lengths}));
  for (auto& batch : train.epoch(0)) {
    m.forward_packed(batch.values, batch.positions, batch.cu_seqlens, batch.max_seqlen);
  }
}

void packed_mixture(model& m) {
  const auto web = wick::files("web/*.txt"), books = wick::files("books/*.txt");
  const auto lengths = wick::measure_lengths(wick::from(wick::concat(web, books)) | wick::read() | tokenize);

  wick::loader train(wick::mix(wick::weighted_source{web | wick::shuffle(), 3, "web"},
                               wick::weighted_source{books | wick::shuffle(), 1, "books"}) |
                     wick::shard() | wick::read() | tokenize | wick::pack(8, 2048, {.lengths = lengths}));
  for (auto& batch : train.epoch(0)) {
    m.forward_packed(batch.values, batch.positions, batch.cu_seqlens, batch.max_seqlen);
  }
}
