// The code of docs/guides/text.md. Compiled; a test compares the two.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <torch/torch.h>

#if __has_include(<nlohmann/json.hpp>)
#include <nlohmann/json.hpp>
#endif
#if __has_include(<sentencepiece_processor.h>)
#include <sentencepiece_processor.h>
#endif

#include <wick/wick.hpp>

namespace {

void step(const torch::Tensor&, const torch::Tensor&) {}
void step(const torch::Tensor&, const torch::Tensor&, const torch::Tensor&, const torch::Tensor&) {}

[[maybe_unused]] void lines_of_files() {
  auto lines = wick::lines("corpus/*.txt", {.index = "corpus.index"});
  wick::loader loader(lines | wick::shuffle() | wick::read() |
                          [](std::string_view line) { return std::string(line); } | wick::batch(256),
                      {.seed = 1});
  for (std::vector<std::string>& batch : loader.epoch(0)) static_cast<void>(batch);
}

std::vector<std::int32_t> bytes_as_tokens(std::string_view text) {
  std::vector<std::int32_t> out;
  for (const char c : text) out.push_back(static_cast<unsigned char>(c));
  return out;
}

[[maybe_unused]] void tokens_of_documents() {
  auto corpus = wick::documents("corpus/*.txt", {.separator = "<|endoftext|>"});
  wick::write_tokens(corpus | wick::read() | wick::map("tokenize", bytes_as_tokens), "train.bin",
                     {.end_of_text = 256});
}

#if __has_include(<sentencepiece_processor.h>)
auto sentence_pieces(const std::string& model) {
  const auto load = [model] {
    auto pieces = std::make_unique<sentencepiece::SentencePieceProcessor>();
    if (const auto status = pieces->Load(model); !status.ok()) throw wick::error(status.ToString());
    return pieces;
  };
  return wick::per_worker("sentencepiece", load, [](auto& pieces, const wick::bytes& text) {
    std::vector<int> out;
    if (const auto status = pieces->Encode(text.text(), &out); !status.ok())
      throw wick::error(status.ToString());
    return out;
  });
}

[[maybe_unused]] void with_sentence_pieces() {
  wick::write_tokens(wick::documents("corpus/*.txt") | wick::read() | sentence_pieces("32k.model"),
                     "train.bin", {.end_of_text = 2});
}
#endif

#if __has_include(<nlohmann/json.hpp>)
[[maybe_unused]] void lines_of_json() {
  auto stories = wick::lines("stories-*.jsonl", {.index = "stories.index", .skip_empty = true}) |
                 wick::read() | wick::map("json", [](std::string_view line) {
                   return nlohmann::json::parse(line).at("text").get<std::string>();
                 });
  wick::write_tokens(stories | wick::map("tokenize", bytes_as_tokens), "train.bin", {.end_of_text = 256});
}
#endif

[[maybe_unused]] void train_on_chunks(std::uint64_t epochs) {
  wick::loader train(wick::tokens("train.bin") | wick::chunks(1024) | wick::shuffle() | wick::shard() |
                         wick::read() | wick::batch(32) | wick::pin() | wick::transfer(torch::kCUDA),
                     {.seed = 1});
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
    for (auto& [tokens, next] : train.epoch(epoch)) step(tokens, next);  // int64 [32, 1024] each
  }
}

[[maybe_unused]] void chunks_with_segments() {
  wick::loader train(wick::tokens("train.bin") | wick::chunks(1024, {.segments = 50256}) | wick::shuffle() |
                     wick::read() | wick::batch(32) | wick::pin() | wick::transfer(torch::kCUDA));
  for (auto& batch : train.epoch(0)) step(batch.data, batch.target, batch.segments, batch.positions);
}

[[maybe_unused]] void other_chunks() {
  auto anywhere = wick::tokens<std::uint32_t>("train-*.bin") | wick::chunks(1024, {.stride = 1});
  auto inside = wick::tokens("train.bin") | wick::chunks(1024, {.within_documents = 256});
  auto kept = wick::in_memory(wick::tokens("train.bin")) | wick::chunks(1024);
  static_cast<void>(anywhere), static_cast<void>(inside), static_cast<void>(kept);
}

}  // namespace
