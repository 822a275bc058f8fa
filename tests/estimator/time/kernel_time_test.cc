#include "estimator/time/kernel_time.h"

#include <doctest/doctest.h>

#include "estimator/distinct_kernels.h"
#include "estimator/estimator.h"
#include "tests/support/convolutions.h"
#include "tests/support/requests.h"

namespace plimsoll {
namespace {

// One operation and one byte a second.
DeviceRates unit_device() {
  DeviceRates rates{.id = "unit", .compute_capability = 52, .sms = 1, .bandwidth = 1};
  rates.peak.fill(1);
  return rates;
}

KernelAt gemm(int64_t m, int64_t n, int64_t k) {
  return {.kernel_class = KernelClass::kGemm,
          .op = "MatMul",
          .flop = 2 * m * n * k,
          .read = 4 * (m * k + k * n),
          .written = 4 * m * n,
          .problem = GemmProblem<int64_t>{.m = m, .n = n, .k = k}};
}

TEST_CASE("without a calibration a kernel takes the roofline's time, by eye") {
  const TimeContext context(unit_device(), {});
  const KernelTime time = kernel_time(gemm(10, 10, 100), context);
  CHECK(time.seconds == 20000);  // 2 * 10 * 10 * 100 operations
  CHECK(time.bound_by == BoundBy::kCompute);
  CHECK(time.fraction_of_peak == 1);
  CHECK(context.basis(time.basis) == "uncalibrated: roofline of datasheet figures");
  const KernelTime thin = kernel_time(gemm(1, 1, 100), context);
  CHECK(thin.seconds == 804);  // 4 * (100 + 100 + 1) bytes against 200 operations
  CHECK(thin.bound_by == BoundBy::kDram);
}

// On cards with much and little behind their times, under every policy.
TEST_CASE("kernels of many batches, side by side, each take the time that one takes alone") {
  struct Sweep {
    const char* model;
    const char* card;
    TimeOptions options;
  };
  const TimeOptions grouped{.library = {.cudnn = 605}};
  const TimeOptions last{.layout = Layout::kChannelsLast, .persistent_norm = true};
  const TimeOptions columns{.policy = AlgorithmPolicy::kIm2col, .separate_batch_norm = true};
  const TimeOptions forced{.policy = AlgorithmPolicy::kForced, .forced = ConvAlgorithm::kFft};
  const TimeOptions limited{.library = {.cudnn = 500}, .workspace_limit = 8 << 20, .alone = true};
  const std::vector<Sweep> sweeps = {
      {"resnet50", "quadro-p4000", {}},          {"resnet50", "h100-sxm-80gb", last},
      {"vgg16", "gtx-titan-x", limited},         {"vgg16", "tesla-v100-sxm2-16gb", forced},
      {"alexnet", "gtx-1080-ti", columns},       {"resnext50_32x4d", "gtx-1080-ti", grouped},
      {"mobilenet_v2", "rtx-3070", last},        {"bert-base", "h100-sxm-80gb", {}},
      {"bert-base", "tesla-p100-sxm2-16gb", {}}, {"lstm-lm", "quadro-p4000", {}}};
  const Hwdb hwdb = *Hwdb::open();
  for (const Sweep& sweep : sweeps) {
    CAPTURE(sweep.model);
    CAPTURE(sweep.card);
    const Request request = test::request(std::string("builtin:") + sweep.model, sweep.card);
    const CompiledModel model = *compile(request, *find_platform(hwdb, request, sweep.card));
    const TimeContext context(rates_of(*hwdb.device(sweep.card)), Calibrations::shipped(),
                              sweep.options);
    std::vector<Binding> points;
    for (const int64_t batch : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 33, 64, 100, 128, 200}) {
      points.push_back(model.binding);
      points.back()[model.batch_symbol] = batch;
    }
    DistinctKernels distinct;
    distinct.add(model.step);
    std::vector<KernelAt> all;
    const auto bound = distinct.at(points, [&](std::span<const KernelAt> kernel) {
      all.insert(all.end(), kernel.begin(), kernel.end());
      std::vector<KernelTime> together(kernel.size());
      kernel_times(kernel, context, together);
      for (size_t p = 0; p < points.size(); ++p)
        CHECK(together[p] == kernel_time(kernel[p], context));
    });
    REQUIRE(bound);
    REQUIRE(all.size() == points.size() * model.step.kernels.size());
    // The whole sweep at once.
    std::vector<KernelTime> times(all.size());
    kernel_times(all, context, times);
    for (size_t i = 0; i < all.size(); ++i) CHECK(times[i] == kernel_time(all[i], context));
  }
}

}  // namespace
}  // namespace plimsoll
