// What a kernel costs, as tables of layers and time lines show it.
#pragma once

#include <cstdint>
#include <string>

namespace plimsoll {

struct KernelPrice {
  int64_t ns = 0;
  int64_t workspace_bytes = 0;  // by the plan of scratch memory
  std::string algorithm;
  std::string bound_by;
  double fraction_of_peak = 0;
};

}  // namespace plimsoll
