// What a watch shows while it goes on: on a terminal of its own one screen in place, else lines.
#pragma once

#include <string>

#include "monitor/watch.h"

namespace plimsoll::monitor {

struct Terminal {
  bool screen = false;  // may be drawn on in place
  size_t columns = 80;
};

// Facts of a descriptor. A terminal that calls itself dumb, or has no width, takes lines.
Terminal terminal_of(int descriptor);

class LiveView {
 public:
  LiveView(Terminal terminal, std::string head) : terminal_(terminal), head_(std::move(head)) {}

  // What is to be written now, mostly nothing: a screen four times a second, a line each second for
  // ten seconds and then every ten. Crossings of the predicted band are told at once.
  std::string next(const Observation& observation);

 private:
  Terminal terminal_;
  std::string head_;
  double due_ = 0;
  double shown_at_ = 0, shown_cpu_ = 0;  // CPU is that of the time since the last view
  size_t drawn_ = 0;                     // lines of the screen
};

}  // namespace plimsoll::monitor
