// Work that its caller calls off: a long loop asks once a node, and unwinds.
//
//   const CancelWhen cancel(interrupted);   // this thread's work, while it lives
//   estimate(...)                           // throws Cancelled soon after interrupted() is true
//
// It is an exception, not a Result: nothing in between has anything to say about it, and the one
// who asked for it takes it. What threads of their own do is not called off.
#pragma once

#include <exception>

namespace plimsoll {

class Cancelled : public std::exception {
 public:
  const char* what() const noexcept override { return "called off"; }
};

// The innermost one on a thread counts; with null nothing is called off.
class CancelWhen {
 public:
  explicit CancelWhen(bool (*asked)());
  ~CancelWhen();
  CancelWhen(const CancelWhen&) = delete;
  CancelWhen& operator=(const CancelWhen&) = delete;

 private:
  bool (*before_)();
};

// Throws Cancelled where this thread's work is called off. Cost: a nanosecond.
void check_cancelled();

}  // namespace plimsoll
