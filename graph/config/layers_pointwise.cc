// Element-wise layers: activations, sums and products, dropout, softmax.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "graph/config/layer.h"

namespace plimsoll::config {
namespace {

constexpr Key kAlphaKeys[] = {{"alpha", KeyKind::kReal, "0.01", "slope below 0"}};
constexpr Key kPreluKeys[] = {
    {"slopes", KeyKind::kExtent, "1", "one for all, or as many as there are channels"}};
constexpr Key kEluKeys[] = {{"alpha", KeyKind::kReal, "1", "limit below 0"}};
constexpr Key kGeluKeys[] = {
    {"approximate", KeyKind::kChoice, "none",
     "the formula; \"pieces\" is that of tanh, an operator each, as GPT-2's code has it; "
     "\"function\" the same with a custom backward pass, as in BLOOM's code",
     1, "none|tanh|pieces|function"}};
constexpr Key kDropoutKeys[] = {{"rate", KeyKind::kRate, "0.5", "share of elements set to 0"}};
constexpr Key kAxisKeys[] = {{"axis", KeyKind::kInteger, "-1", "axis", kAnyInteger}};
constexpr Key kGluKeys[] = {
    {"axis", KeyKind::kInteger, "-1", "axis that is cut into halves", kAnyInteger},
    {"gate", KeyKind::kChoice, "sigmoid",
     "\"sigmoid\": the first half times the sigmoid of the second, one operator; \"silu\": the "
     "first "
     "half's SiLU times the second; \"gelu\": the first half times the second's GELU",
     1, "sigmoid|silu|gelu"}};
constexpr Key kPowerKeys[] = {{"by", KeyKind::kReal, kRequired, "exponent"}};
constexpr Key kInPlaceKeys[] = {
    {"in_place", KeyKind::kFlag, "false", "the result is written over the first input"}};
constexpr Key kOffsetKeys[] = {{"by", KeyKind::kReal, kRequired, "summand"}};
constexpr Key kScaleKeys[] = {{"by", KeyKind::kReal, kRequired, "factor"}};

struct Named {
  std::string_view type;
  const char* op;
};
constexpr Named kUnary[] = {
    {"celu", "Celu"},
    {"exp", "Exp"},
    {"hard_sigmoid", "HardSigmoid"},
    {"hard_swish", "HardSwish"},
    {"mish", "Mish"},
    {"selu", "Selu"},
    {"sigmoid", "Sigmoid"},
    {"softplus", "Softplus"},
    {"softsign", "Softsign"},
    {"sqrt", "Sqrt"},
    {"tanh", "Tanh"},
};
constexpr Named kCombining[] = {{"divide", "Div"}, {"multiply", "Mul"}, {"subtract", "Sub"}};
constexpr Named kAlongAxis[] = {{"log_softmax", "LogSoftmax"}, {"softmax", "Softmax"}};

template <size_t n>
const char* op_of(const Named (&table)[n], std::string_view type) {
  return std::find_if(table, table + n, [&](const Named& named) { return named.type == type; })->op;
}

std::vector<TensorId> unary(Layer& layer) {
  return {layer.node(op_of(kUnary, layer.type().name), {layer.input()})};
}

std::vector<TensorId> combining(Layer& layer) {
  const char* op = op_of(kCombining, layer.type().name);
  TensorId result = layer.input();
  for (size_t i = 1; i < layer.inputs(); ++i) result = layer.node(op, {result, layer.input(i)});
  return {result};
}

TensorId over_first(Layer& layer, std::string_view op, std::vector<TensorId> inputs) {
  Node node;
  node.op = op;
  node.inputs = std::move(inputs);
  node.notes.in_place = layer.flag("in_place") ? 1 : 0;
  return layer.nodes(std::move(node), 1)[0];
}

std::vector<TensorId> relu(Layer& layer) { return {over_first(layer, "Relu", {layer.input()})}; }

std::vector<TensorId> add(Layer& layer) {
  TensorId sum = layer.input();
  for (size_t i = 1; i < layer.inputs(); ++i) sum = over_first(layer, "Add", {sum, layer.input(i)});
  return {sum};
}

std::vector<TensorId> along_axis(Layer& layer) {
  return {layer.node(op_of(kAlongAxis, layer.type().name), {layer.input()},
                     {{"axis", layer.integer("axis")}})};
}

std::vector<TensorId> leaky_relu(Layer& layer) {
  return {layer.node("LeakyRelu", {layer.input()}, {{"alpha", layer.real("alpha")}})};
}

std::vector<TensorId> elu(Layer& layer) {
  return {layer.node("Elu", {layer.input()}, {{"alpha", layer.real("alpha")}})};
}

// 0.5 * x * (1 + tanh(sqrt(2/pi) * (x + 0.044715 * x^3)))
// (transformers/activations.py, NewGELUActivation)
std::vector<TensorId> gelu_in_pieces(Layer& layer) {
  const TensorId x = layer.input();
  const TensorId cube = layer.node("Pow", {x, layer.scalar(3)});
  const TensorId inner = layer.node("Add", {x, layer.node("Mul", {cube, layer.scalar(0.044715)})});
  const TensorId scaled = layer.node("Mul", {inner, layer.scalar(std::sqrt(2 / std::numbers::pi))});
  const TensorId share = layer.node("Add", {layer.node("Tanh", {scaled}), layer.scalar(1)});
  return {layer.node("Mul", {layer.node("Mul", {x, layer.scalar(0.5)}), share})};
}

std::vector<TensorId> gelu(Layer& layer) {
  if (layer.text("approximate") == "pieces") return gelu_in_pieces(layer);
  if (layer.text("approximate") == "function")
    return {layer.composite("BloomGelu", {layer.input()})};
  return {layer.node("Gelu", {layer.input()}, {{"approximate", layer.text("approximate")}})};
}

std::vector<TensorId> gelu_tanh(Layer& layer) {
  return {layer.node("Gelu", {layer.input()}, {{"approximate", std::string("tanh")}})};
}

// x * sigmoid(1.702 * x) (transformers/activations.py, QuickGELUActivation)
std::vector<TensorId> quick_gelu(Layer& layer) {
  const TensorId scaled = layer.node("Mul", {layer.input(), layer.scalar(1.702)});
  return {layer.node("Mul", {layer.input(), layer.node("Sigmoid", {scaled})})};
}

// transformers/activations.py, ReLUSquaredActivation
std::vector<TensorId> relu_squared(Layer& layer) {
  return {layer.node("Pow", {layer.node("Relu", {layer.input()}), layer.scalar(2)})};
}

// transformers/activations.py, XIELUActivation without its CUDA extension. What expm1 keeps and
// takes is what exp does.
std::vector<TensorId> xielu(Layer& layer) {
  const TensorId x = layer.input();
  const TensorId alpha_p = layer.parameter("alpha_p", {1}),
                 alpha_n = layer.parameter("alpha_n", {1});
  const TensorId beta = layer.buffer("beta", {}), eps = layer.buffer("eps", {});
  const auto times = [&](TensorId a, TensorId b) { return layer.node("Mul", {a, b}); };
  const auto sum = [&](TensorId a, TensorId b) { return layer.node("Add", {a, b}); };
  const TensorId of_positive = layer.node("Softplus", {alpha_p});
  const TensorId of_negative = sum(beta, layer.node("Softplus", {alpha_n}));
  const TensorId positive = sum(times(times(of_positive, x), x), times(beta, x));
  const TensorId less = layer.node("Sub", {layer.node("Exp", {layer.node("Min", {x, eps})}), x});
  const TensorId negative = sum(times(less, of_negative), times(beta, x));
  const TensorId above = layer.node("Greater", {x, layer.scalar(0)});
  return {layer.node("Where", {above, positive, negative})};
}

std::vector<TensorId> silu(Layer& layer) { return {layer.composite("Silu", {layer.input()})}; }

std::vector<TensorId> glu(Layer& layer) {
  const int64_t axis = layer.integer("axis");
  const std::string gate = layer.text("gate");
  if (gate == "sigmoid") return {layer.composite("Glu", {layer.input()}, {{"axis", axis}})};
  const Dim half = floor_div(layer.extent_of(layer.input(), axis), 2);
  Node node;
  node.op = "Split";
  node.attributes.set("axis", axis);
  node.inputs = {layer.input(), layer.constant({half, half})};
  const auto halves = layer.nodes(std::move(node), 2);
  if (gate == "silu") return {layer.node("Mul", {layer.composite("Silu", {halves[0]}), halves[1]})};
  return {layer.node("Mul", {halves[0], layer.node("Gelu", {halves[1]})})};
}

std::vector<TensorId> identity(Layer& layer) {
  std::vector<TensorId> all;
  for (size_t i = 0; i < layer.inputs(); ++i) all.push_back(layer.input(i));
  return all;
}

std::vector<TensorId> hard_tanh(Layer& layer) {
  return {layer.node("Clip", {layer.input(), layer.scalar(-1), layer.scalar(1)})};
}

std::vector<TensorId> relu6(Layer& layer) {
  return {layer.node("Clip", {layer.input(), layer.scalar(0), layer.scalar(6)})};
}

std::vector<TensorId> prelu(Layer& layer) {
  const size_t rank = layer.shape_of(layer.input()).size();
  Shape slope(rank < 3 ? 0 : rank - 2, Dim(1));
  slope.insert(slope.begin(), layer.extent("slopes"));
  return {layer.node("PRelu", {layer.input(), layer.parameter("weight", std::move(slope))})};
}

// Nothing at rate 0, as everywhere.
std::vector<TensorId> dropout(Layer& layer) {
  const double rate = layer.real("rate");
  if (rate == 0) return {layer.input()};
  return {layer.node("Dropout", {layer.input(), layer.scalar(rate), layer.truth()})};
}

std::vector<TensorId> scale(Layer& layer) {
  return {layer.node("Mul", {layer.input(), layer.scalar(layer.real("by"))})};
}

std::vector<TensorId> offset(Layer& layer) {
  return {layer.node("Add", {layer.input(), layer.scalar(layer.real("by"))})};
}

std::vector<TensorId> power(Layer& layer) {
  return {layer.node("Pow", {layer.input(), layer.scalar(layer.real("by"))})};
}

constexpr LayerType kPointwiseLayers[] = {
    {"celu", 1, 1, {}, unary, "max(0, x) + min(0, e^x - 1)"},
    {"exp", 1, 1, {}, unary, "e^x"},
    {"hard_sigmoid", 1, 1, {}, unary, "sigmoid in three straight pieces"},
    {"hard_swish", 1, 1, {}, unary, "x * hard_sigmoid(x)"},
    {"mish", 1, 1, {}, unary, "x * tanh(softplus(x))"},
    {"relu", 1, 1, kInPlaceKeys, relu, "max(0, x)"},
    {"relu_squared", 1, 1, {}, relu_squared, "max(0, x) squared"},
    {"selu", 1, 1, {}, unary, "scaled ELU"},
    {"sigmoid", 1, 1, {}, unary, "1/(1 + e^-x)"},
    {"softplus", 1, 1, {}, unary, "log(1 + e^x)"},
    {"sqrt", 1, 1, {}, unary, "square root"},
    {"softsign", 1, 1, {}, unary, "x/(1 + |x|)"},
    {"tanh", 1, 1, {}, unary, "hyperbolic tangent"},
    {"leaky_relu", 1, 1, kAlphaKeys, leaky_relu, "max(alpha*x, x)"},
    {"elu", 1, 1, kEluKeys, elu, "alpha*(e^x - 1) below 0"},
    {"gelu", 1, 1, kGeluKeys, gelu, "x * Phi(x)"},
    {"gelu_tanh", 1, 1, {}, gelu_tanh, "gelu by a tanh, one operator"},
    {"gelu_new", 1, 1, {}, gelu_in_pieces, "gelu by a tanh, an operator each"},
    {"quick_gelu", 1, 1, {}, quick_gelu, "gelu by a sigmoid, an operator each"},
    {"glu", 1, 1, kGluKeys, glu, "one half of its input gates the other"},
    {"xielu", 1, 1, {}, xielu, "x squared above 0, e^x below, each with a learned factor"},
    {"hard_tanh", 1, 1, {}, hard_tanh, "min(1, max(-1, x))"},
    {"silu", 1, 1, {}, silu, "x * sigmoid(x), also called swish"},
    {"relu6", 1, 1, {}, relu6, "min(6, max(0, x))"},
    {"prelu", 1, 1, kPreluKeys, prelu, "leaky ReLU with learned slopes"},
    {"identity", 1, 16, {}, identity, "its inputs, an output each"},
    {"swish", 1, 1, {}, silu, "silu by its other name"},
    {"dropout", 1, 1, kDropoutKeys, dropout, "sets a share of the elements to 0 while training"},
    {"offset", 1, 1, kOffsetKeys, offset, "x and a constant"},
    {"power", 1, 1, kPowerKeys, power, "x to a constant power"},
    {"scale", 1, 1, kScaleKeys, scale, "x times a constant"},
    {"add", 2, 64, kInPlaceKeys, add, "sum of its inputs"},
    {"subtract", 2, 2, {}, combining, "first input less the second"},
    {"multiply", 2, 64, {}, combining, "product of its inputs"},
    {"divide", 2, 2, {}, combining, "first input over the second"},
    {"softmax", 1, 1, kAxisKeys, along_axis, "e^x over its sum along an axis"},
    {"log_softmax", 1, 1, kAxisKeys, along_axis, "logarithm of softmax"},
};

}  // namespace

std::span<const LayerType> pointwise_layers() { return kPointwiseLayers; }

}  // namespace plimsoll::config
