// How far long work has come, on standard error: on a terminal a line that is written over, else a
// line now and then.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace plimsoll::cli {

class Progress {
 public:
  enum class When : uint8_t { kAuto, kAlways, kNever };  // kAuto: on a terminal, in the command

  // `what` is done: "swept 1280 of 55000, 1830 a second, 29.2 s left".
  Progress(std::string what, int64_t all, When when);
  // "validated 1280, 1830 a second": nobody knows how many there are.
  Progress(std::string what, When when) : Progress(std::move(what), 0, when) {}
  ~Progress() { end(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Cheap enough to be told of each. `skipped` of `done` took no time.
  void at(int64_t done, int64_t skipped = 0);
  // Where who works knows better what is left.
  void at(int64_t done, double seconds_left);
  // Takes the line off the terminal, before the answer comes.
  void end();

 private:
  bool due();
  void tell(int64_t done, double seconds_left, const std::string& rate);

  std::string what_;
  int64_t all_;  // 0: unknown
  bool terminal_, shown_ = false, told_ = false;
  std::chrono::steady_clock::time_point begun_, said_;
};

}  // namespace plimsoll::cli
