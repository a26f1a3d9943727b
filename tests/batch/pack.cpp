#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "packed_rows.hpp"
#include "support/doctest.hpp"
#include "support/message_of.hpp"
#include "support/sha256.hpp"
#include <wick/batch/pack.hpp>
#include <wick/batch/ragged.hpp>
#include <wick/failures/on_error.hpp>
#include <wick/loader/loader.hpp>
#include <wick/pipeline/filter.hpp>
#include <wick/pipeline/random.hpp>
#include <wick/pixels/image.hpp>
#include <wick/sampling/order.hpp>
#include <wick/sources/memory.hpp>

namespace wick_test::pack_tests {

using wick_test::contains;
using wick_test::message_of;
using wick_test::rows_of;

// The engine's columns are what it takes for one.
static_assert(wick::detail::column<wick::detail::packed_columns<std::vector<int>, wick::detail::array_output>,
                                   std::vector<int>, wick::detail::row_order>);
static_assert(
    wick::detail::column<
        wick::detail::column_of<std::vector<int>, wick::detail::ragged_output<wick::detail::array_output>>,
        std::vector<int>, wick::detail::ragged_order>);

namespace {

std::vector<std::uint32_t> lengths(std::size_t n, std::uint32_t most, std::uint64_t seed = 1) {
  wick::random_stream r(seed, 0, 0, 0);
  std::vector<std::uint32_t> out;
  for (std::size_t i = 0; i < n; ++i) {
    const double normal =
        std::sqrt(-2 * std::log(1 - r.uniform())) * std::cos(6.283185307179586 * r.uniform());
    out.push_back(
        static_cast<std::uint32_t>(std::clamp(std::exp(4 + 0.8 * normal), 1.0, static_cast<double>(most))));
  }
  return out;
}

/// Value j of text i is 1000 i + j, so that each is known.
struct texts {
  std::vector<std::uint32_t> lengths_;
  std::uint64_t size() const { return lengths_.size(); }
  wick::sample<std::uint32_t> at(std::uint64_t i) const {
    return {lengths_[i], static_cast<std::int64_t>(i)};
  }
  std::uint32_t length(std::uint64_t i) const { return lengths_[i]; }
  std::string key(std::uint64_t i) const { return "text " + std::to_string(i); }
};
wick::sample<std::vector<std::int64_t>> tokenize(const wick::sample<std::uint32_t>& s) {
  std::vector<std::int64_t> out(s.data);
  for (std::size_t j = 0; j < out.size(); ++j) out[j] = 1000 * s.target + static_cast<std::int64_t>(j);
  return {std::move(out), s.target};
}

/// A batch taken apart, and whether its parts agree.
struct taken {
  std::vector<std::vector<std::int64_t>> texts;  // in their order
  std::vector<std::int64_t> targets;
  std::int64_t rows = 0;
  std::size_t padding = 0;
};
template <class Batch>
taken take_apart(const Batch& b) {
  taken out;
  out.rows = b.values.data.extents()[0];
  const std::int64_t length = b.values.data.extents()[1];
  CHECK(b.segments.extents() == wick::shape{out.rows, length});
  CHECK(b.positions.extents() == wick::shape{out.rows, length});
  CHECK(b.cu_seqlens.extents().rank() == 1);
  const auto* values = b.values.data.template as<std::int64_t>();
  const auto* segments = b.segments.template as<std::int32_t>();
  const auto* positions = b.positions.template as<std::int32_t>();
  const auto* borders = b.cu_seqlens.template as<std::int32_t>();
  const auto* targets = b.values.target.template as<std::int64_t>();
  const std::int64_t parts = b.cu_seqlens.extents()[0] - 1;
  CHECK(borders[0] == 0);
  CHECK(borders[parts] == out.rows * length);
  std::int64_t longest = 0;
  std::int32_t number = 0;
  std::int64_t row = 0;
  for (std::int64_t s = 0; s < parts; ++s) {
    const std::int32_t from = borders[s], to = borders[s + 1];
    CHECK(from <= to);
    longest = std::max<std::int64_t>(longest, to - from);
    if (from == to) continue;
    CHECK(from / length == (to - 1) / length);  // no segment goes over a row's end
    if (from / length != row) {
      row = from / length;
      number = 0;
    }
    const bool text = segments[from] != 0;
    if (text) {
      CHECK(segments[from] == ++number);
      out.texts.emplace_back(values + from, values + to);
    }
    for (std::int32_t i = from; i < to; ++i) {
      CHECK(segments[i] == (text ? number : 0));
      CHECK(positions[i] == (text ? i - from : 0));
      if (!text) CHECK(values[i] == -7);
    }
    if (!text) out.padding += static_cast<std::size_t>(to - from);
  }
  CHECK(b.max_seqlen == longest);
  out.targets.assign(targets, targets + b.values.target.extents()[0]);
  return out;
}

template <class Loader>
std::vector<taken> epoch_of(Loader& l, std::uint64_t epoch) {
  std::vector<taken> out;
  for (auto& b : l.epoch(epoch)) out.push_back(take_apart(b));
  return out;
}
wick::pack_options padded(wick::too_long long_ones = wick::too_long::fail) {
  return {.pad = wick::pad_with(-7), .too_long = long_ones};
}

}  // namespace

TEST_CASE("the rows of all ranks are those of one, also where all samples of a rank are left out") {
  const std::vector<std::uint32_t> all{2, 2, 1, 2, 2, 1, 2};
  const auto of = [&](std::uint64_t rank, std::uint64_t ranks, auto left_out) {
    wick::loader l(texts{all} | wick::shuffle() | wick::shard(rank, ranks) | tokenize | left_out |
                       wick::array_pack(4, 2, padded()),
                   {.seed = 3, .workers = 2, .on_error = wick::on_error::skip});
    std::vector<std::vector<std::string>> out;
    for (std::uint64_t e = 0; e < 4; ++e)
      for (const auto& batch : l.epoch(e)) out.push_back(rows_of(batch));
    return out;
  };
  const auto check = [&](auto left_out) {
    const auto whole = of(0, 1, left_out);
    for (const std::uint64_t ranks : {2, 3, 4}) {
      std::vector<std::vector<std::string>> together(whole.size());
      for (std::uint64_t rank = 0; rank < ranks; ++rank) {
        const auto part = of(rank, ranks, left_out);
        REQUIRE(part.size() == whole.size());
        for (std::size_t b = 0; b < part.size(); ++b)
          together[b].insert(together[b].end(), part[b].begin(), part[b].end());
      }
      CHECK(together == whole);
    }
  };
  check(wick::filter([](const auto& one) { return one.target % 3 == 0; }));
  check([](auto one) {
    if (one.target % 3 != 0) throw wick::error("damaged");
    return one;
  });
}

TEST_CASE("packed rows: each text is there once, whole, in one piece, and next to nothing is padded") {
  const auto all = lengths(4000, 512);
  for (const std::size_t workers : {1, 4}) {
    wick::loader l(texts{all} | wick::shuffle() | tokenize | wick::array_pack(8, 512, padded()),
                   {.workers = workers});
    std::set<std::vector<std::int64_t>> batches;
    for (std::uint64_t e = 0; e < 3; ++e) {
      std::size_t padding = 0, places = 0;
      std::set<std::int64_t> seen;
      const auto epoch = epoch_of(l, e);
      CHECK(epoch.size() == l.batches());
      for (std::size_t b = 0; b < epoch.size(); ++b) {
        const taken& t = epoch[b];
        CHECK((t.rows == 8 || b + 1 == epoch.size()));
        CHECK(t.texts.size() == t.targets.size());
        for (std::size_t i = 0; i < t.texts.size(); ++i) {
          const std::int64_t target = t.targets[i];
          CHECK(seen.insert(target).second);
          CHECK(t.texts[i] == tokenize({all[static_cast<std::size_t>(target)], target}).data);
        }
        padding += t.padding;
        places += static_cast<std::size_t>(t.rows) * 512;
        batches.insert(t.targets);
      }
      CHECK(seen.size() == all.size());
      CHECK(static_cast<double>(padding) < 0.002 * static_cast<double>(places));
    }
    CHECK(batches.size() == 3 * l.batches());
  }
}

TEST_CASE(
    "packed rows: the same bytes for any workers, prefetch and ranks, and through resumes onto other ranks") {
  const auto all = lengths(1500, 256, 4);
  const auto pipeline = [&](std::uint64_t rank, std::uint64_t world) {
    return texts{all} | wick::shuffle() | wick::shard(rank, world) | tokenize |
           [](wick::sample<std::vector<std::int64_t>> s, wick::context& c) {
             s.data[0] += std::int64_t{c.random()()} << 32;
             return s;
           } |
           wick::array_pack(8, 256, {.pad = wick::pad_with(-7)});
  };
  constexpr std::uint64_t epochs = 3;
  std::uint64_t batches = 0;
  std::vector<std::string> wanted;
  {
    wick::loader l(pipeline(0, 1), {.seed = 9, .workers = 1});
    batches = l.batches();
    for (std::uint64_t e = 0; e < epochs; ++e) {
      for (auto& b : l.epoch(e)) {
        wick_test::sha256 h;
        // Part by part, as the ranks' rows follow each other.
        std::string values(reinterpret_cast<const char*>(b.values.data.data()), b.values.data.bytes());
        std::string targets(reinterpret_cast<const char*>(b.values.target.data()), b.values.target.bytes());
        std::string segments(reinterpret_cast<const char*>(b.segments.data()), b.segments.bytes());
        wanted.push_back(h.add(values).add(targets).add(segments).hex());
      }
    }
  }
  wick::random_stream random(78, 0, 0, 0);
  for (const std::size_t workers : {1, 4}) {
    for (const std::size_t prefetch : {1, 8}) {
      for (const std::uint64_t world : {1, 2, 4}) {
        const std::uint64_t before = std::uint64_t{1} << random.below(3);  // ranks up to the resume
        for (std::uint64_t e = 0; e < epochs; ++e) {
          const std::uint64_t stop = random.below(static_cast<std::uint32_t>(batches));
          wick::loader first(pipeline(before - 1, before), {.seed = 9, .workers = workers});
          auto range = first.epoch(e);
          for (std::uint64_t b = 0; b < stop; ++b) range.next();
          const auto state = first.state();
          CHECK(state.size() <= 4096);
          std::vector<std::string> values(batches), targets(batches), segments(batches);
          for (std::uint64_t rank = 0; rank < world; ++rank) {
            wick::loader l(pipeline(rank, world), {.seed = 9, .workers = workers, .prefetch = prefetch});
            l.load_state(state);
            std::uint64_t b = stop;
            for (auto& each : l.epoch(e)) {
              values[b].append(reinterpret_cast<const char*>(each.values.data.data()),
                               each.values.data.bytes());
              targets[b].append(reinterpret_cast<const char*>(each.values.target.data()),
                                each.values.target.bytes());
              segments[b].append(reinterpret_cast<const char*>(each.segments.data()), each.segments.bytes());
              ++b;
            }
            CHECK(b == batches);
          }
          for (std::uint64_t b = stop; b < batches; ++b) {
            CHECK(wick_test::sha256().add(values[b]).add(targets[b]).add(segments[b]).hex() ==
                  wanted[e * batches + b]);
          }
        }
      }
    }
  }
}

TEST_CASE("packed rows: the fingerprints of ranks add up to that of one") {
  const auto all = lengths(700, 256);
  const auto pipeline = [&](std::uint64_t rank, std::uint64_t world) {
    return texts{all} | wick::shuffle() | wick::shard(rank, world) | tokenize | wick::array_pack(4, 256);
  };
  const auto print = [&](std::uint64_t rank, std::uint64_t world) {
    wick::loader l(pipeline(rank, world), {.content_fingerprint = true});
    for (auto& b : l.epoch(1)) static_cast<void>(b);
    return l.fingerprint(1);
  };
  const auto whole = print(0, 1);
  CHECK(whole.samples == 700);
  CHECK(print(0, 2) + print(1, 2) == whole);
  CHECK(print(0, 4) + print(1, 4) + print(2, 4) + print(3, 4) == whole);
}

TEST_CASE(
    "packed rows: a sample that is left out is padding in its place; one of its length may replace it") {
  std::vector<std::uint32_t> all = lengths(900, 64);
  for (auto& l : all) l = l / 8 * 8 + 8;  // many of each length
  const auto pipeline = texts{all} | wick::shuffle() | [](const wick::sample<std::uint32_t>& s) {
    if (s.target % 9 == 0) throw wick::error("bad");
    return tokenize(s);
  } | wick::array_pack(8, 128, padded());
  wick::loader good(texts{all} | wick::shuffle() | tokenize | wick::array_pack(8, 128, padded()));
  for (const bool replace : {false, true}) {
    std::vector<std::vector<std::int64_t>> first;
    for (const std::size_t workers : {1, 4}) {
      wick::loader l(pipeline, {.workers = workers,
                                .on_error = replace ? wick::on_error(wick::on_error::replace)
                                                    : wick::on_error(wick::on_error::skip),
                                .content_fingerprint = true});
      CHECK(l.batches() == good.batches());
      std::vector<std::vector<std::int64_t>> got;
      std::size_t there = 0, padding = 0;
      for (const taken& t : epoch_of(l, 0)) {
        CHECK(t.texts.size() == t.targets.size());
        for (std::size_t i = 0; i < t.texts.size(); ++i) {
          CHECK(t.targets[i] % 9 != 0);
          CHECK(t.texts[i] == tokenize({all[static_cast<std::size_t>(t.targets[i])], t.targets[i]}).data);
        }
        there += t.texts.size();
        padding += t.padding;
        got.push_back(t.targets);
      }
      CHECK(there == (replace ? 900 : 800));
      if (workers == 1) first = got;
      CHECK(got == first);
    }
  }
}

TEST_CASE("packed rows: what replaces a sample that was cut was as long before") {
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = 0; i < 300; ++i) all.push_back(std::array<std::uint32_t, 4>{10, 20, 23, 3}[i % 4]);
  for (const wick::too_long cut : {wick::too_long::truncate, wick::too_long::split}) {
    wick::loader l(texts{all} | wick::shuffle() |
                       [](const wick::sample<std::uint32_t>& s) {
                         if (s.target % 100 == 2) throw wick::error("bad");  // 23 long
                         return tokenize(s);
                       } |
                       wick::array_pack(2, 10, padded(cut)),
                   {.on_error = wick::on_error(wick::on_error::replace)});
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
      for (const taken& t : epoch_of(l, epoch)) {
        for (const std::int64_t target : t.targets) CHECK(target % 100 != 2);
      }
    }
    for (const auto& entry : l.failure_log().entries()) CHECK(contains(entry.text, "bad"));
    CHECK(l.failure_log().total() >= 9);
  }
}

