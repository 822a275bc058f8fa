// Any text as a sweep's plan, in YAML and in JSON. What is accepted must have been within the
// limits; what is refused must say why.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "estimator/app/sweep/read_sweep_plan.h"

using namespace plimsoll;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  Limits limits;
  limits.json_values = 10'000;
  for (const char* file : {"fuzz.yaml", "fuzz.json", "fuzz"}) {
    const auto plan = read_sweep_plan(text, file, limits);
    if (!plan) {
      if (plan.error().empty()) __builtin_trap();
      continue;
    }
    for (const SweepParameter& parameter : plan->parameters) {
      if (parameter.values.size() > 10'000) __builtin_trap();
    }
    const auto count = plan->configurations(limits);
    if (count ? *count < 1 || *count > limits.sweep : count.error().empty()) __builtin_trap();
  }
  return 0;
}
