/// \file
/// The smallest unit of work: a function pointer and a link. It lies inside what it works for (a coroutine frame, a
/// loader), so queueing it allocates nothing.
#pragma once

#include <coroutine>

namespace wick {

struct job {
  void (*execute)(job*) noexcept = nullptr;
  job* next = nullptr;  ///< belongs to the queue that holds the job
};

}  // namespace wick
