// PyTorch's exporter of graphs writes views with strides, and pools whose windows do not divide the
// image, as gathers with tables of positions that eager code never makes.
#include <algorithm>

#include "graph/passes/patterns.h"

namespace plimsoll::patterns {
namespace {

// Reshape to one row, Gather in an order made of shapes: another view of the same elements, as
// adaptive pooling takes of an image with channels innermost.
bool strided_view(Finder& f, NodeId id) {
  Rewrite& r = f.r;
  const Node& node = r.node(id);
  if (node.op != "Gather" || !r.made_of_shapes(node.inputs[1])) return false;
  const Node* row = r.made_by(node.inputs[0], "Reshape");
  if (!row || r.rank(node.inputs[0]) != 1) return false;
  const TensorId x = row->inputs[0];
  const Shape& out = *r.tensor(node.outputs[0]).shape;
  if (!r.tensor(x).shape || elements(*r.tensor(x).shape) != elements(out)) return false;
  const auto rank = static_cast<int64_t>(out.size());
  const size_t before = r.deaths();
  const TensorId target = r.add_parameter(node.name + "/shape", DType::kInt64, {Dim(rank)});
  r.replace(id, "", "Reshape", {x, target});
  f.note("view with strides", id, before);
  return true;
}

// Transpose, GatherND of windows, Transpose, mean over them.
bool adaptive_pool(Finder& f, NodeId id) {
  Rewrite& r = f.r;
  const Node& node = r.node(id);
  if (node.op != "ReduceMean" || r.rank(node.inputs[0]) != 6) return false;
  const Node* back = r.made_by(node.inputs[0], "Transpose");
  const Node* windows = back ? r.made_by(back->inputs[0], "GatherND") : nullptr;
  const Node* front = windows ? r.made_by(windows->inputs[0], "Transpose") : nullptr;
  if (!front || !r.made_of_shapes(windows->inputs[1])) return false;
  const TensorId x = front->inputs[0];
  const Shape& out = *r.tensor(node.outputs[0]).shape;
  if (r.rank(x) != 4 || out.size() != 4 || !out[2].is_constant() || !out[3].is_constant())
    return false;
  const std::vector<int64_t> sizes{*out[2].constant(), *out[3].constant()};
  const size_t before = r.deaths();
  r.replace(id, "plimsoll", "AdaptiveAveragePool", {x}).attributes.set("sizes", sizes);
  f.note("adaptive average pool", id, before);
  return true;
}

}  // namespace

void gathers(Finder& f) {
  for (NodeId id = 0; id < f.r.nodes(); ++id) {
    if (f.r.dead(id)) continue;
    if (!strided_view(f, id)) adaptive_pool(f, id);
  }
}

}  // namespace plimsoll::patterns
