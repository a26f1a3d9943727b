// Implements sources/windows.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>

#include <wick/ext/fingerprint.hpp>
#include <wick/pipeline/error.hpp>
#include <wick/sources/windows.hpp>

namespace wick::inline v0_1::detail {

series series::packed(std::shared_ptr<const void> owner, const void* data, std::size_t count, dtype type,
                      const shape& row) {
  shape strides;
  std::int64_t elements = row.count(), step = elements;
  if (elements < 1 || count % static_cast<std::size_t>(elements) != 0) {
    throw error("windows: " + std::to_string(count) + " values aren't whole rows of shape " + to_string(row) +
                "; check both");
  }
  for (const std::int64_t e : row) strides.push_back(step /= e);
  return {std::move(owner),
          static_cast<const std::byte*>(data),
          count / static_cast<std::size_t>(elements),
          type,
          row,
          strides,
          elements};
}

std::uint64_t positive_length(const char* what, std::int64_t length) {
  if (length < 1) {
    throw error(std::string(what) + "a length of " + std::to_string(length) +
                " rows was asked for; it is at least 1");
  }
  return static_cast<std::uint64_t>(length);
}

series_runs::series_runs(const char* what, const std::vector<series>& all, std::int64_t length) {
  if (all.empty()) throw error(std::string(what) + "there is no series; give it at least one");
  auto k = std::make_shared<kept>(kept{all, {}, {}, positive_length(what, length)});
  const series& first = all.front();
  // If the window is longer than every series, there are no windows; its size in bytes might even overflow,
  // so it is limited.
  std::uint64_t longest = 1;
  for (const series& s : all) longest = std::max<std::uint64_t>(longest, s.rows);
  length = static_cast<std::int64_t>(std::min(static_cast<std::uint64_t>(length), longest));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const series& s = all[i];
    if (s.type != first.type || !(s.row == first.row)) {
      const auto rows_of = [](const series& of) {
        return to_string(of.row) + " of " + std::string(to_string(of.type));
      };
      throw error(std::string(what) + "series " + std::to_string(i) + " has rows " + rows_of(s) +
                  ", and the first " + rows_of(first) + "; bring all to one shape and type");
    }
    if (i == 0 || s.step != all[i - 1].step || !(s.strides == all[i - 1].strides)) {
      shape extents{length}, strides{s.step};
      for (const std::int64_t e : s.row) extents.push_back(e);
      for (const std::int64_t e : s.strides) strides.push_back(e);
      k->formats.push_back(std::make_shared<const row_format>(extents, s.type, strides));
    }
    k->parts.push_back(
        {s.data, static_cast<std::size_t>(s.step) * size_of(s.type), k->formats.back().get(), s.rows});
  }
  parts_ = k->parts.data();
  kept_ = std::move(k);
}

std::vector<std::uint64_t> series_runs::rows() const {
  std::vector<std::uint64_t> out;
  out.reserve(count());
  for (const series& s : kept_->all) out.push_back(s.rows);
  return out;
}

std::uint64_t series_runs::fingerprint() const {
  const series& first = kept_->all.front();
  fingerprint_hash h;
  h.add(static_cast<std::uint64_t>(first.type));
  for (const std::int64_t e : first.row) h.add(static_cast<std::uint64_t>(e));
  std::uint64_t total = 0;
  for (const series& s : kept_->all) {
    h.add(s.rows);
    total += s.rows;
  }
  std::vector<std::byte> row(static_cast<std::size_t>(first.row.count()) * size_of(first.type));
  const std::uint64_t looked_at = std::min(total, (std::uint64_t{1} << 20) / row.size() + 1);
  std::uint64_t next = 0, before = 0;
  for (const series& s : kept_->all) {
    const row_format format(s.row, s.type, s.strides);
    for (; next < looked_at; ++next) {
      const std::uint64_t at = next * total / looked_at - before;
      if (at >= s.rows) break;
      memory_view(s.data + at * static_cast<std::size_t>(s.step) * size_of(s.type), format)
          .write_to({row.data(), false});
      h.add(row.data(), row.size());
    }
    before += s.rows;
  }
  return h.value();
}

