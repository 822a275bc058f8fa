#include "graph/onnx/decode.h"

#include <fmt/format.h>

#include <deque>
#include <utility>

#include "graph/base/escape.h"
#include "graph/exporter/module_name.h"
#include "graph/onnx/source_casts.h"
#include "graph/onnx/stack_trace.h"

namespace plimsoll::onnx {

namespace {

class Decoder {
 public:
  explicit Decoder(Wire& wire) : wire_(wire) { model_.graphs.emplace_back(); }

  Result<ModelSpec> run() {
    Message model = Message::whole(wire_, "model");
    for (Field field; model.next(field);) model_field(model, field);
    if (wire_.failed()) return wire_.failure();
    return std::move(model_);
  }

 private:
  struct Pending {
    GraphIndex graph = 0;
    uint64_t begin = 0, end = 0;
  };

  void model_field(const Message& model, const Field& field) {
    switch (field.number) {
      case 1:
        model_.ir_version = model.integer(field, "ir_version");
        break;
      case 2:
        model_.producer_name = model.clipped(field, "producer_name");
        break;
      case 3:
        model_.producer_version = model.clipped(field, "producer_version");
        break;
      case 7:
        main_graph(model, field);
        break;
      case 8:
        opset(model.inside(field, "opset_import"));
        break;
      case 20:
        model_.has_training_info = true;
        break;
      case 25:
        function(model.inside(field, "function", function_index_++));
        break;
      default:
        break;
    }
  }

  void opset(Message message) {
    std::string domain;
    int64_t version = 0;
    for (Field field; message.next(field);) {
      if (field.number == 1) domain = message.text(field, "domain");
      if (field.number == 2) version = message.integer(field, "version");
    }
    if (domain == "ai.onnx") domain.clear();
    if (model_.opsets.size() < 1024) model_.opsets.emplace_back(std::move(domain), version);
  }

  void main_graph(const Message& model, const Field& field) {
    if (model_.has_graph) {
      return wire_.fail("E208",
                        fmt::format("graph given twice, at bytes {} and {}", graph_at_, field.at));
    }
    model_.has_graph = true;
    graph_at_ = field.at;
    graph(model.inside(field, "graph"), 0);
    drain();
  }

  void function(Message message);
  void graph(Message message, GraphIndex index);
  void node(Message message, NodeSpec& node, int64_t depth);
  void metadata(Message message, NodeSpec& node);
  void graph_metadata(Message message, GraphSpec& graph);
  GraphIndex later(const Message& message, int64_t depth);
  void reserve(Message message, GraphSpec& graph);

  // Subgraphs are read after the graph that holds them, so that depth costs no stack.
  void drain() {
    while (!pending_.empty() && !wire_.failed()) {
      const Pending next = pending_.front();
      pending_.pop_front();
      graph(Message(wire_, next.begin, next.end, "subgraph"), next.graph);
    }
  }

