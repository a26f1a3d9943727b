// 12: a language model on bytes, trained on text that this program makes.
//
// Teaches: documents() finds the documents of text files; any callable that takes a std::string_view is a
// tokenizer; write_tokens() runs it on all workers, once; tokens() | chunks() cuts what
// it wrote into samples of one length, in a new order each epoch.
//
//   12_text FOLDER [--documents N] [--epochs N] [--length N] [--batch N] [--workers N] [--seed N]
//
// Expected (2 cores): how many bits the model needs for a byte of text that it has not seen, between what the
// grammar says at least and what is needed by who knows the byte before alone:
//   bits a byte: 0.52 by the model; 0.43 by the grammar; 2.18 by pairs of bytes
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <torch/torch.h>

#include "arguments.hpp"
#include <wick/wick.hpp>

static constexpr std::int64_t end_of_text = 256, vocabulary = 257;

/// Makes sentences whose subject and verb agree, and adds up the bits of all its choices: no model can do
/// with fewer.
class grammar {
 public:
  explicit grammar(std::uint64_t seed) : random_(seed) {}

  std::string document() {
    std::string text;
    for (std::uint64_t sentences = 2 + choose(4); sentences > 0; --sentences) text += sentence() + "\n";
    return text;
  }
  double bits() const { return bits_; }

 private:
  std::uint64_t choose(std::uint64_t of) {
    bits_ += std::log2(of);
    return random_() % of;
  }
  std::string word(const std::vector<std::string>& of) { return of[choose(of.size())]; }

  std::string sentence() {
    const std::vector<std::string> adjectives = {"old",   "young", "quiet",  "hungry",
                                                 "small", "white", "clever", "tired"};
    const std::vector<std::string> nouns = {"cat",  "dog",   "farmer", "teacher",
                                            "bird", "horse", "child",  "river"};
    const std::vector<std::string> verbs = {"see", "follow", "hear", "need", "know", "like", "meet", "call"};
    const bool many = choose(2) == 1;
    std::string out = many ? "all " : "one ";
    out += word(adjectives) + " " + word(nouns) + (many ? "s " : " ");
    out += word(verbs) + (many ? " the " : "s the ");
    return out + word(adjectives) + " " + word(nouns) + ".";
  }

  std::mt19937_64 random_;
  double bits_ = 0;
};

struct text_file {
  std::string path;
  double bytes, bits;  // bits: of the grammar's choices
};

static text_file write_text(const std::string& path, std::int64_t documents, std::uint64_t seed) {
  grammar from(seed);
  std::ofstream out(path, std::ios::binary);
  double bytes = 0;
  for (std::int64_t d = 0; d < documents; ++d) {
    const std::string text = from.document();
    out << text << "\n";
    bytes += static_cast<double>(text.size());  // with its last line break, which becomes the end of text
  }
  out.close();
  if (!out) throw std::runtime_error("can't write " + path);
  return {path, bytes, from.bits()};
}

/// A tokenizer. Others are called in the same way.
static std::vector<std::int32_t> bytes_as_tokens(std::string_view text) {
  std::vector<std::int32_t> out;
  out.reserve(text.size());
  for (const char c : text) out.push_back(static_cast<unsigned char>(c));
  return out;
}

struct language_model : torch::nn::Module {
  language_model()
      : embedding(register_module("embedding", torch::nn::Embedding(vocabulary, 48))),
        gru(register_module("gru", torch::nn::GRU(torch::nn::GRUOptions(48, 128).batch_first(true)))),
        out(register_module("out", torch::nn::Linear(128, vocabulary))) {}

  /// Tokens [N, length] and those that follow them: the mean loss, in nats a token.
  torch::Tensor loss(const torch::Tensor& tokens, const torch::Tensor& next) {
    const auto states = std::get<0>(gru(embedding(tokens)));
    return torch::nn::functional::cross_entropy(out(states).flatten(0, 1), next.flatten());
  }

  torch::nn::Embedding embedding;
  torch::nn::GRU gru;
  torch::nn::Linear out;
};

