#include "graph/rewrite/assume_dropout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>

#include "graph/rewrite/editor.h"

namespace plimsoll {
namespace {

using Words = std::initializer_list<std::string_view>;

bool is_one_of(std::string_view op, Words words) {
  return std::find(words.begin(), words.end(), op) != words.end();
}

bool is_linear(const Node& node) { return is_one_of(node.op, {"Linear", "Gemm"}); }
bool is_window(const Node& node) {
  return is_one_of(node.op,
                   {"Reshape", "Transpose", "Squeeze", "Unsqueeze", "Flatten", "Identity"});
}
bool is_activation(const Node& node) {
  return is_one_of(node.op, {"Relu", "Gelu", "Silu", "HardSwish", "Tanh", "LeakyRelu", "Mish",
                             "Elu", "Selu", "Clip"});
}

bool ends_with_one_of(std::string_view module, Words endings) {
  return std::any_of(endings.begin(), endings.end(), [&](std::string_view ending) {
    if (!module.ends_with(ending)) return false;
    const size_t rest = module.size() - ending.size();
    return rest == 0 || module[rest - 1] == '.';
  });
}

// DistilBERT's attention is the one residual branch of the well-known transformers without dropout.
bool drops_at_end(const Node& last) { return !ends_with_one_of(last.module, {"out_lin"}); }

// T5 (wo), torch.nn.Transformer (linear2), timm (mlp.fc2) and torchvision (mlp.3) drop between the
// two layers of an MLP too; BERT, GPT-2 and OPT do not.
bool drops_inside(const Node& last) {
  return ends_with_one_of(last.module, {"wo", "linear2", "mlp.fc2", "mlp.3"});
}

class DropoutPass {
 public:
  DropoutPass(Graph& graph, double ratio) : r_(graph), ratio_(ratio), count_(r_.nodes()) {}

  AssumedDropout run() {
    const auto has_ratio = [](const Node& node) { return node.op == "Dropout"; };
    const auto& nodes = r_.graph().nodes;
    done_.has_own = std::any_of(nodes.begin(), nodes.end(), has_ratio);
    if (done_.has_own) return done_;
    for (NodeId id = 0; id < count_; ++id) {
      const std::string op = r_.node(id).op;
      if (op == "Attention") fused_attention(id);
      if (op == "Softmax") separate_attention(id);
      if (op == "Add") residual_sum(id);
      if (op == "Gather") embedding(id);
      if (op == "Recurrent") recurrent(id);
    }
    for (const TensorId out : std::vector<TensorId>(r_.graph().outputs)) head(out);
    r_.finish();
    return done_;
  }

 private:
  // All who read `t` read it through a dropout.
  bool drop(TensorId t) {
    const Tensor& tensor = r_.tensor(t);
    const std::vector<NodeId> readers = r_.readers(t);
    const bool is_data = tensor.shape && is_float(tensor.dtype) && r_.producer(t) != kNoNode;
    if (!is_data || readers.empty() || r_.node(r_.producer(t)).op == "Dropout") return false;
    const NodeId first = *std::min_element(readers.begin(), readers.end());
    if (first >= count_) return false;  // dropped already
    const Node& maker = r_.node(r_.producer(t));
    Node node{.op = "Dropout",
              .domain = "",
              .name = maker.name.empty() ? "dropout" : maker.name + "/dropout",
              .module = maker.module,
              .attributes = {},
              .inputs = {t},
              .outputs = {}};
    node.attributes.set("ratio", ratio_);
    const DType dtype = tensor.dtype;
    Shape shape = *tensor.shape;
    const TensorId dropped = r_.insert_before(first, std::move(node), dtype, std::move(shape));
    for (const NodeId reader : readers) r_.read_instead(reader, t, dropped);
    return true;
  }

  void fused_attention(NodeId id) {
    Node& node = r_.graph().nodes[id];
    if (node.domain != "plimsoll") return;
    node.attributes.set("dropout", ratio_);
    ++done_.attention;
  }

  void separate_attention(NodeId id) {
    const TensorId weights = r_.node(id).outputs[0];
    const NodeId reader = r_.only_reader(weights);
    if (reader == kNoNode || r_.node(reader).op != "MatMul") return;
    if (r_.node(reader).inputs[0] == weights && drop(weights)) ++done_.attention;
  }

  // The linear layer that made `t`, through windows on it and a learned scale of the branch.
  NodeId linear_behind(TensorId t) const {
    for (int steps = 0; steps < 8; ++steps) {
      const NodeId id = r_.producer(t);
      if (id == kNoNode || id >= count_ || r_.uses(t) != 1) return kNoNode;
      const Node& node = r_.node(id);
      if (is_linear(node)) return id;
      if (node.op == "Mul") {
        const bool left = r_.tensor(node.inputs[0]).kind == TensorKind::kParameter;
        const bool right = r_.tensor(node.inputs[1]).kind == TensorKind::kParameter;
        if (left == right) return kNoNode;
        t = node.inputs[left ? 1 : 0];
      } else if (is_window(node)) {
        t = node.inputs[0];
      } else {
        return kNoNode;
      }
    }
    return kNoNode;
  }

