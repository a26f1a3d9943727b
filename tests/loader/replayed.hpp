/// \file
/// Trainings whose batches are made again and compared to the byte.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/numbers.hpp"
#include "support/picture.hpp"
#include "support/sanitized.hpp"
#include "support/temp_dir.hpp"
#include <wick/core.hpp>

namespace wick_test {

// ---- what is trained on ----

/// Encoded pictures of ten classes; one in eleven is damaged.
struct pictures {
  std::shared_ptr<const std::vector<std::string>> files;
  explicit pictures(std::size_t count) {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < count; ++i) {
      const int width = 24 + static_cast<int>(i * 5 % 17), height = 20 + static_cast<int>(i * 7 % 13);
      const wick::image picture = photo(width, height, 3, i + 1);
      all.push_back(i % 3 == 0 ? encode_png(picture) : encode_jpeg(picture));
      if (i % 11 == 4) all.back().resize(25);
    }
    files = std::make_shared<const std::vector<std::string>>(std::move(all));
  }
  std::uint64_t size() const { return files->size(); }
  wick::sample<wick::bytes> at(std::uint64_t i) const {
    return {as_bytes((*files)[static_cast<std::size_t>(i)]), static_cast<std::int64_t>(i % 10)};
  }
  std::string key(std::uint64_t i) const { return "picture " + std::to_string(i); }
};

/// Fails the first time that anybody makes some samples.
struct shaky {
  struct seen {
    std::mutex mutex;
    std::set<std::array<std::uint64_t, 4>> places;
  };
  std::shared_ptr<seen> before = std::make_shared<seen>();
  wick::sample<wick::bytes> operator()(wick::sample<wick::bytes> s, wick::context& c) const {
    if (c.index() % 5 == 2) {
      const std::lock_guard lock(before->mutex);
      if (before->places.insert({c.epoch(), c.position(), c.index(), c.where().drawn}).second)
        throw wick::error("not yet");
    }
    return s;
  }
};

/// Sample i is its number, as often as its length says.
struct texts {
  std::uint64_t count, first = 0;
  std::uint64_t size() const { return count; }
  std::uint32_t length(std::uint64_t i) const {
    return 1 + wick::random_stream(7, 0, first + i, 0).below(60) / (1 + static_cast<std::uint32_t>(i % 4));
  }
  wick::sample<std::uint32_t> at(std::uint64_t i) const {
    return {length(i), static_cast<std::int64_t>(first + i)};
  }
  std::string key(std::uint64_t i) const { return "text " + std::to_string(first + i); }
};
using tokens = wick::sample<std::vector<std::int32_t>>;
inline wick::task<tokens> tokenize(wick::sample<std::uint32_t> s, wick::context& c) {
  tokens out{std::vector<std::int32_t>(s.data, static_cast<std::int32_t>(s.target)), s.target};
  out.data[0] += static_cast<std::int32_t>(c.random().below(2)) << 24;
  if (c.random().below(4) == 0) {
    auto elsewhere = c.on()->schedule();
    co_await elsewhere;
  }
  if (s.target % 17 == 5) throw wick::error("no text");
  co_return out;
}

// ---- batches as bytes ----

inline void append(std::string& to, const wick::array& a) {
  to.append(reinterpret_cast<const char*>(a.data()), static_cast<std::size_t>(a.bytes()));
}
/// Data and target of a batch, each for itself.
using parts = std::pair<std::string, std::string>;
template <class Batch>
parts parts_of(const Batch& b) {
  parts out;
  if constexpr (requires { b.cu_seqlens; }) {
    append(out.first, b.values.data);
    append(out.second, b.segments);
  } else if constexpr (requires { b.data.values; }) {
    append(out.first, b.data.values);
    append(out.second, b.data.lengths);
    append(out.second, b.target);
  } else if constexpr (requires { b.data.bytes(); }) {
    append(out.first, b.data);
    append(out.second, b.target);
  } else {
    out.first.assign(b.data.begin(), b.data.end());
    out.second = std::to_string(b.target);
  }
  return out;
}
/// The parts of the batch, or the error.
template <class F>
parts parts_or_error(F&& f) {
  try {
    return parts_of(f());
  } catch (const wick::error& e) {
    return {"thrown", e.what()};
  }
}

// ---- a training that is resumed now and then, and of which batches are made again meanwhile ----

struct no_edits {
  template <class Loader>
  void operator()(Loader&, std::uint64_t, std::uint64_t) const {}
};

struct plan {
  std::uint64_t world = 1;
  std::size_t workers = 2;
  int replays = 50;
  bool whole = true;  // the ranks' parts, one behind the other, are the whole
  std::uint64_t epochs = 3;
  double resumes = 0.05;  // before a step
};

