#include "estimator/app/validate/gap.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace plimsoll;

namespace {

constexpr int64_t kGapMiB = 1 << 20;

struct GapFigure {
  const char* quantity;
  double measured, predicted;
};

// The part that the first figure's gap is said to lie in; empty where nothing is said.
Gap gap_of(const std::vector<GapFigure>& figures, int64_t workspace_mib = 0) {
  std::vector<ValidationLine> lines;
  for (const auto& [quantity, measured, predicted] : figures) {
    ValidationLine line;
    line.quantity = quantity;
    line.measured = measured;
    line.predicted = predicted;
    lines.push_back(line);
  }
  Answer answer;
  answer.memory.workspace_bytes = workspace_mib * kGapMiB;
  find_gaps(lines, answer);
  return lines[0].gap.value_or(Gap());
}

}  // namespace

TEST_CASE("gap: of a process's memory, by its segments and tensors") {
  const Gap context = gap_of({{"nvidia_smi_mb", 3500, 4000},
                              {"peak_reserved_mb", 3200, 3300},
                              {"peak_allocated_mb", 3000, 3050}});
  CHECK(context.part == "context and libraries");
  CHECK(context.predicted == 700);
  CHECK(context.measured == 300);
  CHECK(gap_of({{"nvidia_smi_mb", 4000, 3500},
                {"peak_reserved_mb", 3700, 3210},
                {"peak_allocated_mb", 3010, 3000}})
            .part == "the allocator's segments");
  CHECK(gap_of({{"nvidia_smi_mb", 4000, 3500}, {"peak_allocated_mb", 3600, 3000}}).part ==
        "tensors and workspace");
  CHECK(gap_of({{"nvidia_smi_mb", 4000, 3500}, {"peak_allocated_mb", 3000, 2990}}).part ==
        "context, libraries and segments");
  CHECK(gap_of({{"nvidia_smi_mb", 4000, 3500}, {"peak_reserved_mb", 3600, 3090}}).part ==
        "tensors, workspace and segments");
}

TEST_CASE("gap: less than was predicted, by no more than the workspace, is the workspace") {
  const Gap gap = gap_of({{"peak_allocated_mb", 3000, 3050}}, 64);
  CHECK(gap.part == "cuDNN's workspace");
  CHECK(gap.predicted == 64);
  CHECK(gap.measured == 14);
  CHECK(gap_of({{"peak_allocated_mb", 3000, 3050}}, 32).part.empty());
  CHECK(gap_of({{"peak_allocated_mb", 3050, 3000}}, 64).part.empty());
}

TEST_CASE("gap: of a step, by its passes or its kernels") {
  CHECK(gap_of({{"total_ms", 100, 130}, {"forward_ms", 30, 35}, {"backward_ms", 60, 82}}).part ==
        "backward");
  CHECK(gap_of({{"total_ms", 100, 130}, {"forward_ms", 30, 31}, {"backward_ms", 60, 62}}).part ==
        "update and what is around the passes");
  CHECK(gap_of({{"total_ms", 100, 80}, {"gpu_ms", 60, 59}}).part == "host and copies");
  CHECK(gap_of({{"total_ms", 100, 80}, {"gpu_ms", 90, 72}}).part == "kernels");
}

TEST_CASE("gap: nothing is said of a figure alone") {
  CHECK(gap_of({{"nvidia_smi_mb", 4000, 3500}}).part.empty());
  CHECK(gap_of({{"total_ms", 100, 130}}).part.empty());
  CHECK(gap_of({{"fits", 1, 0}}).part.empty());
}
