#include "graph/kernel.h"

#include <array>

namespace plimsoll {

std::string_view name(KernelClass kernel_class) {
  static constexpr std::array<std::string_view, kKernelClassCount> kNames = {
      "gemm",   "conv",    "pointwise", "reduce",    "norm",      "softmax", "pool",
      "gather", "scatter", "copy",      "recurrent", "attention", "update",  "collective"};
  return kNames[static_cast<size_t>(kernel_class)];
}

std::string_view name(Pass pass) {
  static constexpr std::array<std::string_view, 4> kNames = {"forward", "backward_data",
                                                             "backward_weights", "backward"};
  return kNames[static_cast<size_t>(pass)];
}

namespace {

// Evaluates Dims one after the other and remembers the first failure.
struct Evaluator {
  DimEvaluator evaluate;
  std::optional<Diagnostics> failure;

  int64_t operator()(const Dim& d) {
    if (const auto constant = d.constant()) return *constant;
    auto value = evaluate(d);
    if (value) return *value;
    if (!failure) failure = value.error();
    return 0;
  }
};

RowsProblem<int64_t> bind_problem(const RowsProblem<Dim>& p, Evaluator& at) {
  return {.rows = at(p.rows), .columns = at(p.columns)};
}

GemmProblem<int64_t> bind_problem(const GemmProblem<Dim>& p, Evaluator& at) {
  return {.m = at(p.m),
          .n = at(p.n),
          .k = at(p.k),
          .batch = at(p.batch),
          .a_t = p.a_t,
          .b_t = p.b_t,
          .accumulate = p.accumulate};
}

ConvProblem<int64_t> bind_problem(const ConvProblem<Dim>& p, Evaluator& at) {
  ConvProblem<int64_t> q{.n = at(p.n),
                         .c = at(p.c),
                         .k = at(p.k),
                         .groups = at(p.groups),
                         .stride = p.stride,
                         .dilation = p.dilation,
                         .channels_last = p.channels_last};
  for (size_t i = 0; i < 3; ++i) {
    q.in[i] = at(p.in[i]);
    q.out[i] = at(p.out[i]);
    q.filter[i] = at(p.filter[i]);
    q.pad[i] = at(p.pad[i]);
  }
  return q;
}

RecurrentProblem<int64_t> bind_problem(const RecurrentProblem<Dim>& p, Evaluator& at) {
  return {.cell = p.cell,
          .input = at(p.input),
          .hidden = at(p.hidden),
          .batch = at(p.batch),
          .timesteps = at(p.timesteps),
          .layers = p.layers,
          .directions = p.directions,
          .skip_input = p.skip_input,
          .unrolled = p.unrolled};
}

AttentionProblem<int64_t> bind_problem(const AttentionProblem<Dim>& p, Evaluator& at) {
  return {.form = p.form,
          .batch = at(p.batch),
          .heads = at(p.heads),
          .kv_heads = at(p.kv_heads),
          .queries = at(p.queries),
          .keys = at(p.keys),
          .head_size = at(p.head_size),
          .value_size = at(p.value_size),
          .causal = p.causal,
          .masked = p.masked,
          .dropout = p.dropout};
}

}  // namespace

Result<KernelAt> bind(const Kernel& kernel, const Binding& binding) {
  Evaluator at{DimEvaluator(binding), {}};
  KernelAt bound{.kernel_class = kernel.kernel_class,
                 .pass = kernel.pass,
                 .dtype = kernel.dtype,
                 .tensor_core = kernel.tensor_core,
                 .op = kernel.op,
                 .flop = at(kernel.flop),
                 .read = at(kernel.read),
                 .written = at(kernel.written)};
  bound.problem = std::visit(
      [&](const auto& p) -> ProblemOf<int64_t> { return bind_problem(p, at); }, kernel.problem);
  if (at.failure) return tl::make_unexpected(*at.failure);
  return bound;
}

}  // namespace plimsoll
