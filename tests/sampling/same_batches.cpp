// Random pipelines give the same bytes with any number of workers, any prefetch and any number of ranks, with
// samples that take a hundred times as long as others, and with damaged ones. WICK_ORDER_EFFORT=10 tries ten
// times as many pipelines.
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "support/doctest.hpp"
#include "support/numbers.hpp"
#include "support/sanitized.hpp"
#include "support/sha256.hpp"
#include <wick/core.hpp>

namespace wick_test::same_batches_tests {

using wick_test::cell;
using wick_test::numbers;
using wick_test::sha256;

namespace {

// ---- pipelines that are put together at run time ----

/// Any source of cells.
struct any_source {
  std::uint64_t count = 0;
  std::function<cell(std::uint64_t)> get;
  template <class Source>
  static any_source of(Source s) {
    return {s.size(), [s](std::uint64_t i) -> cell { return s.at(i); }};
  }
  std::uint64_t size() const { return count; }
  cell at(std::uint64_t i) const { return get(i); }
  std::string key(std::uint64_t i) const { return "sample " + std::to_string(i); }
};

/// Any order stage, or several.
struct any_order {
  static constexpr wick::ext::stage_traits traits{.name = "any_order", .kind = wick::ext::stage_kind::order};
  using place = std::function<std::uint64_t(std::uint64_t)>;
  struct prepared {
    place of;
    std::uint64_t operator()(std::uint64_t p) const { return of(p); }
  };
  std::function<std::uint64_t(std::uint64_t)> sizes;
  std::function<place(std::uint64_t, std::uint64_t, std::uint64_t, std::uint32_t)> prepares;
  template <class Stage>
  static any_order of(Stage s) {
    return {[s](std::uint64_t n) { return s.size(n); },
            [s](std::uint64_t n, std::uint64_t seed, std::uint64_t epoch, std::uint32_t stage) -> place {
              return [f = s.prepare(n, seed, epoch, stage)](std::uint64_t p) { return f(p); };
            }};
  }
  std::uint64_t size(std::uint64_t n) const { return sizes(n); }
  prepared prepare(std::uint64_t n, std::uint64_t seed, std::uint64_t epoch, std::uint32_t stage) const {
    return {prepares(n, seed, epoch, stage)};
  }
};
static_assert(wick::ext::order_stage<any_order>);

using transform = std::function<void(cell&, wick::context&)>;

/// Arithmetic whose result is kept: `turns` times some nanoseconds.
std::uint64_t work(std::uint64_t x, std::uint64_t turns) {
  for (; turns != 0; --turns) x = (x ^ (x >> 29)) * 0xBF58476D1CE4E5B9u + 1;
  return x;
}
bool one_in_a_hundred(std::uint64_t what, std::uint64_t salt) {
  return work(what + 1000 * salt, 3) % 100 == 0;
}

/// What is drawn for one test.
struct plan {
  any_source source;
  std::vector<any_order> order;  // two: what is not drawn changes nothing
  std::array<transform, 2> transforms;
  bool suspends = false;
  std::size_t batch = 1;
  wick::batch_options ends;
  std::uint64_t seed = 0;
  std::string text;
};

std::vector<double> weights(std::uint64_t n) {
  std::vector<double> out;
  for (std::uint64_t i = 0; i < n; ++i) out.push_back(static_cast<double>(i % 7) / 3);
  return out;
}

class drawing {
 public:
  explicit drawing(std::uint64_t number) : random_(number, 0, 0, 0) {}

  plan operator()() {
    plan p;
    p.seed = below(1'000'000);
    draw_source(p);
    while (p.order.size() < 2) draw_order(p);
    for (transform& t : p.transforms) draw_transform(p, t);
    p.suspends = below(2) == 0;
    p.batch = 4 + below(40);
    p.ends.drop_last = below(3) == 0;
    p.ends.pad_last = !p.ends.drop_last && below(2) == 0;
    p.text += " | " + std::string(p.suspends ? "suspends | " : "") + "batch " + std::to_string(p.batch) +
              (p.ends.drop_last  ? " drop_last"
               : p.ends.pad_last ? " pad_last"
                                 : "") +
              ", seed " + std::to_string(p.seed);
    return p;
  }

 private:
  std::uint64_t below(std::uint64_t n) { return random_.below(n); }

  void draw_source(plan& p) {
    const std::uint64_t n = 100 + below(400), m = 30 + below(100);
    switch (below(4)) {
      case 0:
        p.source = any_source::of(wick::concat(numbers{n}, numbers{m}));
        p.text = "concat of " + std::to_string(n) + " and " + std::to_string(m);
        break;
      case 1: {
        constexpr wick::mix_until ends[] = {wick::mix_until::first_exhausted, wick::mix_until::all_exhausted};
        const auto mixed = wick::mix(ends[below(2)], wick::weighted_source{numbers{n} | wick::shuffle(), 3.0},
                                     wick::weighted_source{numbers{m}, 1.25});
        p.source = any_source::of(mixed.origin);
        p.order.push_back(any_order::of(wick::detail::get_stage<0>(mixed.stages)));
        p.text = "mix of " + std::to_string(n) + " and " + std::to_string(m);
        break;
      }
      default:
        p.source = any_source::of(numbers{n});
        p.text = std::to_string(n) + " numbers";
    }
  }

