#include "graph/parallel/kept_parts.h"

#include <algorithm>

#include "graph/parallel/holders.h"
#include "graph/parallel/unit.h"

namespace plimsoll::parallel {
namespace {

constexpr int64_t kFlatBytes = 16;

int64_t next_multiple(int64_t value, int64_t of) { return (value + of - 1) / of * of; }

FlatParts each_by_itself(std::span<const Dim> counts, const Mesh& mesh) {
  const int64_t ranks = mesh.shards();
  FlatParts parts;
  for (const Dim& count : counts) {
    parts.mine.push_back(part_of(count, ranks));
    parts.part += parts.mine.back();
  }
  parts.whole = parts.part * Dim(ranks);
  return parts;
}

using Parts = std::map<TensorId, Shape>;

int64_t alignment_of(const ParallelPlan& plan, DType dtype) {
  return plan.sharded_by == ShardedBy::kFsdp1 ? flat_alignment(dtype) : 1;
}

FlatUnit flat_unit(const Graph& graph, const Parts& whole, std::vector<TensorId> weights,
                   int64_t part_alignment, const ParallelPlan& plan, const Mesh& mesh) {
  std::vector<Dim> counts;
  for (const TensorId id : weights) counts.push_back(elements(whole.at(id)));
  const int64_t alignment = alignment_of(plan, graph.tensors[weights.front()].dtype);
  FlatParts parts = flat_parts(counts, alignment, part_alignment, mesh);
  return {std::move(weights), std::move(counts), std::move(parts)};
}

void add_parts(const FlatUnit& unit, Parts& parts) {
  for (size_t i = 0; i < unit.weights.size(); ++i) parts[unit.weights[i]] = {unit.parts.mine[i]};
}

using Placed = std::map<TensorId, Placement>;

// A unit's weights are one array, or two where adapters, or experts that ranks share, are apart.
std::vector<FlatUnit> units_of(const Graph& graph, const std::vector<WeightRole>& roles,
                               const Parts& whole, const Placed& computed,
                               const ParallelPlan& plan) {
  const auto holders = [&](TensorId id) { return Holders(plan, placement_of(computed, id)); };
  std::vector<Unit> units = units_below(graph, "");
  units.push_back(find_weights(graph, units));
  std::vector<FlatUnit> flat;
  for (const Unit& unit : units) {
    std::vector<TensorId> weights;
    std::ranges::copy_if(unit.weights, std::back_inserter(weights),
                         [&](TensorId id) { return whole.contains(id); });
    const auto experts = std::stable_partition(
        weights.begin(), weights.end(), [&](TensorId id) { return !holders(id).of_experts(); });
    const auto adapters = std::stable_partition(weights.begin(), experts, [&](TensorId id) {
      return !plan.adapters_apart || roles[id] == WeightRole::kFrozen;
    });
    const bool parted = adapters != weights.begin();
    const auto add = [&](auto begin, auto end, const Mesh& mesh) {
      if (begin != end) flat.push_back(flat_unit(graph, whole, {begin, end}, 1, plan, mesh));
    };
    if (parted) add(adapters, experts, plan.mesh);
    if (experts != weights.end()) add(experts, weights.end(), holders(*experts).mesh());
    add(weights.begin(), parted ? adapters : experts, plan.mesh);
  }
  return flat;
}

// All that are trained are one array, parts of which begin at 4 bytes (stage_1_and_2.py,
// nccl_start_alignment_factor); those of experts another, which fewer ranks share.
Parts parts_of_all(const Graph& graph, const std::vector<WeightRole>& roles, const Parts& whole,
                   const Placed& computed, const ParallelPlan& plan) {
  std::vector<TensorId> weights, experts;
  for (const auto& [id, shape] : whole) {
    if (roles[id] != WeightRole::kTrained) continue;
    const bool of_experts = Holders(plan, placement_of(computed, id)).of_experts();
    (of_experts ? experts : weights).push_back(id);
  }
  Parts parts;
  if (!weights.empty())
    add_parts(flat_unit(graph, whole, std::move(weights), 2, plan, plan.mesh), parts);
  if (experts.empty()) return parts;
  const Holders holders(plan, placement_of(computed, experts.front()));
  add_parts(flat_unit(graph, whole, std::move(experts), 2, plan, holders.mesh()), parts);
  return parts;
}

Parts whole_weights(const Graph& graph, const std::vector<WeightRole>& roles,
                    const Placed& computed, const ParallelPlan& plan) {
  Parts whole;
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    const Tensor& t = graph.tensors[id];
    // A single number has no dimension to part, and FSDP2 refuses one.
    const bool weight = t.kind == TensorKind::kParameter && is_weight(roles[id]);
    if (!weight || !t.shape || t.shape->empty()) continue;
    const auto part = placement_of(computed, id);
    const Shape used = part ? part_of(*t.shape, *part, plan.mesh) : *t.shape;
    if (!t.quantized) {
      whole[id] = used;
    } else if (const auto packed = packed_shape(t, used)) {
      whole[id] = *packed;
    }
  }
  return whole;
}

}  // namespace

