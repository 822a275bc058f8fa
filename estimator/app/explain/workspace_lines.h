// workspace_lines: `plimsoll workspace`, one convolution as a line of JSON in, its workspace out.
//
//   WorkspaceLines lines(Hwdb(), {.capability = 61});
//   lines.answer(R"({"pass": "fprop", "n": 32, "c": 64, "h": 56, "w": 56, "k": 64, "r": 3, "s": 3,
//                    "pad_h": 1, "pad_w": 1})", 1);
//   // {"algorithm":"winograd","engine":12,"workspace_bytes":409856,...,"basis":"table"}
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "estimator/library/workspace/tables.h"

namespace plimsoll {

struct WorkspaceLinesOptions {
  int capability = 61;  // 10 * major + minor
  int cudnn_major = 9, cudnn_minor = 10;
  DType dtype = DType::kFloat32;  // of lines that do not say
  WorkspacePolicy policy = {};
};

class WorkspaceLines {
 public:
  WorkspaceLines(Hwdb hwdb, WorkspaceLinesOptions options)
      : hwdb_(std::move(hwdb)), options_(std::move(options)) {}

  // The answer without a newline. Keys of the line: pass (fprop, dgrad, wgrad), n c h w k r s;
  // pad_h pad_w stride_h stride_w dil_h dil_w groups; dtype (fp32, fp16, bf16, fp64), layout (nchw,
  // nhwc). Diagnostics of the JSON reader with `line_number` as the place; E241 where the filter
  // does not fit; those of WorkspaceTables.
  Result<std::string> answer(std::string_view line, int line_number);

 private:
  Result<const WorkspaceTables*> tables(DType dtype, bool channels_last);

  Hwdb hwdb_;
  WorkspaceLinesOptions options_;
  std::map<std::pair<DType, bool>, WorkspaceTables> tables_;
};

}  // namespace plimsoll
