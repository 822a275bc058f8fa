// The part of work_in_order() that has threads.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "graph/base/worker.h"

namespace plimsoll {

// Hands answers from threads that finish in any order to one that takes them by number. Threads
// that are far ahead of it wait: a bound on memory.
template <class Answer>
class AnswerQueue {
 public:
  AnswerQueue(size_t units, size_t most_ahead) : units_(units), most_ahead_(most_ahead) {}

  // The next unit to work on; nothing where there is none, or nobody wants more.
  std::optional<size_t> claim() {
    std::unique_lock lock(mutex_);
    room_.wait(lock, [&] { return stopped_ || next_ == units_ || next_ < taken_ + most_ahead_; });
    if (stopped_ || next_ == units_) return std::nullopt;
    return next_++;
  }

  void give(size_t unit, Answer answer) {
    const std::lock_guard lock(mutex_);
    ready_.emplace(unit, std::move(answer));
    arrived_.notify_one();
  }

  // Ends the work: take() throws it.
  void give(std::exception_ptr fault) {
    const std::lock_guard lock(mutex_);
    fault_ = std::move(fault);
    arrived_.notify_one();
  }

  // The answer that comes next, waited for.
  Answer take() {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [&] { return fault_ || ready_.contains(taken_); });
    if (fault_) std::rethrow_exception(fault_);
    Answer answer = std::move(ready_.extract(taken_++).mapped());
    room_.notify_all();
    return answer;
  }

  void stop() {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    room_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable room_, arrived_;
  const size_t units_, most_ahead_;
  size_t next_ = 0, taken_ = 0;
  std::map<size_t, Answer> ready_;
  std::exception_ptr fault_;
  bool stopped_ = false;
};

// As work_in_order(), on `threads` threads of its own, at least one.
template <class Answer>
void work_on_threads(size_t units, size_t threads,
                     const std::function<Worker<Answer>()>& make_worker,
                     const std::function<bool(Answer)>& use) {
  constexpr size_t kAhead = 4;  // units for each thread
  AnswerQueue<Answer> queue(units, kAhead * threads);
  const auto run = [&] {
    try {
      const Worker<Answer> work = make_worker();
      while (const auto unit = queue.claim()) queue.give(*unit, work(*unit));
    } catch (...) {
      queue.give(std::current_exception());
    }
  };
  struct Stop {
    AnswerQueue<Answer>& queue;
    ~Stop() { queue.stop(); }
  };
  std::vector<std::jthread> pool;
  const Stop stop{queue};  // before the threads are waited for
  for (size_t i = 0; i < threads; ++i) {
    try {
      pool.emplace_back(run);
    } catch (const std::system_error&) {  // no more threads or memory for their stacks
      if (pool.empty()) throw;
      break;
    }
  }
  for (size_t unit = 0; unit < units; ++unit) {
    if (!use(queue.take())) return;
  }
}

}  // namespace plimsoll
