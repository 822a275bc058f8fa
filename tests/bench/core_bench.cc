// What the parts of an estimate cost, on the built-in ResNet-50.
#include <benchmark/benchmark.h>

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "estimator/app/search/batch_memory.h"
#include "estimator/app/search/max_batch.h"
#include "estimator/app/sweep/sweep.h"
#include "estimator/estimator.h"
#include "estimator/request/find_platform.h"
#include "estimator/step/distinct_kernels.h"

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

// Llama 3.1 405B on so many machines of eight cards, 8 along tp and the rest FSDP's: what it costs
// grows with stages and axes, not with ranks. At most 100 ms is asked of 128 machines.
void estimate_405b(benchmark::State& state) {
  const auto hwdb = Hwdb::open();
  Request request;
  request.model = "hf:llama-3.1-405b";
  request.devices = {"h100-sxm-80gb"};
  request.batch = 1;
  request.nodes = state.range(0);
  request.gpu_count = 8 * request.nodes;
  request.network = "infiniband-ndr";
  request.recipe.precision = find_precision("mixed-bf16");
  request.parallel.fsdp = request.parallel.sequence_parallel = true;
  request.parallel.axes[static_cast<size_t>(Axis::kTensor)] = 8;
  for (auto _ : state) {
    const auto answer = estimate_once(request, *hwdb);
    if (!answer) state.SkipWithError(answer.error().front().message.c_str());
    benchmark::DoNotOptimize(answer);
  }
}
BENCHMARK(estimate_405b)->Arg(1)->Arg(128)->Arg(2048)->Unit(benchmark::kMillisecond);

// The time of a sweep over recipes and batches, at blocks of batches: what is distinct among the
// recipes' kernels is bound and priced. The kernels of a recipe's step share it.
void price_points(benchmark::State& state, const std::vector<CompiledModel>& models,
                  const Platform& platform, int64_t step, int64_t last) {
  using Clock = std::chrono::steady_clock;
  constexpr size_t kBlock = 128;
  std::vector<KernelTime> times(kBlock);
  size_t kernels = 0, of_steps = 0;
  Clock::duration binding{}, pricing{};
  for (auto _ : state) {
    const auto evaluator = Evaluator::make(platform, resnet50());
    const Clock::duration priced = pricing, begun = Clock::now().time_since_epoch();
    DistinctKernels distinct;
    size_t in_steps = 0;
    for (const CompiledModel& model : models) in_steps += distinct.add(model.step).size();
    for (int64_t batch = step; batch <= last;) {
      std::vector<Binding> points;
      for (; batch <= last && points.size() < kBlock; batch += step) {
        points.push_back(models[0].binding);
        points.back()[models[0].batch_symbol] = batch;
      }
      const auto done = distinct.at(points, [&](std::span<const KernelAt> kernel) {
        const auto bound = Clock::now();
        for (size_t p = 0; p < points.size(); ++p)
          times[p] = kernel_time(kernel[p], evaluator->context());
        benchmark::DoNotOptimize(times.data());
        pricing += Clock::now() - bound;
      });
      if (!done) state.SkipWithError("a step cannot be bound");
      kernels += distinct.size() * points.size();
      of_steps += in_steps * points.size();
    }
    binding += Clock::now().time_since_epoch() - begun - (pricing - priced);
    state.SetIterationTime(std::chrono::duration<double>(pricing - priced).count());
  }
  const auto ns = [](Clock::duration spent, size_t of) {
    return std::chrono::duration<double, std::nano>(spent).count() / static_cast<double>(of);
  };
  state.counters["ns/kernel"] = ns(pricing, kernels);
  state.counters["ns/kernel bound"] = ns(binding, kernels);
  state.counters["ns/kernel of a step"] = ns(pricing + binding, of_steps);
}

// Of 512 batches of one recipe.
void price_batches(benchmark::State& state, const std::string& name) {
  const auto hwdb = Hwdb::open();
  Request request = resnet50();
  request.model = "builtin:" + name;
  const auto platform = find_platform(*hwdb, request, request.devices[0]);
  price_points(state, {*compile(request, *platform)}, *platform, 1, 512);
}

