#include "estimator/app/explain/node_report.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "estimator/app/report/explain.h"
#include "estimator/request/find_platform.h"
#include "tests/support/requests.h"

using namespace plimsoll;
using plimsoll::test::request;

namespace {

struct PricedModel {
  Evaluator evaluator;
  CompiledModel model;
};

PricedModel prepare(const Request& asked) {
  const auto hwdb = Hwdb::open();
  REQUIRE(hwdb);
  auto platform = find_platform(*hwdb, asked, asked.devices.front());
  REQUIRE(platform);
  auto model = compile(asked, *platform);
  REQUIRE(model);
  auto evaluator = Evaluator::make(std::move(*platform), asked);
  REQUIRE(evaluator);
  return {std::move(*evaluator), std::move(*model)};
}

Result<Explained> explain(const PricedModel& p, std::string_view name) {
  return explain_node(p.evaluator, p.model, p.model.binding, name);
}

}  // namespace

TEST_CASE("a convolution's report holds its tensors, its kernels and what bounds them") {
  Request with_several = request("builtin:alexnet", "tesla-t4", 16);
  with_several.cudnn = "7.6";
  const PricedModel p = prepare(with_several);
  const auto explained = explain(p, "features.3");
  REQUIRE(explained);
  REQUIRE(explained->nodes.size() == 1);
  const NodeReport& n = explained->nodes[0];
  CHECK(n.layer.op == "Conv");
  // 192 filters of 64 x 5 x 5, and a bias each.
  CHECK(n.layer.parameters == 192 * (64 * 25 + 1));
  REQUIRE(n.inputs.size() == 3);
  CHECK(n.inputs[0].shape == "16x64x27x27");
  CHECK(n.inputs[0].bytes == 16 * 64 * 27 * 27 * 4);
  CHECK(n.inputs[1].kind == "parameter");
  CHECK(n.inputs[1].shape == "192x64x5x5");
  REQUIRE(n.outputs.size() == 1);
  CHECK(n.outputs[0].shape == "16x192x27x27");
  REQUIRE_FALSE(n.keeps.empty());
  CHECK(n.keeps[0].bytes == 16 * 64 * 27 * 27 * 4);
  CHECK(n.keeps[0].rule.find("conv") != std::string::npos);
  // Forward, both gradients.
  CHECK(std::count_if(n.kernels.begin(), n.kernels.end(),
                      [](const KernelReport& k) { return k.kernel.starts_with("conv "); }) == 3);
  const KernelReport& forward = n.kernels.front();
  // Every algorithm that the library has for it, the fastest first.
  REQUIRE(forward.algorithms.size() >= 3);
  CHECK(std::any_of(
      forward.algorithms.begin(), forward.algorithms.end(),
      [&](const AlgorithmReport& a) { return a.algorithm == forward.algorithm && a.ns > 0; }));
  CHECK(std::is_sorted(
      forward.algorithms.begin(), forward.algorithms.end(),
      [](const AlgorithmReport& a, const AlgorithmReport& b) { return a.ns < b.ns; }));
  CHECK(forward.phase == "forward");
  CHECK(forward.flop == int64_t{2} * 16 * 192 * 27 * 27 * 64 * 25);
  // Law 9: no kernel is faster than its work at the device's rates, up to its highest clock.
  for (const KernelReport& k : n.kernels) {
    CAPTURE(k.kernel);
    CHECK(static_cast<double>(k.ns) >=
          static_cast<double>(k.bytes) * 1e9 / explained->bandwidth * 0.999);
    CHECK(k.range_ns.low <= k.ns);
    CHECK(k.ns <= k.range_ns.high);
    CHECK(k.fraction_of_peak > 0);
    CHECK_FALSE(k.bound_by.empty());
    CHECK_FALSE(k.time_basis.empty());
  }
}

TEST_CASE("nodes are found by name, by module and by what encloses them") {
  const PricedModel p = prepare(request("builtin:resnet18", "tesla-t4", 2));
  const auto module = explain(p, "layer1.0.conv1");
  REQUIRE(module);
  REQUIRE(module->nodes.size() == 1);
  const std::string& text = module->nodes[0].node;
  const std::string name = text.substr(text.find('\'') + 1, text.rfind('\'') - text.find('\'') - 1);
  const auto named = explain(p, name);
  REQUIRE(named);
  CHECK(named->nodes[0].node == text);
  const auto block = explain(p, "layer1.0");
  REQUIRE(block);
  CHECK(block->nodes.size() == 7);  // two of conv, bn and relu, and the sum
  const auto wrong = explain(p, "layer1.0.conv9");
  REQUIRE_FALSE(wrong);
  CHECK(wrong.error().front().code == "E153");
  CHECK(wrong.error().front().help.find("layer1.0.conv") != std::string::npos);
  CHECK_FALSE(explain(p, ""));
}

TEST_CASE("the figures of all nodes add up to the estimate's") {
  const PricedModel p = prepare(request("builtin:squeezenet1_0", "tesla-t4", 4));
  const auto estimate = p.evaluator.estimate(p.model, p.model.binding);
  REQUIRE(estimate);
  int64_t parameters = 0, forward = 0, backward = 0;
  for (const char* part : {"features", "classifier"}) {
    const auto explained = explain(p, part);
    REQUIRE(explained);
    for (const NodeReport& n : explained->nodes) {
      parameters += n.layer.parameters;
      for (const KernelReport& k : n.kernels)
        (k.phase == "forward" ? forward : backward) += k.ns * k.launches;
    }
  }
  CHECK(parameters == estimate->memory.parameter_count);
  int64_t forward_layers = 0, backward_layers = 0;
  for (const LayerEstimate& l : estimate->layers) {
    if (!l.module.starts_with("features") && !l.module.starts_with("classifier")) continue;
    forward_layers += l.forward_ns;
    backward_layers += l.backward_ns;
  }
  CHECK(forward == forward_layers);
  CHECK(backward == backward_layers);
}

TEST_CASE("both views of a report show the same figures") {
  const PricedModel p = prepare(request("builtin:alexnet", "tesla-t4", 16));
  const auto explained = explain(p, "features.3");
  REQUIRE(explained);
  CHECK(to_text(*explained).find("192x64x5x5") != std::string::npos);
  CHECK(to_json(*explained).find("\"192x64x5x5\"") != std::string::npos);
}
