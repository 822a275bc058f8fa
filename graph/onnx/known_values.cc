#include "graph/onnx/known_values.h"

namespace plimsoll::onnx {

// Of nodes whose shapes cannot be inferred nothing is known; infer() says why when all are there.
bool KnownValues::infer_new_nodes() {
  if (fault_) return false;
  if (!decider_) {
    auto binding = options_.bind ? options_.bind(graph_) : Result<Binding>(graph_.defaults);
    if (!binding) {
      fault_ = std::move(binding.error());
      return false;
    }
    decider_.emplace(std::move(*binding));
  }
  const InferOptions options{.limits = options_.limits, .assume = options_.assume};
  for (; next_ < graph_.nodes.size(); ++next_) {
    Diagnostics ignored;
    (void)infer_node(graph_, next_, *decider_, ignored, options);
  }
  return true;
}

std::optional<int64_t> KnownValues::value(const Dim& dim) {
  if (const auto constant = dim.constant()) return constant;
  const auto here = dim.evaluate(decider_->hints());
  if (!here || !decider_->equal(dim, *here)) return std::nullopt;
  return *here;
}

std::optional<int64_t> KnownValues::number(TensorId tensor) {
  const auto all = numbers(tensor);
  if (!all || all->size() != 1) return std::nullopt;
  return all->front();
}

std::optional<std::vector<int64_t>> KnownValues::numbers(TensorId tensor) {
  if (tensor == kNoTensor) return std::nullopt;
  const auto contents = graph_.tensors[tensor].contents;
  if (contents && !contents->integers.empty()) return contents->integers;
  if (graph_.tensors[tensor].producer == kNoNode || !infer_new_nodes()) return std::nullopt;
  const Tensor& t = graph_.tensors[tensor];
  if (!t.has_dims || is_float(t.dtype)) return std::nullopt;
  std::vector<int64_t> all;
  for (const Dim& dim : t.dims) {
    const auto one = value(dim);
    if (!one) return std::nullopt;
    all.push_back(*one);
  }
  return all;
}

std::optional<int64_t> KnownValues::extent(TensorId tensor, int64_t axis) {
  if (tensor == kNoTensor || !infer_new_nodes()) return std::nullopt;
  const auto& shape = graph_.tensors[tensor].shape;
  const auto at = shape ? normalize_axis(axis, shape->size()) : std::nullopt;
  return at ? value((*shape)[*at]) : std::nullopt;
}

}  // namespace plimsoll::onnx
