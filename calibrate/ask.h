// ask: what cuDNN would choose for a list of convolutions on a described GPU, a record each,
// appended to a file that can be gone on with.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "calibrate/cudnn.h"
#include "estimator/library/workspace/tables.h"
#include "hwdb/hwdb.h"

namespace plimsoll {

struct AskPlan {
  Device device;
  std::vector<ConvQuestion> questions;  // one twice is asked once
  std::string framework = "ideal";      // who chooses, by its name and by its rules:
  WorkspacePolicy policy = {.rule = ScratchRule::kIdeal};
  std::string out;  // a file of JSON lines, made or gone on with
  std::chrono::milliseconds longest_answer = std::chrono::minutes(2);
};

struct AskReport {
  std::vector<LoadedLibrary> libraries;
  size_t known = 0;       // that the file had of this GPU, version of cuDNN and framework
  size_t asked = 0;       // that were added
  size_t refused = 0;     // of these, to which cuDNN has no answer: recorded with the reason
  size_t torn_bytes = 0;  // of a record that was cut off
};

// `progress`, where given, is told after each record how many of how many are done. Errors as
// AskingChild and JsonLinesFile; those of reading where the file holds other things than answers.
// Nothing is written before the libraries are there; what was written before an error stays.
Result<AskReport> ask(const AskPlan& plan, const Hwdb& hwdb,
                      const std::function<void(size_t, size_t)>& progress = {});

}  // namespace plimsoll
