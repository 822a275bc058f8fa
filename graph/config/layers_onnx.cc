// {"type": "onnx", "op": "Erf"}: any operator that a row knows, with its own attributes.
#include <fmt/format.h>

#include "graph/base/escape.h"
#include "graph/config/layer.h"
#include "graph/ops/op_row.h"

namespace plimsoll::config {
namespace {

constexpr Key kOnnxKeys[] = {
    {"op", KeyKind::kName, kRequired, "the operator's ONNX name"},
    {"domain", KeyKind::kName, kOptional, "its domain; if absent, ONNX's"},
    {"attributes", KeyKind::kObject, kOptional, "numbers, strings and lists of one of them"},
    {"parameters", KeyKind::kList, kOptional,
     "trained tensors after the inputs: {\"name\": \"weight\", \"shape\": [8, 4]}"},
    {"constants", KeyKind::kList, kOptional, "lists of whole numbers after those"},
    {"outputs", KeyKind::kInteger, "1", "number of outputs"},
};

std::optional<AttributeValue> list_value(const JsonValue::List& list) {
  std::vector<int64_t> integers;
  std::vector<double> reals;
  std::vector<std::string> strings;
  for (const JsonValue& element : list) {
    if (const auto whole = element.integer()) integers.push_back(*whole);
    if (const auto real = element.real()) reals.push_back(*real);
    if (const std::string* text = element.string()) strings.push_back(*text);
  }
  if (integers.size() == list.size()) return integers;
  if (reals.size() == list.size()) return reals;
  if (strings.size() == list.size()) return strings;
  return std::nullopt;
}

std::optional<AttributeValue> attribute_value(const JsonValue& value) {
  if (const auto whole = value.integer()) return *whole;
  if (const auto real = value.real()) return *real;
  if (const std::string* text = value.string()) return *text;
  return value.list() ? list_value(*value.list()) : std::nullopt;
}

void check_name(Layer& layer, const OpRow& row, const JsonMember& member) {
  if (has_attribute(row, member.key)) return;
  layer.builder().fail(
      "E304", fmt::format("{} has no attribute \"{}\"", row.name, shortened(member.key)),
      member.value,
      row.attributes.empty() ? "it has none" : fmt::format("it has {}", row.attributes));
}

void add_attributes(Layer& layer, Node& node) {
  const auto object = layer.object().optional_object("attributes");
  if (!object || !object->value().members()) return;
  const OpRow* row = find_op(node.domain, node.op);
  for (const JsonMember& member : *object->value().members()) {
    if (row) check_name(layer, *row, member);
    if (auto value = attribute_value(member.value)) {
      node.attributes.set(member.key, std::move(*value));
    } else {
      layer.fail_at("attributes", "E311",
                    fmt::format("attribute \"{}\" must be a number, a string or a list of one kind",
                                shortened(member.key)));
    }
  }
}

void add_parameters(Layer& layer, Node& node) {
  for (const JsonValue& value : layer.object().optional_list("parameters")) {
    JsonObject object(value, layer.builder().file(), layer.object().faults());
    const std::string name = object.required_string("name");
    const JsonValue* shape = object.required("shape", "[8, 4]");
    object.finish();
    if (layer.failed() || !shape) return;
    node.inputs.push_back(layer.parameter(name, layer.shape_at(*shape)));
  }
}

void add_constants(Layer& layer, Node& node) {
  for (const JsonValue& value : layer.object().optional_list("constants")) {
    node.inputs.push_back(layer.constant(layer.shape_at(value)));
  }
}

std::vector<TensorId> onnx(Layer& layer) {
  Node node;
  node.op = layer.text("op");
  node.domain = layer.text("domain");
  for (size_t i = 0; i < layer.inputs(); ++i) node.inputs.push_back(layer.input(i));
  add_attributes(layer, node);
  add_parameters(layer, node);
  add_constants(layer, node);
  const int64_t outputs = layer.integer("outputs");
  if (outputs > 256) layer.fail_at("outputs", "E312", "\"outputs\" must be at most 256");
  if (layer.failed()) return {};
  return layer.nodes(std::move(node), static_cast<size_t>(outputs));
}

constexpr LayerType kOnnxLayers[] = {
    {"onnx", 0, 256, kOnnxKeys, onnx, "an ONNX operator"},
};

}  // namespace

std::span<const LayerType> onnx_layers() { return kOnnxLayers; }

}  // namespace plimsoll::config
