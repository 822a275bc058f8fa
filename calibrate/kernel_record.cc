#include "calibrate/kernel_record.h"

#include <array>

#include "estimator/library/workspace/conv_question.h"
#include "estimator/time/time_plan.h"
#include "graph/ir/kernel_label.h"
#include "hwdb/measured/kernel.h"
#include "hwdb/measured/keys.h"

namespace plimsoll::calibrate {
namespace {

// As measured runs call the type of the operands and whether tensor cores multiply them.
std::string_view type_word(const KernelAt& kernel) {
  switch (kernel.dtype) {
    case DType::kFloat32:
      return kernel.tensor_core ? "tf32" : "fp32";
    case DType::kFloat16:
      return kernel.tensor_core ? "fp16_mixed_tensor_core" : "fp16";
    case DType::kBFloat16:
      return "bf16";
    case DType::kFloat64:
      return "fp64";
    default:
      return {};
  }
}

std::string_view cell_word(Cell cell) {
  constexpr std::array<std::string_view, 4> kWords = {"rnn-tanh", "rnn-relu", "gru", "lstm"};
  return kWords[static_cast<size_t>(cell)];
}

struct Write {
  JsonWriter& out;
  const KernelAt& kernel;

  void number(const char* key, int64_t value) const { out.key(key).integer(value); }

  void image(const auto& p) const {
    number("n", p.n);
    number("c", p.c);
    number("h", p.in[1]);
    number("w", p.in[2]);
  }
  void steps(const auto& p) const {
    number("pad_h", p.pad[1]);
    number("pad_w", p.pad[2]);
    number("stride_h", p.stride[1]);
    number("stride_w", p.stride[2]);
  }
  void operator()(const ConvProblem<int64_t>& p) const {
    out.key("op").string("conv");
    image(p);
    number("k", p.k);
    number("r", p.filter[1]);
    number("s", p.filter[2]);
    steps(p);
    number("dil_h", p.dilation[1]);
    number("dil_w", p.dilation[2]);
    number("groups", p.groups);
    out.key("layout").string(p.channels_last ? "nhwc" : "nchw");
  }
  void operator()(const PoolProblem<int64_t>& p) const {
    out.key("op").string(name(kernel.kernel_class)).key("function").string(kernel.op);
    image(p);
    out.key("out").begin_array().integer(p.out[1]).integer(p.out[2]).end_array();
    number("r", p.window[1]);
    number("s", p.window[2]);
    steps(p);
    if (p.counts_padding) out.key("count_padding").boolean(true);
    out.key("layout").string(p.channels_last ? "nhwc" : "nchw");
    traffic();
  }
  // Row-major as it stands, which records of this variant are.
  void operator()(const GemmProblem<int64_t>& p) const {
    out.key("op").string("gemm").key("variant").string("linear");
    number("batch_count", p.batch);
    number("m", p.m);
    number("n", p.n);
    number("k", p.k);
    out.key("a_t").boolean(p.a_t).key("b_t").boolean(p.b_t);
    if (p.accumulate) out.key("accumulate").boolean(true);
  }
  void operator()(const RowsProblem<int64_t>& p) const {
    out.key("op").string(name(kernel.kernel_class)).key("function").string(kernel.op);
    number("rows", p.rows);
    number("cols", p.columns);
    traffic();
  }
  void operator()(const RecurrentProblem<int64_t>& p) const {
    out.key("op").string("rnn").key("cell").string(cell_word(p.cell));
    number("input_size", p.input);
    number("hidden", p.hidden);
    number("batch", p.batch);
    number("timesteps", p.timesteps);
    number("layers", p.layers);
    number("directions", p.directions);
    if (p.skip_input) out.key("input_mode").string("skip");
    traffic();
  }
  void operator()(const AttentionProblem<int64_t>& p) const {
    out.key("op").string(name(kernel.kernel_class)).key("form").string(name(p.form));
    number("batch", p.batch);
    number("heads", p.heads);
    number("kv_heads", p.kv_heads);
    number("queries", p.queries);
    number("keys", p.keys);
    number("head_size", p.head_size);
    number("value_size", p.value_size);
    out.key("causal").boolean(p.causal).key("masked").boolean(p.masked);
    out.key("dropout").boolean(p.dropout);
    traffic();
  }

  void labelled() const {
    out.key("op").string(name(kernel.kernel_class)).key("label").string(kernel_label(kernel));
    traffic();
  }
  void traffic() const {
    number("read_bytes", kernel.read);
    number("written_bytes", kernel.written);
    number("flop", kernel.flop);
  }
};

}  // namespace

bool is_told(const KernelAt& kernel) {
  if (type_word(kernel).empty()) return false;
  if (std::holds_alternative<ConvProblem<int64_t>>(kernel.problem))
    return conv_question(kernel).has_value();
  if (const auto* pool = std::get_if<PoolProblem<int64_t>>(&kernel.problem))
    return pool->in[0] == 1 && pool->window[0] == 1;
  const auto* layers = std::get_if<RecurrentProblem<int64_t>>(&kernel.problem);
  return !layers || !layers->unrolled;
}

void write_kernel(JsonWriter& out, const KernelAt& kernel) {
  const Write write{out, kernel};
  if (is_told(kernel)) {
    std::visit(write, kernel.problem);
  } else {
    write.labelled();
  }
  out.key("pass").string(name(kernel.pass));
  out.key("dtype").string(is_told(kernel) ? type_word(kernel) : short_name(kernel.dtype));
}

std::string key_of(const KernelAt& kernel) {
  JsonWriter out;
  out.begin_object();
  write_kernel(out, kernel);
  out.end_object();
  return out.take();
}

std::optional<KernelAt> read_kernel(JsonObject& object) {
  MeasuredRun run;
  decode_run(object, run);
  run.kind = RunKind::kKernel;
  auto kernel = kernel_of(run);
  if (!kernel) {
    object.fail("E311", kernel.error());
    return std::nullopt;
  }
  return std::move(*kernel);
}

}  // namespace plimsoll::calibrate
