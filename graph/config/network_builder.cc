#include "graph/config/network_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "graph/base/escape.h"
#include "graph/config/parameters.h"
#include "graph/ops/infer.h"

namespace plimsoll::config {
namespace {

// ONNX operator set whose semantics the nodes have: the first with LayerNormalization, Gelu and a
// GroupNormalization with one scale per channel.
constexpr int64_t kOpset = 21;

// The line of a layer of `layers` called `name`, or 0.
int line_of(const JsonValue::List* layers, std::string_view name) {
  if (!layers) return 0;
  for (const JsonValue& layer : *layers) {
    const JsonValue* found = layer.find("name");
    if (found && found->string() && *found->string() == name) return layer.line;
  }
  return 0;
}

// A fault of a shape rule that means "this layer does not fit": all but overflow, limits and
// unknown operators.
bool is_mismatch(const Diagnostic& d) {
  return d.code.starts_with("E24") || d.code.starts_with("E25");
}

}  // namespace

NetworkBuilder::NetworkBuilder(std::string_view file, const JsonValue* blocks,
                               const Environment& root, Binder& binder, Diagnostics& faults,
                               Diagnostics& warnings)
    : file_(file),
      blocks_(blocks),
      root_(root),
      binder_(binder),
      faults_(faults),
      warnings_(warnings),
      decider_(binder.defaults()) {
  graph_.opset = kOpset;
  graph_.producer = "plimsoll model-config";
}

void NetworkBuilder::fail(std::string code, std::string message, const JsonValue& where,
                          std::string help) {
  faults_.push_back({std::move(code), Severity::kError, std::move(message),
                     Place{std::string(file_), where.line, where.column, {}}, std::move(help)});
}

TensorId NetworkBuilder::add_input(std::string name, DType dtype, Shape shape) {
  Tensor tensor;
  tensor.name = std::move(name);
  tensor.kind = TensorKind::kInput;
  tensor.dtype = dtype;
  tensor.shape = std::move(shape);
  const TensorId id = graph_.add_tensor(std::move(tensor));
  graph_.inputs.push_back(id);
  return id;
}

TensorId NetworkBuilder::add_parameter(std::string name, Shape shape, DType dtype) {
  if (!sharing_.with.empty()) return shared_parameter(name, shape);
  Tensor tensor;
  tensor.name = name;
  tensor.kind = TensorKind::kParameter;
  tensor.dtype = dtype;
  tensor.shape = std::move(shape);
  tensor.frozen = frozen_;
  const TensorId id = graph_.add_tensor(std::move(tensor));
  parameters_.emplace(std::move(name), id);
  return id;
}

TensorId NetworkBuilder::shared_parameter(const std::string& name, const Shape& shape) {
  const std::string of = sharing_.with + name.substr(sharing_.layer.size());
  const TensorId found = find_parameter(of);
  if (found != kNoTensor && graph_.tensors[found].shape == shape) return found;
  fail("E341",
       fmt::format("'{}' cannot be shared: there is no '{}' before it of the same shape",
                   shortened(name), shortened(of)),
       *at_);
  return found;
}

TensorId NetworkBuilder::find_parameter(const std::string& name) const {
  const auto found = parameters_.find(name);
  return found == parameters_.end() ? kNoTensor : found->second;
}

// Named as exporters name what they folded, so that nobody takes it for a weight.
TensorId NetworkBuilder::add_fixed(Tensor tensor) {
  tensor.name = fmt::format("constant_{}", constants_++);
  tensor.kind = TensorKind::kParameter;
  tensor.origin = Origin::kGenerated;
  return graph_.add_tensor(std::move(tensor));
}

TensorId NetworkBuilder::add_constant(std::vector<Dim> values) {
  Tensor tensor;
  tensor.dtype = DType::kInt64;
  tensor.shape = Shape{Dim(static_cast<int64_t>(values.size()))};
  tensor.dims = std::move(values);
  tensor.has_dims = true;
  return add_fixed(std::move(tensor));
}

TensorId NetworkBuilder::add_table(Shape shape) {
  Tensor tensor;
  tensor.dtype = DType::kFloat32;
  tensor.shape = std::move(shape);
  return add_fixed(std::move(tensor));
}

TensorId NetworkBuilder::add_small(DType dtype, Shape shape, Contents contents) {
  Tensor tensor;
  tensor.dtype = dtype;
  tensor.shape = std::move(shape);
  if (!is_float(dtype)) {
    tensor.dims.assign(contents.integers.begin(), contents.integers.end());
    tensor.has_dims = true;
  }
  tensor.contents = std::make_shared<const Contents>(std::move(contents));
  return add_fixed(std::move(tensor));
}

const JsonValue* NetworkBuilder::block(std::string_view name) const {
  return blocks_ ? blocks_->find(name) : nullptr;
}

std::vector<std::string> NetworkBuilder::block_names() const {
  std::vector<std::string> names;
  if (!blocks_ || !blocks_->members()) return names;
  for (const JsonMember& member : *blocks_->members()) names.push_back(member.key);
  return names;
}

std::string NetworkBuilder::describe_tensor(TensorId id) const {
  const Tensor& tensor = graph_.tensors[id];
  const bool produced = tensor.producer != kNoNode;
  const std::string& name = produced ? graph_.nodes[tensor.producer].module : tensor.name;
  const auto line = lines_.find(name);
  return fmt::format("'{}'{}{}", shortened(name),
                     line == lines_.end() ? "" : fmt::format(" (line {})", line->second),
                     tensor.shape ? " " + plimsoll::text({tensor.dtype, *tensor.shape}) : "");
}

std::string NetworkBuilder::describe_inputs(const Node& node) const {
  std::string text;
  for (const TensorId id : node.inputs) {
    if (id == kNoTensor || graph_.tensors[id].kind == TensorKind::kParameter) continue;
    text += (text.empty() ? "" : " and ") + describe_tensor(id);
  }
  return text;
}

std::vector<TensorId> NetworkBuilder::add_node(Node node, size_t outputs) {
  std::vector<TensorId> made;
  for (size_t i = 0; i < outputs; ++i) {
    Tensor tensor;
    tensor.name = outputs == 1 ? node.name : fmt::format("{}:{}", node.name, i);
    made.push_back(graph_.add_tensor(std::move(tensor)));
  }
  if (failed()) return made;
  node.outputs = made;
  const std::string module = node.module;
  const NodeId id = graph_.add_node(std::move(node));
  const auto inferred = infer_node(graph_, id, decider_, warnings_, {.least_extent = 1});
  if (inferred) return made;
  for (const Diagnostic& d : inferred.error()) {
    const std::string given = describe_inputs(graph_.nodes[id]);
    fail(is_mismatch(d) ? "E342" : d.code,
         fmt::format("layer '{}' cannot be built: {}{}", shortened(module), d.message,
                     given.empty() ? "" : "; its input is " + given),
         *at_, d.help);
  }
  return made;
}

bool NetworkBuilder::expect_layers(int64_t count, const JsonValue::List& layers,
                                   const JsonValue& where) {
  const auto each = static_cast<int64_t>(std::max<size_t>(layers.size(), 1));
  if (count <= (kMostLayers - layers_) / each) return true;
  fail("E802", fmt::format("more than {} layers: {} times {}", kMostLayers, count, each), where);
  return false;
}

std::vector<TensorId> NetworkBuilder::resolve(const std::string& reference, const Scope& scope,
                                              const JsonValue& where) {
  const size_t colon = reference.find(':');
  const std::string name = reference.substr(0, colon);
  const std::vector<TensorId>* outputs = nullptr;
  if (name == "previous") outputs = &scope.previous;
  for (const Scope* s = &scope; s && !outputs; s = s->outer) {
    const auto found = s->named.find(name);
    if (found != s->named.end()) outputs = &found->second.outputs;
  }
  if (!outputs) {
    for (const Scope* s = &scope; s; s = s->outer) {
      if (const int line = line_of(s->layers, name)) {
        fail("E341",
             fmt::format("refers to '{}', which comes later, at line {}", shortened(name), line),
             where);
        return {};
      }
    }
    std::vector<std::string> known;
    for (const Scope* s = &scope; s; s = s->outer) {
      for (const auto& [known_name, value] : s->named) known.push_back(known_name);
    }
    const std::string near = nearest(name, known);
    fail("E341", fmt::format("refers to '{}', which is no layer or input here", shortened(name)),
         where, near.empty() ? "" : fmt::format("did you mean '{}'?", near));
    return {};
  }
  if (colon == reference.npos) return *outputs;
  size_t index = outputs->size();
  std::from_chars(reference.data() + colon + 1, reference.data() + reference.size(), index);
  if (index < outputs->size()) return {(*outputs)[index]};
  fail("E341",
       fmt::format("'{}' has {} outputs, counted from 0", shortened(reference), outputs->size()),
       where);
  return {};
}

TensorId NetworkBuilder::pop(const std::string& stack, bool first, bool stays) {
  std::vector<TensorId>& pushed = stacks_[stack];
  if (pushed.empty()) return kNoTensor;
  const auto at = first ? pushed.begin() : std::prev(pushed.end());
  const TensorId tensor = *at;
  if (!stays) pushed.erase(at);
  return tensor;
}

bool NetworkBuilder::open_list() {
  if (nested_ >= kMostNested) {
    fail("E803", fmt::format("layers within layers more than {} deep", kMostNested), *at_);
    return false;
  }
  ++nested_;
  return true;
}

bool NetworkBuilder::count_layer(const JsonValue& value) {
  if (++layers_ <= kMostLayers) return true;
  fail("E802", fmt::format("more than {} layers", kMostLayers), value);
  return false;
}

const JsonValue* NetworkBuilder::start_layer(const std::string& path, const JsonValue& value) {
  lines_[path] = value.line;
  return std::exchange(at_, &value);
}

}  // namespace plimsoll::config
