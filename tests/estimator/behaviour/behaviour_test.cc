#include "estimator/behaviour/behaviour.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

#include "estimator/evaluator.h"
#include "estimator/request/find_platform.h"
#include "tests/support/requests.h"

namespace plimsoll {
namespace {

Behaviour behaviour_of(const std::string& framework, const std::string& gpu = "h100-sxm-80gb",
                       Request request = {}) {
  request.framework = framework;
  const auto platform = find_platform(test::hwdb(), request, gpu);
  REQUIRE(platform);
  return resolve(*platform, request);
}

}  // namespace

TEST_CASE("behaviour: what passes through each framework's allocator") {
  const AllocatorBehaviour pytorch = behaviour_of("pytorch-2.8").allocator;
  CHECK(pytorch.rounding == 512);
  CHECK(pytorch.in_place == InPlaceReuse::kImageModels);
  CHECK(pytorch.library_buffers == std::vector<int64_t>{32 << 20, 32 << 20});
  CHECK(pytorch.python_names);
  CHECK_FALSE(pytorch.is_judged_by_demand());
  // Given back by each product from 2.15 on.
  CHECK(behaviour_of("pytorch-2.15").allocator.library_buffers.empty());
  CHECK(behaviour_of("pytorch-2.15").library.product_bytes_hopper == 32 << 20);
  const AllocatorBehaviour tensorflow = behaviour_of("tensorflow-1.4").allocator;
  CHECK(tensorflow.rounding == 256);
  CHECK(tensorflow.takes_whole_card);
  CHECK(tensorflow.is_judged_by_demand());
  CHECK(tensorflow.system_reserve.of(int64_t{16} << 30) == (int64_t{16} << 30) / 20);
  const AllocatorBehaviour torch7 = behaviour_of("torch7").allocator;
  CHECK(torch7.by_modules);
  CHECK(torch7.keeps_storages);
  CHECK(torch7.in_place == InPlaceReuse::kActivations);
  const AllocatorBehaviour caffe = behaviour_of("caffe").allocator;
  CHECK(caffe.keeps_storages);
  CHECK_FALSE(caffe.by_modules);
  CHECK(caffe.scratch_home == WorkspaceHome::kOwn);
}

TEST_CASE("behaviour: on the host no library of a card takes anything") {
  const AllocatorBehaviour host = behaviour_of("pytorch-2.8", "cpu").allocator;
  CHECK(host.rounding == 1);
  CHECK(host.library_buffers.empty());
}

TEST_CASE("behaviour: the process has the context's row for its CUDA, as asked or by default") {
  Request asked;
  asked.module_loading = ModuleLoading::kEager;
  const ProcessBehaviour eager = behaviour_of("pytorch-2.8", "h100-sxm-80gb", asked).process;
  const ProcessBehaviour usual = behaviour_of("pytorch-2.8").process;
  CHECK(usual.loading == ModuleLoading::kLazy);
  CHECK(eager.loading == ModuleLoading::kEager);
  CHECK(usual.context.plain.value < eager.context.plain.value);
  CHECK(usual.context_basis.find("the default") != usual.context_basis.npos);
  CHECK(usual.collective_buffers);
  CHECK(usual.host.base > 0);
  CHECK(behaviour_of("cntk").process.host.base == 0);
}

TEST_CASE("behaviour: what the host takes is its row for the framework's version") {
  const DispatchBehaviour pytorch = behaviour_of("pytorch-2.8").dispatch;
  CHECK(pytorch.framework == "pytorch");
  REQUIRE(pytorch.costs);
  CHECK(pytorch.costs->framework == "pytorch");
  CHECK(pytorch.costs->per_launch.value > 0);
  CHECK(pytorch.pageable_input);
}

TEST_CASE("behaviour: an evaluator has what was resolved of its request") {
  Request request = test::request("builtin:mlp", "tesla-t4");
  request.cudnn_benchmark = true;
  request.recipe.zero_grad = ZeroGrad::kKeep;
  auto platform = find_platform(test::hwdb(), request, "tesla-t4");
  REQUIRE(platform);
  const auto evaluator = Evaluator::make(std::move(*platform), request);
  REQUIRE(evaluator);
  const Behaviour& behaviour = evaluator->behaviour();
  CHECK(behaviour.library.algorithm == AlgorithmPolicy::kAutotune);
  CHECK(behaviour.library.options.policy == AlgorithmPolicy::kAutotune);
  CHECK(evaluator->context().offers()->behaviour.policy.benchmark);
  CHECK(behaviour.autograd.recipe.zero_grad == ZeroGrad::kKeep);
}

}  // namespace plimsoll