FlatParts flat_parts(std::span<const Dim> counts, int64_t alignment, int64_t part_alignment,
                     const Mesh& mesh) {
  std::vector<int64_t> begins, ends;
  int64_t end = 0;
  for (const Dim& count : counts) {
    const auto elements = count.constant();
    if (!elements) return each_by_itself(counts, mesh);
    begins.push_back(next_multiple(end, alignment));
    end = begins.back() + *elements;
    ends.push_back(end);
  }
  const int64_t ranks = mesh.shards();
  const int64_t part = next_multiple(next_multiple(end, ranks) / ranks, part_alignment);
  const int64_t first = mesh.joined(Axis::kShard).coordinate(Axis::kShard) * part;
  FlatParts parts{.mine = {}, .whole = Dim(part * ranks), .part = Dim(part)};
  for (size_t i = 0; i < begins.size(); ++i) {
    const int64_t mine = std::min(ends[i], first + part) - std::max(begins[i], first);
    parts.mine.emplace_back(std::max<int64_t>(0, mine));
  }
  return parts;
}

std::optional<Shape> packed_shape(const Tensor& weight, const Shape& computed) {
  const QuantizationRow* row = weight.quantized;
  if (!row || !row->is_parameter) return {};
  return Shape{ceil_div(elements(computed) * Dim(row->bits), Dim(int64_t{bits(weight.dtype)})), 1};
}

Dim scale_bytes(const QuantizationRow& row, const Shape& matrix) {
  const Dim blocks = row.block > 0 ? ceil_div(elements(matrix), Dim(row.block)) : matrix.front();
  Dim sum = ceil_div(blocks * Dim(row.block_bits), Dim(8));
  if (row.group > 0) sum += ceil_div(blocks, Dim(row.group)) * Dim(row.group_bits / 8);
  return sum + Dim(row.table_bytes);
}

int64_t flat_alignment(DType dtype) { return kFlatBytes * 8 / bits(dtype); }

Parts kept_parts(const Graph& graph, const std::vector<WeightRole>& roles,
                 const std::map<TensorId, Placement>& computed, const ParallelPlan& plan) {
  Parts whole = whole_weights(graph, roles, computed, plan);
  if (plan.sharded_by == ShardedBy::kFsdp1) {
    Parts parts;
    for (const FlatUnit& unit : units_of(graph, roles, whole, computed, plan))
      add_parts(unit, parts);
    return parts;
  }
  if (plan.sharded_by == ShardedBy::kZero && plan.sharded < Sharded::kWeights)
    return parts_of_all(graph, roles, whole, computed, plan);
  for (auto& [id, shape] : whole) {
    if (plan.sharded_by == ShardedBy::kZero) {
      shape = {part_of(elements(shape), plan.mesh.shards())};
    } else {
      const Holders holders(plan, placement_of(computed, id));
      shape = part_of(shape, holders.cut(shape), holders.mesh());
    }
  }
  return whole;
}

std::vector<FlatUnit> flat_units(const Graph& graph, const std::vector<WeightRole>& roles,
                                 const std::map<TensorId, Placement>& computed,
                                 const ParallelPlan& plan) {
  return units_of(graph, roles, whole_weights(graph, roles, computed, plan), computed, plan);
}

bool is_gathered(const Tensor& weight, const ParallelPlan& plan) {
  if (plan.sharded < Sharded::kWeights) return false;
  if (plan.sharded_by != ShardedBy::kZero) return true;
  const auto count =
      elements(packed_shape(weight, *weight.shape).value_or(*weight.shape)).constant();
  return !count || *count > plan.zero_fetch.persistent;
}

}  // namespace plimsoll::parallel
