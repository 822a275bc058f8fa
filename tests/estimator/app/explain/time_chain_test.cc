// How a kernel's time comes to be, against the time that answers have.
#include "estimator/app/explain/time_chain.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>

#include "estimator/app/explain/node_report.h"
#include "estimator/request/find_platform.h"
#include "graph/ir/precision.h"
#include "tests/support/requests.h"

using namespace plimsoll;

namespace {

std::string first_part(const std::string& module) { return module.substr(0, module.find('.')); }

// The part of the network, by its first name, that takes most of the answer's time.
std::string longest_part(const Estimate& e) {
  std::map<std::string, int64_t> parts;
  for (const LayerEstimate& l : e.layers) {
    if (!l.module.empty()) parts[first_part(l.module)] += l.forward_ns + l.backward_ns;
  }
  REQUIRE_FALSE(parts.empty());
  return std::ranges::max_element(parts, {}, [](const auto& part) { return part.second; })->first;
}

void check_kernel(const KernelReport& k) {
  CAPTURE(k.kernel);
  REQUIRE_FALSE(k.chain.empty());
  CHECK(k.chain.front().what == "roofline");
  CHECK(k.chain.back().ns == k.ns);
  for (const AlgorithmReport& a : k.algorithms) {
    if (a.algorithm == k.algorithm) CHECK(a.ns == k.ns);
  }
}

struct Case {
  const char *model, *gpu, *precision;
};

constexpr Case kCases[] = {
    {"resnet50", "tesla-t4", "fp32"},
    {"resnet50", "a100", "amp-fp16"},
    {"resnet50", "gtx-1080-ti", "fp32"},
    {"vgg16", "tesla-k80", "fp32"},
    {"mobilenet_v2", "rtx-4090", "amp-bf16"},
    {"densenet121", "titan-xp", "fp32"},
    {"gpt2", "h100-sxm", "bf16"},
    {"bert-base", "v100", "amp-fp16"},
    {"lstm-lm", "quadro-p4000", "fp32"},
    {"vit_b_16", "a100", "fp32"},
    {"alexnet", "gtx-titan-x", "fp32"},
    {"dcgan", "rtx-2080-ti", "amp-fp16"},
    {"squeezenet1_0", "tesla-p4", "fp32"},
    {"resnext50_32x4d", "rtx-3090", "tf32"},
};

}  // namespace

TEST_CASE("the last line of each kernel's chain is its time, and kernels add up to the layer's") {
  for (const Case& one : kCases) {
    CAPTURE(one.model);
    CAPTURE(one.gpu);
    Request asked = test::request(std::string("builtin:") + one.model, one.gpu, 8);
    asked.recipe.precision = find_precision(one.precision);
    auto platform = find_platform(test::hwdb(), asked, asked.devices.front());
    REQUIRE(platform);
    const auto compiled = compile(asked, *platform);
    REQUIRE(compiled);
    const auto evaluator = Evaluator::make(std::move(*platform), asked);
    REQUIRE(evaluator);
    const std::string part = longest_part(test::answer(asked));
    const auto explained = explain_node(*evaluator, *compiled, compiled->binding, part);
    REQUIRE(explained);
    for (const NodeReport& n : explained->nodes) {
      CAPTURE(n.node);
      int64_t forward = 0, backward = 0;
      for (const KernelReport& k : n.kernels) {
        check_kernel(k);
        (k.phase == "forward" ? forward : backward) += k.ns * k.launches;
      }
      CHECK(forward == n.layer.forward_ns);
      CHECK(backward == n.layer.backward_ns);
    }
  }
}

TEST_CASE("a power limit, a launch and the law each have their line") {
  const auto lines_of = [](const char* model, const char* gpu, std::string_view name) {
    Request asked = test::request(std::string("builtin:") + model, gpu, 32);
    auto platform = find_platform(test::hwdb(), asked, gpu);
    REQUIRE(platform);
    const auto compiled = compile(asked, *platform);
    REQUIRE(compiled);
    const auto evaluator = Evaluator::make(std::move(*platform), asked);
    REQUIRE(evaluator);
    const auto explained = explain_node(*evaluator, *compiled, compiled->binding, name);
    REQUIRE(explained);
    return explained->nodes.front().kernels.front().chain;
  };
  const auto has = [](const std::vector<TimeLine>& lines, std::string_view what) {
    return std::ranges::find(lines, what, &TimeLine::what) != lines.end();
  };
  const auto limited = lines_of("vgg16", "tesla-t4", "features.2");
  CHECK(has(limited, "clock"));  // 70 W
  CHECK(has(limited, "efficiency"));
  CHECK(has(limited, "launch"));
  CHECK_FALSE(has(lines_of("vgg16", "gtx-titan-x", "features.2"), "clock"));
}
