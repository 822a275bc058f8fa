#include "graph/ir/kernel_work.h"

#include <doctest/doctest.h>

#include "estimator/app/explain/predicted_kernels.h"
#include "graph/ir/kernel_label.h"
#include "tests/support/requests.h"

namespace plimsoll {
namespace {

struct Counted {
  int products = 0, convolutions = 0, layers = 0;
};

Counted check_work(const char* model) {
  Counted counted;
  const auto step = predicted_kernels(test::request(model, "h100"), test::hwdb());
  REQUIRE(step);
  for (const PredictedKernel& predicted : step->kernels) {
    KernelAt kernel = predicted.kernel;
    CAPTURE(predicted.label);
    set_work(kernel);
    CHECK(kernel.flop == predicted.kernel.flop);
    if (std::holds_alternative<ConvProblem<int64_t>>(kernel.problem)) {
      ++counted.convolutions;
      CHECK(kernel.read == predicted.kernel.read);
      CHECK(kernel.written == predicted.kernel.written);
    } else if (std::holds_alternative<RecurrentProblem<int64_t>>(kernel.problem)) {
      ++counted.layers;  // whose biases are read beside the matrices
      CHECK(static_cast<double>(kernel.read) ==
            doctest::Approx(static_cast<double>(predicted.kernel.read)).epsilon(.01));
    } else if (const auto* p = std::get_if<GemmProblem<int64_t>>(&kernel.problem)) {
      ++counted.products;
      CHECK(kernel.written == predicted.kernel.written);
      // A bias may be what is accumulated: a row of it is read, where a matrix would be.
      if (!p->accumulate) CHECK(kernel.read == predicted.kernel.read);
    }
  }
  return counted;
}

TEST_CASE("work of a problem is what eager code launches") {
  CHECK(check_work("builtin:resnet50").convolutions > 20);
  CHECK(check_work("builtin:mobilenet_v2").convolutions > 20);
  CHECK(check_work("builtin:bert-base").products > 5);
  CHECK(check_work("builtin:lstm-lm").layers >= 3);
}

TEST_CASE("each pass of a convolution writes the third operand of the other two") {
  KernelAt kernel{.kernel_class = KernelClass::kConv,
                  .dtype = DType::kFloat16,
                  .op = "conv",
                  .problem = ConvProblem<int64_t>{.n = 2,
                                                  .c = 8,
                                                  .k = 4,
                                                  .groups = 2,
                                                  .in = {1, 5, 5},
                                                  .out = {1, 3, 3},
                                                  .filter = {1, 3, 3}}};
  constexpr int64_t kX = 2 * 2 * 8 * 25, kW = 2 * 4 * 4 * 9, kY = 2 * 2 * 4 * 9;
  set_work(kernel);
  CHECK(kernel.flop == 2 * 2 * 4 * 9 * 4 * 9);
  CHECK(kernel.read == kX + kW);
  CHECK(kernel.written == kY);
  kernel.pass = Pass::kBackwardData;
  set_work(kernel);
  CHECK(kernel.read == kY + kW);
  CHECK(kernel.written == kX);
  kernel.pass = Pass::kBackwardWeights;
  set_work(kernel);
  CHECK(kernel.read == kX + kY);
  CHECK(kernel.written == kW);
}

TEST_CASE("recurrent layers multiply all gates; the first may skip its input") {
  RecurrentProblem<int64_t> p{
      .cell = Cell::kGru, .input = 8, .hidden = 8, .batch = 2, .timesteps = 3, .skip_input = true};
  KernelAt kernel{.kernel_class = KernelClass::kRecurrent, .op = "recurrent", .problem = p};
  set_work(kernel);
  CHECK(kernel.flop == 2 * 2 * 3 * (3 * 8 * 8));
  p.layers = 2;
  p.directions = 2;
  kernel.problem = p;
  set_work(kernel);
  CHECK(kernel.flop == 2 * 2 * 3 * 2 * 3 * 8 * (8 + (8 + 16)));
}

}  // namespace
}  // namespace plimsoll
