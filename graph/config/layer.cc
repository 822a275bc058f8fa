#include "graph/config/layer.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "graph/base/escape.h"
#include "graph/base/text.h"
#include "graph/config/extent.h"

namespace plimsoll::config {
namespace {

constexpr size_t kMostRank = 64;
constexpr int64_t kMostInteger = std::numeric_limits<int32_t>::max();
constexpr Key kCondition{"", KeyKind::kExtent, kRequired, "", kAnyInteger};

}  // namespace

Layer::Layer(NetworkBuilder& builder, const LayerType& type, JsonObject& object,
             const Environment& environment)
    : builder_(builder), type_(type), object_(object), environment_(environment) {
  for (const Key& key : type.keys) {
    if (key.otherwise == kRequired) {
      object.required(key.name, key.kind == KeyKind::kLayers ? "[...]" : "1");
    } else {
      object.optional(key.name);
    }
  }
}

const Key& Layer::key(std::string_view name) const {
  const auto found = std::find_if(type_.keys.begin(), type_.keys.end(),
                                  [&](const Key& key) { return key.name == name; });
  static constexpr Key kNone{"", KeyKind::kName, kOptional, ""};
  return found == type_.keys.end() ? kNone : *found;
}

bool Layer::has(std::string_view name) const { return object_.has(name); }
const JsonValue* Layer::json(std::string_view name) const { return object_.value().find(name); }

void Layer::fail(std::string code, std::string message, std::string help) {
  builder_.fail(std::move(code), fmt::format("layer '{}': {}", shortened(path), message),
                object_.value(), std::move(help));
}

void Layer::fail_at(std::string_view name, std::string code, std::string message,
                    std::string help) {
  const JsonValue* value = json(name);
  builder_.fail(std::move(code), std::move(message), value ? *value : object_.value(),
                std::move(help));
}

Dim Layer::read(const JsonValue& value, const Key& key) {
  const bool bound = key.kind == KeyKind::kInteger || key.kind == KeyKind::kIntegers;
  const int64_t high = bound ? kMostInteger : kMostExtent;
  return read_extent(value, key.name, {.low = std::max(key.low, -high), .high = high}, environment_,
                     builder_.binder(), object_);
}

int64_t Layer::number(const Dim& value, std::string_view name) {
  const auto number = builder_.binder().integer(value);
  if (number) return *number;
  for (const Diagnostic& d : number.error())
    fail_at(name, d.code, fmt::format("\"{}\": {}", name, d.message), d.help);
  return 1;
}

Dim Layer::extent(std::string_view name) {
  const Key& k = key(name);
  const JsonValue* value = json(name);
  if (value) return read(*value, k);
  const auto otherwise = evaluate(k.otherwise, environment_, builder_.binder());
  return otherwise ? *otherwise : Dim(1);
}

int64_t Layer::integer(std::string_view name) { return number(extent(name), name); }

std::vector<int64_t> Layer::number_list(const Key& k) {
  const JsonValue* value = json(k.name);
  if (!value || !value->list()) return {integer(k.name)};
  std::vector<int64_t> numbers;
  for (const JsonValue& element : *value->list()) {
    numbers.push_back(number(read(element, k), k.name));
  }
  return numbers;
}

std::vector<int64_t> Layer::integers(std::string_view name) { return number_list(key(name)); }

std::vector<int64_t> Layer::integers(std::string_view name, size_t axes) {
  std::vector<int64_t> numbers = number_list(key(name));
  if (numbers.size() == 1) numbers.resize(axes, numbers.front());
  if (numbers.size() != axes) {
    fail_at(name, "E311",
            fmt::format("\"{}\" must be a number or a list of {}, found {} of them", name, axes,
                        numbers.size()));
    numbers.resize(axes, 1);
  }
  return numbers;
}

Shape Layer::read_shape(const JsonValue& value, const Key& k) {
  if (!value.list()) {
    object_.fail(
        "E311",
        fmt::format("\"{}\" must be a list of extents, found {}", k.name, value.description()),
        value);
    return {};
  }
  if (value.list()->size() > kMostRank) {
    object_.fail("E804", fmt::format("\"{}\" has more than {} extents", k.name, kMostRank), value);
    return {};
  }
  Shape shape;
  for (const JsonValue& element : *value.list()) {
    shape.push_back(read(element, k));
  }
  return shape;
}

Shape Layer::shape(std::string_view name) {
  const JsonValue* value = json(name);
  return value ? read_shape(*value, key(name)) : Shape();
}

Shape Layer::shape_at(const JsonValue& value) {
  static constexpr Key kAny{"shape", KeyKind::kShape, kRequired, "", kAnyInteger};
  return read_shape(value, kAny);
}

double Layer::real(std::string_view name) {
  const JsonValue* value = json(name);
  const Key& k = key(name);
  if (!value) {
    double result = 0;
    std::from_chars(k.otherwise.data(), k.otherwise.data() + k.otherwise.size(), result);
    return result;
  }
  const Value* named = value->string() ? environment_.find(*value->string()) : nullptr;
  std::optional<double> real = value->real();
  if (named && std::holds_alternative<double>(*named)) real = std::get<double>(*named);
  if (named && std::holds_alternative<Dim>(*named))
    real = static_cast<double>(number(std::get<Dim>(*named), name));
  if (!real) {
    fail_at(name, "E311",
            fmt::format("\"{}\" must be a number or the name of a parameter, found {}", name,
                        value->description()));
    return 0;
  }
  if (k.kind == KeyKind::kRate && (*real < 0 || *real >= 1)) {
    fail_at(name, "E312", fmt::format("\"{}\" must be from 0 to below 1, found {}", name, *real));
  }
  return *real;
}

bool Layer::flag(std::string_view name) {
  const JsonValue* value = json(name);
  if (!value) return key(name).otherwise == "true";
  if (const auto flag = value->boolean()) return *flag;
  if (value->string()) return number(read(*value, kCondition), name) != 0;
  fail_at(name, "E311",
          fmt::format("\"{}\" must be true or false, or an expression that is 0 or not, found {}",
                      name, value->description()));
  return false;
}

std::string Layer::text(std::string_view name) {
  const Key& k = key(name);
  if (!has(name)) return std::string(k.otherwise);
  if (k.kind == KeyKind::kChoice) {
    const auto choices = split(k.choices, '|');
    return object_.optional_choice(name, {choices.begin(), choices.end()})
        .value_or(std::string(k.otherwise));
  }
  return object_.optional_string(name).value_or("");
}

Shape Layer::shape_of(TensorId tensor) const {
  const auto& tensors = builder_.graph().tensors;
  if (tensor >= tensors.size() || !tensors[tensor].shape) return {};
  return *tensors[tensor].shape;
}

Dim Layer::extent_of(TensorId tensor, int64_t axis) {
  const Shape shape = shape_of(tensor);
  if (const auto at = normalize_axis(axis, shape.size())) return shape[*at];
  if (!failed()) {
    fail("E342",
         fmt::format("needs axis {} of its input, which is {}", axis, plimsoll::text(shape)));
  }
  return 1;
}

TensorId Layer::parameter(std::string_view name, Shape shape, DType dtype) {
  return builder_.add_parameter(path + "." + std::string(name), std::move(shape), dtype);
}

TensorId Layer::buffer(std::string_view name, Shape shape, DType dtype) {
  const TensorId made = parameter(name, std::move(shape), dtype);
  builder_.graph().tensors[made].buffer = true;
  return made;
}

TensorId Layer::frozen_parameter(std::string_view name, Shape shape) {
  const TensorId made = parameter(name, std::move(shape));
  builder_.graph().tensors[made].frozen = true;
  return made;
}

TensorId Layer::shared_weight(const std::string& layer) {
  const TensorId found = builder_.find_parameter(layer + ".weight");
  if (found == kNoTensor) {
    fail_at(
        "weight", "E341",
        fmt::format("no layer before this one has a weight and the path '{}'", shortened(layer)));
  }
  return found;
}

TensorId Layer::constant(std::vector<Dim> values) {
  return builder_.add_constant(std::move(values));
}

TensorId Layer::table(Shape shape) { return builder_.add_table(std::move(shape)); }

TensorId Layer::constant_scalar(int64_t value) {
  return builder_.add_small(DType::kInt64, {}, {.integers = {value}, .reals = {}});
}

TensorId Layer::scalar(double value) {
  return builder_.add_small(DType::kFloat32, {}, {.integers = {}, .reals = {value}});
}

TensorId Layer::reals(std::vector<double> values) {
  Shape shape{static_cast<int64_t>(values.size())};
  return builder_.add_small(DType::kFloat32, std::move(shape),
                            {.integers = {}, .reals = std::move(values)});
}

TensorId Layer::truth() {
  return builder_.add_small(DType::kBool, {}, {.integers = {1}, .reals = {}});
}

void Layer::expect_extent(std::string_view name, const Dim& found) {
  if (!has(name) || failed()) return;
  const Dim wanted = extent(name);
  if (wanted == found) return;
  const Binding& defaults = builder_.binder().defaults();
  const auto a = wanted.evaluate(defaults);
  const auto b = found.evaluate(defaults);
  if (a && b && *a == *b) return;
  fail_at(
      name, "E342",
      fmt::format("layer '{}' (line {}) has \"{}\": {}, but its input is {}", path,
                  object_.value().line, name, wanted.text(), builder_.describe_tensor(input())));
}

std::vector<TensorId> Layer::nodes(Node node, size_t outputs) {
  node.name = path + "/" + node.op;
  node.module = path;
  return builder_.add_node(std::move(node), outputs);
}

TensorId Layer::node(std::string_view op, std::vector<TensorId> inputs, AttributeList attributes) {
  Node node;
  node.op = op;
  for (const Attribute& attribute : attributes)
    node.attributes.set(attribute.name, attribute.value);
  node.inputs = std::move(inputs);
  return nodes(std::move(node), 1).front();
}

TensorId Layer::cast(TensorId x, Cast way) {
  Node node;
  node.op = "Cast";
  node.attributes.set("to", int64_t{1});  // ONNX's FLOAT
  node.notes.widens = way == Cast::kWidens;
  node.notes.narrows = way == Cast::kNarrows;
  node.inputs = {x};
  return nodes(std::move(node), 1).front();
}

TensorId Layer::composite(std::string_view op, std::vector<TensorId> inputs,
                          AttributeList attributes) {
  Node node;
  node.op = op;
  node.domain = "plimsoll";
  for (const Attribute& attribute : attributes)
    node.attributes.set(attribute.name, attribute.value);
  node.inputs = std::move(inputs);
  return nodes(std::move(node), 1).front();
}

}  // namespace plimsoll::config
