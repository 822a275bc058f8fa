// The plan that runs a convolution, with its scratch memory, and what else was known.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "graph/json/fields.h"

namespace plimsoll {

enum class WorkspaceBasis : uint8_t { kAsked, kTable, kRule, kInterval };
const char* name(WorkspaceBasis basis);
constexpr std::array<WorkspaceBasis, 4> values_of(WorkspaceBasis) {
  return {WorkspaceBasis::kAsked, WorkspaceBasis::kTable, WorkspaceBasis::kRule,
          WorkspaceBasis::kInterval};
}

struct ConvPlan {
  int engine = -1;  // cuDNN's global engine id; -1: the framework's own kernel or an old algorithm
  int tile = -1;    // TILE_SIZE knob, where it matters
  bool tensor_core = false;
  std::string algorithm = {};
  int64_t bytes = 0;
  int preference = -1;  // its place in cuDNN's order, where that was asked
};

inline void describe(Fields& f, ConvPlan& plan) {
  f("algorithm", plan.algorithm);
  f("engine", plan.engine, {.null_where = plan.engine < 0});
  f("tile", plan.tile, {.absent_where = plan.tile < 0});
  f("workspace_bytes", plan.bytes);
}

struct WorkspaceChoice {
  ConvPlan plan = {};                       // what the framework runs
  std::vector<ConvPlan> alternatives = {};  // what else is known, in cuDNN's order
  int64_t low = 0, high = 0;                // bounds of plan.bytes
  // Of all plans cuDNN lists: what PyTorch's benchmark mode takes to time them.
  int64_t largest = 0;
  // Of each algorithm, in cuDNN's order; empty where only `largest` is known.
  std::vector<int64_t> tried = {};
  WorkspaceBasis basis = WorkspaceBasis::kInterval;
};

inline void describe(Fields& f, WorkspaceChoice& choice) {
  describe(f, choice.plan);
  f("range", Range{choice.low, choice.high});
  f("largest_bytes", choice.largest);
  f("alternatives", choice.alternatives);
  f("basis", choice.basis);
}

}  // namespace plimsoll
