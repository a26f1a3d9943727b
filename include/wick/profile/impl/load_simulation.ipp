// One run of a load_model, event by event. Included only by load_model.ipp.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <wick/profile/detail/load_model.hpp>

namespace wick::inline v0_1::detail {

/// One run of a load_model. A unit is some samples that are claimed together, or a part of those.
class load_simulation {
 public:
  load_simulation(const load_model& m, std::uint64_t seed) : m_(m), random_(seed * 0x9E3779B97F4A7C15 + 1) {
    double batch = static_cast<double>(std::max<std::size_t>(m.batch, 1));
    // Enough units that the ends of a run weigh little, and few enough that it takes milliseconds.
    const double batches = std::max(4.0 * static_cast<double>(std::min<std::size_t>(m.prefetch, 2000)) + 8,
                                    3000.0 * claim() / batch);
    double unit = std::max(1.0, std::min(claim(), batch));
    // Samples that suspend wait one by one.
    const bool suspends = std::any_of(m.stages.begin(), m.stages.end(),
                                      [](const load_model::stage& s) { return s.suspends(); });
    if (suspends) {
      unit = 1;
      const double most = std::max(64.0, 4 * most_units / batches);
      if (batch > most) {  // smaller batches with a proportionally shorter step
        shrunk_ = most / batch;
        batch = most;
      }
    } else if (batches * batch / unit > most_units) {
      unit = batches * batch / most_units;
    }
    units_ = std::max<std::size_t>(1, static_cast<std::size_t>(std::lround(batch / unit)));
    size_ = batch / static_cast<double>(units_);
    batches_ = static_cast<std::size_t>(std::ceil(std::min(batches, 2.0 * most_units)));
    const std::size_t most_ahead =
        std::max<std::size_t>(4, static_cast<std::size_t>(4 * most_units) / units_);
    ahead_ = std::clamp<std::size_t>(m.prefetch, 1, most_ahead);
    made_ = batches_ + ahead_;  // so that no worker runs dry at the end
    double work = (m.step_work + m.batch_work) * static_cast<double>(batches_) * shrunk_;
    for (const load_model::stage& s : m.stages) work += s.work * batch * static_cast<double>(batches_);
    slice_ = std::max(time_slice, work / 1e5);
    in_flight_ =
        m.in_flight == 0
            ? std::numeric_limits<std::size_t>::max()
            : std::max<std::size_t>(1, static_cast<std::size_t>(static_cast<double>(m.in_flight) / size_));
    plan();
    draw();
  }

  load_model::outcome run();

 private:
  static constexpr double most_units = 12'000;
  enum class kind : std::uint8_t { worker, io, waited, step, slice };
  /// The end of something.
  struct event {
    double at;
    std::uint32_t who;  // a unit; for a slice, the burst
    kind what;
    bool operator<(const event& o) const noexcept { return at > o.at || (at == o.at && who > o.who); }
  };
  struct heap {
    std::vector<event> all;
    void push(event e) {
      all.push_back(e);
      std::push_heap(all.begin(), all.end());  // the earliest on top
    }
    event pop() {
      std::pop_heap(all.begin(), all.end());
      const event e = all.back();
      all.pop_back();
      return e;
    }
  };
  /// The work between two suspensions.
  struct leg {
    double work = 0, held = 0;                        // first, on a worker
    double bytes = 0, io = 0, io_work = 0, wait = 0;  // then, without one
    std::vector<std::size_t> from;                    // stages in work and held
    std::size_t suspends = ~std::size_t{0};           // the stage that suspends
  };
  struct unit {
    std::uint32_t leg = 0;
    double bytes = 0;
  };

  static bool later(std::uint32_t a, std::uint32_t b) noexcept { return a > b; }
  double claim() const noexcept { return static_cast<double>(std::max<std::size_t>(m_.at_a_time, 1)); }
  void plan();
  void draw();
  double multiple(std::size_t stage, std::size_t unit, bool of_size = false) const noexcept {
    const std::vector<float>& drawn = (of_size ? sizes_ : times_)[stage];
    return drawn.empty() ? 1.0 : static_cast<double>(drawn[unit % drawn.size()]);
  }
  std::uint64_t bits() noexcept {  // xorshift64*
    random_ ^= random_ >> 12;
    random_ ^= random_ << 25;
    random_ ^= random_ >> 27;
    return random_ * 0x2545F4914F6CDD1D;
  }
  std::vector<float> shuffled(const spread& of, std::size_t wanted, double together);