// Of six optimizers and four accumulations.
void price_recipes(benchmark::State& state, const std::string& name, int64_t step, int64_t last) {
  const auto hwdb = Hwdb::open();
  Request request = resnet50();
  request.model = "builtin:" + name;
  const auto platform = find_platform(*hwdb, request, request.devices[0]);
  std::vector<CompiledModel> models;
  for (const OptimizerRow* optimizer :
       {find_optimizer("sgd"), find_optimizer("momentum"), find_optimizer("adam"),
        find_optimizer("adamw"), find_optimizer("rmsprop"), find_optimizer("adagrad")}) {
    for (const int64_t accumulate : {1, 2, 4, 8}) {
      request.recipe.optimizer = optimizer;
      request.recipe.accumulate = accumulate;
      models.push_back(*compile(request, *platform));
    }
  }
  price_points(state, models, *platform, step, last);
}

// At 32 batches: 768 points.
void price_few(benchmark::State& state, const std::string& name) {
  price_recipes(state, name, 8, 256);
}

// At 512: 12,288.
void price_many(benchmark::State& state, const std::string& name) {
  price_recipes(state, name, 1, 512);
}

// All of a sweep, as `plimsoll sweep` runs it: 10,000 points of 40 recipes and cards, 250 batches
// each. At most 5 s is asked.
void sweep_of(benchmark::State& state, const std::string& name) {
  const auto hwdb = Hwdb::open();
  Request request = resnet50();
  request.model = "builtin:" + name;
  std::vector<Request> variants;
  for (const PrecisionRow* precision : {find_precision("fp32"), find_precision("amp-fp16")}) {
    for (const char* device : {"quadro-p4000", "tesla-p100", "rtx-3090", "rtx-4090", "h100"}) {
      for (const OptimizerRow* optimizer : {find_optimizer("sgd"), find_optimizer("adam")}) {
        for (const int64_t accumulate : {1, 2}) {
          request.devices = {device};
          request.recipe.precision = precision;
          request.recipe.optimizer = optimizer;
          request.recipe.accumulate = accumulate;
          variants.push_back(request);
        }
      }
    }
  }
  std::vector<SizeAxis> sizes = {{"batch", {}}};
  for (int64_t batch = 1; batch <= 250; ++batch) sizes[0].values.push_back(batch);
  for (auto _ : state) {
    int64_t points = 0;
    const auto done = sweep(variants, sizes, *hwdb, {}, [&](const SweepPoint& point) {
      points += point.failure ? 0 : 1;
      return true;
    });
    if (!done || points != 10'000) state.SkipWithError("points without an answer");
  }
}

// The search, and what it compiles: at most 60 ms is asked
// of each.
void max_batch_of(benchmark::State& state, const std::string& name) {
  const auto hwdb = Hwdb::open();
  Request request = resnet50();
  request.model = "builtin:" + name;
  const auto platform = find_platform(*hwdb, request, request.devices[0]);
  const auto evaluator = Evaluator::make(*platform, request);
  const MaxBatchQuery query{.capacity = platform->device.memory_reported.value,
                            .start = *request.batch};
  for (auto _ : state) {
    BatchMemory memory(request, *evaluator);
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

using Pricing = std::pair<std::string, void (*)(benchmark::State&, const std::string&)>;

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
  for (const std::string name : {"resnet50", "bert-base"}) {
    for (const auto& [points, price] :
         {Pricing("price_batches/", &price_batches), Pricing("price_few_of_recipes/", &price_few),
          Pricing("price_many_of_recipes/", &price_many)}) {
      benchmark::RegisterBenchmark((points + name).c_str(), price, name)
          ->UseManualTime()
          ->Unit(benchmark::kMillisecond);
    }
  }
  for (const std::string name : {"resnet50", "bert-base"}) {
    benchmark::RegisterBenchmark(("sweep_of/" + name).c_str(), sweep_of, name)
        ->Unit(benchmark::kMillisecond);
  }
  for (const std::string name : kSearched) {
    benchmark::RegisterBenchmark(("max_batch_of/" + name).c_str(), max_batch_of, name)
        ->Unit(benchmark::kMillisecond);
  }
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
