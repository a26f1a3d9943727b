// Turns text into a file of tokens, once, on all workers. tokens() reads that file in each epoch.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <wick/loader/loader.hpp>
#include <wick/pipeline/pipeline.hpp>
#include <wick/pipeline/sample.hpp>
#include <wick/text/detail/token_ids.hpp>
#include <wick/tools/detail/token_writer.hpp>

namespace wick::inline v0_1 {

/// Options of write_tokens().
struct write_tokens_options {
  /// The token after each document. Default: none.
  std::optional<std::int64_t> end_of_text = {};
  /// Workers, the handling of documents that fail, and so on.
  loader_options loader = {};
};

namespace detail {

template <class T>
concept token_list = requires(const T& ids) {
  { *ids.begin() } -> std::convertible_to<std::int64_t>;
  ids.end();
};

}  // namespace detail

/// Runs a pipeline once and writes its tokens into a file, in the pipeline's order, each as a T:
/// `write_tokens(documents("corpus/*.txt") | read() | tokenizer, "train.bin", {.end_of_text = 50256})`. The
/// last stage gives a list of integers, such as std::vector<std::int32_t>. Tokenizing runs on all of the
/// loader's workers. The file appears when it is complete; until then, an old file stays unchanged. Returns
/// the number of tokens. \throws wick::error when a document fails (unless `.loader.on_error` says
/// otherwise), a token or `.end_of_text` doesn't fit into a T, or the file can't be written
template <detail::token_number T = std::uint16_t, class Source, class... Stages>
std::uint64_t write_tokens(pipeline<Source, Stages...> from, const std::string& path,
                           write_tokens_options options = {}) {
  using item = typename detail::items_after<detail::source_item<Source>, Stages...>::type;
  static_assert(
      detail::token_list<item>,
      "wick: write_tokens() takes a pipeline of lists of integers (see 'from'); write a tokenizer as "
      "its last stage: | [](std::string_view text) { return std::vector<std::int32_t>(…); }");
  if (options.end_of_text) detail::token_writer::require_end<T>(*options.end_of_text);
  detail::token_writer to(path);
  options.loader.prefetch_next_epoch = false;
  wick::loader all(std::move(from), options.loader);
  if constexpr (detail::token_list<item>) {
    for (const item& document : all.epoch(0)) {
      for (const auto& id : document) to.add<T>(id);
      if (options.end_of_text) to.add<T>(*options.end_of_text);
    }
  }
  return to.finish();
}

}  // namespace wick
