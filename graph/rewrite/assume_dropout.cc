#include "graph/rewrite/assume_dropout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>

#include "graph/rewrite/editor.h"
#include "graph/rewrite/pattern.h"

namespace plimsoll {
namespace {

using Words = std::initializer_list<std::string_view>;

constinit const patterns::Fragment kDropoutNode("y = Dropout(_)");
constinit const patterns::Fragment kFusedAttention("y = Attention(_)");
constinit const patterns::Fragment kWeighing("w = Softmax(_); y = MatMul(w!, _)");
constinit const patterns::Fragment kLinearLayer("y = Linear|Gemm(x)");
constinit const patterns::Fragment kConvolving("y = Conv(x)");
constinit const patterns::Fragment kStack("y = Recurrent(_)");
constinit const patterns::Fragment kReadsStack("y = Linear|Gemm|MatMul|Recurrent(_)");
constinit const patterns::Fragment kWindow(
    "y = Reshape|Transpose|Squeeze|Unsqueeze|Flatten|Identity(x)");
constinit const patterns::Fragment kGained("y = Mul(x, $w)");  // a learned scale of the branch
constinit const patterns::Fragment kActivated(
    "y = Relu|Gelu|Silu|HardSwish|Tanh|LeakyRelu|Mish|Elu|Selu|Clip(x)");
constinit const patterns::Fragment kSpread("y = Resize|GlobalAveragePool|ReduceMean(x)");
constinit const patterns::Fragment kSummed("y = Add(a, b)");
constinit const patterns::Fragment kEmbedded("y = Gather(table, tokens)");
constinit const patterns::Fragment kOfEmbedding("y = Add|LayerNormalization|Mul|Cast(_)");

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
    for (NodeId id = 0; id < count_; ++id) {
      if (kDropoutNode.at(r_, id)) done_.has_own = true;
    }
    if (done_.has_own) return done_;
    for (NodeId id = 0; id < count_; ++id) {
      if (kFusedAttention.at(r_, id)) fused_attention(id);
      if (const auto weighing = kWeighing.at(r_, id)) separate_attention((*weighing)["w"]);
      if (const auto sum = kSummed.at(r_, id)) residual_sum((*sum)["a"], (*sum)["b"]);
      if (const auto rows = kEmbedded.at(r_, id)) embedding(*rows);
      if (kStack.at(r_, id)) recurrent(id);
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
    if (!is_data || readers.empty() || kDropoutNode.of(r_, t)) return false;
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

  void separate_attention(TensorId weights) {
    if (drop(weights)) ++done_.attention;
  }

  // The linear layer that made `t`, through windows on it and a learned scale of the branch.
  NodeId linear_behind(TensorId t) const {
    for (int steps = 0; steps < 8; ++steps) {
      const NodeId id = r_.producer(t);
      if (id == kNoNode || id >= count_ || r_.uses(t) != 1) return kNoNode;
      if (kLinearLayer.at(r_, id)) return id;
      const TensorId seen = kWindow.in(r_, t, "x");
      t = seen == kNoTensor ? kGained.in(r_, t, "x") : seen;
    }
    return kNoNode;
  }

  // stream + branch: one operand comes straight from a linear layer, the other does not.
  void residual_sum(TensorId a, TensorId b) {
    const auto is_value = [&](TensorId t) { return r_.tensor(t).kind == TensorKind::kValue; };
    if (!is_value(a) || !is_value(b)) return;
    const NodeId left = linear_behind(a);
    const NodeId right = linear_behind(b);
    if ((left == kNoNode) == (right == kNoNode)) return;
    const NodeId last = left == kNoNode ? right : left;
    const Node linear = r_.node(last);
    if (drops_inside(linear)) inner(linear.inputs[0]);
    if (drops_at_end(linear) && drop(linear.outputs[0])) ++done_.branches;
  }

  void inner(TensorId t) {
    t = kWindow.behind(r_, t);
    if (kActivated.of(r_, t) && drop(t)) ++done_.inner;
  }

  // Tokens, plus positions and segments, normalised: up to where others read it too.
  void embedding(const patterns::Match& rows) {
    const TensorId table = rows["table"];
    const bool embeds = r_.tensor(table).kind == TensorKind::kParameter && r_.rank(table) == 2 &&
                        is_float(r_.tensor(table).dtype) && !r_.input_independent(rows["tokens"]) &&
                        rows.root().attributes.integer("axis", 0) == 0;
    if (!embeds) return;
    TensorId t = rows["y"];
    for (NodeId next = r_.only_reader(t); next < count_; next = r_.only_reader(t)) {
      if (!kOfEmbedding.at(r_, next)) break;
      t = r_.node(next).outputs[0];
    }
    if (drop(t)) ++done_.embeddings;
  }

  void recurrent(NodeId id) {
    TensorId t = r_.node(id).outputs[0];
    if (t == kNoTensor) return;
    NodeId next = r_.only_reader(t);
    while (next < count_ && kWindow.at(r_, next)) {
      t = r_.node(next).outputs[0];
      next = r_.only_reader(t);
    }
    if (next < count_ && kReadsStack.at(r_, next) && drop(t)) ++done_.recurrent;
  }

  // A classifier drops what its last layer reads, and the activations between its linear layers.
  // One made of convolutions has an average or a resampling after its last layer.
  void head(TensorId out) {
    bool spread = false;
    TensorId y = out;
    while (!kLinearLayer.of(r_, y) && !kConvolving.of(r_, y)) {
      const TensorId averaged = kSpread.in(r_, y, "x"), seen = kWindow.in(r_, y, "x");
      spread = spread || averaged != kNoTensor;
      y = averaged != kNoTensor ? averaged : seen != kNoTensor ? seen : kActivated.in(r_, y, "x");
      if (y == kNoTensor) return;
    }
    const NodeId id = r_.producer(y);
    if (id >= count_) return;
    const bool conv = kConvolving.at(r_, id).has_value();
    if (conv != spread || (!conv && r_.rank(r_.node(id).inputs[0]) != 2)) return;
    TensorId t = r_.node(id).inputs[0];
    if (r_.uses(t) != 1 || kStack.of(r_, t)) return;
    if (drop(t)) ++done_.heads;
    if (!conv) earlier_heads(t);
  }

  void earlier_heads(TensorId t) {
    while (true) {
      const TensorId linear = kActivated.in(r_, t, "x");
      t = kLinearLayer.in(r_, linear, "x");
      if (t == kNoTensor || !kActivated.of(r_, t) || !drop(t)) return;
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
