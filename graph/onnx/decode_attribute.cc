// AttributeProto: typed attributes, and the tensors and graphs that are attributes.
#include <fmt/format.h>

#include <algorithm>

#include "graph/base/escape.h"
#include "graph/onnx/decode.h"

namespace plimsoll::onnx {

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

void keep(WireAttribute attribute, NodeSpec& node) {
  const auto extras = [&]() -> NodeExtras& {
    if (!node.extras) node.extras = std::make_unique<NodeExtras>();
    return *node.extras;
  };
  if (!attribute.reference.empty()) {
    extras().references.emplace_back(std::move(attribute.name), std::move(attribute.reference));
    return;
  }
  switch (attribute.type) {
    case kFloat:
      node.attributes.set(std::move(attribute.name), attribute.real);
      break;
    case kInt:
      node.attributes.set(std::move(attribute.name), attribute.integer);
      break;
    case kString:
      node.attributes.set(std::move(attribute.name), std::move(attribute.text));
      break;
    case kFloats:
      node.attributes.set(std::move(attribute.name), std::move(attribute.reals));
      break;
    case kInts:
      node.attributes.set(std::move(attribute.name), std::move(attribute.integers));
      break;
    case kStrings:
      node.attributes.set(std::move(attribute.name), std::move(attribute.texts));
      break;
    case kTensor:
      if (attribute.tensors.size() != 1) break;
      extras().tensors.emplace_back(std::move(attribute.name),
                                    std::move(attribute.tensors.front()));
      break;
    case kGraph:
      if (attribute.graphs.size() != 1) break;
      extras().graphs.emplace_back(std::move(attribute.name), attribute.graphs.front());
      break;
    default:  // lists of tensors and graphs: no operator we know has one
      break;
  }
}

// False where a list is longer than `most`.
bool read_field(Wire& wire, const Message& message, const Field& field, const GraphSink& graph,
                size_t most, WireAttribute& attribute) {
  switch (field.number) {
    case 1:
      attribute.name = message.text(field, "name");
      break;
    case 2:
      attribute.real = message.real(field, "f");
      attribute.seen = kFloat;
      break;
    case 3:
      attribute.integer = message.integer(field, "i");
      attribute.seen = kInt;
      break;
    case 4:
      attribute.text = message.clipped(field, "s");
      attribute.seen = kString;
      break;
    case 5:
    case 10:
      attribute.tensors.push_back(decode_tensor(wire, message.inside(field, "tensor")));
      attribute.seen = field.number == 5 ? kTensor : kTensors;
      break;
    case 6:
    case 11:
      if (graph) attribute.graphs.push_back(graph(message.inside(field, "subgraph")));
      attribute.seen = field.number == 6 ? kGraph : kGraphs;
      break;
    case 7:
      attribute.seen = kFloats;
      return message.floats(field, "floats", attribute.reals, most);
    case 8:
      attribute.seen = kInts;
      return message.integers(field, "ints", attribute.integers, most);
    case 9:
      attribute.seen = kStrings;
      if (attribute.texts.size() >= most) return false;
      attribute.texts.push_back(message.clipped(field, "strings"));
      break;
    case 20:
      attribute.type = message.integer(field, "type");
      break;
    case 21:
      attribute.reference = message.text(field, "ref_attr_name");
      break;
    case 22:
      attribute.tensors.push_back(decode_sparse(wire, message.inside(field, "sparse_tensor")));
      attribute.seen = kTensor;
      break;
    default:
      break;
  }
  return true;
}

}  // namespace

WireAttribute decode_attribute(Wire& wire, Message message, const GraphSink& graph) {
  WireAttribute attribute;
  const auto most = static_cast<size_t>(wire.limits().attribute_values);
  for (Field field; message.next(field);) {
    if (read_field(wire, message, field, graph, most, attribute)) continue;
    wire.fail(
        over_limit(wire.limits(), "attribute-values", {.file = {}, .node = message.describe()})
            .value());
  }
  if (attribute.type == kUnset || attribute.type > kGraphs) attribute.type = attribute.seen;
  return attribute;
}

void keep_attributes(Wire& wire, const Message& owner, std::vector<WireAttribute> attributes,
                     NodeSpec& node) {
  if (wire.failed()) return;
  // In order of names each goes to the end of the node's sorted list: linear, however many.
  std::stable_sort(attributes.begin(), attributes.end(),
                   [](const auto& a, const auto& b) { return a.name < b.name; });
  for (size_t i = 0; i < attributes.size(); ++i) {
    WireAttribute& attribute = attributes[i];
    if (i + 1 < attributes.size() && attribute.name == attributes[i + 1].name) {
      return wire.fail("E249", fmt::format("attribute '{}' is given twice, in {}",
                                           shortened(attribute.name), owner.describe()));
    }
    if (attribute.seen != kUnset && attribute.seen != attribute.type) {
      return wire.fail(
          "E247",
          fmt::format("attribute '{}' is declared with type {} but has a value of type {}, in {}",
                      shortened(attribute.name), attribute.type, attribute.seen, owner.describe()));
    }
    keep(std::move(attribute), node);
  }
}

}  // namespace plimsoll::onnx
