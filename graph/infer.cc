#include "graph/infer.h"

#include <fmt/format.h>

#include "graph/ops/op.h"
#include "graph/ops/rules.h"

namespace plimsoll {

const std::vector<Dim>* InferContext::dims(size_t input) const {
  if (!has(input)) return nullptr;
  const Tensor& t = tensor(input);
  const bool whole = t.has_dims && t.divisors.empty() && !is_float(t.dtype);
  return whole && t.shape && elements(*t.shape) == Dim(static_cast<int64_t>(t.dims.size()))
             ? &t.dims
             : nullptr;
}

std::optional<std::vector<int64_t>> InferContext::integers(size_t input) const {
  const auto* known = dims(input);
  if (!known) return std::nullopt;
  std::vector<int64_t> values;
  values.reserve(known->size());
  for (const Dim& d : *known) {
    const auto constant = d.constant();
    if (!constant) return std::nullopt;
    values.push_back(*constant);
  }
  return values;
}

const std::vector<double>* InferContext::reals(size_t input) const {
  if (!has(input) || !tensor(input).contents || !is_float(tensor(input).dtype)) return nullptr;
  return &tensor(input).contents->reals;
}

void InferContext::set(size_t output, DType dtype, Shape shape) {
  if (output >= outputs() || node().outputs[output] == kNoTensor) return;
  Tensor& t = graph_.tensors[node().outputs[output]];
  t.dtype = dtype;
  t.shape = std::move(shape);
}

void InferContext::set_dims(size_t output, std::vector<Dim> dims, std::vector<Dim> divisors) {
  if (output >= outputs() || node().outputs[output] == kNoTensor) return;
  Tensor& t = graph_.tensors[node().outputs[output]];
  if (!t.shape || !(elements(*t.shape) == Dim(static_cast<int64_t>(dims.size())))) return;
  t.dims = std::move(dims);
  t.divisors = std::move(divisors);
  t.has_dims = true;
}

void InferContext::set_reals(size_t output, std::vector<double> reals) {
  if (output >= outputs() || node().outputs[output] == kNoTensor) return;
  auto contents = std::make_shared<Contents>();
  contents->reals = std::move(reals);
  graph_.tensors[node().outputs[output]].contents = std::move(contents);
}

tl::unexpected<Diagnostics> InferContext::fail(std::string code, std::string message,
                                               std::string help) {
  return error(std::move(code), std::move(message), {.file = {}, .node = describe(graph_, node_)},
               std::move(help));
}

void InferContext::warn(std::string code, std::string message) {
  warnings_.push_back(
      warning(std::move(code), std::move(message), {.file = {}, .node = describe(graph_, node_)}));
}

Result<int64_t> InferContext::required_integer(std::string_view name) {
  if (const auto* value = attributes().get<int64_t>(name)) return *value;
  return fail("E247", fmt::format("attribute '{}' is missing or not a whole number", name));
}

Result<size_t> InferContext::axis(int64_t axis, size_t rank) {
  if (const auto normal = normalize_axis(axis, rank)) return *normal;
  return fail("E248", fmt::format("axis {} is outside a tensor of rank {}", axis, rank));
}

namespace {

// Contents of integer type are Dims from the start.
void follow_constants(Graph& graph, const Node& node) {
  for (const TensorId in : node.inputs) {
    if (in == kNoTensor) continue;
    Tensor& t = graph.tensors[in];
    if (!t.contents || t.has_dims || is_float(t.dtype)) continue;
    t.dims.assign(t.contents->integers.begin(), t.contents->integers.end());
    t.has_dims = true;
  }
}

Result<void> assume_shape(InferContext& context, const std::string& assumed) {
  context.warn("W210", fmt::format("operator assumed to be {}: its output is shaped like its first "
                                   "input",
                                   assumed));
  for (size_t i = 0; i < context.outputs(); ++i) {
    if (context.has(0)) context.set(i, context.dtype(0), context.shape(0));
  }
  return {};
}

Result<void> infer_unknown(InferContext& context, const InferOptions& options) {
  const Node& node = context.node();
  const auto assumed = options.assume.find(node.op);
  if (assumed != options.assume.end()) return assume_shape(context, assumed->second);
  if (ops::works_on_sequences(node.op)) {
    return context.fail("E210", fmt::format("operator '{}' works on sequences, optionals, maps or "
                                            "strings, which are not supported",
                                            node.op));
  }
  return context.fail(
      "E210",
      fmt::format("operator '{}{}{}' is not known", node.domain, node.domain.empty() ? "" : ":",
                  node.op),
      fmt::format("price it as an element-wise operator with --assume {}=ELEMENTWISE, or as "
                  "nothing with --assume {}=FREE",
                  node.op, node.op));
}

}  // namespace

Result<void> infer_node(Graph& graph, NodeId id, Decider& decider, Diagnostics& warnings,
                        const InferOptions& options) {
  InferContext context(graph, id, decider, warnings);
  const Node& node = graph.nodes[id];
  follow_constants(graph, node);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (context.has(i) && !context.tensor(i).shape) {
      return context.fail("E252", fmt::format("the shape of input {} ('{}') is not known", i,
                                              context.tensor(i).name));
    }
  }
  const OpRow* row = find_op(node.domain, node.op);
  if (!row || !row->shape) return infer_unknown(context, options);
  for (size_t i = 0; i < row->inputs; ++i) {
    if (!context.has(i)) return context.fail("E253", fmt::format("input {} is missing", i));
  }
  if (auto checked = ops::check_attribute_types(context); !checked) return checked;
  if (auto shaped = row->shape(context); !shaped) return shaped;
  for (const TensorId out : node.outputs) {
    if (out == kNoTensor || !graph.tensors[out].shape) continue;
    for (const Dim& d : *graph.tensors[out].shape) {
      if (const auto c = d.constant(); d.overflowed() || (c && *c < 0)) {
        return context.fail("E232", fmt::format("output '{}' has an impossible extent {}",
                                                graph.tensors[out].name, d.text()));
      }
    }
    if (elements(*graph.tensors[out].shape).overflowed()) {
      return context.fail("E232",
                          fmt::format("output '{}' {} has more elements than 64 bits count",
                                      graph.tensors[out].name, text(*graph.tensors[out].shape)));
    }
  }
  return {};
}

Result<void> infer(Graph& graph, Decider& decider, Diagnostics& warnings,
                   const InferOptions& options) {
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    if (auto done = infer_node(graph, id, decider, warnings, options); !done) return done;
  }
  return {};
}

}  // namespace plimsoll
