// The estimate as text: the answer in the first line, then what fills the memory, then the time,
// then layers on request.
#pragma once

#include <cstdint>
#include <string>

#include "estimator/answer/estimate.h"

namespace plimsoll {

// "FITS", "MAY FIT", "DOES NOT FIT".
std::string_view headline(Verdict verdict);

struct TextOptions {
  bool layers = false;
  int64_t depth = 0;  // fold layers into modules of this many path parts; 0: one line per node
  bool why = false;
  bool kernels = false;
};

std::string to_text(const Estimate& estimate, const TextOptions& options = {});

// "model.onnx:14:17: error: ... [E312]" and its help line.
std::string to_text(const Diagnostic& diagnostic);

// "12.8 GiB", "97.5 MiB", "512 B".
std::string human_bytes(int64_t bytes);
// "176 ms", "3.42 s", "12.1 us".
std::string human_time(int64_t ns);

}  // namespace plimsoll
