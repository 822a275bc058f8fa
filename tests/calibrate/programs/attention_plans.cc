// Asks the real cuDNN for the plans of fused attention on a GPU that it is told of: one line for
// each pass, sharing of heads, dropout and mask; and of the gradients of norms. "missing: ..."
// where a library is missing.
#include <fmt/format.h>

#include "calibrate/cudnn.h"
#include "calibrate/nvrtc.h"
#include "hwdb/hwdb.h"

using namespace plimsoll;

namespace {

int missing(const Diagnostics& why) {
  fmt::print("missing: {}\n", why.front().message);
  return 0;
}

void ask(const Cudnn& cudnn, Pass pass, bool causal, int64_t kv_heads, bool dropout,
         bool masked = false) {
  const AttentionProblem<int64_t> p{.form = AttentionForm::kLibrary,
                                    .batch = 4,
                                    .heads = 12,
                                    .kv_heads = kv_heads,
                                    .queries = 1024,
                                    .keys = 1024,
                                    .head_size = 64,
                                    .value_size = 64,
                                    .causal = causal,
                                    .masked = masked,
                                    .dropout = dropout};
  const auto listed = cudnn.ask(p, pass, DType::kFloat16);
  fmt::print("{} plans {} workspace {}\n", name(pass), listed.plans.size(),
             listed.plans.empty() ? -1 : listed.plans.front().bytes);
}

// Forward it compiles for minutes (9.10, H100).
void ask_norm(const Cudnn& cudnn, const char* op) {
  KernelAt kernel{.kernel_class = KernelClass::kNorm, .pass = Pass::kBackward, .op = op};
  kernel.problem = RowsProblem<int64_t>{.rows = 4096, .columns = 768};
  fmt::print("{} plans {}\n", op, cudnn.ask_norm(kernel).plans.size());
}

}  // namespace

int main(int, char** arguments) {
  const auto hwdb = Hwdb::open();
  const auto device = hwdb->device(arguments[1]);
  // cuDNN finds it where it is loaded; the pinned one is of CUDA 12.
  const auto nvrtc = calibrate::Nvrtc::open(find_nvidia_folders(), 12);
  if (!nvrtc) return missing(nvrtc.error());
  const auto cudnn = Cudnn::open(*device);
  if (!cudnn) return missing(cudnn.error());
  fmt::print("cuDNN {}\n", cudnn->version());
  for (const char* op : {"layer_norm", "group_norm"}) ask_norm(*cudnn, op);
  for (const Pass pass : {Pass::kForward, Pass::kBackward}) {
    for (const bool causal : {false, true}) {
      for (const int64_t kv_heads : {12, 4}) {
        for (const bool dropout : {false, true}) ask(*cudnn, pass, causal, kv_heads, dropout);
        ask(*cudnn, pass, causal, kv_heads, false, true);
      }
    }
  }
}