TEST_CASE("packed rows: what is longer than a row is refused, cut off, or cut into pieces") {
  const std::vector<std::uint32_t> all{5, 23, 10, 8, 3, 20};
  CHECK(message_of([&] {
          wick::loader l(texts{all} | tokenize | wick::array_pack(2, 10, padded()));
          return 0;
        }) ==
        "text 1: pack: it is 23 long, and a row 10; make rows longer, or say {.too_long = "
        "wick::too_long::split} or truncate");
  wick::loader cut(texts{all} | tokenize | wick::array_pack(2, 10, padded(wick::too_long::truncate)));
  std::map<std::int64_t, std::size_t> sizes;
  for (const taken& t : epoch_of(cut, 0)) {
    for (std::size_t i = 0; i < t.texts.size(); ++i) {
      sizes[t.targets[i]] = t.texts[i].size();
      CHECK(t.texts[i].front() == 1000 * t.targets[i]);
    }
  }
  CHECK(sizes == std::map<std::int64_t, std::size_t>{{0, 5}, {1, 10}, {2, 10}, {3, 8}, {4, 3}, {5, 10}});
  wick::loader split(texts{all} | wick::shuffle() | tokenize |
                     wick::array_pack(2, 10, padded(wick::too_long::split)));
  CHECK(split.samples() == 9);
  for (std::uint64_t e = 0; e < 3; ++e) {
    std::map<std::int64_t, std::vector<std::int64_t>> put_together;
    for (const taken& t : epoch_of(split, e)) {
      for (std::size_t i = 0; i < t.texts.size(); ++i) {
        auto& whole = put_together[t.targets[i]];
        whole.insert(whole.end(), t.texts[i].begin(), t.texts[i].end());
      }
    }
    for (std::int64_t i = 0; i < 6; ++i) {
      auto whole = put_together[i];
      std::sort(whole.begin(), whole.end());
      CHECK(whole == tokenize({all[static_cast<std::size_t>(i)], i}).data);
    }
  }
}

