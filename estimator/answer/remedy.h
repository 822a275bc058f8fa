// Remedy: a single change to a request that does not surely fit, and what it would bring.
#pragma once

#include <cstdint>
#include <string>

#include "estimator/memory/verdict.h"

namespace plimsoll {

struct Remedy {
  std::string settings;  // as a text names them: precision amp-bf16
  std::string effect;    // "largest safe batch"
  Verdict verdict = Verdict::kDoesNotFit;
  int64_t device_bytes = 0;
  Range device_range;
  int64_t step_ns = 0;
  double samples_per_second = 0;
};

}  // namespace plimsoll
