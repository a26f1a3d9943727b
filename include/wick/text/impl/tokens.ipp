// Implements text/tokens.hpp. Included in exactly one file of a program.
#pragma once

#include <wick/io/detail/large_pages.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/text/tokens.hpp>

namespace wick::inline v0_1::detail {

inline std::shared_ptr<const chunk_offsets> some_chunks(chunk_offsets places, std::uint64_t tokens) {
  if (places.size() == 0) {
    throw error("chunks: " + std::to_string(tokens) + " tokens make no chunk of " +
                std::to_string(places.plan().length) + ", which takes one more; give a shorter length");
  }
  return std::make_shared<const chunk_offsets>(std::move(places));
}
inline std::uint64_t with_plan(fingerprint_hash h, const chunk_plan& plan) noexcept {
  h.add(plan.length).add(plan.stride);
  h.add(static_cast<std::uint64_t>(plan.within_documents.value_or(-1)));
  if (plan.within_documents == -1) h.add(std::uint64_t{1});  // -1 is a token, too
  return h.value();
}

token_chunks::token_chunks(token_files of, const chunk_plan& plan) : store_(std::move(of.store)) {
  if (plan.within_documents) require_token(store_->format(), "within_documents", *plan.within_documents);
  places_ = some_chunks(!plan.within_documents
                            ? chunk_offsets(store_->size(), plan)
                            : chunk_offsets(store_->documents(*plan.within_documents), store_->size(), plan),
                        store_->size());
}

std::uint64_t token_chunks::fingerprint() const noexcept {
  return with_plan(fingerprint_hash().add(store_->fingerprint()), places_->plan());
}

void token_numbers::write_to(slot to) const noexcept {
  std::memcpy(to.data, numbers_.data(), numbers_.size() * sizeof(std::int32_t));
}

void token_numbers::save(cache_writer& out) const {
  out.number(std::uint64_t{kept_bytes()});
  out.put(numbers_.data(), kept_bytes());
}

token_numbers token_numbers::load(cache_reader& in) {
  std::vector<std::int32_t> numbers(in.count() / sizeof(std::int32_t));
  in.take(numbers.data(), numbers.size() * sizeof(std::int32_t));
  return token_numbers(std::move(numbers));
}

segmented_chunk<token_ids, token_numbers> in_segments(token_pair chunk, std::int64_t end) {
  const std::size_t length = chunk.data.size();
  std::vector<std::int64_t> tokens(length);
  chunk.data.write_to({reinterpret_cast<std::byte*>(tokens.data())});
  std::vector<std::int32_t> segments(length), positions(length);
  std::int32_t segment = 1, position = 0;
  for (std::size_t i = 0; i < length; ++i) {
    segments[i] = segment;
    positions[i] = position++;
    if (tokens[i] != end) continue;
    ++segment;
    position = 0;
  }
  return {std::move(chunk.data), std::move(chunk.target), token_numbers(std::move(segments)),
          token_numbers(std::move(positions))};
}

void require_token(token_format format, const char* option, std::int64_t end) {
  std::int64_t stored = 0;
  // The low bytes of a little-endian number, widened again like a token.
  widen_tokens(reinterpret_cast<const std::byte*>(&end), format, 1, reinterpret_cast<std::byte*>(&stored));
  if (stored == end) return;
  throw error(std::string("chunks: .") + option + " = " + std::to_string(end) + ": no token of " +
              std::to_string(8 * int{format.size}) + " bits is that; give the one that ends each document");
}

array_chunks::array_chunks(token_array of, const chunk_plan& plan) : array_(std::move(of)) {
  if (!plan.within_documents) {
    places_ = some_chunks(chunk_offsets(array_.size, plan), array_.size);
    return;
  }
  require_token(array_.format, "within_documents", *plan.within_documents);
  document_borders borders(array_.format, *plan.within_documents);
  borders.take(array_.data, static_cast<std::size_t>(array_.size));
  if (borders.ended() == 0) {
    throw error("chunks: there is no token " + std::to_string(*plan.within_documents) +
                ", which .within_documents says to be the end of each document");
  }
  places_ = some_chunks(chunk_offsets(borders.begins(), array_.size, plan), array_.size);
}

std::uint64_t array_chunks::fingerprint() const noexcept {
  fingerprint_hash h;
  h.add(array_.data, static_cast<std::size_t>(array_.size) * array_.format.size);
  return with_plan(h, places_->plan());
}

}  // namespace wick::detail

namespace wick::inline v0_1 {

detail::token_array in_memory(const token_files& of) {
  const detail::token_store& store = *of.store;
  const auto size = static_cast<std::size_t>(store.size()) * store.format().size;
  auto all = std::make_shared_for_overwrite<std::byte[]>(size);
  detail::in_large_pages(all.get(), size);
  store.read_into(all.get());
  const std::byte* const data = all.get();
  return {std::move(all), data, store.size(), store.format()};
}

}  // namespace wick
