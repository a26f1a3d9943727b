// Implements sampling/bucket.hpp. Included in exactly one file of a program.
#pragma once

#include <utility>

#include <wick/ext/fingerprint.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/sampling/bucket.hpp>

namespace wick::inline v0_1 {

namespace detail {

bucket_stage::bucket_stage(bucket_options options)
    : tokens_(options.tokens.value_or(0)),
      multiple_(options.multiple),
      lengths_(std::make_shared<const std::vector<std::uint32_t>>(std::move(options.lengths))),
      fingerprint_(fingerprint_hash()
                       .add(tokens_)
                       .add(multiple_)
                       .add(lengths_->data(), lengths_->size() * sizeof(std::uint32_t))
                       .value()) {
  if (options.tokens && tokens_ == 0) throw error("bucket: a batch can't take 0 tokens; leave .tokens out");
  if (multiple_ == 0) throw error("bucket: batches can't have a multiple of 0 samples; leave .multiple out");
}

}  // namespace detail

detail::bucket_stage bucket(bucket_options options) { return detail::bucket_stage(std::move(options)); }

}  // namespace wick
