#include "estimator/answer/detail.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "estimator/answer/memory_part.h"
#include "estimator/answer/modules.h"
#include "tests/support/requests.h"

using namespace plimsoll;

namespace {

Estimate detailed(const std::string& model, const std::string& device, int64_t batch) {
  Request asked = test::request(model, device, batch);
  asked.detail = true;
  return test::answer(asked);
}

int64_t without_workspace(const BytesByRole& live) {
  return std::accumulate(live.begin(), live.end(), int64_t{0}) -
         live[static_cast<size_t>(Role::kWorkspace)];
}

}  // namespace

TEST_CASE("the memory curve: launches in order, few moments, and the peak among them") {
  for (const auto& model : {"builtin:cnn-torres", "builtin:resnet50", "builtin:gpt2"}) {
    CAPTURE(model);
    const Estimate e = detailed(model, "a100", 4);
    REQUIRE(!e.memory_curve.empty());
    CHECK(e.memory_curve.size() <= 240);
    int64_t highest = 0;
    for (size_t i = 0; i < e.memory_curve.size(); ++i) {
      const MemoryMoment& m = e.memory_curve[i];
      highest = std::max(highest, without_workspace(m.live));
      if (i == 0) continue;
      CHECK(m.launch > e.memory_curve[i - 1].launch);
      CHECK(m.at_ns >= e.memory_curve[i - 1].at_ns);
    }
    // A moment with workspace may stand in the peak's place, which then lives beside it.
    CHECK(highest <= e.memory.live_peak_bytes);
    CHECK(highest >= e.memory.live_peak_bytes - e.memory.workspace_bytes);
    CHECK(e.memory_curve.back().launch <= e.time.launches);
    // Each launch is rounded to whole nanoseconds.
    CHECK(e.memory_curve.back().at_ns <= e.time.gpu_ns + e.time.launches);
  }
}

TEST_CASE("the memory curve of accumulated passes takes the time of all of them") {
  Request asked = test::request("builtin:cnn-torres", "quadro-p4000", 16);
  asked.detail = true;
  const Estimate once = test::answer(asked);
  asked.recipe.accumulate = 4;
  const Estimate often = test::answer(asked);
  REQUIRE(often.memory_curve.size() > 2);
  const double longer = static_cast<double>(often.memory_curve.back().at_ns) /
                        static_cast<double>(once.memory_curve.back().at_ns);
  CHECK(longer > 3);
  CHECK(longer < 5);
}

TEST_CASE("the largest tensors at the peak are part of it, largest first, and are freed after it") {
  const Estimate e = detailed("builtin:resnet50", "rtx-4090", 128);
  REQUIRE(e.peak_tensors.size() == 15);
  BytesByRole listed{};
  for (size_t i = 0; i < e.peak_tensors.size(); ++i) {
    const PeakTensor& t = e.peak_tensors[i];
    listed[static_cast<size_t>(t.role)] += t.bytes;
    if (i > 0) CHECK(t.bytes <= e.peak_tensors[i - 1].bytes);
    CHECK(!t.made_by.empty());
    if (!t.resident) CHECK(t.freed_in >= e.memory.peak_phase);
  }
  for (size_t r = 0; r < listed.size(); ++r) CHECK(listed[r] <= e.memory.peak_by_role[r]);
  // The largest tensor of ResNet-50: 64 x 112 x 112 or 256 x 56 x 56 floats a sample.
  CHECK(e.peak_tensors.front().bytes == int64_t{128} * 64 * 112 * 112 * 4);
}

TEST_CASE("parts of the peak sum to what the device shows") {
  for (const auto& model : {"builtin:alexnet", "builtin:bert-base"}) {
    const Estimate e = detailed(model, "tesla-t4", 8);
    int64_t sum = 0;
    for (const MemoryPart& part : memory_parts(e)) sum += part.bytes;
    CHECK(sum == e.memory.device_bytes);
  }
}

TEST_CASE("modules sum their layers, and stand before those inside them") {
  const Estimate e = detailed("builtin:resnet50", "rtx-4090", 8);
  ModuleEstimate all;
  for (size_t i = 0; i < e.modules.size(); ++i) {
    const ModuleEstimate& m = e.modules[i];
    if (i > 0) CHECK(m.depth <= e.modules[i - 1].depth + 1);
    if (m.depth > 1) continue;
    all.layers += m.layers;
    all.parameters += m.parameters;
    all.forward_ns += m.forward_ns;
    all.feature_map_bytes += m.feature_map_bytes;
  }
  const auto sum = [&](int64_t LayerEstimate::*figure) {
    int64_t total = 0;
    for (const LayerEstimate& l : e.layers) total += l.*figure;
    return total;
  };
  CHECK(all.layers == static_cast<int64_t>(e.layers.size()));
  CHECK(all.parameters == sum(&LayerEstimate::parameters));
  CHECK(all.forward_ns == sum(&LayerEstimate::forward_ns));
  CHECK(all.feature_map_bytes == sum(&LayerEstimate::feature_map_bytes));
  const auto block = std::ranges::find(e.modules, "layer1.0", &ModuleEstimate::path);
  REQUIRE(block != e.modules.end());
  CHECK(block->depth == 2);
  CHECK(block->parameters == 75008);  // torchvision's Bottleneck of 64, 64 and 256 with downsample
}

TEST_CASE("modules of a path without end are few, and none is lost") {
  std::string path = "a";
  for (int i = 0; i < 5000; ++i) path += ".a";
  std::vector<LayerEstimate> layers(3);
  layers[0].module = path;
  layers[1].module = path + "b";
  layers[2].op = "Relu";
  for (LayerEstimate& l : layers) l.forward_ns = 1;
  const auto modules = modules_of(layers, 100);
  CHECK(modules.size() == 13);
  CHECK(modules[11].layers == 2);
  CHECK(modules[11].path == innermost_module(layers[0]));
  CHECK(modules[12].path == "(Relu)");
  CHECK(modules_of(layers, 12).size() == 12);  // without the deepest
  CHECK(modules_of(layers, 2).size() == 2);
  CHECK(modules_of(layers, 1).empty());
}

TEST_CASE("nothing of it is there where nobody asks") {
  const Estimate e = test::answer(test::request("builtin:alexnet", "tesla-t4"));
  CHECK(e.memory_curve.empty());
  CHECK(e.peak_tensors.empty());
  CHECK(e.modules.empty());
}