  // stream + branch: one operand comes straight from a linear layer, the other does not.
  void residual_sum(NodeId id) {
    const Node& add = r_.node(id);
    if (add.inputs.size() != 2) return;
    const auto is_value = [&](TensorId t) { return r_.tensor(t).kind == TensorKind::kValue; };
    if (!is_value(add.inputs[0]) || !is_value(add.inputs[1])) return;
    const NodeId left = linear_behind(add.inputs[0]);
    const NodeId right = linear_behind(add.inputs[1]);
    if ((left == kNoNode) == (right == kNoNode)) return;
    const NodeId last = left == kNoNode ? right : left;
    const Node linear = r_.node(last);
    if (drops_inside(linear)) inner(linear.inputs[0]);
    if (drops_at_end(linear) && drop(linear.outputs[0])) ++done_.branches;
  }

  void inner(TensorId t) {
    while (r_.producer(t) < count_ && is_window(r_.node(r_.producer(t)))) {
      t = r_.node(r_.producer(t)).inputs[0];
    }
    if (r_.producer(t) != kNoNode && is_activation(r_.node(r_.producer(t))) && drop(t))
      ++done_.inner;
  }

  // Tokens, plus positions and segments, normalised: up to where others read it too.
  void embedding(NodeId id) {
    const Node& gather = r_.node(id);
    const Tensor& table = r_.tensor(gather.inputs[0]);
    const bool embeds = table.kind == TensorKind::kParameter && r_.rank(gather.inputs[0]) == 2 &&
                        is_float(table.dtype) && !r_.made_of_shapes(gather.inputs[1]) &&
                        gather.attributes.integer("axis", 0) == 0;
    if (!embeds) return;
    TensorId t = gather.outputs[0];
    for (NodeId next = r_.only_reader(t); next < count_; next = r_.only_reader(t)) {
      if (!is_one_of(r_.node(next).op, {"Add", "LayerNormalization", "Mul", "Cast"})) break;
      t = r_.node(next).outputs[0];
    }
    if (drop(t)) ++done_.embeddings;
  }

  void recurrent(NodeId id) {
    TensorId t = r_.node(id).outputs[0];
    if (t == kNoTensor) return;
    NodeId next = r_.only_reader(t);
    while (next < count_ && is_window(r_.node(next))) {
      t = r_.node(next).outputs[0];
      next = r_.only_reader(t);
    }
    if (next >= count_) return;
    const std::string& op = r_.node(next).op;
    if ((is_linear(r_.node(next)) || op == "MatMul" || op == "Recurrent") && drop(t))
      ++done_.recurrent;
  }

  // A classifier drops what its last layer reads, and the activations between its linear layers.
  // One made of convolutions has an average or a resampling after its last layer.
  void head(TensorId out) {
    NodeId id = r_.producer(out);
    bool spread = false;
    while (id < count_ && !is_linear(r_.node(id)) && r_.node(id).op != "Conv") {
      const Node& node = r_.node(id);
      const bool passes = is_window(node) || is_activation(node) || node.op == "Resize" ||
                          node.op == "GlobalAveragePool" || node.op == "ReduceMean";
      if (!passes) return;
      spread = spread || !(is_window(node) || is_activation(node));
      id = r_.producer(node.inputs[0]);
    }
    if (id >= count_) return;
    const bool conv = r_.node(id).op == "Conv";
    if (conv != spread || (!conv && r_.rank(r_.node(id).inputs[0]) != 2)) return;
    TensorId t = r_.node(id).inputs[0];
    if (r_.uses(t) != 1 || r_.made_by(t, "Recurrent")) return;
    if (drop(t)) ++done_.heads;
    if (!conv) earlier_heads(t);
  }

  void earlier_heads(TensorId t) {
    while (true) {
      const NodeId activation = r_.producer(t);
      if (activation >= count_ || !is_activation(r_.node(activation))) return;
      const NodeId linear = r_.producer(r_.node(activation).inputs[0]);
      if (linear >= count_ || !is_linear(r_.node(linear))) return;
      t = r_.node(linear).inputs[0];
      const NodeId before = r_.producer(t);
      if (before >= count_ || !is_activation(r_.node(before)) || !drop(t)) return;
      ++done_.heads;
    }
  }

  Rewrite r_;
  double ratio_;
  size_t count_;  // nodes of the file; those from here on are dropouts
  AssumedDropout done_;
};

}  // namespace

AssumedDropout assume_dropout(Graph& graph, double ratio) {
  return DropoutPass(graph, ratio).run();
}

std::string describe(const AssumedDropout& a) {
  const std::array<std::pair<size_t, std::string_view>, 6> kinds = {
      {{a.attention, "attention"},
       {a.branches, "residual branch"},
       {a.inner, "MLP activation"},
       {a.embeddings, "embedding"},
       {a.recurrent, "recurrent layer"},
       {a.heads, "head"}}};
  std::string text;
  for (const auto& [count, what] : kinds) {
    if (count == 0) continue;
    const std::string_view plural = count == 1 ? "" : what.ends_with("ch") ? "es" : "s";
    text += fmt::format("{}{} {}{}", text.empty() ? "" : ", ", count, what, plural);
  }
  return text;
}

}  // namespace plimsoll
