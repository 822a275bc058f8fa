#include "estimator/kernels/grouped.h"

#include <algorithm>
#include <cmath>
#include <mutex>
#include <optional>

#include "estimator/library/workspace/tables.h"

namespace plimsoll {
namespace {

// Channels of a group that a tile of its product takes at once: chosen on one profile of ResNeXt-50
// on an H100, whose weight gradients (4 to 32 channels) take 5.5 times as long for a product as
// those of 48.
constexpr double kTile = 64;

// cuDNN 8 has gradients of weights in 16 bits with channels last for tensor cores where there are
// 32 groups, as in ResNeXt, whatever their width; others run on CUDA cores, at so much of their
// peak: what RegNets and ResNeSts trained on an RTX 3090 with 8.3 take longer than with channels
// first (tests/measured/steps2-timm.json: 1.1 to 1.8 TFLOP/s).
constexpr int kWeightsLastFrom = 800, kWeightsLastSince = 900;
constexpr double kMadeGroups = 32, kCudaCores = .04;

// cuDNN's engines that copy by the element: an H100's runs of them hold genericTranspose_kernel.
constexpr int kForwardByElement = 70, kDataByElement = 74;

double product(const std::array<double, 3>& v) { return v[0] * v[1] * v[2]; }

}  // namespace

bool is_grouped(const ConvProblem<int64_t>& problem) {
  return problem.groups > 1 && problem.groups != problem.c;
}

struct GroupedAnswers::Tables {
  explicit Tables(int of) : capability(of) {}
  // The built-in answers, as the fits were made with. Null where they are damaged: a fault of the
  // build that tests would find.
  const WorkspaceTables* get() {
    std::call_once(asked, [&] {
      auto read = WorkspaceTables::load(Hwdb(), {.capability = capability});
      if (read) tables = std::move(*read);
    });
    return tables ? &*tables : nullptr;
  }

  int capability;
  std::once_flag asked;
  std::optional<WorkspaceTables> tables;
};

GroupedAnswers::GroupedAnswers(int compute_capability)
    : tables_(std::make_shared<Tables>(compute_capability)) {}

bool GroupedAnswers::by_element(const ConvProblem<int64_t>& problem, Pass pass,
                                bool tensor_cores) const {
  const WorkspaceTables* tables = tables_->get();
  if (tables == nullptr || pass == Pass::kBackwardWeights) return false;
  const auto choice = tables->choose(problem, pass, {.tensor_cores = tensor_cores});
  const int by_element = pass == Pass::kForward ? kForwardByElement : kDataByElement;
  return choice && !choice->plan.tensor_core && choice->plan.engine == by_element;
}

GroupedKernel grouped_kernel(const ConvProblem<int64_t>& problem, const ConvShape& shape,
                             Arithmetic unit, const GroupedAnswers* answers) {
  const bool tensor = on_tensor_cores(unit), whole = shape.element_bytes > 2;
  if (whole && answers != nullptr && answers->by_element(problem, shape.pass, tensor)) {
    return GroupedKernel::kByElement;
  }
  return tensor ? GroupedKernel::kConverted : GroupedKernel::kPlain;
}

GroupedModel::GroupedModel(std::span<const double> terms, const DeviceRates& rates, double clock,
                           int cudnn)
    : cudnn_(cudnn), clocks_(rates.sms * rates.light_clock() * clock), bandwidth_(rates.bandwidth) {
  std::ranges::copy(terms, terms_.begin());
  for (int a = 0; a < kArithmeticCount; ++a) {
    flops_[static_cast<size_t>(a)] = rates.peak_of(static_cast<Arithmetic>(a)) * clock;
  }
}

bool GroupedModel::on_cuda_cores(const ConvShape& s, bool channels_last) const {
  return channels_last && s.pass == Pass::kBackwardWeights && s.element_bytes == 2 &&
         s.groups != kMadeGroups && cudnn_ >= kWeightsLastFrom && cudnn_ < kWeightsLastSince;
}

double GroupedModel::copies(const ConvShape& s, GroupedKernel kernel, bool channels_last) const {
  if (kernel == GroupedKernel::kPlain) return 0;
  const double x = s.n * s.c * product(s.in), y = s.n * s.k * product(s.out);
  const bool data = s.pass == Pass::kBackwardData;
  if (kernel == GroupedKernel::kByElement) {
    const double read = data ? y : x, written = data ? x : y;
    return (read * terms_[kElementIn] + written * terms_[kElementOut]) / clocks_;
  }
  const double elements = x + y + s.k * s.c / s.groups * product(s.filter);
  // Strided gradients and those of weights take channels in either place alike.
  const bool strided = data && product(s.stride) > 1;
  const bool gathers = channels_last && !strided && s.pass != Pass::kBackwardWeights;
  const double clocks = s.element_bytes > 2 ? terms_[kTurnWhole]
                        : gathers           ? terms_[kTurnLast]
                                            : terms_[kTurn];
  return elements * std::max(clocks / clocks_, 2 * s.element_bytes / bandwidth_);
}

ConvCost GroupedModel::cost(const ConvShape& s, Arithmetic unit, GroupedKernel kernel,
                            bool channels_last) const {
  const bool data = s.pass == Pass::kBackwardData, weights = s.pass == Pass::kBackwardWeights;
  const double taps = product(s.filter), outputs = s.n * s.k * product(s.out);
  const double flop = 2 * outputs * s.c / s.groups * taps;
  const double width = (data ? s.c : s.k) / s.groups;
  const bool whole = s.element_bytes > 2, tensor = on_tensor_cores(unit);
  double share = terms_[!tensor ? kMultiply32 : whole ? kMultiplyTf32 : kMultiply16];
  if (weights && tensor) share *= terms_[kGroupedWeights];
  if (data && product(s.stride) > 1) share *= terms_[kGroupedStrided];
  const double padded = flop * std::ceil(width / kTile) * kTile / width;
  const double cuda_cores = flops_[static_cast<size_t>(Arithmetic::kF32)] * kCudaCores;
  const double multiplied = tensor && on_cuda_cores(s, channels_last)
                                ? flop / cuda_cores
                                : padded / (flops_[static_cast<size_t>(unit)] * share);
  const double bytes =
      (outputs + s.n * s.c * product(s.in) + s.k * s.c / s.groups * taps) * s.element_bytes;
  const double memory = bytes / bandwidth_;
  const bool plain = kernel == GroupedKernel::kPlain;
  const double chain = plain ? 0 : terms_[kChain];
  const double copied = copies(s, kernel, channels_last);
  return {.algorithm = plain ? ConvAlgorithm::kImplicitGemm : ConvAlgorithm::kPrecomputedGemm,
          .seconds = (terms_[kGroupedFixed] + chain) * 1e-6 + copied + std::max(multiplied, memory),
          .compute_seconds = multiplied,
          .memory_seconds = memory,
          .flop = flop,
          .bytes = plain ? bytes : 3 * bytes,
          .workspace = 0,
          .memory_bound = copied > multiplied || memory > multiplied};
}

}  // namespace plimsoll
