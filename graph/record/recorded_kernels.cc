#include "graph/record/recorded_kernels.h"

#include <algorithm>
#include <utility>

namespace plimsoll::recorded {
namespace {

bool tensor_core(DType dtype, bool tf32) {
  return dtype == DType::kFloat32 ? tf32 : is_float(dtype) && bits(dtype) <= 16;
}

// Of a call's facts, at a place.
Dim fact(const RecordedCall& call, std::string_view name, size_t at, int64_t otherwise) {
  const auto found = call.facts.find(name);
  if (found == call.facts.end() || found->second.empty()) return otherwise;
  return found->second[std::min(at, found->second.size() - 1)];
}

int64_t number(const RecordedCall& call, std::string_view name, size_t at, int64_t otherwise) {
  return fact(call, name, at, otherwise).constant().value_or(otherwise);
}

bool is(const RecordedCall& call, std::string_view name) { return number(call, name, 0, 0) != 0; }

}  // namespace

Kernels elementwise(const RecordedCall& call, const Priced& p) {
  Dim worked;
  for (const RecordedTensor* t : call.writes) worked += count(*t);
  return {in_rows(kernel(call, p, worked), 1, worked)};
}

// PyTorch turns one axis after the other (roll_common in
// aten/src/ATen/native/TensorTransformations.h).
Kernels rolled(const RecordedCall& call, const Priced& p) {
  const auto axes = call.facts.find("dims");
  const size_t turns = axes == call.facts.end() ? 1 : std::max<size_t>(1, axes->second.size());
  return Kernels(turns, elementwise(call, p).front());
}

Kernels product(const RecordedCall& call, const Priced& p) {
  if (call.reads.size() < 2) return elementwise(call, p);
  const RecordedTensor& a = *call.reads[call.reads.size() - 2];
  const RecordedTensor& b = *call.reads.back();
  if (rank(a) < 2 || rank(b) < 1) return elementwise(call, p);
  const Shape& sa = a.type.shape;
  const Shape& sb = b.type.shape;
  GemmProblem<Dim> problem{.m = sa[rank(a) - 2],
                           .n = rank(b) < 2 ? Dim(1) : sb.back(),
                           .k = sa.back(),
                           .batch = rank(a) == 3 ? sa[0] : Dim(1),
                           .a_t = a.order == MemoryOrder::kTransposed,
                           .b_t = b.order == MemoryOrder::kTransposed,
                           .accumulate = call.reads.size() > 2};
  Kernel k{.kernel_class = KernelClass::kGemm,
           .pass = p.pass,
           .dtype = a.type.dtype,
           .tensor_core = tensor_core(a.type.dtype, p.use.tf32_products),
           .op = "gemm",
           .flop = Dim(2) * problem.batch * problem.m * problem.n * problem.k,
           .read = size(a) + size(b),
           .written = size(call.writes)};
  k.problem = std::move(problem);
  return {k};
}

Kernels attention(const RecordedCall& call, const Priced& p) {
  const bool backward = call.op.ends_with("_backward");
  const size_t first = backward ? 1 : 0;  // the gradient comes before q, k and v
  if (call.reads.size() < first + 3 || rank(*call.reads[first]) != 4 ||
      rank(*call.reads[first + 1]) != 4 || rank(*call.reads[first + 2]) != 4) {
    return elementwise(call, p);
  }
  const RecordedTensor& q = *call.reads[first];
  const Shape& keys = call.reads[first + 1]->type.shape;
  // ATen's own forward takes [batch, length, heads, size], the public operators [batch, heads,
  // ...].
  const bool heads_last = !call.op.starts_with("_scaled");
  const size_t heads = heads_last ? 2 : 1, length = heads_last ? 1 : 2;
  AttentionProblem<Dim> problem{
      .form = call.op.find("flash") != std::string::npos   ? AttentionForm::kFlash
              : call.op.find("cudnn") != std::string::npos ? AttentionForm::kLibrary
                                                           : AttentionForm::kMemoryEfficient,
      .batch = q.type.shape[0],
      .heads = q.type.shape[heads],
      .kv_heads = keys[heads],
      .queries = q.type.shape[length],
      .keys = keys[length],
      .head_size = q.type.shape[3],
      .value_size = call.reads[first + 2]->type.shape[3],
      .causal = is(call, "is_causal"),
      .masked = !backward && call.reads.size() > 3};
  const Dim pairs = problem.batch * problem.heads * problem.queries * problem.keys;
  const Dim flop = Dim(2) * pairs * (problem.head_size + problem.value_size);
  Kernel k{.kernel_class = KernelClass::kAttention,
           .pass = p.pass,
           .dtype = q.type.dtype,
           .tensor_core = tensor_core(q.type.dtype, p.use.tf32_products),
           .op = "attention",
           .flop = backward ? floor_div(flop * Dim(5), 2) : flop,
           .read = size(call.reads),
           .written = size(call.writes)};
  k.problem = std::move(problem);
  return {k};
}

Kernels recurrent(const RecordedCall& call, const Priced& p) {
  if (call.reads.size() < 2 || rank(*call.reads[0]) != 3 || rank(*call.reads[1]) != 3)
    return elementwise(call, p);
  const RecordedTensor& x = *call.reads[0];
  const Shape& sizes = x.type.shape;
  const size_t batch = is(call, "batch_first") ? 0 : 1;
  const int64_t gates = std::max<int64_t>(1, number(call, "gates", 0, 4));
  const Cell cell = gates == 4 ? Cell::kLstm : gates == 3 ? Cell::kGru : Cell::kRnnTanh;
  Dim matrices;
  for (size_t i = call.op == "recurrent" ? 2 : 3; i < call.reads.size(); ++i)
    if (rank(*call.reads[i]) == 2) matrices += count(*call.reads[i]);
  Kernel k{.kernel_class = KernelClass::kRecurrent,
           .pass = p.pass,
           .dtype = x.type.dtype,
           .tensor_core = tensor_core(x.type.dtype, p.use.tf32_convolutions),
           .op = "recurrent",
           .flop = Dim(p.pass == Pass::kForward ? 2 : 4) * sizes[0] * sizes[1] * matrices,
           .read = size(call.reads),
           .written = size(call.writes)};
  k.problem = RecurrentProblem<Dim>{.cell = cell,
                                    .input = sizes[2],
                                    .hidden = call.reads[1]->type.shape[2],
                                    .batch = sizes[batch],
                                    .timesteps = sizes[1 - batch],
                                    .layers = std::max<int64_t>(1, number(call, "layers", 0, 1)),
                                    .directions = number(call, "directions", 0, 1) == 2 ? 2 : 1};
  return {k};
}

Kernels pool(const RecordedCall& call, const Priced& p) {
  const bool backward = call.op.ends_with("_backward");
  if (call.reads.size() < (backward ? 2U : 1U)) return elementwise(call, p);
  const RecordedTensor& x = *call.reads[backward ? 1 : 0];
  const RecordedTensor& y = backward ? *call.reads[0] : *call.writes[0];
  if (rank(x) < 3 || rank(y) != rank(x)) return elementwise(call, p);
  // What their time was learned by (graph/eager/pool.cc): without positions, and backward twice.
  Kernel k = kernel(call, p, backward ? count(x) : count(y));
  k.read = backward ? Dim(2) * size(y) : size(x);
  k.written = backward ? Dim(2) * size(x) : size(y);
  const bool windows = call.facts.contains("kernel_size");
  if (rank(x) > 5 || !windows) return {in_rows(std::move(k), 1, count(*call.writes[0]))};
  PoolProblem<Dim> problem{.n = x.type.shape[0], .c = x.type.shape[1]};
  const size_t spatial = rank(x) - 2, first = 3 - spatial;
  for (size_t i = 0; i < spatial; ++i) {
    problem.in[first + i] = x.type.shape[2 + i];
    problem.out[first + i] = y.type.shape[2 + i];
    problem.window[first + i] = fact(call, "kernel_size", i, 1);
    problem.pad[first + i] = fact(call, "padding", i, 0);
    const int64_t window = number(call, "kernel_size", i, 1);
    problem.stride[first + i] = std::max<int64_t>(1, number(call, "stride", i, window));
    if (!backward) k.flop = k.flop * problem.window[first + i];
  }
  problem.channels_last = x.order == MemoryOrder::kChannelsLast;
  problem.counts_padding = number(call, "count_include_pad", 0, 1) != 0;
  k.problem = std::move(problem);
  return {k};
}

Kernels norm(const RecordedCall& call, const Priced& p) {
  const RecordedTensor& y = *call.writes.front();
  Kernel k = kernel(call, p, count(y));
  const bool by_channel = p.label == "batch_norm" && rank(y) > 1;
  // Forward writes a mean for each row; backward reads it behind the gradient and the input.
  const auto& with_mean = call.op.ends_with("_backward") ? call.reads : call.writes;
  const size_t mean = call.op.ends_with("_backward") ? 2 : 1;
  const Dim rows = by_channel                ? y.type.shape[1]
                   : with_mean.size() > mean ? count(*with_mean[mean])
                                             : Dim(1);
  return {in_rows(std::move(k), rows, count(y))};
}

Kernels rows_of_last(const RecordedCall& call, const Priced& p) {
  const RecordedTensor& y = *call.writes.front();
  const Shape& sizes = y.type.shape;
  const Dim rows = sizes.empty() ? Dim(1) : elements(sizes, 0, sizes.size() - 1);
  return {in_rows(kernel(call, p, count(y)), rows, count(y))};
}

// As many rows as the result has, of what it chooses from.
Kernels chosen(const RecordedCall& call, const Priced& p) {
  Kernels kernels = rows_of_last(call, p);
  auto& rows = std::get<RowsProblem<Dim>>(kernels.front().problem);
  if (!call.reads.empty()) rows.columns = floor_div(count(*call.reads.front()), rows.rows);
  return kernels;
}

// Of scores [frames, batch, classes] and the logarithms of what labels' beginnings are likely,
// which forward writes behind the loss and backward reads last: [batch, frames, states].
Kernels ctc(const RecordedCall& call, const Priced& p) {
  const auto& with_states = p.pass == Pass::kForward ? call.writes : call.reads;
  const RecordedTensor& states = *with_states.back();
  if (rank(states) != 3) return elementwise(call, p);
  const Shape& sizes = states.type.shape;
  return {in_rows(kernel(call, p, count(states)), sizes[0] * sizes[1], count(states))};
}

Kernels boxes(const RecordedCall& call, const Priced& p) {
  if (call.reads.empty() || rank(*call.reads[0]) != 2) return elementwise(call, p);
  const RecordedTensor& all = *call.reads[0];
  return {in_rows(kernel(call, p, count(all)), all.type.shape[0], count(all))};
}

// All of it is written and none read.
Kernels filled(const RecordedCall& call, const Priced& p) {
  const RecordedTensor& y = *call.writes.front();
  Kernel k = kernel(call, p, 0);
  k.read = 0;
  k.written = size(y);
  return {in_rows(std::move(k), 1, count(y))};
}

Kernels copied(const RecordedCall& call, const Priced& p) {
  if (call.reads.empty()) return filled(call, p);
  const RecordedTensor& y = *call.writes.front();
  Kernel k = kernel(call, p, 0);
  k.read = size(*call.reads.back());
  return {in_rows(std::move(k), 1, count(y))};
}

Kernels into_zeros(const RecordedCall& call, const Priced& p) {
  if (call.reads.empty()) return filled(call, p);
  const RecordedTensor& part = *call.reads.front();
  Kernels kernels = filled(call, fill_of(p));
  Kernel k = kernel(call, p, 0);
  k.written = size(part);
  kernels.push_back(in_rows(std::move(k), 1, count(part)));
  return kernels;
}

// Of the scores, a loss of classes reads those of its targets alone.
Kernels of_targets(const RecordedCall& call, const Priced& p) {
  if (call.reads.size() < 2) return reduction(call, p);
  const RecordedTensor& targets = *call.reads[1];
  const RecordedTensor& loss = *call.writes.front();
  Kernel k = kernel(call, p, count(targets));
  k.read = size(targets);
  k.written = size(loss);
  return {in_rows(std::move(k), count(loss), count(targets))};
}

}  // namespace plimsoll::recorded
