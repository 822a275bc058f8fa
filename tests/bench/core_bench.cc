// What the parts of an estimate cost, on the built-in ResNet-50.
#include <benchmark/benchmark.h>

#include <chrono>
#include <functional>
#include <string>

#include "estimator/batch_memory.h"
#include "estimator/estimator.h"
#include "estimator/plan/max_batch.h"

namespace plimsoll {
namespace {

Request resnet50() {
  Request request;
  request.model = "builtin:resnet50";
  request.devices = {"quadro-p4000"};
  request.batch = 32;
  return request;
}

void compile_resnet50(benchmark::State& state) {
  const auto hwdb = Hwdb::open();
  const Request request = resnet50();
  const auto platform = find_platform(*hwdb, request, request.devices[0]);
  for (auto _ : state) benchmark::DoNotOptimize(compile(request, *platform));
}
BENCHMARK(compile_resnet50)->Unit(benchmark::kMillisecond);

void evaluate_resnet50(benchmark::State& state) {
  const auto hwdb = Hwdb::open();
  const Request request = resnet50();
  const auto platform = find_platform(*hwdb, request, request.devices[0]);
  const auto model = compile(request, *platform);
  const auto evaluator = Evaluator::make(*platform, request);
  for (auto _ : state) benchmark::DoNotOptimize(evaluator->estimate(*model, model->binding));
}
BENCHMARK(evaluate_resnet50)->Unit(benchmark::kMillisecond);

// The time of a sweep over 32 batch sizes, six optimizers and four accumulations on one card: each
// step is bound, which is told apart, and its kernels priced; per kernel of a step, with what is
// priced for the first time. At most 0.1 us is asked. Recipes share their batches here: where every
// batch is another, nearly every kernel is new and takes 0.6 us.
void price_sweep(benchmark::State& state, const std::string& name) {
  using Clock = std::chrono::steady_clock;
  const auto hwdb = Hwdb::open();
  Request request = resnet50();
  request.model = "builtin:" + name;
  const auto platform = find_platform(*hwdb, request, request.devices[0]);
  std::vector<CompiledModel> models;
  for (const Optimizer optimizer : {Optimizer::kSgd, Optimizer::kMomentum, Optimizer::kAdam,
                                    Optimizer::kAdamW, Optimizer::kRmsProp, Optimizer::kAdagrad}) {
    for (const int64_t accumulate : {1, 2, 4, 8}) {
      request.recipe.optimizer = optimizer;
      request.recipe.accumulate = accumulate;
      models.push_back(*compile(request, *platform));
    }
  }
  size_t kernels = 0;
  Clock::duration binding{}, pricing{};
  for (auto _ : state) {
    const auto evaluator = Evaluator::make(*platform, request);
    const Clock::duration priced = pricing;
    for (CompiledModel& model : models) {
      StepBinder binder(model.step);
      for (int64_t batch = 8; batch <= 256; batch += 8) {
        const auto begin = Clock::now();
        model.binding[model.batch_symbol] = batch;
        const auto step = binder(model.binding);
        std::vector<const KernelAt*> wanted;
        for (const KernelAt& kernel : (*step)->kernels) wanted.push_back(&kernel);
        const auto bound = Clock::now();
        benchmark::DoNotOptimize(kernel_times(wanted, evaluator->context()));
        binding += bound - begin;
        pricing += Clock::now() - bound;
        kernels += wanted.size();
      }
    }
    state.SetIterationTime(std::chrono::duration<double>(pricing - priced).count());
  }
  const auto per_kernel = [&](Clock::duration spent) {
    return std::chrono::duration<double, std::nano>(spent).count() / static_cast<double>(kernels);
  };
  state.counters["ns/kernel"] = per_kernel(pricing);
  state.counters["ns/kernel bound"] = per_kernel(binding);
}

BENCHMARK_CAPTURE(price_sweep, resnet50, "resnet50")
    ->UseManualTime()
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(price_sweep, bert, "bert-base")->UseManualTime()->Unit(benchmark::kMillisecond);

// The search after the compilation, with what is compiled again on the way: at most 60 ms is asked
// of each.
void max_batch_of(benchmark::State& state, const std::string& name) {
  const auto hwdb = Hwdb::open();
  Request request = resnet50();
  request.model = "builtin:" + name;
  const auto platform = find_platform(*hwdb, request, request.devices[0]);
  const auto evaluator = Evaluator::make(*platform, request);
  const MaxBatchQuery query{.capacity = platform->device.memory_reported.value,
                            .start = *request.batch};
  const auto model = compile(request, *platform);
  for (auto _ : state) {
    state.PauseTiming();
    CompiledModel own = *model;
    state.ResumeTiming();
    BatchMemory memory(request, *evaluator, std::move(own));
    const auto answer = max_batch(std::ref(memory), query);
    if (!answer) state.SkipWithError(answer.error().front().message.c_str());
    benchmark::DoNotOptimize(answer);
  }
}
void multiply_dims(benchmark::State& state) {
  const Dim batch = Dim::symbol("batch");
  for (auto _ : state) benchmark::DoNotOptimize(batch * Dim(64) * Dim(112) * Dim(112));
}
BENCHMARK(multiply_dims);

// From the networks with the fewest events to those with the most.
constexpr const char* kSearched[] = {"mlp",
                                     "alexnet",
                                     "vgg16_bn",
                                     "googlenet",
                                     "inception_v3",
                                     "resnet50",
                                     "resnext101_64x4d",
                                     "wide_resnet50_2",
                                     "densenet121",
                                     "densenet201",
                                     "mnasnet1_0",
                                     "mobilenet_v3_large",
                                     "efficientnet_b0",
                                     "efficientnet_b7",
                                     "convnext_base",
                                     "vit_b_16",
                                     "swin_t",
                                     "maxvit_t",
                                     "bert-base",
                                     "gpt2"};

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  using namespace plimsoll;
  for (const std::string name : kSearched) {
    benchmark::RegisterBenchmark(("max_batch_of/" + name).c_str(), max_batch_of, name)
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
