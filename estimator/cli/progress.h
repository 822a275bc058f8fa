// How far long work has come, on standard error: on a terminal a line that is written over, else a
// line now and then.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace plimsoll::cli {

class Progress {
 public:
  enum class When : uint8_t { kAuto, kAlways, kNever };  // kAuto: on a terminal alone

  // `what` is done: "swept 1,280 of 55,000, 1,830 a second, 29 s left".
  Progress(std::string what, int64_t all, When when);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Cheap enough to be told of each. `skipped` of `done` took no time.
  void at(int64_t done, int64_t skipped = 0);

 private:
  std::string what_;
  int64_t all_;
  bool terminal_, shown_ = false, told_ = false;
  std::chrono::steady_clock::time_point begun_, said_;
};

}  // namespace plimsoll::cli
