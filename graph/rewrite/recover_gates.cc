// A gate that weighs two branches: (1 - g) * a + g * b with g = sigmoid(w). Exporters that fold
// write what w gave when the file was made; eager code computes both halves at every step, each
// from a sigmoid of its own, and trains w.
#include "graph/rewrite/patterns.h"

namespace plimsoll::patterns {

bool is_folded_result(const Tensor& t, std::string_view of) {
  if (t.kind != TensorKind::kParameter || !is_float(t.dtype) || !t.shape || t.shape->empty() ||
      !t.name.starts_with(of))
    return false;
  const std::string_view rest = std::string_view(t.name).substr(of.size());
  return rest.empty() ||
         (rest[0] == '_' && rest.find_first_not_of("0123456789", 1) == std::string_view::npos);
}

namespace {

// The operand of a product that such a result is; kNoTensor where there is none.
TensorId folded_factor(const Rewrite& r, TensorId product, std::string_view of) {
  const Node* mul = r.made_by(product, "Mul");
  if (mul == nullptr) return kNoTensor;
  for (const TensorId in : mul->inputs) {
    if (is_folded_result(r.tensor(in), of)) return in;
  }
  return kNoTensor;
}

TensorId before(Rewrite& r, NodeId at, std::string_view op, std::vector<TensorId> inputs,
                const Shape& shape) {
  Node node{.op = std::string(op),
            .domain = "",
            .name = r.node(at).name,
            .module = r.node(at).module,
            .attributes = {},
            .inputs = std::move(inputs),
            .outputs = {}};
  return r.insert_before(at, std::move(node), r.tensor(r.node(at).outputs[0]).dtype, shape);
}

// w * a + (1 - w) * b where an exporter computed the rest that w leaves of one (RWKV's mixes).
bool mix(Finder& f, TensorId left, TensorId right) {
  Rewrite& r = f.r;
  const Node* weighed = r.made_by(left, "Mul");
  const TensorId rest = folded_factor(r, right, "sub");
  if (!weighed || rest == kNoTensor) return false;
  for (const TensorId weight : weighed->inputs) {
    const Tensor& t = r.tensor(weight);
    const bool named = t.kind == TensorKind::kParameter && !t.from_constant_node &&
                       !is_folded_result(t, "sub") && !is_folded_result(t, "sigmoid");
    if (!named || !t.shape || t.shape != r.tensor(rest).shape) continue;
    const NodeId reader = r.producer(right);
    const Shape shape = *t.shape;
    const TensorId own = before(r, reader, "Sub", {r.add_number(1), weight}, shape);
    r.read_instead(reader, rest, own);
    f.note("rest of a trained mix", r.producer(own), r.deaths());
    return true;
  }
  return false;
}

}  // namespace

void gates(Finder& f) {
  Rewrite& r = f.r;
  const size_t nodes = r.nodes();
  for (NodeId id = 0; id < nodes; ++id) {
    if (r.dead(id) || r.node(id).op != "Add") continue;
    for (size_t i = 0; i < 2; ++i) {
      const TensorId kept = r.node(id).inputs[i];
      const TensorId passed = r.node(id).inputs[1 - i];
      if (mix(f, passed, kept)) break;
      const TensorId gate = folded_factor(r, passed, "sigmoid");
      const TensorId rest = folded_factor(r, kept, "sub");
      if (gate == kNoTensor || rest == kNoTensor || r.tensor(gate).shape != r.tensor(rest).shape)
        continue;
      const Shape shape = *r.tensor(gate).shape;
      const NodeId first = r.producer(kept);
      const NodeId second = r.producer(passed);
      const TensorId weight =
          r.add_parameter(r.node(first).name + ".gate", r.tensor(kept).dtype, shape);
      const TensorId own = before(r, first, "Sigmoid", {weight}, shape);
      const TensorId complement = before(r, first, "Sub", {r.add_number(1), own}, shape);
      r.read_instead(first, rest, complement);
      r.read_instead(second, gate, before(r, second, "Sigmoid", {weight}, shape));
      f.note("trained gate", r.producer(complement), r.deaths());
      break;
    }
  }
}

}  // namespace plimsoll::patterns
