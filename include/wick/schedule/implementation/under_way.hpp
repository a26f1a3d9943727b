/// \file
/// The bodies of what schedule/detail/under_way.hpp declares. Included in exactly one file of a program.
#pragma once

#include <cstddef>
#include <vector>

#include <wick/run/detail/activity.hpp>
#include <wick/run/executor.hpp>
#include <wick/schedule/detail/under_way.hpp>
#include <wick/system/detail/brief_lock.hpp>

namespace wick::detail {

std::vector<sample_place> under_way::look() const {
  std::vector<sample_place> out;
  for (std::size_t i = 0; i < on_.slots(); ++i) {
    const auto lock = lock_briefly(lists_[i].mutex);
    for (const entry* e = lists_[i].first; e != nullptr; e = e->next_) {
      sample_place p;
      p.sequence = e->sequence_;
      p.position = e->context_.position();
      p.index = e->context_.index();
      p.stage = e->context_.stage();
      p.whole_batch = e->whole_batch_;
      p.since = e->begun_;
      if (const activity* const doing = e->context_.doing()) {
        p.suspends = true;
        p.what = doing->what();
        p.since = doing->since();
        if (p.what == wait_for::nothing) {
          p.slot = on_.slot_at(doing);
          p.thread = on_.thread_in(p.slot);
        } else if (p.what == wait_for::io_call) {
          p.thread = doing->thread();
        }
      } else {
        p.slot = e->slot_;
        p.thread = e->thread_;
      }
      out.push_back(p);
    }
  }
  return out;
}

}  // namespace wick::detail
