// A table of positions that a layer projects, written into zeros column by column and repeated for
// each sample: ConViT's gated attention makes it once, at the first step, and its module keeps it.
// What is computed anew at every step (sines, masks) is a formula, not columns put side by side.
#include <algorithm>

#include "graph/exporter/parameter_kinds.h"
#include "graph/ops/input_independent.h"
#include "graph/rewrite/patterns.h"

namespace plimsoll::patterns {
namespace {

constexpr size_t kFewestColumns = 2;

bool writes_column(const Node& node) {
  return node.op == "ScatterElements" || node.op == "ScatterND";
}

// What a layer reads once for each sample, in another type perhaps.
TensorId behind_repeats(const Rewrite& r, TensorId t) {
  while (r.producer(t) != kNoNode) {
    const Node& node = r.node(r.producer(t));
    if (node.op != "Expand" && node.op != "Cast") break;
    t = node.inputs[0];
  }
  return t;
}

size_t columns_written(const Rewrite& r, TensorId t) {
  size_t columns = 0;
  for (NodeId at = r.producer(t); at != kNoNode && writes_column(r.node(at));
       at = r.producer(r.node(at).inputs[0]))
    ++columns;
  return columns;
}

bool has_known_extents(const Tensor& t) { return t.shape && elements(*t.shape).is_constant(); }

}  // namespace

void kept_tables(Finder& f) {
  Rewrite& r = f.r;
  const Graph& graph = r.graph();
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), writes_column)) return;
  const std::vector<ParameterKind> kinds = classify_parameters(graph);
  const std::vector<char> fixed = made_of_shapes(graph, untrained(graph, kinds));
  const size_t nodes = r.nodes();
  for (NodeId id = 0; id < nodes; ++id) {
    const Node& layer = r.node(id);
    if (r.dead(id) || (layer.op != "Linear" && layer.op != "MatMul")) continue;
    const TensorId table = behind_repeats(r, layer.inputs[0]);
    const bool made_once = table < fixed.size() && fixed[table] &&
                           is_float(r.tensor(table).dtype) && has_known_extents(r.tensor(table));
    if (!made_once || fixed[layer.inputs[1]] || columns_written(r, table) < kFewestColumns)
      continue;
    const Tensor& t = r.tensor(table);
    const Node& maker = r.node(r.producer(table));
    // timm's name for it, which is one of a buffer.
    const TensorId kept = r.add_parameter(maker.name + ".rel_indices", t.dtype, *t.shape);
    const std::vector<NodeId> readers = r.readers(table);
    for (const NodeId reader : readers) r.read_instead(reader, table, kept);
    f.note("table kept by its module", id, r.deaths());
  }
}

}  // namespace plimsoll::patterns