  void draw_order(plan& p) {
    std::uint64_t n = p.source.size();
    for (const any_order& o : p.order) n = o.size(n);
    const auto add = [&](auto stage) {
      p.text += " | " + std::string(wick::detail::stage_name(stage));
      p.order.push_back(any_order::of(std::move(stage)));
    };
    switch (below(8)) {
      case 0:
        return add(wick::block_shuffle(1 + below(20), 1 + below(8)));
      case 1:
        return add(wick::weighted(weights(n), {.samples = n / 2 + 1, .replacement = below(2) == 0}));
      case 2:
        return add(wick::take(n - below(n / 4)));
      case 3:
        return add(wick::skip(below(n / 4)));
      case 4:
        return add(wick::repeat(1 + below(2)));
      case 5: {
        std::vector<std::uint64_t> some;
        for (std::uint64_t i = 0; i < n; ++i) some.push_back(below(n));
        return add(wick::subset(std::move(some)));
      }
      default:
        return add(wick::shuffle());
    }
  }

  void draw_transform(plan& p, transform& t) {
    const std::uint64_t salt = below(1000), kind = below(4), turns = 100 + below(1000);
    p.text += std::array{" | draw", " | mix", " | slow", " | damage"}[kind];
    t = [=](cell& c, wick::context& ctx) {
      const std::uint64_t id = ctx.index();
      switch (kind) {
        case 0:
          for (auto& b : c.data) b = static_cast<std::uint8_t>(b + ctx.random().below(256));
          break;
        case 1:
          c.target = static_cast<std::int64_t>(work(static_cast<std::uint64_t>(c.target) ^ salt, turns));
          break;
        default: {
          const std::uint64_t x = work(id, one_in_a_hundred(id, salt) ? 100 * turns : turns);
          for (std::size_t i = 0; i < 8; ++i)
            c.data[i] = static_cast<std::uint8_t>(c.data[i] ^ (x >> (8 * i)));
          c.data[0] = static_cast<std::uint8_t>(c.data[0] ^ ctx.random().below(256));
          // Which are damaged differs by epoch too, as a connection that breaks does.
          if (kind == 3 && one_in_a_hundred(id, salt + 7 + ctx.epoch() % 2)) {
            throw wick::error("sample " + std::to_string(id) + " is damaged, it has " + std::to_string(x));
          }
        }
      }
    };
  }

  wick::random_stream random_;
};

struct apply_transform {
  transform f;
  cell operator()(cell c, wick::context& ctx) const {
    f(c, ctx);
    return c;
  }
};
/// Waits for an I/O thread or for another turn of a worker, or not at all.
wick::task<cell> wait_somewhere(cell c, wick::context& ctx) {
  const std::uint64_t where = ctx.random().below(4);
  if (where == 0) co_await ctx.on()->schedule();
  if (where == 1) {
    auto blocking = ctx.run_blocking([] { return work(1, 100); });
    const std::uint64_t x = co_await blocking;
    c.data[7] = static_cast<std::uint8_t>(c.data[7] ^ x);
  }
  c.data[6] = static_cast<std::uint8_t>(c.data[6] + ctx.random().below(256));
  co_return c;
}

auto pipeline_of(const plan& p, std::uint64_t rank, std::uint64_t world) {
  return wick::from(p.source) | any_order(p.order[0]) | any_order(p.order[1]) | wick::shard(rank, world) |
         wick::map("first", apply_transform{p.transforms[0]}) |
         wick::map("second", apply_transform{p.transforms[1]}) | wick::array_batch(p.batch, p.ends);
}
auto suspending_pipeline_of(const plan& p, std::uint64_t rank, std::uint64_t world) {
  return wick::from(p.source) | any_order(p.order[0]) | any_order(p.order[1]) | wick::shard(rank, world) |
         wick::map("first", apply_transform{p.transforms[0]}) | wick::map("wait", wait_somewhere) |
         wick::map("second", apply_transform{p.transforms[1]}) | wick::array_batch(p.batch, p.ends);
}

// ---- what becomes of failing samples ----

/// The loader's default, and each policy that means the same with any number of ranks.
std::vector<std::pair<std::string, wick::loader_options>> policies() {
  return {{"their batch fails", {}},
          {"skip", {.on_error = wick::on_error::skip, .content_fingerprint = true}},
          {"replace", {.on_error = wick::on_error::replace, .content_fingerprint = true}},
          {"retry, then replace",
           {.on_error = wick::on_error(wick::on_error::retry(2).then(wick::on_error::replace)),
            .content_fingerprint = true}}};
}

// ---- running them ----

constexpr std::uint64_t epochs = 3;

/// What one run gave: each global batch's bytes (data, targets), and all failures.
struct outcome {
  std::vector<std::optional<std::array<std::string, 2>>> batches;           // nothing: a sample of it failed
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::string> failures;  // by epoch and position
  std::array<wick::epoch_fingerprint, epochs> fingerprints;                 // the ranks' sums

