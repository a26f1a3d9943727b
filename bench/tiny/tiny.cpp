// 60,000 samples of 28 x 28 bytes in memory, shuffled, in batches of 256: wick, torch::data, and the bare
// copying.
//
// Where a sample costs nothing, all that is left is the loader itself. wick runs with two workers and keeps
// the order; the bare gather with prefetch is the limit, without a consumer.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <ATen/ops/empty.h>

#include "support/options.hpp"
#include "support/round_trip.hpp"
#include "support/timing.hpp"
#include "tiny/gather.hpp"
#include "tiny/peers.hpp"
#include <wick/wick.hpp>

namespace tiny {

void digest::batch(const std::uint8_t* data, const std::int64_t* target, std::uint64_t n) noexcept {
  for (std::uint64_t i = 0; i < n; ++i) {
    std::uint64_t h = 0xcbf29ce484222325u ^ static_cast<std::uint64_t>(target[i]);
    for (std::uint64_t o = 0; o < row; ++o) h = (h ^ data[i * row + o]) * 0x100000001b3u;
    each += h;
    ordered = (ordered ^ h) * 0x100000001b3u;
  }
  samples += n;
}

namespace {

data_set make_data() {
  data_set d{at::empty({static_cast<std::int64_t>(samples), 28, 28}, at::kByte),
             at::empty({static_cast<std::int64_t>(samples)}, at::kLong),
             at::empty({static_cast<std::int64_t>(samples)}, at::kLong)};
  auto* const pixels = d.pixels.data_ptr<std::uint8_t>();
  auto* const targets = d.targets.data_ptr<std::int64_t>();
  auto* const remapped = d.remapped.data_ptr<std::int64_t>();
  std::uint64_t random = 1;
  for (std::uint64_t i = 0; i < samples * row; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    pixels[i] = static_cast<std::uint8_t>(random >> 56);
  }
  for (std::uint64_t i = 0; i < samples; ++i) {
    targets[i] = static_cast<std::int64_t>((i * 7 + pixels[i * row]) % 10);
    remapped[i] = remap(targets[i]);
  }
  return d;
}

/// The batches that wick has in hand with its default prefetch: four ahead, and the loop's.
constexpr std::size_t window = 5;

auto make_loader(const data_set& d, std::size_t workers) {
  return wick::loader(wick::tensor_dataset(d.pixels, d.targets) | wick::shuffle() |
                          [](wick::sample<wick::memory_view, std::int64_t> s) {
                            s.target = remap(s.target);
                            return s;
                          } |
                          wick::batch(batch_size),
                      {.seed = seed, .workers = workers});
}

/// How often `epoch` must run to last `seconds`.
template <class F>
std::uint64_t epochs_for(double seconds, F&& epoch) {
  epoch();
  const wick_bench::stopwatch watch;
  std::uint64_t n = 0;
  do {
    epoch();
    ++n;
  } while (watch.seconds() < seconds / 8);
  return static_cast<std::uint64_t>(std::ceil(seconds / (watch.seconds() / static_cast<double>(n))));
}

bool same(const char* who, const seen& s, const seen& per_epoch, std::uint64_t epochs) {
  if (s.samples == epochs * per_epoch.samples &&
      s.targets == static_cast<std::int64_t>(epochs) * per_epoch.targets)
    return true;
  std::fprintf(stderr,
               "tiny: %s gave %llu samples with targets that add up to %lld; wanted were %llu and %lld\n",
               who, static_cast<unsigned long long>(s.samples), static_cast<long long>(s.targets),
               static_cast<unsigned long long>(epochs * per_epoch.samples),
               static_cast<long long>(static_cast<std::int64_t>(epochs) * per_epoch.targets));
  return false;
}

}  // namespace

int run(const wick_bench::options& o) {
  const data_set data = make_data();
  seen wanted;
  for (std::uint64_t i = 0; i < samples; ++i) wanted.targets += data.remapped.data_ptr<std::int64_t>()[i];
  wanted.samples = samples;

  std::vector<order> orders(4);
  for (std::uint64_t e = 0; e < orders.size(); ++e) {
    const wick::detail::permutation at(samples, seed, e, 0);
    for (std::uint64_t p = 0; p < samples; ++p) orders[e].push_back(static_cast<std::uint32_t>(at(p)));
  }

  auto loader = make_loader(data, o.workers);
  std::uint64_t epoch = 0;
  gather one(data, 1, 2), two(data, o.workers, 2), windowed(data, o.workers, window);
  std::vector<gather> others;
  for (const loop_kind& kind : loops) {
    if (&kind != &loops[0] && (kind.how != copying::rep_movs || has_rep_movs))
      others.emplace_back(data, o.workers, 2, kind);
  }
  torch_data torch_alone(data, 0), torch_workers(data, o.workers);

  // The same bytes first. torch::data has an order of its own; the gather has wick's.
  for (std::uint64_t e = 0; e < orders.size(); ++e) {
    digest ours;
    for (auto& batch : loader.epoch(epoch++)) {
      ours.batch(batch.data.data_ptr<std::uint8_t>(), batch.target.data_ptr<std::int64_t>(),
                 static_cast<std::uint64_t>(batch.target.size(0)));
    }
    const digest bare = two.check(orders[e]);
    if (ours.samples != samples || ours.ordered != bare.ordered) {
      std::fprintf(stderr, "tiny: epoch %llu of wick is not what the gather makes\n",
                   static_cast<unsigned long long>(e));
      return 1;
    }
    if (e != 0) continue;
    for (gather& other : others) {
      if (other.check(orders[e]).ordered != bare.ordered) {
        std::fprintf(stderr, "tiny: two bare loops don't make the same\n");
        return 1;
      }
    }
    for (torch_data* t : {&torch_alone, &torch_workers}) {
      const digest theirs = t->check();
      if (theirs.samples != samples || theirs.each != ours.each) {
        std::fprintf(stderr, "tiny: torch::data does not give the samples that wick gives\n");
        return 1;
      }
    }
  }
  std::printf("results are equal: 4 epochs byte by byte with the gather, all samples with torch::data\n");

  bool good = true;
  using wick_bench::contestant, wick_bench::lap, wick_bench::stopwatch;
  std::vector<contestant> all;
  const double seconds = o.quick ? 0.05 : 0.4;
  const auto add = [&](std::string name, auto epochs_of) {
    if (!name.starts_with(o.only)) return;
    const std::uint64_t n = epochs_for(seconds, [&] { epochs_of(std::uint64_t{1}); });
    all.push_back({name, static_cast<double>(n * samples), [&good, &wanted, n, name, epochs_of] {
                     const stopwatch watch;
                     const seen s = epochs_of(n);
                     const lap took = watch.read();
                     good = same(name.c_str(), s, wanted, n) && good;
                     return took;
                   }});
  };
  add("wick, " + std::to_string(o.workers) + " workers", [&](std::uint64_t n) {
    seen s;
    for (std::uint64_t i = 0; i < n; ++i) {
      for (auto& batch : loader.epoch(epoch++)) {
        s.batch(batch.data.data_ptr<std::uint8_t>(), batch.target.data_ptr<std::int64_t>(),
                static_cast<std::uint64_t>(batch.target.size(0)));
      }
    }
    return s;
  });
  add("bare gather, " + std::to_string(o.workers) + " threads",
      [&](std::uint64_t n) { return two.run(orders, n); });
  add("bare gather, " + std::to_string(window) + " slabs a thread",
      [&](std::uint64_t n) { return windowed.run(orders, n); });
  add("bare gather, 1 thread", [&](std::uint64_t n) { return one.run(orders, n); });
  const auto torch_epochs = [](torch_data& t) {
    return [&t](std::uint64_t n) {
      seen s;
      for (std::uint64_t i = 0; i < n; ++i) s.add(t.epoch());
      return s;
    };
  };
  add("torch::data, " + std::to_string(o.workers) + " workers", torch_epochs(torch_workers));
  add("torch::data, in the loop's thread", torch_epochs(torch_alone));
  for (std::size_t i = 0; i < others.size(); ++i) {
    add("bare: " + std::string(loops[i + 1].name),
        [&, i](std::uint64_t n) { return others[i].run(orders, n); });
  }

  (void)loader.report();  // from here on
  double apart = wick_bench::round_trip_ns();
  wick_bench::run_in_turns(all, o.rounds);
  apart = (apart + wick_bench::round_trip_ns()) / 2;
  if (!good) return 1;
  print_table(all, "M samples/s", 1e6, "cpu ns/sample", 1e9);
  std::printf("%s", loader.report().to_string().c_str());
  std::printf("a cache line from one processor to the other and back: %.0f ns\n", apart);
  if (!o.only.empty()) return 0;
  const contestant &ours = all[0], &bare = all[1], &bare_window = all[2], &bare_one = all[3],
                   &theirs = all[4], &theirs_alone = all[5];
  // The fastest loop of the run, by its median.
  std::size_t best = 1;
  for (std::size_t i = 6; i < all.size(); ++i) {
    if (all[i].units_per_second() > all[best].units_per_second()) best = i;
  }
  const contestant& fastest = all[best];
  std::printf("fastest bare loop: %s\n", best == 1 ? loops[0].name : fastest.name.c_str());
  std::printf(
      "RESULT tiny wick_msamples_s=%.3f gather_msamples_s=%.3f gather_1_thread_msamples_s=%.3f "
      "torch_data_msamples_s=%.4f torch_data_0_workers_msamples_s=%.4f ratio_to_fastest=%.3f "
      "cpu_ratio_to_fastest=%.3f fastest_msamples_s=%.3f ratio_to_gather=%.3f "
      "ratio_to_gather_with_window=%.3f cpu_ratio_to_gather=%.3f ratio_to_torch_data=%.1f "
      "cpu_ns_per_sample_wick=%.1f "
      "cpu_ns_per_sample_gather=%.1f round_trip_ns=%.0f rounds=%d workers=%zu cores=%u\n",
      ours.units_per_second() / 1e6, bare.units_per_second() / 1e6, bare_one.units_per_second() / 1e6,
      theirs.units_per_second() / 1e6, theirs_alone.units_per_second() / 1e6, ratio(ours, fastest),
      cpu_ratio(ours, fastest), fastest.units_per_second() / 1e6, ratio(ours, bare), ratio(ours, bare_window),
      cpu_ratio(ours, bare), ratio(ours, theirs), ours.cpu_per_unit() * 1e9, bare.cpu_per_unit() * 1e9, apart,
      o.rounds, o.workers, std::thread::hardware_concurrency());
  return 0;
}

}  // namespace tiny

int main(int argc, char** argv) {
  return tiny::run(wick_bench::options::parse(argc, argv,
                                              "60,000 samples of 28 x 28 bytes in memory, shuffled, in "
                                              "batches of 256: wick, torch::data, bare gather",
                                              {wick_bench::options::only_option}));
}
