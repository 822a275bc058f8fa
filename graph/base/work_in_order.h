// work_in_order(): numbered units of work on several threads, their answers used in order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>

#include "graph/base/worker.h"
#ifdef __STDCPP_THREADS__
#include "graph/base/work_on_threads.h"
#endif

namespace plimsoll {

// Units 0 to `units` - 1 on `threads` threads, each with a worker of its own from `make_worker`,
// which is called there. `use` is called on this thread, in order, and says whether to go on; what
// a worker throws is thrown here. One thread: this one, as is all where a program has no others
// (mutex.h).
template <class Answer>
void work_in_order(size_t units, [[maybe_unused]] size_t threads,
                   const std::function<Worker<Answer>()>& make_worker,
                   const std::function<bool(Answer)>& use) {
#ifdef __STDCPP_THREADS__
  if (std::min(threads, units) > 1)
    return work_on_threads<Answer>(units, std::min(threads, units), make_worker, use);
#endif
  const Worker<Answer> work = make_worker();
  for (size_t unit = 0; unit < units; ++unit) {
    if (!use(work(unit))) return;
  }
}

}  // namespace plimsoll