TEST_CASE(
    "packed rows: several fields of one length, beside others; rows of arrays; samples without a value") {
  struct item {
    std::vector<std::int32_t> tokens;
    std::vector<std::uint8_t> weights;
    double number;
    std::string name;
  };
  wick::loader l(texts{{3, 0, 2, 5, 4}} | wick::take(99) | wick::shuffle() |
                 [](const wick::sample<std::uint32_t>& s) {
                   return item{std::vector<std::int32_t>(s.data, static_cast<std::int32_t>(s.target)),
                               std::vector<std::uint8_t>(s.data, static_cast<std::uint8_t>(10 * s.target)),
                               0.5 * static_cast<double>(s.target), std::to_string(s.target)};
                 } |
                 wick::array_pack(4, 5));
  auto b = l.next().value();
  CHECK(!l.next());
  auto& [tokens, weights, numbers, names] = b.values;
  CHECK(tokens.extents() == wick::shape{3, 5});
  CHECK(weights.type() == wick::dtype::uint8);
  CHECK(numbers.extents() == wick::shape{5});
  CHECK(names.size() == 5);
  for (std::int64_t i = 0; i < 15; ++i)
    CHECK(weights.as<std::uint8_t>()[i] == 10 * tokens.as<std::int32_t>()[i]);
  for (std::size_t i = 0; i < 5; ++i) CHECK(numbers.as<double>()[i] == 0.5 * std::stod(names[i]));
  wick::loader arrays(texts{{2, 1}} | wick::take(99) | [](const wick::sample<std::uint32_t>& s) {
    return std::vector<std::array<float, 2>>(s.data, {1.0F + static_cast<float>(s.target), 9});
  } | wick::array_pack(1, 4));
  const auto a = arrays.next().value();
  CHECK(a.values.extents() == wick::shape{1, 4, 2});
  const float* const v = a.values.as<float>();
  CHECK(std::vector<float>(v, v + 8) == std::vector<float>{1, 9, 1, 9, 2, 9, 0, 0});
}