  Wire& wire_;
  ModelSpec model_;
  std::deque<Pending> pending_;
  uint64_t graph_at_ = 0;
  int64_t function_index_ = 0;
  int64_t nodes_ = 0;
};

GraphIndex Decoder::later(const Message& message, int64_t depth) {
  if (depth > wire_.limits().depth) {
    wire_.fail(over_limit(wire_.limits(), "depth", {.file = {}, .node = message.describe()},
                          fmt::format("nested deeper than {}", wire_.limits().depth))
                   .value());
    return 0;
  }
  const auto index = static_cast<GraphIndex>(model_.graphs.size());
  model_.graphs.emplace_back();
  model_.graphs.back().depth = depth;
  pending_.push_back({index, message.position(), message.end()});
  return index;
}

// Counts before anything is allocated.
void Decoder::reserve(Message message, GraphSpec& graph) {
  if (wire_.failed()) return;
  int64_t nodes = 0, initializers = 0, values = 0;
  for (Field field; message.next(field);) {
    nodes += field.number == 1;
    initializers += field.number == 5 || field.number == 15;
    values += field.number == 11 || field.number == 12;
    if (nodes_ + nodes > wire_.limits().nodes) break;
  }
  wire_.forget();  // the reading in earnest will name the place better
  nodes_ += nodes;
  if (nodes_ > wire_.limits().nodes) {
    return wire_.fail(over_limit(wire_.limits(), "nodes", {},
                                 fmt::format("more than {} nodes", wire_.limits().nodes))
                          .value());
  }
  if (initializers + values > wire_.limits().tensors) {
    return wire_.fail(over_limit(wire_.limits(), "tensors").value());
  }
  graph.nodes.reserve(static_cast<size_t>(nodes));
  graph.initializers.reserve(static_cast<size_t>(initializers));
}

void Decoder::graph(Message message, GraphIndex index) {
  GraphSpec read = std::move(model_.graphs[index]);
  reserve(message, read);
  for (Field field; message.next(field);) {
    switch (field.number) {
      case 1: {
        NodeSpec& added = read.nodes.emplace_back();
        node(message.inside(field, "node", static_cast<int64_t>(read.nodes.size()) - 1), added,
             read.depth);
        break;
      }
      case 2:
        read.name = message.clipped(field, "name");
        break;
      case 5:
        read.initializers.push_back(decode_tensor(
            wire_,
            message.inside(field, "initializer", static_cast<int64_t>(read.initializers.size()))));
        break;
      case 11:
        read.inputs.push_back(decode_value(
            wire_, message.inside(field, "input", static_cast<int64_t>(read.inputs.size()))));
        break;
      case 12:
        read.outputs.push_back(decode_value(
            wire_, message.inside(field, "output", static_cast<int64_t>(read.outputs.size()))));
        break;
      case 15:
        read.initializers.push_back(
            decode_sparse(wire_, message.inside(field, "sparse_initializer")));
        break;
      case 16:
        graph_metadata(message.inside(field, "metadata_props"), read);
        break;
      default:
        break;
    }
  }
  model_.graphs[index] = std::move(read);
}

void Decoder::function(Message message) {
  FunctionSpec read;
  std::vector<WireAttribute> defaults;
  read.body = static_cast<GraphIndex>(model_.graphs.size());
  model_.graphs.emplace_back();
  GraphSpec body;
  int64_t nodes = 0;
  for (Field field; message.next(field);) {
    switch (field.number) {
      case 1:
        read.name = message.text(field, "name");
        break;
      case 4:
        body.inputs.emplace_back().name = message.text(field, "input");
        break;
      case 5:
        body.outputs.emplace_back().name = message.text(field, "output");
        break;
      case 7:
        if (++nodes_ > wire_.limits().nodes) {
          return wire_.fail(over_limit(wire_.limits(), "nodes").value());
        }
        node(message.inside(field, "node", nodes++), body.nodes.emplace_back(), 0);
        break;
      case 10:
        read.domain = message.text(field, "domain");
        break;
      case 11:
        defaults.push_back(decode_attribute(wire_, message.inside(field, "attribute_proto"), {}));
        break;
      case 13:
        read.overload = message.text(field, "overload");
        break;
      default:
        break;
    }
  }
  keep_attributes(wire_, message, std::move(defaults), read.defaults);
  if (read.domain == "ai.onnx") read.domain.clear();
  body.name = read.name;
  model_.graphs[read.body] = std::move(body);
  model_.functions.push_back(std::move(read));
  drain();
}

void Decoder::node(Message message, NodeSpec& node, int64_t depth) {
  std::vector<WireAttribute> attributes;
  for (Field field; message.next(field);) {
    switch (field.number) {
      case 1:
        node.inputs.push_back(message.text(field, "input"));
        break;
      case 2:
        node.outputs.push_back(message.text(field, "output"));
        break;
      case 3:
        node.name = message.clipped(field, "name");
        break;
      case 4:
        node.op = message.text(field, "op_type");
        break;
      case 5:
        if (std::cmp_greater_equal(attributes.size(), wire_.limits().attributes)) {
          return wire_.fail(
              over_limit(wire_.limits(), "attributes", {.file = {}, .node = message.describe()})
                  .value());
        }
        attributes.push_back(decode_attribute(
            wire_, message.inside(field, "attribute", static_cast<int64_t>(attributes.size())),
            [&](const Message& body) { return later(body, depth + 1); }));
        break;
      case 7:
        node.domain = message.text(field, "domain");
        break;
      case 8: {
        std::string overload = message.text(field, "overload");
        if (overload.empty()) break;
        if (!node.extras) node.extras = std::make_unique<NodeExtras>();
        node.extras->overload = std::move(overload);
        break;
      }
      case 9:
        metadata(message.inside(field, "metadata_props"), node);
        break;
      default:
        break;
    }
  }
  keep_attributes(wire_, message, std::move(attributes), node);
  if (node.domain == "ai.onnx") node.domain.clear();
  if (node.module.empty()) node.module = module_from_node_name(node.name);
}

// The newer exporter of PyTorch lists the parameters and buffers of the module; from_torch() all of
// them, and which are frozen.
void Decoder::graph_metadata(Message message, GraphSpec& graph) {
  constexpr size_t kMost = size_t{16} << 20;
  std::string key;
  for (Field field; message.next(field);) {
    if (field.number == 1) key = message.clipped(field, "key");
    const bool ours = key == "plimsoll.state";
    if (field.number != 2 || (!ours && key != "pkg.torch.export.ExportedProgram.graph_signature"))
      continue;
    const auto bytes = message.bytes(field, kMost);
    if (!bytes) continue;
    const std::string_view text(reinterpret_cast<const char*>(bytes->data()), bytes->size());
    if (!ours && !graph.signature.complete) graph.signature = module_signature(text);
    if (!ours) continue;
    if (auto state = module_state(text, wire_.limits())) graph.signature = std::move(*state);
  }
}

// PyTorch's exporter names the modules around a node, their classes, and what rewrote it. What
// recover() asks of that becomes notes.
void Decoder::metadata(Message message, NodeSpec& node) {
  std::string key;
  for (Field field; message.next(field);) {
    if (field.number == 1) key = message.clipped(field, "key");
    if (field.number != 2) continue;
    const std::string value = message.clipped(field, "value");
    if (key == "pkg.torch.onnx.name_scopes") {
      node.module = module_from_scopes(value);
      node.notes.calls = calls_from_scopes(value);
    }
    if (key == "plimsoll.in_place") node.notes.in_place = 1;
    if (key == "plimsoll.no_grad") node.notes.no_grad = true;
    if (key == "plimsoll.on_device") node.notes.on_device = true;
    if (key == "pkg.torch.onnx.stack_trace") {
      node.notes.statements = statements_of(value);
      node.notes.casts = casts_of(value);
      node.notes.contiguous = makes_contiguous(value);
      node.notes.reshapes = reshapes(value);
      node.notes.writes_part = writes_part(value);
    }
    if (key == "pkg.onnxscript.rewriter.rule_name") {
      node.notes.pad_merged = value.find("FuseConvPad") != value.npos;
      node.notes.norm_merged |= value.find("FuseBatchNormInto") != value.npos;
      // A convolution without a bias has had this done to it too.
      node.notes.bias_removed = value.find("RemoveOptionalBiasFromGemm") != value.npos;
    }
    // Exporters of before 2.6 name no rules: what remains says whose code it stands for.
    if (key == "pkg.torch.onnx.class_hierarchy")
      node.notes.norm_merged |=
          module_from_scopes(value).starts_with("torch.nn.modules.batchnorm.");
    if (key == "namespace" && value.find("torch.nn.modules.normalization.RMSNorm/") != value.npos)
      node.notes.fused_norm = true;
  }
}

}  // namespace

Result<ModelSpec> decode_model(Wire& wire) { return Decoder(wire).run(); }

}  // namespace plimsoll::onnx
