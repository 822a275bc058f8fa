// A table of positions that a layer projects, written into zeros column by column and repeated for
// each sample: ConViT's gated attention makes it once, at the first step, and its module keeps it.
// What is computed anew at every step (sines, masks) is a formula, not columns put side by side.
#include "graph/exporter/weight_roles.h"
#include "graph/ops/input_independent.h"
#include "graph/rewrite/patterns.h"

namespace plimsoll::patterns {
namespace {

constexpr size_t kFewestColumns = 2;

constinit const Fragment kColumn("y = ScatterElements|ScatterND(x)");
// What a layer reads once for each sample, in another type perhaps.
constinit const Fragment kRepeat("y = Expand|Cast(x)");
constinit const Fragment kLayer("y = Linear|MatMul(table, w)");

size_t columns_written(const Rewrite& r, TensorId t) {
  size_t columns = 0;
  for (; kColumn.of(r, t); t = kColumn.in(r, t, "x")) ++columns;
  return columns;
}

bool has_known_extents(const Tensor& t) { return t.shape && elements(*t.shape).is_constant(); }

}  // namespace

void kept_tables(Finder& f) {
  Rewrite& r = f.r;
  const size_t nodes = r.nodes();
  NodeId column = 0;
  while (column < nodes && !kColumn.at(r, column)) ++column;
  if (column == nodes) return;
  const Graph& graph = r.graph();
  const std::vector<WeightRole> kinds = classify_parameters(graph);
  const std::vector<char> fixed = input_independent(graph, untrained(graph, kinds));
  for (NodeId id = 0; id < nodes; ++id) {
    const auto layer = r.is_removed(id) ? std::nullopt : kLayer.at(r, id);
    if (!layer) continue;
    const TensorId table = kRepeat.behind(r, (*layer)["table"]);
    const bool made_once = table < fixed.size() && fixed[table] &&
                           is_float(r.tensor(table).dtype) && has_known_extents(r.tensor(table));
    if (!made_once || fixed[(*layer)["w"]] || columns_written(r, table) < kFewestColumns) continue;
    const Tensor& t = r.tensor(table);
    const Node& maker = r.node(r.producer(table));
    // timm's name for it, which is one of a buffer.
    const TensorId kept = r.add_parameter(maker.name + ".rel_indices", t.dtype, *t.shape);
    const std::vector<NodeId> readers = r.readers(table);
    for (const NodeId reader : readers) r.read_instead(reader, table, kept);
    f.note("table kept by its module", id, r.removed_count());
  }
}

}  // namespace plimsoll::patterns
