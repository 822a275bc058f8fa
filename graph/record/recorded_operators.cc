#include "graph/record/recorded_operators.h"

#include <algorithm>
#include <array>

#include "graph/record/recorded_kernels.h"

namespace plimsoll {
namespace {

using recorded::Lowering;

// An operator, what it is priced as, and operations an element. Names end in * where others follow:
// the first row that fits holds.
struct CallRow {
  std::string_view op;
  Lowering lower;
  KernelClass kernel_class = KernelClass::kPointwise;
  std::string_view label = {};  // empty: the operator's own name
  int64_t flop = 1;
};

using recorded::attention;
using recorded::convolution;
using recorded::convolution_backward;
using recorded::copied;
using recorded::deformed;
using recorded::elementwise;
using recorded::filled;
using recorded::gather;
using recorded::into_zeros;
using recorded::norm;
using recorded::norms;
using recorded::of_targets;
using recorded::pool;
using recorded::product;
using recorded::put;
using recorded::recurrent;
using recorded::reduction;
using recorded::rolled;
using recorded::rows_of_last;
using recorded::scatter;
using recorded::table_gradient;
using recorded::unique;
using K = KernelClass;

constexpr std::array kRows{
    CallRow{"mm", product},
    CallRow{"addmm*", product},
    CallRow{"bmm", product},
    CallRow{"baddbmm", product},
    CallRow{"mv", product},
    CallRow{"addmv", product},
    CallRow{"convolution", convolution},
    CallRow{"convolution_backward", convolution_backward},
    CallRow{"recurrent*", recurrent},
    CallRow{"_scaled_dot_product_*", attention},
    CallRow{"_flash_attention_*", attention},
    CallRow{"_efficient_attention_*", attention},
    CallRow{"_cudnn_attention_*", attention},
    CallRow{"*layer_norm", norm, K::kNorm, "layer_norm", 8},
    CallRow{"*layer_norm_backward", norm, K::kNorm, "layer_norm", 12},
    CallRow{"*group_norm", norm, K::kNorm, "group_norm", 8},
    CallRow{"*group_norm_backward", norm, K::kNorm, "group_norm", 12},
    CallRow{"*batch_norm", norm, K::kNorm, "batch_norm", 8},
    CallRow{"*batch_norm_backward", norm, K::kNorm, "batch_norm", 12},
    CallRow{"*rms_norm", norm, K::kNorm, "rms_norm", 5},
    CallRow{"*rms_norm_backward", norm, K::kNorm, "rms_norm", 8},
    CallRow{"*weight_norm*", norm, K::kNorm, "weight_norm", 4},
    CallRow{"_softmax*", rows_of_last, K::kSoftmax, "softmax", 5},
    CallRow{"_log_softmax*", rows_of_last, K::kSoftmax, "log_softmax", 5},
    CallRow{"max_pool*", pool, K::kPool, "max_pool"},
    CallRow{"avg_pool*", pool, K::kPool, "average_pool"},
    CallRow{"*adaptive_avg_pool*", pool, K::kPool, "adaptive_pool"},
    CallRow{"*adaptive_max_pool*", pool, K::kPool, "max_pool"},
    CallRow{"embedding", gather, K::kGather, "embedding"},
    CallRow{"_embedding_bag*backward", table_gradient, K::kScatter, "embedding_bag"},
    CallRow{"_embedding_bag*", gather, K::kGather, "embedding_bag"},
    CallRow{"embedding_*backward", table_gradient, K::kScatter, "embedding"},
    CallRow{"index", gather, K::kGather, "index"},
    CallRow{"index_select", gather, K::kGather, "index"},
    CallRow{"gather", gather, K::kGather, "gather"},
    CallRow{"take*", gather, K::kGather, "gather"},
    CallRow{"scatter*", scatter, K::kScatter, "scatter"},
    CallRow{"*index_put*", put, K::kScatter, "index_put"},
    CallRow{"index_*", scatter, K::kScatter, "scatter"},
    CallRow{"clone", elementwise, K::kCopy, "copy", 0},
    CallRow{"copy_", copied, K::kCopy, "copy", 0},
    CallRow{"_to_copy", elementwise, K::kCopy, "cast", 0},
    CallRow{"cat", elementwise, K::kCopy, "concat", 0},
    CallRow{"stack", elementwise, K::kCopy, "concat", 0},
    CallRow{"constant_pad*", elementwise, K::kCopy, "pad", 0},
    CallRow{"*_pad*d*", elementwise, K::kCopy, "pad", 0},
    CallRow{"repeat*", elementwise, K::kCopy, "copy", 0},
    CallRow{"roll", rolled, K::kCopy, "copy", 0},
    CallRow{"flip", elementwise, K::kCopy, "copy", 0},
    CallRow{"slice_backward", into_zeros, K::kCopy, "copy", 0},
    CallRow{"slice_*", elementwise, K::kCopy, "copy", 0},
    CallRow{"select_backward", into_zeros, K::kCopy, "copy", 0},
    CallRow{"select_*", elementwise, K::kCopy, "copy", 0},
    CallRow{"fill*", filled, K::kCopy, "fill", 0},
    CallRow{"zero*", filled, K::kCopy, "fill", 0},
    CallRow{"ones*", filled, K::kCopy, "fill", 0},
    CallRow{"full*", filled, K::kCopy, "fill", 0},
    CallRow{"new_*", filled, K::kCopy, "fill", 0},
    CallRow{"scalar_tensor", filled, K::kCopy, "fill", 0},
    CallRow{"arange", filled, K::kCopy, "fill", 0},
    CallRow{"sum*", reduction, K::kReduce, "sum"},
    CallRow{"mean*", reduction, K::kReduce, "mean"},
    CallRow{"max", reduction, K::kReduce, "max"},
    CallRow{"min", reduction, K::kReduce, "max"},
    CallRow{"amax*", reduction, K::kReduce, "max"},
    CallRow{"amin*", reduction, K::kReduce, "max"},
    CallRow{"arg*", reduction, K::kReduce, "max"},
    CallRow{"any", reduction, K::kReduce, "max"},
    CallRow{"all", reduction, K::kReduce, "max"},
    CallRow{"var*", reduction, K::kReduce, "mean", 3},
    CallRow{"std*", reduction, K::kReduce, "mean", 3},
    CallRow{"prod", reduction, K::kReduce, "sum"},
    CallRow{"logsumexp", reduction, K::kReduce, "sum", 3},
    CallRow{"*vector_norm", reduction, K::kReduce, "sum", 2},
    CallRow{"norm*", reduction, K::kReduce, "sum", 2},
    CallRow{"_foreach_norm", norms, K::kReduce, "foreach_norm", 2},
    CallRow{"dot", reduction, K::kReduce, "sum", 2},
    CallRow{"nll_loss*forward", of_targets, K::kReduce, "nll_loss"},
    CallRow{"nll_loss*backward", filled, K::kCopy, "fill", 0},
    CallRow{"mse_loss", reduction, K::kReduce, "mse_loss", 3},
    CallRow{"_ctc_loss*", recorded::ctc, K::kReduce, "ctc_loss", 8},
    CallRow{"*_loss", reduction, K::kReduce, "loss", 3},
    CallRow{"sort", rows_of_last, K::kReduce, "sort", 8},
    CallRow{"*unique*", unique, K::kReduce, "unique", 8},
    CallRow{"_fft_c2r", elementwise, K::kPointwise, "fft_c2r", 8},
    CallRow{"*deform_conv2d*", deformed, K::kPointwise, "deform_conv", 2},
    CallRow{"nms", recorded::boxes, K::kReduce, "nms", 4},
    CallRow{"topk", recorded::chosen, K::kReduce, "topk", 4},
    CallRow{"native_dropout*", elementwise, K::kPointwise, "dropout", 2},
    CallRow{"threshold_backward", elementwise, K::kPointwise, "relu"},
    CallRow{"gelu*", elementwise, K::kPointwise, "gelu", 8},
    CallRow{"silu*", elementwise, K::kPointwise, "silu", 5},
    CallRow{"_fused_*", elementwise, K::kUpdate, "", 12},
};

// "a*b?" as shells have it.
bool fits(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern.front() == '*') {
    for (size_t skip = 0; skip <= name.size(); ++skip) {
      if (fits(pattern.substr(1), name.substr(skip))) return true;
    }
    return false;
  }
  const bool same = !name.empty() && (pattern.front() == '?' || pattern.front() == name.front());
  return same && fits(pattern.substr(1), name.substr(1));
}

constexpr CallRow kOthers{"*", elementwise};

const CallRow& row_of(std::string_view op) {
  const auto at = std::ranges::find_if(kRows, [&](const CallRow& row) { return fits(row.op, op); });
  return at == kRows.end() ? kOthers : *at;
}

// "relu_" and "tanh_backward" are what "relu" and "tanh" are.
std::string plain(std::string_view op) {
  if (op.ends_with("_backward")) op.remove_suffix(9);
  while (op.ends_with('_')) op.remove_suffix(1);
  while (op.starts_with('_')) op.remove_prefix(1);
  return std::string(op);
}

// The counter of a batch norm, without which the host's rate was learned.
bool counts_batches(const RecordedCall& call) {
  const TensorType& counter = call.writes.front()->type;
  return call.op == "add_" && counter.shape.empty() && counter.dtype == DType::kInt64;
}

}  // namespace

std::vector<Kernel> kernels_of(const RecordedCall& call, Phase phase, const TensorCoreUse& use) {
  if (call.writes.empty() || counts_batches(call)) return {};
  const CallRow& row = row_of(call.op);
  const bool updates = phase == Phase::kUpdate && call.op.starts_with("_foreach_") &&
                       row.kernel_class == KernelClass::kPointwise;
  recorded::Priced priced{.kernel_class = updates ? KernelClass::kUpdate : row.kernel_class,
                          .label = row.label.empty() ? plain(call.op) : std::string(row.label),
                          .flop = row.flop,
                          .pass = phase == Phase::kBackward ? Pass::kBackward : Pass::kForward,
                          .use = use};
  return row.lower(call, priced);
}

}  // namespace plimsoll
