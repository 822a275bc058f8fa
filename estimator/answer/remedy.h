// Remedy: changes to a request, and what its step then takes.
#pragma once

#include <cstdint>
#include <string>

#include "estimator/memory/verdict.h"
#include "graph/json/fields.h"

namespace plimsoll {

struct Remedy {
  std::string settings{};
  std::string effect{};  // "largest safe batch"
  Verdict verdict = Verdict::kDoesNotFit;
  int64_t device_bytes = 0;
  Range device_range;
  int64_t step_ns = 0;
  double samples_per_second = 0;
};

inline void describe(Fields& f, Remedy& r) {
  f("flags", r.settings, {.settings = true});
  f("effect", r.effect);
  f("verdict", r.verdict);
  f("device_bytes", r.device_bytes);
  f("device_range_bytes", r.device_range);
  f("step_ns", r.step_ns);
  f("samples_per_second", r.samples_per_second, {.low = 0});
}

}  // namespace plimsoll
