// AttributeProto: typed attributes, and the tensors and graphs that are attributes.
#include <fmt/format.h>

#include <algorithm>

#include "graph/base/escape.h"
#include "graph/onnx/decode.h"

namespace plimsoll::onnx {

const TensorSpec* NodeExtras::tensor(std::string_view name) const {
  for (const auto& [key, value] : tensors) {
    if (key == name) return &value;
  }
  return nullptr;
}

const GraphIndex* NodeExtras::graph(std::string_view name) const {
  for (const auto& [key, value] : graphs) {
    if (key == name) return &value;
  }
  return nullptr;
}

namespace {

// AttributeProto.AttributeType
enum AttributeType : int64_t {
  kUnset = 0,
  kFloat = 1,
  kInt = 2,
  kString = 3,
  kTensor = 4,
  kGraph = 5,
  kFloats = 6,
  kInts = 7,
  kStrings = 8,
  kTensors = 9,
  kGraphs = 10,
};

void keep(AttributeDraft draft, NodeSpec& node) {
  const auto extras = [&]() -> NodeExtras& {
    if (!node.extras) node.extras = std::make_unique<NodeExtras>();
    return *node.extras;
  };
  if (!draft.reference.empty()) {
    extras().references.emplace_back(std::move(draft.name), std::move(draft.reference));
    return;
  }
  switch (draft.type) {
    case kFloat:
      node.attributes.set(std::move(draft.name), draft.real);
      break;
    case kInt:
      node.attributes.set(std::move(draft.name), draft.integer);
      break;
    case kString:
      node.attributes.set(std::move(draft.name), std::move(draft.text));
      break;
    case kFloats:
      node.attributes.set(std::move(draft.name), std::move(draft.reals));
      break;
    case kInts:
      node.attributes.set(std::move(draft.name), std::move(draft.integers));
      break;
    case kStrings:
      node.attributes.set(std::move(draft.name), std::move(draft.texts));
      break;
    case kTensor:
      if (draft.tensors.size() != 1) break;
      extras().tensors.emplace_back(std::move(draft.name), std::move(draft.tensors.front()));
      break;
    case kGraph:
      if (draft.graphs.size() != 1) break;
      extras().graphs.emplace_back(std::move(draft.name), draft.graphs.front());
      break;
    default:  // lists of tensors and graphs: no operator we know has one
      break;
  }
}

// False where a list is longer than `most`.
bool read_field(Wire& wire, const Message& message, const Field& field, const GraphSink& graph,
                size_t most, AttributeDraft& draft) {
  switch (field.number) {
    case 1:
      draft.name = message.text(field, "name");
      break;
    case 2:
      draft.real = message.real(field, "f");
      draft.seen = kFloat;
      break;
    case 3:
      draft.integer = message.integer(field, "i");
      draft.seen = kInt;
      break;
    case 4:
      draft.text = message.clipped(field, "s");
      draft.seen = kString;
      break;
    case 5:
    case 10:
      draft.tensors.push_back(decode_tensor(wire, message.inside(field, "tensor")));
      draft.seen = field.number == 5 ? kTensor : kTensors;
      break;
    case 6:
    case 11:
      if (graph) draft.graphs.push_back(graph(message.inside(field, "subgraph")));
      draft.seen = field.number == 6 ? kGraph : kGraphs;
      break;
    case 7:
      draft.seen = kFloats;
      return message.floats(field, "floats", draft.reals, most);
    case 8:
      draft.seen = kInts;
      return message.integers(field, "ints", draft.integers, most);
    case 9:
      draft.seen = kStrings;
      if (draft.texts.size() >= most) return false;
      draft.texts.push_back(message.clipped(field, "strings"));
      break;
    case 20:
      draft.type = message.integer(field, "type");
      break;
    case 21:
      draft.reference = message.text(field, "ref_attr_name");
      break;
    case 22:
      draft.tensors.push_back(decode_sparse(wire, message.inside(field, "sparse_tensor")));
      draft.seen = kTensor;
      break;
    default:
      break;
  }
  return true;
}

}  // namespace

AttributeDraft decode_attribute(Wire& wire, Message message, const GraphSink& graph) {
  AttributeDraft draft;
  const auto most = static_cast<size_t>(wire.limits().attribute_values);
  for (Field field; message.next(field);) {
    if (read_field(wire, message, field, graph, most, draft)) continue;
    wire.fail(
        over_limit(wire.limits(), "attribute-values", {.file = {}, .node = message.describe()})
            .value());
  }
  if (draft.type == kUnset || draft.type > kGraphs) draft.type = draft.seen;
  return draft;
}

void keep_attributes(Wire& wire, const Message& owner, std::vector<AttributeDraft> drafts,
                     NodeSpec& node) {
  if (wire.failed()) return;
  // In order of names each goes to the end of the node's sorted list: linear, however many.
  std::stable_sort(drafts.begin(), drafts.end(),
                   [](const auto& a, const auto& b) { return a.name < b.name; });
  for (size_t i = 0; i < drafts.size(); ++i) {
    AttributeDraft& draft = drafts[i];
    if (i + 1 < drafts.size() && draft.name == drafts[i + 1].name) {
      return wire.fail("E249", fmt::format("attribute '{}' is given twice, in {}",
                                           shortened(draft.name), owner.describe()));
    }
    if (draft.seen != kUnset && draft.seen != draft.type) {
      return wire.fail(
          "E247", fmt::format("attribute '{}' says it has type {} and holds type {}, in {}",
                              shortened(draft.name), draft.type, draft.seen, owner.describe()));
    }
    keep(std::move(draft), node);
  }
}

}  // namespace plimsoll::onnx
