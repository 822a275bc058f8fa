// --compile, from the request to the answer.
#include <doctest/doctest.h>

#include <algorithm>

#include "estimator/app/report/spelling.h"
#include "tests/support/refusal.h"
#include "tests/support/requests.h"

namespace plimsoll {
namespace {

struct BothWays {
  Estimate eager, compiled;
  double speedup() const {
    return static_cast<double>(eager.time.step_ns) / static_cast<double>(compiled.time.step_ns);
  }
};

BothWays both_ways(Request asked) {
  Estimate eager = test::answer(asked);
  asked.recipe.compiled = true;
  return {std::move(eager), test::answer(asked)};
}

Request amp(const std::string& model, const std::string& gpu, int64_t batch, Mode mode) {
  Request asked = test::request("builtin:" + model, gpu, batch);
  asked.recipe.mode = mode;
  asked.recipe.precision = find_precision("amp-fp16");
  asked.input_copy = false;
  return asked;
}

bool says(const Estimate& e, std::string_view what) {
  return std::ranges::any_of(
      e.basis, [&](const std::string& line) { return line.find(what) != std::string::npos; });
}

double width(const MemoryEstimate& memory) {
  return static_cast<double>(memory.device_range.high - memory.device_range.low) /
         static_cast<double>(memory.device_bytes);
}

}  // namespace

TEST_CASE("compiled: fewer launches, no longer step, memory as eager's in a wider range") {
  // In the compiler's own layout, so that the memory is the same.
  for (const char* model : {"resnet50", "vit_b_16", "densenet121", "convnext_tiny", "mlp",
                            "mobilenet_v2", "gpt2", "lstm-lm", "dcgan", "vgg16"}) {
    for (const Mode mode : {Mode::kTrain, Mode::kInference}) {
      for (const char* precision : {"fp32", "amp-bf16"}) {
        CAPTURE(model);
        CAPTURE(precision);
        Request asked = amp(model, "a100", 16, mode);
        asked.recipe.precision = find_precision(precision);
        asked.layout = Layout::kChannelsLast;
        const BothWays ways = both_ways(asked);
        CHECK(ways.compiled.time.launches <= ways.eager.time.launches);
        CHECK(ways.compiled.time.step_ns <= ways.eager.time.step_ns);
        const MemoryEstimate& compiled = ways.compiled.memory;
        const MemoryEstimate& eager = ways.eager.memory;
        CHECK(compiled.saved_bytes == eager.saved_bytes);
        CHECK(compiled.live_peak_bytes == eager.live_peak_bytes);
        // Sums over rows that are fused have no scratch memory of PyTorch's; without them the
        // allocator may keep other blocks.
        CHECK(compiled.allocated_peak_bytes <= eager.allocated_peak_bytes);
        if (compiled.workspace_bytes == eager.workspace_bytes)
          CHECK(compiled.device_bytes == eager.device_bytes);
        CHECK(width(compiled) > width(eager));
        CHECK(says(ways.compiled, "MB less"));
        CHECK(says(ways.compiled, "memory is that of the uncompiled model"));
        CHECK_FALSE(says(ways.eager, "compile"));
      }
    }
  }
}

TEST_CASE("compiled: two thirds of a ViT's launches, and a shorter step") {
  const BothWays ways = both_ways(amp("vit_b_16", "a100", 64, Mode::kTrain));
  CHECK(ways.compiled.time.launches < .8 * static_cast<double>(ways.eager.time.launches));
  CHECK(ways.speedup() > 1.15);
}

// huggingface/pytorch-image-models, results/benchmark-infer-amp-nchw-pt240-cu124-rtx4090.csv and
// ...-dynamo.csv (images a second: 13537 and 25949, 1663 and 3199, 3615 and 6581, 2787 and 3346);
// all of the shown networks are in tests/measured/compiled-timm.json.
TEST_CASE("compiled: published gains of forward passes on an RTX 4090") {
  struct Row {
    const char* model;
    double gain;
  };
  for (const Row& row : {Row{"resnet18", 1.92}, Row{"vgg19_bn", 1.92}, Row{"densenet121", 1.82},
                         Row{"vit_b_16", 1.20}}) {
    CAPTURE(row.model);
    Request asked = amp(row.model, "rtx-4090", 256, Mode::kInference);
    asked.framework = "pytorch-2.4";
    asked.cudnn = "9.1";
    asked.cudnn_benchmark = true;
    CHECK(both_ways(asked).speedup() == doctest::Approx(row.gain).epsilon(.22));
  }
}

TEST_CASE("compiled: images are turned where Inductor turns them") {
  const auto turned = [](const std::string& model, Mode mode) {
    Request asked = test::request("builtin:" + model, "a100", 8);
    asked.recipe.mode = mode;
    asked.recipe.compiled = true;
    return says(test::answer(asked), "channels last");
  };
  CHECK(turned("resnet50", Mode::kTrain));
  CHECK(turned("resnet50", Mode::kInference));
  // Groups of several channels; convolutions that halve theirs.
  CHECK_FALSE(turned("resnext50_32x4d", Mode::kTrain));
  CHECK_FALSE(turned("densenet121", Mode::kTrain));
  CHECK(turned("densenet121", Mode::kInference));
  CHECK_FALSE(turned("gpt2", Mode::kTrain));
}

TEST_CASE("compiled: refused where there is no such compiler") {
  const auto refused = [](const char* framework, const char* gpu) {
    Request asked = test::request("builtin:mlp", gpu);
    asked.framework = framework;
    asked.recipe.compiled = true;
    const auto e = estimate(asked, test::hwdb());
    REQUIRE_FALSE(e);
    return e.error().front().code + " " + spelled(e.error().front().message);
  };
  CHECK(refused("pytorch-1.13", "a100").starts_with("E116 --compile: pytorch-1.13"));
  CHECK(refused("tensorflow", "a100").starts_with("E116"));
  CHECK(refused("pytorch", "quadro-p4000").find("generates kernels with Triton") !=
        std::string::npos);
}

TEST_CASE("compiled: passes that accumulate are fused alike") {
  Request asked = amp("resnet18", "a100", 8, Mode::kTrain);
  const BothWays once = both_ways(asked);
  asked.recipe.accumulate = 6;
  const BothWays six = both_ways(asked);
  CHECK(six.compiled.time.launches > 5 * once.compiled.time.launches);
  CHECK(six.compiled.time.launches < six.eager.time.launches);
  CHECK(six.compiled.time.step_ns < six.eager.time.step_ns);
}

}  // namespace plimsoll
