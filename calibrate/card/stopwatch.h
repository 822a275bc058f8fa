// Stopwatch: how long a card takes for one call, free of the host: many calls in a queue that waits
// until they are there, on operands that no cache holds.
#pragma once

#include <functional>
#include <vector>

#include "calibrate/card.h"
#include "calibrate/card/own_module.h"

namespace plimsoll::calibrate {

class Stopwatch {
 public:
  // `state`: of the card, asked while it works.
  Stopwatch(const Driver& driver, const OwnModule& module, std::function<CardState()> state);

  // Throws CardFault.
  std::vector<Sample> time(Work& work, size_t offer, DType operands) const;

 private:
  const Driver& driver_;
  const OwnModule& module_;
  std::function<CardState()> state_;
  int64_t cache_ = 0;  // bytes
};

}  // namespace plimsoll::calibrate