template <class Make, class Edit = no_edits>
class training {
  using loader =
      decltype(wick::loader(std::declval<const Make&>()(wick::shard(0, 1)), wick::loader_options{}));

 public:
  training(const Make& make, const wick::loader_options& options, const plan& p, const Edit& edit = {})
      : make_(make), options_(options), plan_(p), edit_(edit) {
    begin();
  }

  /// All epochs; how many batches were made again.
  int run() {
    for (epoch_ = 0; epoch_ < plan_.epochs; ++epoch_) {
      for (auto& l : ranks_) l->epoch(epoch_);
      for (batch_ = 0;; ++batch_) {
        for (auto& l : ranks_) edit_(*l, epoch_, batch_);
        if (batch_ == ranks_[0]->batches()) break;
        if (random_.bernoulli(plan_.resumes)) resume();
        given_[epoch_].emplace_back();
        for (std::uint64_t rank = 0; rank < plan_.world; ++rank) {
          loader& l = *ranks_[rank];
          given_[epoch_].back().push_back(parts_or_error([&] { return *l.next(); }));
        }
        if (random_.bernoulli(0.7)) again();
      }
      for (auto& l : ranks_) REQUIRE(!l->next());
    }
    while (count_ < plan_.replays) again();
    for (const auto& [where, found] : early_) {
      CAPTURE(std::get<0>(where));
      CAPTURE(std::get<1>(where));
      if (std::get<1>(where) < given_[std::get<0>(where)].size())
        CHECK(found == given_[std::get<0>(where)][std::get<1>(where)][std::get<2>(where)]);
    }
    return count_;
  }

 private:
  void begin() {
    ranks_.clear();
    for (std::uint64_t rank = 0; rank < plan_.world; ++rank)
      ranks_.push_back(std::make_unique<loader>(make_(wick::shard(rank, plan_.world)), options_));
  }
  void resume() {
    std::vector<std::vector<std::byte>> states;
    for (const auto& l : ranks_) states.push_back(l->state());
    options_.workers = 1 + random_.below(4);
    begin();
    for (std::uint64_t e = 0; e <= epoch_; ++e) {
      for (std::uint64_t b = 0; b < (e == epoch_ ? batch_ + 1 : given_[e].size()); ++b) {
        for (auto& l : ranks_) edit_(*l, e, b);
      }
    }
    for (std::size_t r = 0; r < ranks_.size(); ++r) ranks_[r]->load_state(states[r]);
    if (random_.bernoulli(0.5)) again();  // before it continues
    for (auto& l : ranks_) l->epoch(epoch_);
  }
  /// Makes a batch again, mostly one that was given.
  void again() {
    ++count_;
    std::uint64_t e = random_.below(std::min(epoch_ + 1, plan_.epochs));
    if (given_[e].empty()) e = 0;
    const std::uint64_t rank = random_.below(plan_.world);
    loader& l = *ranks_[rank];
    if (e == epoch_ && random_.bernoulli(0.2) && std::is_same_v<Edit, no_edits>) {
      const std::uint64_t b = random_.below(l.batches());
      early_.push_back({{e, b, rank}, parts_or_error([&] { return l.replay(e, b); })});
      return;
    }
    const std::uint64_t b = random_.below(given_[e].size());
    const std::vector<parts>& expected = given_[e][b];
    CAPTURE(e);
    CAPTURE(b);
    CAPTURE(rank);
    const std::uint64_t way = random_.below(5);
    if (way == 0) {
      const std::uint64_t other = random_.below(plan_.world);
      CAPTURE(other);
      CHECK(parts_or_error([&] { return l.replay(e, b, {.rank = other}); }) == expected[other]);
    } else if (way == 1 && plan_.whole) {
      parts whole;
      for (const parts& p : expected) {
        whole.first += p.first;
        whole.second += p.second;
      }
      CHECK(parts_or_error([&] { return l.replay(e, b, {.all_ranks = true}); }) == whole);
    } else {
      CHECK(parts_or_error([&] { return l.replay(e, b); }) == expected[rank]);
    }
  }

  const Make& make_;
  wick::loader_options options_;
  const plan plan_;
  const Edit& edit_;
  wick::random_stream random_{plan_.world * 100 + plan_.workers, 0, 0, 0};
  std::vector<std::unique_ptr<loader>> ranks_;
  std::uint64_t epoch_ = 0, batch_ = 0;
  std::vector<std::vector<std::vector<parts>>> given_{plan_.epochs + 1};  // by epoch, batch and rank
  std::vector<std::pair<std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>, parts>> early_;
  int count_ = 0;
};

const auto ragged = wick::array_batch(16, {.ragged = wick::pad_with(0)});

}  // namespace wick_test