TEST_CASE("packed rows: drop_last drops rows that make no batch; ranks without a row get an empty batch") {
  const auto all = lengths(100, 32);
  wick::loader l(texts{all} | wick::shuffle() | tokenize |
                 wick::array_pack(16, 32, {.drop_last = true, .pad = wick::pad_with(-7)}));
  wick::loader m(texts{all} | wick::shuffle() | tokenize | wick::array_pack(16, 32, padded()));
  CHECK(l.batches() + 1 == m.batches());
  for (const taken& t : epoch_of(l, 0)) CHECK(t.rows == 16);
  std::int64_t rows = 0;
  std::size_t samples = 0;
  for (std::uint64_t rank = 0; rank < 16; ++rank) {
    wick::loader r(texts{{3, 4, 5}} | wick::shard(rank, 16) | tokenize | wick::array_pack(16, 5, padded()));
    CHECK(r.batches() == 1);
    const taken t = take_apart(r.next().value());
    rows += t.rows;
    samples += t.texts.size();
  }
  CHECK(rows == 3);
  CHECK(samples == 3);
}

TEST_CASE("packed rows: more pieces than can be planned for are refused before there is memory for them") {
  const std::vector<std::uint32_t> lengths{0xFFFFFFFF, 0xFFFFFFFF};
  CHECK(contains(message_of([&] {
                   wick::loader l(
                       texts{{3, 4}} | tokenize |
                       wick::array_pack(2, 1, {.too_long = wick::too_long::split, .lengths = lengths}));
                   return 0;
                 }),
                 "8589934590 pieces", "at most 4294967295"));
}

