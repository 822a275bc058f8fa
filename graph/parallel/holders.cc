#include "graph/parallel/holders.h"

#include <algorithm>
#include <utility>

namespace plimsoll::parallel {
namespace {

// The ranks that are where the mesh's own one is along the axis.
Mesh without(Mesh mesh, Axis axis) {
  const int64_t inner = mesh.stride(axis);
  mesh.rank = mesh.rank / (inner * mesh.extent(axis)) * inner + mesh.rank % inner;
  mesh.extent(axis) = 1;
  return mesh;
}

}  // namespace

Holders::Holders(const ParallelPlan& plan, const std::optional<Placement>& computed)
    : mesh_(plan.mesh), of_experts_(computed && computed->axis == Axis::kExpert) {
  if (of_experts_) mesh_ = without(mesh_, Axis::kExpert);
}

Placement Holders::cut(const Shape& computed) const {
  const auto experts = of_experts_ ? computed.front().constant() : std::nullopt;
  const bool inside = experts && *experts < ranks() && computed.size() > 1;
  return inside ? Placement{Axis::kShard, 1} : kShardPart;
}

std::vector<Collective> Holders::exchanges(CollectiveKind kind, const Dim& bytes,
                                           BufferId buffer) const {
  if (ranks() == 1) return {};
  Collective whole{.kind = kind, .axis = Axis::kShard, .bytes = bytes, .buffer = buffer};
  whole.joined = !of_experts_;
  const int64_t outer = mesh_.extent(Axis::kShard);
  if (whole.joined || mesh_.extent(Axis::kContext) == 1) return {whole};
  Collective inner = whole;
  inner.axis = Axis::kContext;
  inner.bytes = floor_div(bytes, outer);
  if (outer == 1) return {inner};
  if (kind == CollectiveKind::kReduceScatter) return {whole, inner};
  return {inner, whole};
}

std::optional<Placement> placement_of(const std::map<TensorId, Placement>& computed, TensorId id) {
  const auto at = computed.find(id);
  return at == computed.end() ? std::nullopt : std::optional(at->second);
}

}  // namespace plimsoll::parallel
