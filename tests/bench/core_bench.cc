// What the parts of an estimate cost, on the built-in ResNet-50.
#include <benchmark/benchmark.h>

#include "estimator/estimator.h"

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
  for (auto _ : state)
    benchmark::DoNotOptimize(evaluate(*model, *platform, *hwdb, request, model->binding));
}
BENCHMARK(evaluate_resnet50)->Unit(benchmark::kMillisecond);

void multiply_dims(benchmark::State& state) {
  const Dim batch = Dim::symbol("batch");
  for (auto _ : state) benchmark::DoNotOptimize(batch * Dim(64) * Dim(112) * Dim(112));
}
BENCHMARK(multiply_dims);

}  // namespace
}  // namespace plimsoll

BENCHMARK_MAIN();
