#include "graph/ops/infer.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/base/checked.h"
#include "graph/base/escape.h"
#include "graph/base/setting.h"
#include "graph/ops/op_row.h"
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

void InferContext::set_plain(std::string_view name, const std::vector<size_t>& axes) {
  graph_.nodes[node_].attributes.set(std::string(name),
                                     std::vector<int64_t>(axes.begin(), axes.end()));
}

namespace {

// Contents that nobody can know, as the user says them.
Result<void> take_said(Tensor& t, const std::vector<int64_t>& said, Decider& decider) {
  const auto refused = [&](const std::string& why) {
    return error("E112", fmt::format("{}: {}", setting_entry("contents", shortened(t.name)), why));
  };
  if (is_float(t.dtype))
    return refused(
        "only tensors of whole numbers can be given, because only these determine shapes");
  std::vector<Dim> dims(said.begin(), said.end());
  if (t.has_dims && t.dims == dims) return {};
  if (t.has_dims || t.contents) return refused("its values are known");
  if (!t.shape) return {};
  const Dim size = elements(*t.shape);
  if (!decider.equal(size, Dim(static_cast<int64_t>(said.size())))) {
    return refused(fmt::format("found {} number{}, and the tensor is {}", said.size(),
                               said.size() == 1 ? "" : "s", text(*t.shape)));
  }
  t.dims = std::move(dims);
  t.divisors.clear();
  t.has_dims = true;
  return {};
}

// Contents of integer type are Dims from the start; so are those that the user says.
Result<void> follow_constants(Graph& graph, const Node& node, Decider& decider,
                              const InferOptions& options) {
  for (const TensorId in : node.inputs) {
    if (in == kNoTensor) continue;
    Tensor& t = graph.tensors[in];
    if (const auto said = options.contents.find(t.name); said != options.contents.end()) {
      if (auto taken = take_said(t, said->second, decider); !taken) return taken;
    }
    if (!t.contents || t.has_dims || is_float(t.dtype)) continue;
    t.dims.assign(t.contents->integers.begin(), t.contents->integers.end());
    t.has_dims = true;
  }
  return {};
}

Result<void> assume_shape(InferContext& context, const std::string& assumed) {
  context.warn("W210", fmt::format("operator assumed to be {}: its output is shaped like its first "
                                   "input",
                                   assumed));
  context.notes().free = assumed == "FREE";
  for (size_t i = 0; i < context.outputs(); ++i) {
    if (context.has(0)) context.set(i, context.dtype(0), context.shape(0));
  }
  return {};
}

// ONNX Runtime's operators of 8 bits (ContribOperators.md), which take scales and zero points.
bool is_of_quantised(const Node& node) {
  const std::string_view op = node.op;
  const bool named = op.starts_with("DynamicQuantize") || op.starts_with("QLinear") ||
                     op.starts_with("QAttention") || op.starts_with("QEmbed") ||
                     op.starts_with("QMoE") || op.starts_with("QGemm") ||
                     op.starts_with("MatMulNBits");
  return node.domain == "com.microsoft" && named;
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
  if (is_of_quantised(node)) {
    return context.fail(
        "E210", fmt::format("'{}' is of a network that was quantised for inference", node.op),
        "export the network before it is quantised: its layers are then those that a GPU runs");
  }
  return context.fail(
      "E210",
      fmt::format("operator '{}{}{}' is not known", node.domain, node.domain.empty() ? "" : ":",
                  node.op),
      fmt::format("count it as an element-wise operator with {}, or as nothing with {}",
                  setting_entry("assume", node.op, "ELEMENTWISE"),
                  setting_entry("assume", node.op, "FREE")));
}

struct ExtentFault {
  std::string code, message;
};

// What is wrong with a tensor's extents at the decider's hints, where they are all known. That an
// extent is no less than it must be becomes a guard where algebra cannot tell.
std::optional<ExtentFault> fault_of(const Tensor& t, Decider& decider,
                                    const InferOptions& options) {
  if (!t.shape) return std::nullopt;
  const auto spelled = [](const Dim& d, int64_t value) {
    return d.is_constant() ? fmt::format("{}", value) : fmt::format("{}, of {}", value, d.text());
  };
  DimEvaluator at(decider.hints());
  int64_t elements = 1;
  for (const Dim& d : *t.shape) {
    const auto low = lower_bound(d);
    if (!low || *low < options.least_extent) decider.at_most(options.least_extent, d);
    const auto extent = at(d);
    if (!extent && extent.error().front().code == "E131") continue;
    if (!extent || *extent > options.limits.dim) {
      return ExtentFault{"E232", fmt::format("has an extent beyond {}: {}", options.limits.dim,
                                             extent ? spelled(d, *extent) : d.text())};
    }
    if (*extent < options.least_extent) {
      return ExtentFault{"E231", fmt::format("has an impossible extent: {}", spelled(d, *extent))};
    }
    const auto product = checked_multiply(elements, *extent);
    if (!product || *product > options.limits.elements) {
      return ExtentFault{"E232", fmt::format("{} has more than {} elements", text(*t.shape),
                                             options.limits.elements)};
    }
    elements = *product;
  }
  return std::nullopt;
}

}  // namespace