  // ---- processors: first come, first served, with time slices ----
  static constexpr double time_slice = 3e-3;
  struct burst {
    double left, held;  // on a processor, and then without one
    std::uint32_t who;
    kind what;
  };
  void compute(double seconds, double held, std::uint32_t who, kind what) {
    std::uint32_t b;
    if (free_.empty()) {
      b = static_cast<std::uint32_t>(bursts_.size());
      bursts_.push_back({});
    } else {
      b = free_.back();
      free_.pop_back();
    }
    bursts_[b] = {seconds, held, who, what};
    turns_.push_back(b);
    run_bursts();
  }
  void run_bursts() {
    const double there = static_cast<double>(std::max<std::size_t>(m_.processors, 1));
    while (static_cast<double>(computing_) < there && turn_ < turns_.size()) {
      const std::uint32_t b = turns_[turn_++];
      ++computing_;
      const double speed = std::min(1.0, there / (static_cast<double>(computing_) + m_.other_processors));
      const double some = std::min(bursts_[b].left, slice_);
      bursts_[b].left -= some;
      clock_.push({now_ + some / speed, b, kind::slice});
    }
  }
  void end_slice(std::uint32_t b) {
    --computing_;
    if (bursts_[b].left > 0) {
      turns_.push_back(b);
    } else {
      clock_.push({now_ + bursts_[b].held, bursts_[b].who, bursts_[b].what});
      free_.push_back(b);
    }
    run_bursts();
  }

  // ---- events ----
  void fill_workers();
  void begin_leg(std::uint32_t u);
  void leg_worked(std::uint32_t u);
  void ask_memory(std::uint32_t u);
  void grant_memory(bool anyway = false);
  void ask_io(std::uint32_t u);
  void end_wait(std::uint32_t u);
  void end_unit(std::uint32_t u);
  void look();
  bool may_claim() const noexcept {
    return next_ < std::min(opened(), made_) * units_ && under_way_ < in_flight_;
  }
  std::size_t opened() const noexcept { return taken_ + ahead_; }
  std::size_t seats() const noexcept { return m_.workers + (m_.loop_helps && waiting_ ? 1 : 0); }

  const load_model& m_;
  std::uint64_t random_;
  std::size_t units_ = 1, batches_ = 1, made_ = 1, in_flight_ = 1;  // batches_: those that the loop takes
  std::size_t ahead_ = 1;
  double size_ = 1, shrunk_ = 1, slice_ = time_slice;
  std::vector<leg> legs_;
  std::vector<std::vector<float>> times_, sizes_;
  std::vector<float> steps_;

  double now_ = 0;
  std::size_t computing_ = 0;
  heap clock_;
  std::vector<burst> bursts_;
  std::vector<std::uint32_t> free_, turns_;  // turns_: FIFO, from turn_ on
  std::size_t turn_ = 0;

  std::vector<unit> all_;
  std::vector<std::uint32_t> left_;  // for each batch: unfinished units; then 1 more for the batch stages
  std::vector<char> finished_;
  std::size_t next_ = 0, under_way_ = 0, busy_ = 0, taken_ = 0, io_busy_ = 0;
  bool waiting_ = true;  // the loop, for a batch
  double used_ = 0;
  std::vector<std::uint32_t> ready_, io_queue_;  // FIFO, by index
  std::size_t ready_at_ = 0, io_at_ = 0;
  std::vector<std::uint32_t> want_memory_;  // a heap, lowest first
  double waited_ = 0, worked_ = 0, since_waiting_ = 0;
  double measured_from_ = 0, measured_wait_ = 0, measured_work_ = 0;
  std::size_t measured_taken_ = 0;
  std::vector<std::uint32_t> batch_jobs_;
};

}  // namespace wick::detail
