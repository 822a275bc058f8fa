#include "calibrate/suite.h"

#include <algorithm>
#include <set>

#include "calibrate/kernel_record.h"
#include "graph/ir/precision.h"

namespace plimsoll::calibrate {
namespace {

struct SuiteRow {
  std::string_view suite;
  const char* model;
  int64_t batch;
  std::string_view precision;
};

constexpr SuiteRow kSuiteRows[] = {
    {"quick", "builtin:resnet50", 32, "fp32"},
    {"quick", "builtin:bert-base", 8, "fp32"},
    {"standard", "builtin:resnet50", 32, "fp32"},
    {"standard", "builtin:resnet50", 32, "amp-fp16"},
    {"standard", "builtin:vgg16", 32, "fp32"},
    {"standard", "builtin:vgg16", 32, "amp-fp16"},
    {"standard", "builtin:densenet121", 32, "fp32"},
    {"standard", "builtin:inception_v3", 32, "fp32"},
    {"standard", "builtin:mobilenet_v2", 32, "amp-fp16"},
    {"standard", "builtin:efficientnet_b0", 32, "fp32"},
    {"standard", "builtin:bert-base", 16, "fp32"},
    {"standard", "builtin:bert-base", 16, "amp-fp16"},
    {"standard", "builtin:gpt2", 4, "fp32"},
};
constexpr size_t kQuick = 40;

// Evenly over a list, which is in the order of steps.
void thin_out(std::vector<PredictedKernel>& kernels, size_t most) {
  if (kernels.size() <= most) return;
  std::vector<PredictedKernel> kept;
  for (size_t i = 0; i < most; ++i) kept.push_back(std::move(kernels[i * kernels.size() / most]));
  kernels = std::move(kept);
}

// What some library or a kernel of ours runs.
bool can_be_run(const KernelAt& kernel) {
  if (!is_told(kernel)) return false;
  switch (kernel.kernel_class) {
    case KernelClass::kPool:
      return std::holds_alternative<PoolProblem<int64_t>>(kernel.problem);
    case KernelClass::kNorm:
      return kernel.op == "batch_norm" || kernel.op == "layer_norm" || kernel.op == "rms_norm";
    case KernelClass::kGather:
      return kernel.op == "embedding";
    case KernelClass::kScatter:
    case KernelClass::kCollective:
      return false;
    case KernelClass::kAttention:
      return bits(kernel.dtype) <= 16;
    default:
      return true;
  }
}

// cuDNN compiles such a kernel first, for some four seconds: too long for a quick look.
bool takes_long_to_make(const KernelAt& kernel) {
  return kernel.kernel_class == KernelClass::kNorm && kernel.op != "batch_norm";
}

}  // namespace

const std::vector<std::string>& suite_names() {
  static const std::vector<std::string> kNames = {"quick", "standard"};
  return kNames;
}

Result<PredictedStep> suite_kernels(const std::string& suite, const Request& request,
                                    const Hwdb& hwdb) {
  PredictedStep all;
  std::set<std::string> seen, bases;
  for (const SuiteRow& row : kSuiteRows) {
    if (row.suite != suite) continue;
    Request one = request;
    one.model = row.model;
    if (!one.batch) one.batch = row.batch;
    one.recipe.precision = find_precision(row.precision);
    auto step = predicted_kernels(one, hwdb);
    if (!step) return step;
    all.policy = step->policy;
    all.framework = step->framework;
    for (PredictedKernel& kernel : step->kernels) {
      if (suite == "quick" && takes_long_to_make(kernel.kernel)) continue;
      if (!can_be_run(kernel.kernel) || !seen.insert(key_of(kernel.kernel)).second) continue;
      kernel.launches = {1};
      all.kernels.push_back(std::move(kernel));
    }
    for (std::string& basis : step->basis) {
      if (bases.insert(basis).second) all.basis.push_back(std::move(basis));
    }
  }
  if (suite == "quick") thin_out(all.kernels, kQuick);
  return all;
}

}  // namespace plimsoll::calibrate
