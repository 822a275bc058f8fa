// What a rank keeps of each weight that ranks share, and of its states: a part of its first
// dimension, or of an array that weights are joined to.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "graph/ir/finetune.h"
#include "graph/ir/graph.h"
#include "graph/ir/parallel_plan.h"
#include "graph/ir/weight_role.h"

namespace plimsoll::parallel {

// Tensors one behind the other in an array that ranks share evenly.
struct FlatParts {
  std::vector<Dim> mine;  // elements of each that the mesh's rank has
  Dim whole = 0;          // elements of all ranks, the last one's padding included
  Dim part = 0;           // of one
};

// `counts`: elements of each, which begins at a multiple of `alignment`; a part is one of
// `part_alignment`. Where a count is a symbol's, each is shared by itself.
FlatParts flat_parts(std::span<const Dim> counts, int64_t alignment, int64_t part_alignment,
                     const Mesh& mesh);

// The alignment of FSDP1's parameters, 16 bytes (torch/distributed/fsdp/_flat_param.py,
// _get_aligned_numel).
int64_t flat_alignment(DType dtype);

// Shapes by weight, where the plan shards anything; `computed`: of which a rank has a part as it
// is. Cost: linear in the graph.
std::map<TensorId, Shape> kept_parts(const Graph& graph, const std::vector<WeightRole>& roles,
                                     const std::map<TensorId, Placement>& computed,
                                     const ParallelPlan& plan);

// Weights that FSDP1 joins to one array.
struct FlatUnit {
  std::vector<TensorId> weights;
  std::vector<Dim> counts;  // elements of each
  FlatParts parts;
};

// In the order in which modules are wrapped: what is inside a unit before the unit, and what is
// around all of them last (torch/distributed/fsdp/wrap.py, _recursive_wrap()). Arguments and cost
// as above.
std::vector<FlatUnit> flat_units(const Graph& graph, const std::vector<WeightRole>& roles,
                                 const std::map<TensorId, Placement>& computed,
                                 const ParallelPlan& plan);

// The parameter that elements of a quantized weight are packed in, of the weight's type, where
// libraries shard it; nothing of other weights. Its scales and tables stay whole on every rank.
std::optional<Shape> packed_shape(const Tensor& weight, const Shape& computed);

// Of a quantized matrix of this shape: scales of blocks and of groups of them, tables.
Dim scale_bytes(const QuantizationRow& row, const Shape& matrix);

// Whether the weight has memory only while it is gathered: DeepSpeed leaves those whole that have
// no more elements than ZeroFetch::persistent (deepspeed/runtime/zero/parameter_offload.py,
// mark_persistent_parameters()).
bool is_gathered(const Tensor& weight, const ParallelPlan& plan);

}  // namespace plimsoll::parallel
