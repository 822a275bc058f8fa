#include "graph/ir/kernel.h"

#include <array>
#include <functional>
#include <set>

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

constexpr std::array<std::string_view, 3> kFormNames = {"flash", "memory_efficient", "library"};

}  // namespace

std::string_view name(AttentionForm form) { return kFormNames[static_cast<size_t>(form)]; }

std::optional<AttentionForm> attention_form_from_name(std::string_view name) {
  for (size_t i = 0; i < kFormNames.size(); ++i) {
    if (kFormNames[i] == name) return static_cast<AttentionForm>(i);
  }
  return std::nullopt;
}

size_t hash_of(const Kernel& kernel) {
  size_t hash = std::hash<std::string>{}(kernel.op);
  const auto mix = [&](int64_t x) { hash = hash * 1099511628211U + static_cast<size_t>(x); };
  for (const Dim* d : {&kernel.flop, &kernel.read, &kernel.written}) {
    mix(d->constant_term());
    for (const auto& term : d->terms()) mix(term.coefficient);
  }
  mix(static_cast<int64_t>(kernel.pass));
  mix(static_cast<int64_t>(kernel.kernel_class));
  return hash;
}

namespace {

using CountAt = std::function<void(int64_t& value, const Dim& count)>;

void bind_problem(RowsProblem<int64_t>& q, const RowsProblem<Dim>& p, const CountAt& at) {
  at(q.rows, p.rows);
  at(q.columns, p.columns);
}

void bind_problem(GemmProblem<int64_t>& q, const GemmProblem<Dim>& p, const CountAt& at) {
  q.a_t = p.a_t;
  q.b_t = p.b_t;
  q.accumulate = p.accumulate;
  at(q.m, p.m);
  at(q.n, p.n);
  at(q.k, p.k);
  at(q.batch, p.batch);
}

// What slides over images.
template <class Bound, class Problem>
void bind_sliding(Bound& q, const Problem& p, const CountAt& at) {
  q.stride = p.stride;
  q.channels_last = p.channels_last;
  at(q.n, p.n);
  at(q.c, p.c);
  for (size_t i = 0; i < 3; ++i) {
    at(q.in[i], p.in[i]);
    at(q.out[i], p.out[i]);
    at(q.pad[i], p.pad[i]);
  }
}

void bind_problem(ConvProblem<int64_t>& q, const ConvProblem<Dim>& p, const CountAt& at) {
  bind_sliding(q, p, at);
  q.dilation = p.dilation;
  at(q.k, p.k);
  at(q.groups, p.groups);
  for (size_t i = 0; i < 3; ++i) at(q.filter[i], p.filter[i]);
}

void bind_problem(PoolProblem<int64_t>& q, const PoolProblem<Dim>& p, const CountAt& at) {
  bind_sliding(q, p, at);
  q.counts_padding = p.counts_padding;
  for (size_t i = 0; i < 3; ++i) at(q.window[i], p.window[i]);
}

void bind_problem(RecurrentProblem<int64_t>& q, const RecurrentProblem<Dim>& p, const CountAt& at) {
  q.cell = p.cell;
  q.layers = p.layers;
  q.directions = p.directions;
  q.skip_input = p.skip_input;
  q.unrolled = p.unrolled;
  at(q.input, p.input);
  at(q.hidden, p.hidden);
  at(q.batch, p.batch);
  at(q.timesteps, p.timesteps);
}

void bind_problem(AttentionProblem<int64_t>& q, const AttentionProblem<Dim>& p, const CountAt& at) {
  q.form = p.form;
  q.causal = p.causal;
  q.masked = p.masked;
  q.dropout = p.dropout;
  at(q.batch, p.batch);
  at(q.heads, p.heads);
  at(q.kv_heads, p.kv_heads);
  at(q.queries, p.queries);
  at(q.keys, p.keys);
  at(q.head_size, p.head_size);
  at(q.value_size, p.value_size);
}

}  // namespace

void take_turns(Kernel& kernel, const std::string& symbol) {
  const Dim turns = Dim::symbol(symbol);
  const auto has_part = [&](const Dim& extent) {
    std::set<std::string> names;
    extent.collect_symbols(names);
    return names.contains(symbol);
  };
  const auto one = [&](Dim& extent) {
    if (has_part(extent)) extent = floor_div(extent, turns);
  };
  if (auto* rows = std::get_if<RowsProblem<Dim>>(&kernel.problem)) {
    one(rows->rows);
    one(rows->columns);
  } else if (auto* product = std::get_if<GemmProblem<Dim>>(&kernel.problem)) {
    product->accumulate = product->accumulate || has_part(product->k);
    for (Dim* extent : {&product->m, &product->n, &product->k, &product->batch}) one(*extent);
  } else if (auto* pool = std::get_if<PoolProblem<Dim>>(&kernel.problem)) {
    one(pool->n);
    one(pool->c);
  } else {
    return;  // no loop's body
  }
  kernel.turns = turns;
}

void bind_into(KernelAt& bound, const Kernel& kernel, const CountAt& at) {
  bound = {.kernel_class = kernel.kernel_class,
           .pass = kernel.pass,
           .dtype = kernel.dtype,
           .tensor_core = kernel.tensor_core,
           .op = kernel.op};
  at(bound.flop, kernel.flop);
  at(bound.read, kernel.read);
  at(bound.written, kernel.written);
  at(bound.turns, kernel.turns);
  std::visit(
      [&]<template <class> class Problem>(const Problem<Dim>& p) {
        bind_problem(bound.problem.emplace<Problem<int64_t>>(), p, at);
      },
      kernel.problem);
}

}  // namespace plimsoll