  std::string digest() const {
    sha256 h;
    for (const auto& b : batches) b ? h.add(1).add((*b)[0]).add((*b)[1]) : h.add(0);
    for (const auto& [at, text] : failures) h.add(at.first).add(at.second).add(text);
    for (const wick::epoch_fingerprint& f : fingerprints) h.add(f.value).add(f.samples);
    return h.hex();
  }
};

template <class Make>
outcome run(Make make, std::uint64_t world, wick::loader_options options) {
  outcome all;
  for (std::uint64_t rank = 0; rank < world; ++rank) {
    wick::loader l(make(rank, world), options);
    all.batches.resize(epochs * l.batches(), std::array<std::string, 2>());
    for (std::uint64_t e = 0; e < epochs; ++e) {
      l.epoch(e);
      for (std::uint64_t b = 0; b < l.batches(); ++b) {
        auto& whole = all.batches[e * l.batches() + b];
        try {
          const auto batch = l.next();
          if (!batch) {
            whole.reset();
            continue;
          }
          if (!whole) continue;
          (*whole)[0].append(reinterpret_cast<const char*>(batch->data.data()), batch->data.bytes());
          (*whole)[1].append(reinterpret_cast<const char*>(batch->target.data()), batch->target.bytes());
        } catch (const wick::sample_error&) {
          whole.reset();
        }
      }
      CHECK(!l.next());
      // A batch that fails is thrown by the rank that has the sample; the others deliver theirs.
      if (!options.on_error.only_fails()) all.fingerprints[e] += l.fingerprint(e);
    }
    for (const wick::failure_log::entry& f : l.failure_log().entries()) {
      all.failures[{f.epoch, f.position}] +=
          f.key + ": " + f.stage + ": " + f.text + ": " + std::string(to_string(f.action)) + '\n';
    }
  }
  return all;
}

/// With which workers, prefetch and ranks there are different digests; empty when there is one.
template <class Make>
std::string different_digests(Make make, wick::loader_options options, outcome* first) {
  std::map<std::string, std::string> seen;
  for (const std::uint64_t world : {1, 2, 4}) {
    for (const std::size_t workers : {1, 2, 4, 16}) {
      for (const std::size_t prefetch : {1, 2, 8}) {
        options.workers = workers;
        options.prefetch = prefetch;
        const outcome got = run(make, world, options);
        if (seen.empty()) *first = got;
        seen.emplace(got.digest(), std::to_string(workers) + " workers, prefetch " +
                                       std::to_string(prefetch) + ", " + std::to_string(world) + " ranks");
      }
    }
  }
  std::string text;
  if (seen.size() > 1) {
    for (const auto& [digest, with] : seen) text += digest + " first with " + with + '\n';
  }
  return text;
}

}  // namespace

TEST_CASE("SHA-256 gives the published digests") {
  // NIST, "Examples with intermediate values", SHA-256; the last is of a million letters.
  const auto of = [](const std::string& text) { return sha256().add(text.data(), text.size()).hex(); };
  CHECK(of("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(of("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq") ==
        "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  CHECK(of(std::string(1'000'000, 'a')) ==
        "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE(
    "random pipelines give the same bytes with any number of workers, any prefetch, any number of ranks") {
  const char* const effort = std::getenv("WICK_ORDER_EFFORT");
  // A third of them is enough to find races in.
  const std::uint64_t pipelines = static_cast<std::uint64_t>(wick_test::rounds(24, 8)) *
                                  (effort != nullptr ? std::strtoull(effort, nullptr, 10) : 1);
  std::uint64_t damaged = 0, good = 0;
  for (std::uint64_t number = 0; number < pipelines; ++number) {
    const plan p = drawing(number)();
    CAPTURE(number);
    CAPTURE(p.text);
    for (auto& [policy, options] : policies()) {
      CAPTURE(policy);
      options.seed = p.seed;
      outcome one;
      if (p.suspends) {
        CHECK(different_digests([&](auto r, auto w) { return suspending_pipeline_of(p, r, w); }, options,
                                &one) == "");
      } else {
        CHECK(different_digests([&](auto r, auto w) { return pipeline_of(p, r, w); }, options, &one) == "");
      }
      damaged += one.failures.size();
      good += static_cast<std::uint64_t>(
          std::count_if(one.batches.begin(), one.batches.end(), [](const auto& b) { return b.has_value(); }));
    }
  }
  CHECK(damaged > 0);  // or nothing was said of them
  CHECK(good > 100);
}

TEST_CASE("a stage that gives each sample what its turn is, not its place, is found out") {
  const auto counting = [](std::uint64_t rank, std::uint64_t world) {
    return numbers{200} | wick::shuffle() | wick::shard(rank, world) |
           wick::map("turn",
                     [turn = std::make_shared<std::atomic<std::int64_t>>(0)](cell c) {
                       c.target = turn->fetch_add(1);
                       return c;
                     }) |
           wick::array_batch(16);
  };
  outcome one;
  CHECK(different_digests(counting, {}, &one) != "");
}

}  // namespace wick_test::same_batches_tests