TEST_CASE("packed rows: pictures beside them are planes, as batch() has them") {
  const auto with_picture = [](std::uint32_t i) {
    wick::image picture(3, 2, 3);
    for (std::size_t b = 0; b < picture.pixels().size(); ++b)
      picture.data()[b] = static_cast<std::uint8_t>(b + 18 * i);
    return wick::sample<wick::image, std::vector<int>>{std::move(picture), std::vector<int>(2, 1)};
  };
  const auto source = wick::in_memory(std::vector<std::uint32_t>{0, 1, 2, 3});
  wick::loader packed(source | with_picture | wick::array_pack(2, 4, {.lengths = {2, 2, 2, 2}}),
                      {.workers = 1});
  wick::loader padded(source | with_picture | wick::array_batch(4, {.ragged = wick::pad_with(0)}),
                      {.workers = 1});
  auto rows = packed.next();
  auto batch = padded.next();
  REQUIRE((rows && batch));
  const wick::array &a = rows->values.data, &b = batch->data;
  CHECK(a.extents() == b.extents());
  CHECK(a.strides() == b.strides());
  CHECK(std::equal(a.data(), a.data() + a.bytes(), b.data()));
}

TEST_CASE("packed rows: what can't be is an error, with the sample's name") {
  CHECK(contains(message_of([] { wick::array_pack(2, 8, {.pad = wick::pad_with(0, {.multiple = 4})}); }),
                 "pack: ", "without .multiple"));
  wick::loader l(texts{{3, 4}} | wick::take(99) | [](const wick::sample<std::uint32_t>& s) {
    return std::vector<int>(s.data + (s.target == 1 ? 1 : 0));
  } | wick::array_pack(1, 8));
  CHECK(message_of([&] { return l.next(); }) ==
        "text 1: pack: it is 5 long, and 4 was planned; lengths are those of the items that come to pack(), "
        "so measure "
        "them after the same stages");
  CHECK(contains(message_of([] { return wick::array_pack(2, 0).size(); }), "a row has at least one place"));
  CHECK(contains(message_of([] { return wick::array_pack(0, 2).size(); }), "pack(0)"));
  CHECK(contains(message_of([] { return wick::array_pack(1 << 20, 1 << 11).size(); }), "int32"));
  wick::loader bad(texts{{3, 4}} | wick::take(99) | [](const wick::sample<std::uint32_t>& s) {
    return std::vector<std::uint8_t>(s.data);
  } | wick::array_pack(1, 8, {.pad = wick::pad_with(-1)}));
  CHECK(contains(message_of([&] { return bad.next(); }), "pad_with(-1)"));
  wick::loader all(
      texts{{3, 4}} | wick::take(99) | [](const wick::sample<std::uint32_t>&) -> std::vector<int> {
        throw wick::error("bad");
      } | wick::array_pack(1, 8),
      {.on_error = wick::on_error::skip});
  const auto none = all.next().value();
  CHECK(none.values.extents() == wick::shape{1, 8});  // the planned row, all of it padding
  CHECK(none.segments.extents() == wick::shape{1, 8});
  for (int i = 0; i < 8; ++i) {
    CHECK(none.values.as<int>()[i] == 0);
    CHECK(none.segments.as<std::int32_t>()[i] == 0);
  }
  CHECK(none.cu_seqlens.as<std::int32_t>()[none.cu_seqlens.extents()[0] - 1] == 8);
}

}  // namespace wick_test::pack_tests
