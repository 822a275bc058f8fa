#include "calibrate/pool_shape.h"

#include <doctest/doctest.h>

#include "estimator/plan/predicted_kernels.h"

using namespace plimsoll;
using namespace plimsoll::calibrate;

namespace {

std::vector<PoolShape> pools_of(const char* model, size_t& others) {
  const auto hwdb = Hwdb::open();
  REQUIRE(hwdb);
  Request request;
  request.model = model;
  request.devices = {"t4"};
  request.batch = 2;
  const auto step = predicted_kernels(request, *hwdb);
  REQUIRE(step);
  std::vector<PoolShape> shapes;
  for (const PredictedKernel& k : step->kernels) {
    if (k.kernel.kernel_class != KernelClass::kPool) continue;
    const auto shape = pool_shape(k.kernel);
    if (shape) shapes.push_back(*shape);
    if (!shape) ++others;
  }
  return shapes;
}

}  // namespace

TEST_CASE("pool shape: the geometry that a network's forward pools have") {
  size_t others = 0;
  using Shapes = std::vector<PoolShape>;
  CHECK(pools_of("builtin:resnet50", others) ==
        Shapes{{.planes = 128, .in = 112, .out = 56, .window = 3, .stride = 2, .pad = 1}});
  CHECK(others == 1);  // its backward pass
  // 55 -> 27 -> 13 -> 6 without padding; the last makes 6 of 6.
  Shapes alexnet = pools_of("builtin:alexnet", others);
  REQUIRE(alexnet.size() == 4);
  CHECK(alexnet.back() ==
        PoolShape{.planes = 512, .in = 6, .out = 6, .window = 1, .stride = 1, .pad = 0});
  alexnet.pop_back();
  for (const PoolShape& shape : alexnet) {
    CHECK(shape.window == 3);
    CHECK(shape.stride == 2);
    CHECK(shape.pad == 0);
  }
  CHECK(alexnet[1].in == 27);
  CHECK(alexnet[1].out == 13);
  const Shapes vgg = pools_of("builtin:vgg16", others);
  REQUIRE(vgg.size() == 6);  // the last makes 7 of 7
  for (const PoolShape& shape : vgg) CHECK(shape.window == shape.stride);
}

TEST_CASE("pool shape: nothing is guessed of planes that are no squares, and of backward passes") {
  KernelAt kernel;
  kernel.kernel_class = KernelClass::kPool;
  kernel.op = "max_pool";
  kernel.problem = RowsProblem<int64_t>{.rows = 6, .columns = 16};
  kernel.flop = 6 * 16 * 4;
  kernel.read = 4 * 6 * 64;
  kernel.written = 4 * 6 * 16;
  REQUIRE(pool_shape(kernel));
  CHECK(pool_shape(kernel)->stride == 2);
  KernelAt oblong = kernel;
  oblong.read = 4 * 6 * 72;
  CHECK_FALSE(pool_shape(oblong));
  KernelAt window = kernel;
  window.flop = 6 * 16 * 6;  // 2x3
  CHECK_FALSE(pool_shape(window));
  KernelAt backward = kernel;
  backward.pass = Pass::kBackward;
  CHECK_FALSE(pool_shape(backward));
  KernelAt adaptive = kernel;
  adaptive.op = "adaptive_pool";
  CHECK_FALSE(pool_shape(adaptive));
}
