/// \file
/// The bodies of what text/lines.hpp declares. Included in exactly one file of a program.
#pragma once

#include <memory>
#include <utility>

#include <wick/sources/files.hpp>
#include <wick/text/detail/text_index.hpp>
#include <wick/text/detail/text_scan.hpp>
#include <wick/text/lines.hpp>

namespace wick::detail {

text_samples::text_samples(files paths, const lines_options& options)
    : index_(std::make_shared<const text_index>(
          std::move(paths), "lines", text_rule{.by = text_rule::line, .keep_empty = !options.skip_empty},
          options.index)) {}

text_samples::text_samples(files paths, const documents_options& options)
    : index_(std::make_shared<const text_index>(
          std::move(paths), "documents",
          text_rule{.by = options.separator.empty() ? text_rule::paragraph : text_rule::separated,
                    .keep_empty = false,
                    .separator = options.separator},
          options.index)) {}

}  // namespace wick::detail
