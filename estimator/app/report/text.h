// The estimate as text: the answer in the first line, then what fills the memory, then the time,
// then layers on request.
#pragma once

#include <cstdint>
#include <string>

#include "estimator/answer/estimate.h"
#include "estimator/app/report/human.h"
#include "estimator/app/report/page.h"

namespace plimsoll {

struct TextOptions {
  bool layers = false;
  int64_t depth = 0;  // fold layers into modules of this many path parts; 0: one line per node
  bool why = false;
  bool kernels = false;
  bool metrics = false;
  bool basis = false;  // where figures come from
  bool quiet = false;  // the answer alone
  Page page;
};

std::string to_text(const Estimate& estimate, const TextOptions& options = {});

// "model.onnx:14:17: error: ... [E312]" and its help line.
std::string to_text(const Diagnostic& diagnostic);

}  // namespace plimsoll
