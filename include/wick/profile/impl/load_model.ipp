// Implements profile/detail/load_model.hpp. Included in exactly one file of a program.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <wick/profile/detail/load_model.hpp>
#include <wick/profile/impl/load_simulation.ipp>

namespace wick::inline v0_1::detail {

void load_simulation::plan() {
  leg l;
  for (std::size_t i = 0; i < m_.stages.size(); ++i) {
    const load_model::stage& s = m_.stages[i];
    l.from.push_back(i);
    l.work += s.work;
    l.held += s.held;
    if (!s.suspends()) continue;
    l.bytes = s.bytes;
    l.io = s.io;
    l.io_work = s.io_work;
    l.wait = s.wait + s.lock;
    l.suspends = i;
    legs_.push_back(std::exchange(l, leg{}));
  }
  legs_.push_back(std::move(l));
}

/// Draws each quantile of a spread once, then reshuffles; `together`: samples per unit.
std::vector<float> load_simulation::shuffled(const spread& of, std::size_t wanted, double together) {
  std::vector<float> out;
  if (of.constant()) return out;
  const std::size_t n = of.multiples.size();
  const auto some = static_cast<std::size_t>(std::max(1.0, std::lround(together) * 1.0));
  out.reserve(wanted);
  std::vector<float> deck;
  std::size_t at = 0;
  const auto draw = [&] {
    if (at == deck.size()) {
      deck = of.multiples;
      for (std::size_t i = n; i > 1; --i) std::swap(deck[i - 1], deck[bits() % i]);
      at = 0;
    }
    return deck[at++];
  };
  for (std::size_t i = 0; i < wanted; ++i) {
    if (some > 64) {  // the mean of many is about the mean
      out.push_back(1.0F);
      continue;
    }
    float sum = 0;
    for (std::size_t k = 0; k < some; ++k) sum += draw();
    out.push_back(sum / static_cast<float>(some));
  }
  return out;
}

void load_simulation::draw() {
  const std::size_t all = units_ * made_;
  for (const load_model::stage& s : m_.stages) {
    times_.push_back(shuffled(s.times, all, size_));
    sizes_.push_back(shuffled(s.sizes, all, size_));
  }
  steps_ = shuffled(m_.steps, batches_, 1);
}

void load_simulation::fill_workers() {
  while (busy_ < seats()) {
    if (ready_at_ < ready_.size()) {  // samples that continue come before new ones
      const std::uint32_t u = ready_[ready_at_++];
      ++busy_;
      begin_leg(u);
    } else if (!batch_jobs_.empty()) {
      const std::uint32_t b = batch_jobs_.back();
      batch_jobs_.pop_back();
      ++busy_;
      worked_ += (m_.batch_work + m_.batch_held) * shrunk_;
      compute(m_.batch_work * shrunk_, m_.batch_held * shrunk_, static_cast<std::uint32_t>(all_.size()) + b,
              kind::worker);
    } else if (may_claim()) {
      const auto u = static_cast<std::uint32_t>(next_++);
      ++under_way_;
      ++busy_;
      begin_leg(u);
    } else {
      return;
    }
  }
}

void load_simulation::begin_leg(std::uint32_t u) {
  const leg& l = legs_[all_[u].leg];
  double work = 0, held = 0;
  for (const std::size_t s : l.from) {
    const double times = multiple(s, u) * size_;
    work += m_.stages[s].work * times;
    held += m_.stages[s].held * times;
  }
  worked_ += work + held;
  compute(work, held, u, kind::worker);
}

/// A worker becomes free: the sample ends or waits.
void load_simulation::leg_worked(std::uint32_t u) {
  --busy_;
  if (u >= all_.size()) {  // a batch's stages after batch()
    finished_[u - all_.size()] = 1;
    return;
  }
  if (legs_[all_[u].leg].suspends == ~std::size_t{0}) return end_unit(u);
  ask_memory(u);
}

void load_simulation::ask_memory(std::uint32_t u) {
  const leg& l = legs_[all_[u].leg];
  if (l.bytes <= 0 || m_.memory <= 0) return ask_io(u);
  want_memory_.push_back(u);
  std::push_heap(want_memory_.begin(), want_memory_.end(), later);
  grant_memory();
}

/// In the order of the samples. A sample larger than the limit goes alone.
void load_simulation::grant_memory(bool anyway) {
  while (!want_memory_.empty()) {
    const std::uint32_t u = want_memory_.front();
    const leg& l = legs_[all_[u].leg];
    const double bytes = l.bytes * multiple(l.suspends, u, true) * size_;
    if (used_ > 0 && used_ + bytes > m_.memory && !std::exchange(anyway, false)) return;
    std::pop_heap(want_memory_.begin(), want_memory_.end(), later);
    want_memory_.pop_back();
    used_ += bytes;
    all_[u].bytes += bytes;
    ask_io(u);
  }
}

void load_simulation::ask_io(std::uint32_t u) {
  const leg& l = legs_[all_[u].leg];
  if (l.io <= 0) return end_wait(u);
  if (io_busy_ < std::max<std::size_t>(m_.io_threads, 1)) {
    ++io_busy_;
    const double times = multiple(l.suspends, u) * size_;
    if (l.io_work > 0)
      compute(l.io_work * times, std::max(0.0, l.io - l.io_work) * times, u, kind::io);
    else
      clock_.push({now_ + l.io * times, u, kind::io});
  } else {
    io_queue_.push_back(u);
  }
}

void load_simulation::end_wait(std::uint32_t u) {
  const leg& l = legs_[all_[u].leg];
  const double wait = l.wait * multiple(l.suspends, u);
  clock_.push({now_ + wait, u, kind::waited});
}

void load_simulation::end_unit(std::uint32_t u) {
  --under_way_;
  if (all_[u].bytes > 0) {
    used_ = std::max(0.0, used_ - all_[u].bytes);
    if (used_ < 1e-6) used_ = 0;
    all_[u].bytes = 0;
    grant_memory();
  }
  const std::size_t b = u / units_;
  if (--left_[b] != 0) return;
  if (m_.batch_work + m_.batch_held > 0) {
    batch_jobs_.push_back(static_cast<std::uint32_t>(b));
  } else {
    finished_[b] = 1;
  }
}

/// The loop takes the next batch if it is ready.
void load_simulation::look() {
  while (waiting_ && taken_ < batches_ && finished_[taken_] != 0) {
    waited_ += now_ - since_waiting_;
    ++taken_;
    waiting_ = false;
    // The first batches are special, since nothing was ahead yet.
    if (taken_ == std::min(std::max<std::size_t>(m_.prefetch, 1) + 1, (batches_ + 1) / 2)) {
      measured_from_ = now_;
      measured_wait_ = waited_;
      measured_work_ = worked_;
      measured_taken_ = taken_;
    }
    const double times = steps_.empty() ? 1.0 : static_cast<double>(steps_[(taken_ - 1) % steps_.size()]);
    const double work = m_.step_work * times * shrunk_, held = m_.step_held * times * shrunk_;
    if (work + held <= 0) {
      waiting_ = true;
      since_waiting_ = now_;
    } else if (work > 0) {
      compute(work, held, 0, kind::step);
    } else {
      clock_.push({now_ + held, 0, kind::step});
    }
  }
}

/// The limit for models that take no time.
constexpr double fastest = 1e12;

load_model::outcome load_simulation::run() {
  all_.resize(units_ * made_);
  left_.assign(made_, static_cast<std::uint32_t>(units_));
  finished_.assign(made_, 0);
  while (taken_ < batches_) {
    look();
    fill_workers();
    if (clock_.all.empty()) {
      // Samples that want more hold all of the memory: let the first one through.
      if (want_memory_.empty()) break;
      grant_memory(true);
      continue;
    }
    const event e = clock_.pop();
    now_ = e.at;
    switch (e.what) {
      case kind::worker:
        leg_worked(e.who);
        break;
      case kind::io:
        --io_busy_;
        end_wait(e.who);
        if (io_at_ < io_queue_.size()) ask_io(io_queue_[io_at_++]);
        break;
      case kind::waited:
        ++all_[e.who].leg;
        ready_.push_back(e.who);
        break;
      case kind::slice:
        end_slice(e.who);
        break;
      case kind::step:
        waiting_ = true;
        since_waiting_ = now_;
        break;
    }
  }
  load_model::outcome out;
  const double seconds = now_ - measured_from_;
  const double taken = static_cast<double>(taken_ - measured_taken_);
  if (seconds <= 0 || taken <= 0) {
    out.samples_per_second = fastest;
    return out;
  }
  out.samples_per_second = std::min(fastest, taken * static_cast<double>(m_.batch) * shrunk_ / seconds);
  out.waiting = (waited_ - measured_wait_) / seconds;
  out.working =
      (worked_ - measured_work_) / (seconds * static_cast<double>(std::max<std::size_t>(m_.workers, 1)));
  return out;
}

load_model::outcome load_model::run(std::uint64_t seed) const { return load_simulation(*this, seed).run(); }

}  // namespace wick::detail