Result<void> infer_node(Graph& graph, NodeId id, Decider& decider, Diagnostics& warnings,
                        const InferOptions& options) {
  InferContext context(graph, id, decider, warnings);
  const Node& node = graph.nodes[id];
  if (auto followed = follow_constants(graph, node, decider, options); !followed) return followed;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (context.has(i) && !context.tensor(i).shape) {
      return context.fail("E252", fmt::format("the shape of input {} ('{}') is not known", i,
                                              context.tensor(i).name));
    }
  }
  const OpRow* row = find_op(node.domain, node.op);
  if (!row || !row->shape) return infer_unknown(context, options);
  const size_t wanted =
      row->inputs == kEveryInput ? std::max<size_t>(1, node.inputs.size()) : row->inputs;
  for (size_t i = 0; i < wanted; ++i) {
    if (!context.has(i)) return context.fail("E253", fmt::format("input {} is missing", i));
  }
  if (auto checked = ops::check_attribute_types(context); !checked) return checked;
  if (auto shaped = row->shape(context); !shaped) return shaped;
  for (const TensorId out : node.outputs) {
    if (out == kNoTensor) continue;
    if (auto fault = fault_of(graph.tensors[out], decider, options)) {
      return context.fail(std::move(fault->code),
                          fmt::format("output '{}' {}", graph.tensors[out].name, fault->message));
    }
  }
  return {};
}

namespace {

// Which guessed branch each tensor comes from, if any: the last one on the way.
class Guessed {
 public:
  explicit Guessed(const Graph& graph) : graph_(graph), behind_(graph.tensors.size(), 0) {
    for (size_t i = 0; i < graph.guesses.size(); ++i) {
      const Guess& guess = graph.guesses[i];
      const auto mark = static_cast<uint32_t>(i + 1);
      std::fill(behind_.begin() + guess.first, behind_.begin() + guess.end, mark);
      for (const TensorId output : guess.outputs) {
        if (output != kNoTensor) behind_[output] = mark;
      }
    }
  }

  // The guess that a node follows from, or null; to be asked in the nodes' order.
  const Guess* behind(const Node& node) {
    uint32_t mark = 0;
    for (const TensorId output : node.outputs) {
      if (output != kNoTensor && behind_[output] != 0) mark = behind_[output];
    }
    for (size_t i = 0; i < node.inputs.size() && mark == 0; ++i) {
      if (node.inputs[i] != kNoTensor) mark = behind_[node.inputs[i]];
    }
    for (const TensorId output : node.outputs) {
      if (output != kNoTensor) behind_[output] = mark;
    }
    return mark == 0 ? nullptr : &graph_.guesses[mark - 1];
  }

 private:
  const Graph& graph_;
  std::vector<uint32_t> behind_;  // 1 + the guess, by tensor
};

// E112 for contents of a tensor that is not there, or that nothing reads.
Result<void> check_said(const Graph& graph, const std::vector<bool>& read,
                        const InferOptions& options) {
  for (const auto& said : options.contents) {
    const auto at = std::ranges::find(graph.tensors, said.first, &Tensor::name);
    if (at != graph.tensors.end() && read[static_cast<size_t>(at - graph.tensors.begin())])
      continue;
    if (at != graph.tensors.end()) {
      return error("E112", setting_entry("contents", shortened(said.first)) + ": no node reads it");
    }
    std::vector<std::string> names;
    for (const Tensor& t : graph.tensors) names.push_back(t.name);
    const std::string near = nearest(said.first, names);
    return error(
        "E112",
        fmt::format("{}: no tensor is called '{}'", setting("contents"), shortened(said.first)), {},
        near.empty() ? "" : fmt::format("did you mean {}?", shortened(near)));
  }
  return {};
}

}  // namespace

Result<void> infer(Graph& graph, Decider& decider, Diagnostics& warnings,
                   const InferOptions& options) {
  // What no node reads may be empty: targets of a head that a parameter switches off.
  std::vector<bool> read(graph.tensors.size(), false);
  for (const Node& node : graph.nodes) {
    for (const TensorId in : node.inputs) {
      if (in != kNoTensor) read[in] = true;
    }
  }
  InferOptions unread = options;
  unread.least_extent = 0;
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    const Tensor& t = graph.tensors[id];
    if (t.kind == TensorKind::kValue) continue;
    if (auto fault = fault_of(t, decider, read[id] ? options : unread)) {
      const char* kind = t.kind == TensorKind::kInput ? "input" : "parameter";
      return error(std::move(fault->code),
                   fmt::format("{} '{}' {}", kind, shortened(t.name), fault->message));
    }
  }
  if (auto named = check_said(graph, read, options); !named) return named;
  std::optional<Guessed> guessed;
  if (!graph.guesses.empty()) guessed.emplace(graph);
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Guess* guess = guessed ? guessed->behind(graph.nodes[id]) : nullptr;
    const size_t told = warnings.size();
    auto done = infer_node(graph, id, decider, warnings, options);
    if (guess) add_guess(warnings, told, *guess);
    if (guess && !done) add_guess(done.error(), 0, *guess);
    if (!done) return done;
  }
  return {};
}

}  // namespace plimsoll
