// When samples are due: at whole multiples of the interval after the start, however long each took.
#pragma once

#include <cstdint>

namespace plimsoll::monitor {

class Ticker {
 public:
  // Nanoseconds; `interval` > 0.
  Ticker(int64_t start, int64_t interval) : interval_(interval), due_(start) {}

  int64_t due() const { return due_; }
  // After the sample that was due is taken, at `now`: the next multiple that is still to come.
  // Those that passed meanwhile are counted, not made up for.
  void taken(int64_t now) {
    due_ += interval_;
    if (now <= due_) return;
    const int64_t late = (now - due_ + interval_ - 1) / interval_;
    missed_ += late;
    due_ += late * interval_;
  }
  int64_t missed() const { return missed_; }

 private:
  int64_t interval_, due_, missed_ = 0;
};

}  // namespace plimsoll::monitor
