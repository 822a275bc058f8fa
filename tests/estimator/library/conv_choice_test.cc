#include "estimator/library/conv_choice.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "estimator/estimator.h"
#include "estimator/library/workspace_plan.h"
#include "estimator/request/find_platform.h"
#include "graph/builtin/builtin.h"
#include "graph/ir/kernel_label.h"
#include "tests/support/requests.h"

namespace plimsoll {
namespace {

const Hwdb& hwdb() {
  static const Hwdb opened = *Hwdb::open();
  return opened;
}

// What memory and time say of one step's convolutions.
struct Planned {
  BoundStep bound;
  WorkspacePlan memory;
  std::vector<KernelTime> times;
  int64_t most = 0;    // scratch bytes
  double seconds = 0;  // of convolutions
};

Planned plan(const Request& request) {
  const Platform platform = *find_platform(hwdb(), request, request.devices.front());
  const CompiledModel model = *compile(request, platform);
  const Evaluator evaluator = *Evaluator::make(platform, request);
  Planned planned;
  planned.bound = *bind_step(model.step, model.binding);
  planned.memory = *plan_workspaces(planned.bound, platform.device, evaluator.context());
  for (size_t id = 0; id < planned.bound.kernels.size(); ++id) {
    planned.times.push_back(kernel_time(planned.bound.kernels[id], evaluator.context()));
    planned.most = std::max(planned.most, planned.memory.uses[id].bytes);
    if (planned.bound.kernels[id].kernel_class == KernelClass::kConv)
      planned.seconds += planned.times.back().seconds;
  }
  return planned;
}

std::string kind(std::string_view algorithm) {
  std::string text(algorithm);
  std::ranges::transform(text, text.begin(), [](char letter) {
    return static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  });
  const bool transforms = text.starts_with("winograd") || text.starts_with("fft");
  return transforms || text == "depthwise" || text == "im2col" ? text : "product";
}

TEST_CASE("memory and time name one algorithm and the same bytes, whatever card and framework") {
  const std::array<std::string, 6> cards = {
      "gtx-titan-x", "tesla-p100-pcie-16gb", "tesla-v100-sxm2-16gb", "tesla-t4",
      "rtx-3090",    "h100-sxm-80gb"};
  const std::array frameworks = {"pytorch", "pytorch-1.13"};
  constexpr size_t kEach = 8;  // of all networks, for what a test may take
  size_t seen = 0, networks = 0, convolutions = 0, with_scratch = 0;
  for (const BuiltinRow& row : builtin_models()) {
    const std::string network(row.name);
    Request request = test::request("builtin:" + network, cards.front());
    if (seen++ % kEach != 0) continue;
    size_t turn = networks;
    bool any = false;
    for (const std::string& card : cards) {
      request.devices = {card};
      request.framework = frameworks[turn++ % frameworks.size()];
      const auto platform = find_platform(hwdb(), request, card);
      REQUIRE(platform);
      if (!compile(request, *platform)) continue;
      const Planned planned = plan(request);
      CAPTURE(network);
      CAPTURE(card);
      CAPTURE(request.framework);
      for (size_t id = 0; id < planned.times.size(); ++id) {
        const KernelAt& kernel = planned.bound.kernels[id];
        const auto* problem = std::get_if<ConvProblem<int64_t>>(&kernel.problem);
        if (problem == nullptr || planned.memory.algorithms[id].empty()) continue;
        any = true;
        ++convolutions;
        const KernelTime& time = planned.times[id];
        // Depthwise and grouped layers have kernels of their own, priced by what they move.
        if (problem->groups > 1) continue;
        CAPTURE(kernel_label(kernel));
        CHECK(kind(time.algorithm) == kind(planned.memory.algorithms[id]));
        if (kind(time.algorithm) == "im2col") continue;
        CHECK(time.workspace == static_cast<double>(planned.memory.uses[id].bytes));
        with_scratch += time.workspace > 0;
      }
    }
    networks += any;
  }
  CHECK(networks >= 10);
  CHECK(convolutions > 2000);
  CHECK(with_scratch > 500);
}

TEST_CASE("a smaller workspace limit takes no more scratch memory and no less time") {
  struct Setting {
    const char *card, *framework, *model;
  };
  const std::array settings = {Setting{"gtx-titan-x", "pytorch-1.4", "alexnet"},
                               Setting{"tesla-p100-pcie-16gb", "tensorflow-1", "vgg16"},
                               Setting{"tesla-v100-sxm2-16gb", "mxnet", "resnet50"},
                               Setting{"quadro-p4000", "pytorch", "resnet50"}};
  for (const Setting& setting : settings) {
    CAPTURE(setting.card);
    CAPTURE(setting.framework);
    Request request = test::request("builtin:" + std::string(setting.model), setting.card);
    request.framework = setting.framework;
    int64_t most = 0;
    std::vector<double> seconds;
    for (const int64_t mebibytes : {0, 1, 8, 64, 512, 8192}) {
      CAPTURE(mebibytes);
      request.workspace_limit = mebibytes << 20;
      const Planned planned = plan(request);
      CHECK(planned.most <= *request.workspace_limit);
      CHECK(planned.most >= most);
      if (!seconds.empty()) CHECK(planned.seconds <= seconds.back() * 1.0001);
      most = planned.most;
      seconds.push_back(planned.seconds);
    }
    CHECK(most > 0);
    CHECK(seconds.front() > 1.02 * seconds.back());
  }
}

TEST_CASE("cuDNN 9 has no Fourier transforms: asked for by name they are passed over") {
  Request request = test::request("builtin:alexnet", "quadro-p4000");
  request.conv_algorithm = *asked_algorithm("FFT");
  const Planned planned = plan(request);
  for (size_t id = 0; id < planned.times.size(); ++id) {
    CHECK(planned.times[id].algorithm != "FFT");
    CHECK(planned.memory.algorithms[id] != "fft");
  }
  request.cudnn = "7.6";
  CHECK(plan(request).most > planned.most);
}

}  // namespace
}  // namespace plimsoll
