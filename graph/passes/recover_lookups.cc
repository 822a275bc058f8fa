// Embeddings at places that are known when a model is exported (GPT's learned positions, for a
// sequence of fixed length): an exporter of graphs looks them up and writes the rows. Training has
// the table and looks them up at every step. How many rows more it has, the file does not say.
#include "graph/passes/patterns.h"

namespace plimsoll::patterns {
namespace {

// Rows [N, D], or one such matrix for all samples, [1, N, D].
bool is_rows(const Rewrite& r, TensorId t) {
  return is_folded_result(r.tensor(t), "embedding") && !r.tensor(t).contents &&
         (r.rank(t) == 2 || (r.rank(t) == 3 && r.extent(t, 0) == 1));
}

}  // namespace

void lookups(Finder& f) {
  Rewrite& r = f.r;
  if (!r.graph().producer.starts_with("pytorch")) return;
  const size_t tensors = r.graph().tensors.size();
  for (TensorId rows = 0; rows < tensors; ++rows) {
    if (!is_rows(r, rows) || r.readers(rows).empty()) continue;
    const std::vector<NodeId> readers = r.readers(rows);
    const NodeId first = r.first_reader(rows);
    const Shape shape = *r.tensor(rows).shape;
    const Shape places(shape.begin(), shape.end() - 1);
    const std::string name = r.tensor(rows).name;
    const TensorId table =
        r.add_parameter(name + ".weight", r.tensor(rows).dtype, {places.back(), shape.back()});
    // Places for all samples are a buffer of Hugging Face's; people count others at every step.
    const bool held = shape.size() == 3;
    const TensorId index = r.add_parameter(
        held ? name + ".position_ids" : "arange_" + std::to_string(rows), DType::kInt64, places);
    Node gather{.op = "Gather",
                .domain = "",
                .name = r.node(first).name,
                .module = r.node(first).module,
                .attributes = {},
                .inputs = {table, index},
                .outputs = {}};
    const TensorId own = r.insert_before(first, std::move(gather), r.tensor(rows).dtype, shape);
    for (const NodeId reader : readers) r.read_instead(reader, rows, own);
    f.note("embedding of known places", r.producer(own), r.deaths());
  }
}

}  // namespace plimsoll::patterns
