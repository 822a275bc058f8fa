// Embeddings at places that are known when a model is exported (GPT's learned positions, for a
// sequence of fixed length): an exporter of graphs looks them up and writes the rows. Training has
// the table and looks them up at every step. How many rows more it has, the file does not say.
// Distances of queries and keys along one axis (MViT v2, Segment Anything) are places as well.
#include <algorithm>

#include "graph/rewrite/patterns.h"

namespace plimsoll::patterns {
namespace {

// Rows [N, D], or one such matrix for all samples, [1, N, D]: N places.
std::optional<Dim> places_of_rows(const Rewrite& r, TensorId t) {
  const bool rows = is_folded_result(r.tensor(t), "embedding") && !r.tensor(t).contents &&
                    (r.rank(t) == 2 || (r.rank(t) == 3 && r.extent(t, 0) == 1));
  return rows ? std::optional((*r.tensor(t).shape)[r.rank(t) - 2]) : std::nullopt;
}

constinit const Fragment kTwoOperands("y = Einsum(a, b)");

// Rows [Q, K, D] that queries are multiplied with: as many distances as Q or K positions have.
std::optional<Dim> distances_of(const Rewrite& r, TensorId t) {
  const auto queries = r.extent(t, 0);
  const auto keys = r.extent(t, 1);
  const auto& readers = r.readers(t);
  const bool multiplied = std::all_of(readers.begin(), readers.end(), [&](NodeId reader) {
    return kTwoOperands.at(r, reader) && r.node(reader).inputs.size() == 2;
  });
  if (!is_folded_result(r.tensor(t), "index") || r.rank(t) != 3 || !queries || !keys || !multiplied)
    return std::nullopt;
  return Dim(2 * std::max(*queries, *keys) - 1);
}

}  // namespace

void lookups(Finder& f) {
  Rewrite& r = f.r;
  if (r.graph().exporter != Exporter::kPyTorch) return;
  const size_t tensors = r.graph().tensors.size();
  for (TensorId rows = 0; rows < tensors; ++rows) {
    if (r.readers(rows).empty()) continue;
    const std::optional<Dim> near = places_of_rows(r, rows);
    const std::optional<Dim> entries = near ? near : distances_of(r, rows);
    if (!entries) continue;
    const std::vector<NodeId> readers = r.readers(rows);
    const NodeId first = r.first_reader(rows);
    const Shape shape = *r.tensor(rows).shape;
    const Shape places(shape.begin(), shape.end() - 1);
    const std::string name = r.tensor(rows).name;
    const TensorId table =
        r.add_parameter(name + ".weight", r.tensor(rows).dtype, {*entries, shape.back()});
    // Places for all samples are a buffer of Hugging Face's; people count others at every step.
    const bool held = near && shape.size() == 3;
    const TensorId index = r.add_parameter(
        held ? name + ".position_ids" : "arange_" + std::to_string(rows), DType::kInt64, places);
    if (!held) r.graph().tensors[index].origin = Origin::kFolded;
    const TensorId own = r.insert_before(first, r.beside(first, "", "Gather", {table, index}),
                                         r.tensor(rows).dtype, shape);
    for (const NodeId reader : readers) r.read_instead(reader, rows, own);
    f.note("embedding of known places", r.producer(own), r.removed_count());
  }
}

}  // namespace plimsoll::patterns
