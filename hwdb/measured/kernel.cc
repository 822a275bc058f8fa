#include "hwdb/measured/kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "graph/ir/kernel_work.h"

namespace plimsoll {
namespace {

using Reason = tl::unexpected<std::string>;

// Whether work and bytes of these sizes can be counted; sizes come from a file.
bool countable(std::initializer_list<std::optional<int64_t>> sizes) {
  constexpr double kMost = 1e17;
  double product = 1;
  for (const auto& size : sizes)
    product *= static_cast<double>(std::max<int64_t>(1, size.value_or(1)));
  return product < kMost;
}

std::optional<Pass> pass_of(const MeasuredRun& r) {
  const std::string pass = r.pass;
  if (pass == "forward" || pass.empty()) return Pass::kForward;
  if (pass == "backward_data") return Pass::kBackwardData;
  if (pass == "backward_weights") return Pass::kBackwardWeights;
  if (pass == "backward") return Pass::kBackward;
  return std::nullopt;
}

// How records call the type of the operands, and whether tensor cores multiply them.
struct TypeWord {
  std::string_view word;
  DType dtype;
  bool tensor_core;
};
constexpr TypeWord kTypeWords[] = {
    {"", DType::kFloat32, false},
    {"fp32", DType::kFloat32, false},
    {"tf32", DType::kFloat32, true},
    {"fp64", DType::kFloat64, false},
    {"fp16", DType::kFloat16, false},
    {"fp16_storage_fp32_math", DType::kFloat16, false},
    {"fp16_mixed_tensor_core", DType::kFloat16, true},
    {"bf16", DType::kBFloat16, true},
};

bool set_type(const MeasuredRun& r, KernelAt& kernel) {
  const auto* row = std::ranges::find(kTypeWords, r.dtype, &TypeWord::word);
  if (row == std::end(kTypeWords)) return false;
  kernel.dtype = row->dtype;
  kernel.tensor_core = row->tensor_core;
  return true;
}

tl::expected<KernelAt, std::string> conv(const MeasuredRun& r, KernelAt kernel) {
  ConvProblem<int64_t> p;
  if (!r.n || !r.c || !r.h || !r.w || !r.k || !r.r || !r.s)
    return Reason("the record lacks one of n, c, h, w, k, r, s");
  const bool sane = countable({r.n, r.c, r.h, r.w, r.k, r.r, r.s}) &&
                    countable({r.pad_h, r.pad_w, r.stride_h, r.stride_w, r.dil_h, r.dil_w});
  if (!sane) return Reason("the sizes are too large");
  if (*r.n < 1 || *r.c < 1 || *r.k < 1) return Reason("a size is 0");
  p.n = *r.n;
  p.c = *r.c;
  p.k = *r.k;
  p.groups = std::max<int64_t>(1, r.group.value_or(1));
  p.in = {1, *r.h, *r.w};
  p.filter = {1, *r.r, *r.s};
  p.pad = {0, r.pad_h.value_or(0), r.pad_w.value_or(0)};
  p.stride = {1, std::max<int64_t>(1, r.stride_h.value_or(1)),
              std::max<int64_t>(1, r.stride_w.value_or(1))};
  p.dilation = {1, std::max<int64_t>(1, r.dil_h.value_or(1)),
                std::max<int64_t>(1, r.dil_w.value_or(1))};
  for (size_t i = 0; i < 3; ++i) {
    p.out[i] = (p.in[i] + 2 * p.pad[i] - p.dilation[i] * (p.filter[i] - 1) - 1) / p.stride[i] + 1;
    if (p.out[i] < 1) return Reason("the filter is larger than the input");
  }
  p.channels_last = r.layout == "nhwc";
  kernel.kernel_class = KernelClass::kConv;
  kernel.op = "conv";
  kernel.problem = p;
  set_work(kernel);
  return kernel;
}

// Column-major C[m,n] = A[m,k] B[k,n], as cuBLAS is called, is row-major C'[n,m] = B'[n,k] A'[k,m].
// PyTorch's "linear" and "bmm" are told row-major as they stand.
tl::expected<KernelAt, std::string> gemm(const MeasuredRun& r, KernelAt kernel) {
  if (r.library.starts_with("openai"))
    return Reason("the openai-gemm library's kernels are not modelled");
  if (!r.m || !r.n || !r.k) return Reason("the record lacks one of m, n, k");
  if (!countable({r.m, r.n, r.k, r.batch_count})) return Reason("the sizes are too large");
  GemmProblem<int64_t> p{
      .m = *r.n, .n = *r.m, .k = *r.k, .batch = std::max<int64_t>(1, r.batch_count.value_or(1))};
  p.a_t = r.b_t.value_or(false);
  p.b_t = r.a_t.value_or(false);
  p.accumulate = r.accumulate.value_or(false);
  if (r.variant == "linear" || r.variant == "bmm") {
    std::swap(p.m, p.n);
    std::swap(p.a_t, p.b_t);
  }
  kernel.kernel_class = KernelClass::kGemm;
  kernel.op = "gemm";
  kernel.problem = p;
  set_work(kernel);
  return kernel;
}

// A record that says how much is moved (plimsoll-calibrate run): as the step has it.
void set_told_traffic(const MeasuredRun& r, KernelAt& kernel) {
  if (!r.read_bytes || !r.written_bytes) return;
  kernel.read = *r.read_bytes;
  kernel.written = *r.written_bytes;
  kernel.flop = r.flop.value_or(kernel.flop);
}

tl::expected<KernelAt, std::string> recurrent(const MeasuredRun& r, KernelAt kernel) {
  const std::string cell = r.cell;
  RecurrentProblem<int64_t> p;
  if (cell == "lstm") {
    p.cell = Cell::kLstm;
  } else if (cell == "gru") {
    p.cell = Cell::kGru;
  } else if (cell.starts_with("rnn")) {
    p.cell = cell == "rnn-tanh" ? Cell::kRnnTanh : Cell::kRnnRelu;
  } else {
    return Reason(fmt::format("no recurrent cell is called '{}'", cell));
  }
  p.hidden = r.hidden.value_or(0);
  p.input = r.input_size.value_or(p.hidden);
  p.directions = std::max<int64_t>(1, r.directions.value_or(1));
  p.batch = r.batch.value_or(0);
  p.timesteps = r.timesteps.value_or(0);
  p.layers = r.layers.value_or(1);
  p.skip_input = r.input_mode == "skip";
  if (p.hidden < 1 || p.batch < 1 || p.timesteps < 1)
    return Reason("the record lacks hidden, batch or timesteps");
  if (!countable({r.hidden, r.hidden, r.batch, r.timesteps, r.layers}) ||
      !countable({r.input_size, r.hidden, r.batch, r.timesteps, r.layers, r.directions}))
    return Reason("the sizes are too large");
  kernel.kernel_class = KernelClass::kRecurrent;
  kernel.op = "recurrent";
  kernel.problem = p;
  set_work(kernel);
  set_told_traffic(r, kernel);
  return kernel;
}

tl::expected<KernelAt, std::string> attention(const MeasuredRun& r, KernelAt kernel) {
  const auto form = attention_form_from_name(r.form);
  if (!form) return Reason(fmt::format("no attention kernel is called '{}'", r.form));
  const std::initializer_list<std::optional<int64_t>> sizes = {r.batch,   r.heads, r.kv_heads,
                                                               r.queries, r.keys,  r.head_size};
  for (const auto& size : sizes) {
    if (!size || *size < 1) {
      return Reason("the record lacks one of batch, heads, kv_heads, queries, keys, head_size");
    }
  }
  if (!countable(sizes) || !countable({r.batch, r.heads, r.queries, r.keys, r.value_size}))
    return Reason("the sizes are too large");
  const AttentionProblem<int64_t> p{.form = *form,
                                    .batch = *r.batch,
                                    .heads = *r.heads,
                                    .kv_heads = *r.kv_heads,
                                    .queries = *r.queries,
                                    .keys = *r.keys,
                                    .head_size = *r.head_size,
                                    .value_size = r.value_size.value_or(*r.head_size),
                                    .causal = r.causal.value_or(false),
                                    .masked = r.masked.value_or(false),
                                    .dropout = r.has_dropout.value_or(false)};
  const int64_t element = bits(kernel.dtype) / 8;
  const int64_t q = p.batch * p.heads * p.queries, kv = p.batch * p.kv_heads * p.keys;
  kernel.kernel_class = KernelClass::kAttention;
  kernel.op = "attention";
  kernel.flop = 2 * q * p.keys * (p.head_size + p.value_size);
  kernel.read = element * (q * p.head_size + kv * (p.head_size + p.value_size));
  kernel.written = element * q * p.value_size;
  kernel.problem = p;
  set_told_traffic(r, kernel);
  return kernel;
}

// Memory-bound work by its tensors: all of one size, one of them written.
tl::expected<KernelAt, std::string> tensors(const MeasuredRun& r, KernelAt kernel) {
  const auto count = r.rows;
  const auto columns = r.cols;
  if (!count || !columns || *count < 1 || *columns < 1)
    return Reason("the record lacks rows or cols");
  if (!countable({count, columns, r.tensors_moved})) return Reason("the sizes are too large");
  const int64_t bytes = *count * *columns * (bits(kernel.dtype) / 8);
  const int64_t moved = std::max<int64_t>(2, r.tensors_moved.value_or(2));
  kernel.flop = *count * *columns;
  kernel.read = bytes * (moved - 1);
  kernel.written = bytes;
  kernel.problem = RowsProblem<int64_t>{.rows = *count, .columns = *columns};
  return kernel;
}

tl::expected<KernelAt, std::string> elementwise(const MeasuredRun& r, KernelAt kernel) {
  kernel.kernel_class = KernelClass::kPointwise;
  kernel.op = r.function;
  return tensors(r, std::move(kernel));
}

tl::expected<KernelAt, std::string> layer_norm(const MeasuredRun& r, KernelAt kernel) {
  kernel.kernel_class = KernelClass::kNorm;
  kernel.op = "layer_norm";
  return tensors(r, std::move(kernel));
}

tl::expected<KernelAt, std::string> softmax(const MeasuredRun& r, KernelAt kernel) {
  kernel.kernel_class = KernelClass::kSoftmax;
  kernel.op = "softmax";
  return tensors(r, std::move(kernel));
}

// A record that says how much is moved (plimsoll-calibrate run): the kernel as a step has it.
tl::expected<KernelAt, std::string> told_rows(const MeasuredRun& r, KernelAt kernel,
                                              KernelClass kernel_class) {
  if (!r.rows || !r.cols || *r.rows < 1 || *r.cols < 1)
    return Reason("the record lacks rows or cols");
  if (!countable({r.rows, r.cols}) || !countable({r.read_bytes}) || !countable({r.written_bytes}))
    return Reason("the sizes are too large");
  kernel.kernel_class = kernel_class;
  kernel.op = r.function;
  kernel.flop = r.flop.value_or(0);
  kernel.read = *r.read_bytes;
  kernel.written = *r.written_bytes;
  kernel.problem = RowsProblem<int64_t>{.rows = *r.rows, .columns = *r.cols};
  return kernel;
}

// The same of a pool whose windows are told; older records say its planes alone.
tl::expected<KernelAt, std::string> told_pool(const MeasuredRun& r, KernelAt kernel) {
  const std::initializer_list<std::optional<int64_t>> sizes = {r.n, r.c, r.h, r.w, r.r, r.s};
  const auto is_none = [](const std::optional<int64_t>& size) { return !size || *size < 1; };
  if (std::ranges::any_of(sizes, is_none) || r.out.size() != 2)
    return Reason("the record lacks one of n, c, h, w, r, s, out");
  if (!countable(sizes) || !countable({r.n, r.c, r.out[0], r.out[1], r.r, r.s}) ||
      !countable({r.pad_h, r.pad_w, r.stride_h, r.stride_w}))
    return Reason("the sizes are too large");
  kernel.kernel_class = KernelClass::kPool;
  kernel.op = r.function;
  kernel.problem = PoolProblem<int64_t>{.n = *r.n,
                                        .c = *r.c,
                                        .in = {1, *r.h, *r.w},
                                        .out = {1, r.out[0], r.out[1]},
                                        .window = {1, *r.r, *r.s},
                                        .pad = {0, r.pad_h.value_or(0), r.pad_w.value_or(0)},
                                        .stride = {1, std::max<int64_t>(1, r.stride_h.value_or(1)),
                                                   std::max<int64_t>(1, r.stride_w.value_or(1))},
                                        .channels_last = r.layout == "nhwc",
                                        .counts_padding = r.count_padding.value_or(false)};
  set_told_traffic(r, kernel);
  return kernel;
}

// What records call a kernel ("op"), and what becomes of them.
struct OpRow {
  std::string_view op;
  tl::expected<KernelAt, std::string> (*kernel)(const MeasuredRun&, KernelAt);
};
constexpr OpRow kOps[] = {
    {"conv", conv},
    {"gemm", gemm},
    {"rnn", recurrent},
    {"attention", attention},
    {"elementwise", elementwise},
    {"layernorm", layer_norm},
    {"softmax", softmax},
};

}  // namespace

tl::expected<KernelAt, std::string> kernel_of(const MeasuredRun& r) {
  KernelAt kernel;
  const auto pass = pass_of(r);
  if (!pass) return Reason(fmt::format("pass '{}' is not known", r.pass));
  kernel.pass = *pass;
  if (!set_type(r, kernel)) return Reason(fmt::format("dtype '{}' is not known", r.dtype));
  for (int i = 0; r.read_bytes && r.written_bytes && i < kKernelClassCount; ++i) {
    const auto kernel_class = static_cast<KernelClass>(i);
    const bool of_rows = kernel_class != KernelClass::kConv && kernel_class != KernelClass::kGemm &&
                         kernel_class != KernelClass::kAttention;
    if (kernel_class == KernelClass::kPool && r.op == name(kernel_class) && r.r)
      return told_pool(r, std::move(kernel));
    if (of_rows && r.op == name(kernel_class)) return told_rows(r, std::move(kernel), kernel_class);
  }
  const auto* row = std::ranges::find(kOps, r.op, &OpRow::op);
  if (row == std::end(kOps)) return Reason(fmt::format("op '{}' is not a timed kernel", r.op));
  return row->kernel(r, std::move(kernel));
}

namespace {

struct LayerType {
  std::string_view name;
  KernelClass kernel_class;
  std::string_view op;
  int64_t forward_tensors, backward_tensors;  // moved, in units of the layer's input
};

constexpr LayerType kLayerTypes[] = {
    {"relu", KernelClass::kPointwise, "relu", 2, 3},
    {"concat", KernelClass::kCopy, "concat", 2, 2},
    {"bias", KernelClass::kPointwise, "bias", 2, 1},
    {"bias addition", KernelClass::kPointwise, "bias", 2, 1},
    {"batchnorm", KernelClass::kNorm, "batch_norm", 2, 3},
    {"lrn", KernelClass::kNorm, "lrn", 2, 3},
};

tl::expected<KernelAt, std::string> pool(const MeasuredRun& r, KernelAt kernel, std::string op) {
  const std::vector<int64_t>& out = r.out;
  const int64_t element = bits(kernel.dtype) / 8;
  const int64_t x = r.n.value_or(0) * r.c.value_or(0) * r.h.value_or(0) * r.w.value_or(0) * element;
  int64_t y = element;
  for (const int64_t extent : out) y *= extent;
  if (x < 1 || out.empty()) return Reason("the record lacks its input or output size");
  kernel.kernel_class = KernelClass::kPool;
  kernel.op = std::move(op);
  kernel.flop = y / element * r.r.value_or(1) * r.s.value_or(1);
  const bool forward = kernel.pass == Pass::kForward;
  kernel.read = forward ? x : 2 * y;
  kernel.written = forward ? y : 2 * x;
  kernel.problem =
      RowsProblem<int64_t>{.rows = r.n.value_or(1) * r.c.value_or(1),
                           .columns = std::max<int64_t>(1, r.h.value_or(1) * r.w.value_or(1))};
  return kernel;
}

tl::expected<KernelAt, std::string> linear(const MeasuredRun& r, KernelAt kernel) {
  const int64_t n = r.n.value_or(0);
  const int64_t inner = r.c.value_or(0) * std::max<int64_t>(1, r.h.value_or(1)) *
                        std::max<int64_t>(1, r.w.value_or(1));
  const int64_t k = r.k.value_or(0);
  if (n < 1 || inner < 1 || k < 1) return Reason("the record lacks its sizes");
  // Backward is two products of the forward's size: priced as one of twice the batch.
  const int64_t batch = kernel.pass == Pass::kForward ? 1 : 2;
  kernel.kernel_class = KernelClass::kGemm;
  kernel.op = "gemm";
  kernel.problem =
      GemmProblem<int64_t>{.m = n, .n = k, .k = inner, .batch = batch, .a_t = false, .b_t = true};
  set_work(kernel);
  return kernel;
}

}  // namespace

tl::expected<KernelAt, std::string> layer_kernel_of(const MeasuredRun& r) {
  if (!r.value("time_ms")) return Reason("the record holds no time of a layer");
  KernelAt kernel;
  const auto pass = pass_of(r);
  if (!pass) return Reason(fmt::format("pass '{}' is not known", r.pass));
  kernel.pass = *pass;
  if (!set_type(r, kernel)) return Reason(fmt::format("dtype '{}' is not known", r.dtype));
  if (!countable({r.n, r.c, r.h, r.w, r.k, r.r, r.s})) return Reason("the sizes are too large");
  for (const int64_t extent : r.tensor) {
    if (r.tensor.size() > 4 || extent > 10'000) return Reason("the sizes are too large");
  }
  const std::string type = r.layer_type;
  if (type == "conv") {
    // Data and weight gradients together: the caller adds the two.
    return conv(r, kernel);
  }
  if (type == "pool_max" || type == "pool_ave")
    return pool(r, kernel, type == "pool_max" ? "max_pool" : "average_pool");
  if (type == "linear") return linear(r, kernel);
  for (const LayerType& t : kLayerTypes) {
    if (t.name != type) continue;
    if (r.tensor.empty() && (!r.n || !r.c)) return Reason("the record lacks its sizes");
    int64_t bytes = 4;
    for (const int64_t extent : r.tensor) bytes *= extent;
    if (r.tensor.empty()) bytes = 4 * *r.n * *r.c * r.h.value_or(1) * r.w.value_or(1);
    const int64_t tensors = kernel.pass == Pass::kForward ? t.forward_tensors : t.backward_tensors;
    kernel.kernel_class = t.kernel_class;
    kernel.op = std::string(t.op);
    kernel.flop = bytes / 4;
    kernel.read = bytes * (tensors - 1);
    kernel.written = bytes;
    kernel.problem = RowsProblem<int64_t>{.rows = 1, .columns = bytes / 4};
    return kernel;
  }
  return Reason(fmt::format("layer type '{}' is not known", type));
}

}  // namespace plimsoll
