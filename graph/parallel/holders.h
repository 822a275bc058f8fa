// Holders: the ranks that have the same weight, or the same part of one, and which part of that
// each of them keeps, where a plan shards. Of experts that ranks share there are fewer: torchtitan
// gives them a mesh of their own, "efsdp" (torchtitan/distributed/fsdp.py, apply_fsdp_to_decoder(),
// and parallel_dims.py, July 2026), DeepSpeed a group, the expert-data-parallel one
// (deepspeed/utils/ groups.py).
#pragma once

#include <map>
#include <optional>

#include "graph/ir/graph.h"
#include "graph/ir/parallel_plan.h"
#include "graph/ir/step.h"

namespace plimsoll::parallel {

class Holders {
 public:
  // `computed`: of which part of the weight a rank computes, if of a part only.
  Holders(const ParallelPlan& plan, const std::optional<Placement>& computed);

  // Of these ranks only: shards() are those that keep parts, and its rank is the plan's.
  const Mesh& mesh() const { return mesh_; }
  int64_t ranks() const { return mesh_.shards(); }
  bool of_experts() const { return of_experts_; }

  // Where FSDP2 cuts a weight that is computed in this shape: along its first dimension, or inside
  // of each expert where there are fewer of them than ranks (apply_fsdp_to_decoder(), Shard(1)).
  Placement cut(const Shape& computed) const;

  // What one rank tells the others about weights or gradients of so many bytes: along each axis
  // that they differ in, the inner one first, which has no more than its share of the outer one.
  // Cost: constant.
  std::vector<Collective> exchanges(CollectiveKind kind, const Dim& bytes, BufferId buffer) const;

 private:
  Mesh mesh_;
  bool of_experts_;
};

// The placement of a weight, if it has one.
std::optional<Placement> placement_of(const std::map<TensorId, Placement>& computed, TensorId id);

}  // namespace plimsoll::parallel
