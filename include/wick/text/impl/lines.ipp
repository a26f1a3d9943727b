// Implements text/lines.hpp. Included in exactly one file of a program.
#pragma once

#include <wick/io/detail/file_extents.hpp>
#include <wick/sources/detail/opened_files.hpp>
#include <wick/text/detail/text_scan.hpp>
#include <wick/text/lines.hpp>

namespace wick::inline v0_1::detail {

namespace {

class text_finder final : public extent_finder {
 public:
  explicit text_finder(const text_rule& rule) noexcept : rule_(&rule) {}
  file_extents find(const opened_files::look& in) const override { return scan_text(in, *rule_); }
  std::uint64_t fingerprint() const noexcept override { return rule_->fingerprint(); }

 private:
  const text_rule* rule_;
};

}  // namespace

text_samples::text_samples(const files& paths, const char* who, const text_rule& rule,
                           const std::string& index)
    : index_(std::make_shared<const file_index>(paths, who, text_finder(rule), index)),
      numbered_(rule.by == text_rule::line && rule.keep_empty) {}

text_samples::text_samples(const files& paths, const lines_options& options)
    : text_samples(paths, "lines", {.by = text_rule::line, .keep_empty = !options.skip_empty},
                   options.index) {}

text_samples::text_samples(const files& paths, const documents_options& options)
    : text_samples(paths, "documents",
                   {.by = options.separator.empty() ? text_rule::paragraph : text_rule::separated,
                    .keep_empty = false,
                    .separator = options.separator},
                   options.index) {}

std::string text_samples::key(std::uint64_t i) const {
  const file_index::place p = index_->find(i);
  const std::string path = index_->paths().key(p.file);
  return numbered_ ? path + ":" + std::to_string(p.number + 1)
                   : path + ": byte " + std::to_string(at(i).offset);
}

}  // namespace wick::detail
