// Windowed attention adds a bias that it looks up in a table of relative positions at every step.
// Exporters that fold write the looked-up bias, [1, heads, N, N] for a window of N = w * w places,
// or its rows, [N * N, heads], where that would grow the file. Training has the table,
// [(2w-1)^2, heads], its index, and the look-up.
#include <cmath>

#include "graph/rewrite/patterns.h"

namespace plimsoll::patterns {
namespace {

// "unsqueeze_3", "val_12", "onnx::Add_99": a result, not a weight that somebody named.
bool is_result(std::string_view name) {
  return name.find('.') == name.npos || name.find("::") != name.npos;
}

bool is_folded(const Tensor& t) {
  return t.kind == TensorKind::kParameter && is_float(t.dtype) && !t.contents && is_result(t.name);
}

// The side of a window of so many places; nothing where it is no square.
std::optional<int64_t> side_of(std::optional<int64_t> places) {
  if (!places || *places < 2) return std::nullopt;
  const auto side = static_cast<int64_t>(std::lround(std::sqrt(static_cast<double>(*places))));
  return side * side == *places ? std::optional(side) : std::nullopt;
}

// The window's side where `t` is a folded bias; nothing where it is not.
std::optional<int64_t> window_of_bias(const Rewrite& r, TensorId t) {
  const bool square = r.rank(t) == 4 && r.extent(t, 0) == 1 && r.extent(t, 2) == r.extent(t, 3);
  return square && is_folded(r.tensor(t)) ? side_of(r.extent(t, 2)) : std::nullopt;
}

// The same where a Reshape makes [N, N, heads] of folded rows and a Transpose puts heads first.
constinit const Fragment kSquareOfRows("y = Reshape(rows)");
constinit const Fragment kHeadsFirst("y = Transpose(_) {perm=[2,0,1]}");

std::optional<int64_t> window_of_rows(const Match& m) {
  const Rewrite& r = m.r;
  const TensorId out = m["y"];
  const bool square = r.rank(m["rows"]) == 2 && r.rank(out) == 3 &&
                      r.extent(out, 0) == r.extent(out, 1) && kHeadsFirst.at(r, r.only_reader(out));
  return square && is_folded(r.tensor(m["rows"])) ? side_of(r.extent(out, 0)) : std::nullopt;
}

constinit const Fragment kBiased("y = Add(MatMul(_), bias)");

// Adds nodes before one place of the graph.
struct Chain {
  Rewrite& r;
  NodeId at;
  TensorId operator()(std::string_view domain, std::string_view op, std::vector<TensorId> inputs,
                      Shape shape, Attributes attributes = {}) {
    Node node = r.beside(at, domain, op, std::move(inputs));
    node.attributes = std::move(attributes);
    const DType dtype = r.tensor(r.node(at).outputs[0]).dtype;
    return r.insert_before(at, std::move(node), dtype, std::move(shape));
  }
};

// The rows [N * N, heads], looked up before `at`, which the table and its index are named after: a
// name like that of the folded tensor would say that they are computed.
TensorId looked_up(Rewrite& r, NodeId at, int64_t side, const Dim& heads) {
  const std::string name = r.node(at).name;
  const Dim places = side * side;
  const Dim distances = (2 * side - 1) * (2 * side - 1);
  const DType dtype = r.tensor(r.node(at).outputs[0]).dtype;
  const TensorId table =
      r.add_parameter(name + ".relative_position_bias_table", dtype, {distances, heads});
  const TensorId index =
      r.add_parameter(name + ".relative_position_index", DType::kInt64, {places * places});
  return Chain{r, at}("", "Gather", {table, index}, {places * places, heads});
}

// The bias [1, heads, N, N] of these rows.
TensorId spread(Rewrite& r, NodeId at, TensorId rows, int64_t side, const Dim& heads) {
  const Dim places = side * side;
  Chain chain{r, at};
  const TensorId target = r.add_parameter(r.tensor(rows).name + ".shape", DType::kInt64, {3});
  const TensorId square = chain("", "Reshape", {rows, target}, {places, places, heads});
  Attributes order;
  order.set("perm", std::vector<int64_t>{2, 0, 1});
  const TensorId flipped = chain("", "Transpose", {square}, {heads, places, places}, order);
  const TensorId copy = chain("plimsoll", "Contiguous", {flipped}, {heads, places, places});
  Attributes axes;
  axes.set("axes", std::vector<int64_t>{0});
  return chain("", "Unsqueeze", {copy}, {1, heads, places, places}, axes);
}

}  // namespace

void relative_bias(Finder& f) {
  Rewrite& r = f.r;
  const size_t nodes = r.nodes();
  const auto put = [&](NodeId id, TensorId folded, TensorId in_place) {
    r.read_instead(id, folded, in_place);
    f.note("table of relative positions", r.producer(in_place), r.removed_count());
  };
  for (NodeId id = 0; id < nodes; ++id) {
    if (r.is_removed(id)) continue;
    const auto rows = kSquareOfRows.at(r, id);
    if (const auto side = rows ? window_of_rows(*rows) : std::nullopt) {
      const TensorId folded = (*rows)["rows"];
      put(id, folded, looked_up(r, id, *side, (*r.tensor(folded).shape)[1]));
    }
    const TensorId bias = kBiased.in(r, r.node(id).outputs[0], "bias");
    const auto side = bias == kNoTensor ? std::nullopt : window_of_bias(r, bias);
    if (!side) continue;
    const Dim heads = (*r.tensor(bias).shape)[1];
    put(id, bias, spread(r, id, looked_up(r, id, *side, heads), *side, heads));
  }
}

}  // namespace plimsoll::patterns