window_order::window_order(std::span<const std::uint64_t> rows, std::uint64_t length, std::uint64_t need,
                           std::int64_t stride)
    : series_(rows.size()), stride_(static_cast<std::uint64_t>(stride)), size_(0) {
  if (stride < 1) {
    throw error("windows: a stride of " + std::to_string(stride) +
                " rows was asked for; it is at least 1, which gives all windows");
  }
  auto starts = std::make_shared<std::vector<std::uint64_t>>();
  starts->reserve(series_);
  std::uint64_t longest = 0;
  for (const std::uint64_t there : rows) {
    starts->push_back(size_);
    longest = std::max(longest, there);
    if (there >= need) size_ += (there - need) / stride_ + 1;
  }
  if (size_ == 0) {
    throw error("windows: " +
                (series_ == 1 ? "the series has " + std::to_string(longest) + " rows"
                              : "the longest of " + std::to_string(series_) + " series has " +
                                    std::to_string(longest) + " rows") +
                ", and a window takes " + std::to_string(need) + (need == length ? "" : " with its target") +
                "; ask for shorter ones");
  }
  starts_ = starts->data();
  kept_ = std::move(starts);
}

std::string window_order::key(std::uint64_t i, std::uint64_t length) const {
  const place p = at(i);
  return (series_ == 1 ? "" : "series " + std::to_string(p.series) + ", ") + "rows " + std::to_string(p.row) +
         " to " + std::to_string(p.row + length - 1);
}

std::uint64_t targeted_windows::rows_needed(const series_runs& data, const series_runs& target,
                                            std::uint64_t offset) {
  if (offset > ~std::uint64_t{0} - target.length()) {
    throw error("windows: the target begins " + std::to_string(offset) +
                " rows after the window's first; no series is as long");
  }
  return std::max(data.length(), offset + target.length());
}

const series_runs& targeted_windows::of_equal_rows(const series_runs& data, const series_runs& target) {
  if (data.count() != target.count()) {
    throw error("windows: " + std::to_string(target.count()) + " series of targets for " +
                std::to_string(data.count()) + " series; there must be one for each");
  }
  const std::vector<std::uint64_t> rows = data.rows(), targets = target.rows();
  for (std::size_t s = 0; s < rows.size(); ++s) {
    if (rows[s] != targets[s]) {
      throw error("windows: " + (data.count() == 1 ? "the series" : "series " + std::to_string(s)) + " has " +
                  std::to_string(rows[s]) + " rows, and its targets " + std::to_string(targets[s]) +
                  "; there must be one for each row");
    }
  }
  return data;
}

targeted_windows::targeted_windows(series_runs data, series_runs target, std::int64_t stride,
                                   window_target_options options)
    : data_(std::move(data)),
      target_(std::move(target)),
      offset_(options.offset == window_target_options::behind ? data_.length() : options.offset),
      order_(of_equal_rows(data_, target_).rows(), data_.length(), rows_needed(data_, target_, offset_),
             stride) {}

std::uint64_t targeted_windows::fingerprint() const {
  return fingerprint_hash()
      .add(data_.fingerprint())
      .add(target_.fingerprint())
      .add(data_.length())
      .add(target_.length())
      .add(offset_)
      .add(static_cast<std::uint64_t>(order_.stride()))
      .value();
}

window_source::window_source(std::vector<series> all, std::int64_t length, std::int64_t stride)
    : all_(std::move(all)),
      runs_("windows: ", all_, length),
      order_(runs_.rows(), runs_.length(), runs_.length(), stride) {}

std::uint64_t window_source::fingerprint() const {
  return fingerprint_hash()
      .add(runs_.fingerprint())
      .add(runs_.length())
      .add(static_cast<std::uint64_t>(order_.stride()))
      .value();
}

targeted_windows window_source::target(std::int64_t length, window_target_options options) const {
  return target_of(all_, length, options);
}

targeted_windows window_source::target_of(const std::vector<series>& of, std::int64_t length,
                                          window_target_options options) const {
  return {runs_, series_runs("windows: targets: ", of, length), order_.stride(), options};
}

}  // namespace wick::detail
