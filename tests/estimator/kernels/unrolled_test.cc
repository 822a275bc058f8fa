#include "estimator/kernels/unrolled.h"

#include <doctest/doctest.h>

#include "estimator/library/kernel_time.h"
#include "hwdb/hwdb.h"

namespace plimsoll {
namespace {

using Gemm = GemmProblem<int64_t>;

constexpr int64_t kBatch = 128, kSteps = 30, kHidden = 512, kInput = 256;

KernelAt lstm(Pass pass, std::optional<CellForm> unrolled, int64_t layers = 1) {
  KernelAt kernel;
  kernel.kernel_class = KernelClass::kRecurrent;
  kernel.pass = pass;
  kernel.op = "recurrent";
  kernel.problem = RecurrentProblem<int64_t>{.input = kInput,
                                             .hidden = kHidden,
                                             .batch = kBatch,
                                             .timesteps = kSteps,
                                             .layers = layers,
                                             .unrolled = unrolled};
  return kernel;
}

int64_t launches(const std::vector<RepeatedKernel>& kernels) {
  int64_t sum = 0;
  for (const RepeatedKernel& k : kernels) sum += k.count;
  return sum;
}

int64_t product_flop(const std::vector<RepeatedKernel>& kernels) {
  int64_t sum = 0;
  for (const RepeatedKernel& k : kernels) {
    if (k.kernel.kernel_class == KernelClass::kGemm) sum += k.count * k.kernel.flop;
  }
  return sum;
}

TEST_CASE("Unrolled, a layer multiplies as much as in one call") {
  // Gates of the input and the state, in every step and pass.
  constexpr int64_t kFlop = 2 * kBatch * kSteps * (kInput + kHidden) * 4 * kHidden;
  for (const Pass pass : {Pass::kForward, Pass::kBackwardData, Pass::kBackwardWeights}) {
    CHECK(product_flop(unroll(lstm(pass, CellForm::kJoined))) == kFlop);
    CHECK(product_flop(unroll(lstm(pass, CellForm::kApart))) == kFlop);
  }
}

// tensorflow/python/ops/rnn_cell_impl.py 1.2, BasicLSTMCell: concat, matmul, bias_add, split; then
// f + 1, three sigmoids, two tanhs, three products and a sum.
TEST_CASE("A step of TensorFlow's LSTM cell is fourteen kernels") {
  CHECK(launches(unroll(lstm(Pass::kForward, CellForm::kJoined))) == 14 * kSteps);
  CHECK(launches(unroll(lstm(Pass::kForward, CellForm::kJoined, 3))) == 3 * 14 * kSteps);
}

TEST_CASE("Unrolled, a layer takes longer than in one call, and the host launches each kernel") {
  const auto hwdb = Hwdb::open();
  const auto device = hwdb->device("quadro-p4000");
  REQUIRE(device.has_value());
  TimeOptions options;
  options.library.cudnn = 600;
  const TimeContext context(rates_of(*device), Calibrations::shipped(), options);
  for (const Pass pass : {Pass::kForward, Pass::kBackwardData, Pass::kBackwardWeights}) {
    const KernelTime call = kernel_time(lstm(pass, {}), context);
    const KernelTime steps = kernel_time(lstm(pass, CellForm::kJoined), context);
    CHECK(call.launches == 1);
    CHECK(steps.launches == launches(unroll(lstm(pass, CellForm::kJoined))));
    CHECK(steps.seconds > call.seconds);
    CHECK(steps.low < steps.seconds);
    CHECK(steps.high > steps.seconds);
  }
}

TEST_CASE("Of a loop's kernel each turn is a launch, and a product reads its operands in each") {
  const Gemm one{.m = kBatch, .n = kHidden, .k = kInput};
  KernelAt product{.kernel_class = KernelClass::kGemm, .op = "mm"};
  product.flop = kSteps * 2 * one.m * one.n * one.k;
  product.read = (kSteps * one.m * one.k + one.k * one.n) * 4;
  product.problem = one;
  product.turns = kSteps;
  const auto turns = unroll(product);
  REQUIRE(turns.size() == 1);
  CHECK(turns[0].count == kSteps);
  CHECK(turns[0].kernel.turns == 1);
  CHECK(turns[0].kernel.flop * kSteps == product.flop);
  CHECK(turns[0].kernel.read == (one.m * one.k + one.k * one.n) * 4);
  CHECK(is_unrolled(product));
  CHECK_FALSE(is_unrolled(turns[0].kernel));

  const auto device = Hwdb::open()->device("quadro-p4000");
  REQUIRE(device.has_value());
  const TimeContext context(rates_of(*device), Calibrations::shipped(), TimeOptions{});
  const KernelTime all = kernel_time(product, context);
  CHECK(all.launches == kSteps);
  CHECK(all.seconds == doctest::Approx(kSteps * kernel_time(turns[0].kernel, context).seconds));
}

}  // namespace
}  // namespace plimsoll