int main(int argc, char** argv) try {
  const arguments args(
      argc, argv, "FOLDER",
      {{"documents", 2000}, {"epochs", 2}, {"length", 96}, {"batch", 16}, {"workers", {}}, {"seed", 1}});
  const std::string folder = args.positional();
  const auto seed = static_cast<std::uint64_t>(args["seed"]);
  const auto length = static_cast<std::size_t>(args["length"]),
             batch = static_cast<std::size_t>(args["batch"]);
  torch::manual_seed(args["seed"]);
  wick::executor workers({.workers = args.count("workers")});

  const text_file train_text = write_text(folder + "/train.txt", args["documents"], 2 * seed);
  const text_file test_text = write_text(folder + "/test.txt", args["documents"] / 10, 2 * seed + 1);
  const auto tokenize = [&](const std::string& text, const std::string& to) {
    wick::write_tokens(wick::documents(text) | wick::read() | wick::map("tokenize", bytes_as_tokens), to,
                       {.end_of_text = end_of_text, .loader = {.executor = &workers}});
  };
  tokenize(train_text.path, folder + "/train.bin");
  tokenize(test_text.path, folder + "/test.bin");

  wick::loader train(wick::tokens(folder + "/train.bin") | wick::chunks(length) | wick::shuffle() |
                         wick::read() | wick::batch(batch),
                     {.seed = seed, .executor = &workers});
  wick::loader test(
      wick::tokens(folder + "/test.bin") | wick::chunks(length) | wick::read() | wick::batch(batch),
      {.prefetch_next_epoch = false, .executor = &workers});

  language_model model;
  torch::optim::Adam optimizer(model.parameters(), torch::optim::AdamOptions(5e-3));
  double model_bits = 0;
  for (std::int64_t epoch = 0; epoch < args["epochs"]; ++epoch) {
    for (auto& [tokens, next] : train.epoch(static_cast<std::uint64_t>(epoch))) {
      optimizer.zero_grad();
      model.loss(tokens, next).backward();
      torch::nn::utils::clip_grad_norm_(model.parameters(), 1.0);
      optimizer.step();
    }
    const torch::NoGradGuard no_grad;
    double nats = 0, all = 0;
    for (auto& [tokens, next] : test.epoch(0)) {
      const auto count = static_cast<double>(next.numel());
      nats += model.loss(tokens, next).item<double>() * count;
      all += count;
    }
    model_bits = nats / all / std::log(2.0);
    std::printf("epoch %lld: %.3f bits a token of the test text\n", static_cast<long long>(epoch + 1),
                model_bits);
    std::fflush(stdout);
  }

  // Who knows how often each byte follows each other one, and nothing else, needs so many.
  std::vector<double> pairs(vocabulary * vocabulary), firsts(vocabulary);
  for (auto& [tokens, next] : test.epoch(0)) {
    const auto from = tokens.flatten().contiguous(), to = next.flatten().contiguous();
    for (std::int64_t i = 0; i < from.numel(); ++i) {
      const std::int64_t a = from.data_ptr<std::int64_t>()[i], b = to.data_ptr<std::int64_t>()[i];
      pairs[static_cast<std::size_t>(a * vocabulary + b)] += 1;
      firsts[static_cast<std::size_t>(a)] += 1;
    }
  }
  double pair_bits = 0, all = 0;
  for (std::size_t p = 0; p < pairs.size(); ++p) {
    if (pairs[p] != 0) pair_bits -= pairs[p] * std::log2(pairs[p] / firsts[p / vocabulary]);
    all += pairs[p];
  }
  // There are as many tokens as bytes: the last line break of a document has become its end of text.
  std::printf("bits a byte: %.3f by the model; %.3f by the grammar; %.3f by pairs of bytes\n", model_bits,
              test_text.bits / test_text.bytes, pair_bits / all);
} catch (const std::exception& e) {
  std::cerr << "12_text: " << e.what() << "\n";
  return 1;
}
