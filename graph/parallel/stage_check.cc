#include "graph/parallel/stage_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>

#include "graph/base/setting.h"

namespace plimsoll::parallel {
namespace {

std::string number(int64_t n) { return std::to_string(n); }

// Of so many stages or chunks which divide the blocks, those nearest to `wanted`; the larger of
// two. 1 where there is no other.
int64_t nearest_divisor(int64_t blocks, int64_t wanted) {
  int64_t best = 1;
  for (int64_t d = 2; d <= blocks; ++d) {
    if (blocks % d == 0 && std::abs(d - wanted) <= std::abs(best - wanted)) best = d;
  }
  return best;
}

// Groups of as many micro-batches as there are stages go through a chunk
// (megatron/core/pipeline_parallel/schedules.py, forward_backward_pipelining_with_interleaving).
Result<void> check_groups(int64_t micro_batches, int64_t stages) {
  if (micro_batches % stages == 0) return {};
  const int64_t below = micro_batches / stages * stages;
  std::string help = "nearest that work: " + setting("micro-batches", number(below + stages));
  if (below > 0) help += " and " + number(below);
  return error(
      "E120",
      fmt::format("{}: an interleaved schedule takes multiples of {} micro-batches",
                  setting("micro-batches", number(micro_batches)), setting("pp", number(stages))),
      {}, help);
}

}  // namespace

Result<void> check_blocks(int64_t blocks, const ParallelPlan& plan) {
  const int64_t stages = plan.mesh.extent(Axis::kStage);
  if (blocks >= stages * plan.chunks) return {};
  if (plan.chunks > 1 && blocks >= stages) {
    return error("E120",
                 fmt::format("{}: {} stages with so many groups of blocks need {} repeated blocks, "
                             "the network has {}",
                             setting("virtual-stages", number(plan.chunks)), stages,
                             stages * plan.chunks, blocks),
                 {}, "nearest that works: " + setting("virtual-stages", number(blocks / stages)));
  }
  return error("E120",
               fmt::format("{}: the network has {} repeated blocks to make stages of",
                           setting("pp", number(stages)), blocks),
               {},
               blocks > 1 ? "nearest that works: " + setting("pp", number(blocks))
                          : "Plimsoll finds blocks as numbered modules, such as h.0");
}

Result<Diagnostics> check_stages(int64_t blocks, const Recipe& recipe) {
  const ParallelPlan& plan = recipe.parallel;
  const int64_t stages = plan.mesh.extent(Axis::kStage), micro_batches = recipe.accumulate;
  Diagnostics found;
  if (recipe.mode == Mode::kInference) return found;
  if (plan.schedule == Schedule::kInterleaved) {
    if (auto groups = check_groups(micro_batches, stages); !groups)
      return tl::make_unexpected(groups.error());
  }
  if (plan.schedule == Schedule::kZeroBubble && plan.sharded >= Sharded::kGradients &&
      plan.mesh.shards() > 1) {
    return error("E120",
                 setting("schedule", "zb") +
                     ": sharded gradients are exchanged in each backward pass, so they cannot be "
                     "computed later",
                 {}, "nearest that works: " + setting("zero", "1"));
  }
  if (micro_batches < stages) {
    found.push_back(warning(
        "W601",
        fmt::format("{} micro-batches for {} stages: {} stages always wait, and the schedules of "
                    "PyTorch refuse so few",
                    micro_batches, stages, stages - micro_batches),
        {}, "nearest that works: " + setting("micro-batches", number(stages))));
  }
  const int64_t chunks = stages * plan.chunks;
  if (plan.balance == StageBalance::kBlocks && blocks % chunks != 0) {
    const int64_t nearest = nearest_divisor(blocks, chunks) / plan.chunks;
    found.push_back(warning(
        "W602",
        fmt::format("{} blocks do not divide into {} parts: some stages have a block more, and "
                    "others wait for them",
                    blocks, chunks),
        {},
        nearest > 1 && blocks % (nearest * plan.chunks) == 0
            ? "nearest that works: " + setting("pp", number(nearest))
            : ""));
  }
  return found;
}

}  // namespace plimsoll::parallel
