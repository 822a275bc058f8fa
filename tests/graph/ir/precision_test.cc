// The table of precisions: words, and steps whose types are not all one: Apex's O2, float8.
#include <doctest/doctest.h>

#include <map>

#include "estimator/estimator.h"
#include "estimator/memory/timeline.h"
#include "estimator/request/find_platform.h"
#include "estimator/step/bound_step.h"
#include "hwdb/hwdb.h"

namespace plimsoll {
namespace {

struct Run {
  CompiledModel model;
  BoundStep bound;
  Timeline timeline;

  int64_t resident(Role role) const { return timeline.resident_bytes[static_cast<size_t>(role)]; }
  // Launches of matrix products whose operands have so many bits.
  int64_t products(int operand_bits) const {
    int64_t count = 0;
    for (const Event& e : model.step.events) {
      const bool launch = e.kind == Event::Kind::kLaunch;
      if (!launch || bound.kernels[e.id].kernel_class != KernelClass::kGemm) continue;
      count += bits(bound.kernels[e.id].dtype) == operand_bits ? 1 : 0;
    }
    return count;
  }
};

Run run(const std::string& model, const char* precision,
        const std::map<std::string, std::string>& settings = {}) {
  static const Hwdb hwdb = Hwdb::open({}).value();
  static const Platform platform = find_platform(hwdb, Request{}, "h100-sxm-80gb").value();
  Request request;
  request.model = model;
  request.batch = 16;
  for (const auto& [name, value] : settings) request.settings[name] = value;
  request.recipe.precision = find_precision(precision);
  auto compiled = compile(request, platform);
  REQUIRE(compiled);
  BoundStep bound = bind_step(compiled->step, compiled->binding).value();
  const Timeline timeline = walk(compiled->step, bound, 512);
  return {std::move(*compiled), std::move(bound), timeline};
}

}  // namespace

TEST_CASE("precisions: their own and other words name them") {
  for (const PrecisionRow& row : precisions()) {
    CHECK(find_precision(row.name) == &row);
    CHECK(spoken_precision(row.name) == &row);
  }
  const std::map<std::string, std::string> said = {{"fp16_storage_fp32_math", "fp16"},
                                                   {"fp16_mixed_tensor_core", "amp-fp16"},
                                                   {"amp", "amp-fp16"},
                                                   {"amp-bf16", "amp-bf16"},
                                                   {"float32", "fp32"},
                                                   {"fp32 (tf32 where the card has it)", "fp32"},
                                                   {"bf16-true", "bf16"},
                                                   {"bf16-mixed", "amp-bf16"},
                                                   {"bf16-amp", "amp-bf16"},
                                                   {"fp16-amp", "amp-fp16"},
                                                   {"16-mixed", "amp-fp16"},
                                                   {"half", "fp16"},
                                                   {"bfloat16", "bf16"}};
  for (const auto& pair : said) {
    const std::string& words = pair.first;
    CAPTURE(words);
    REQUIRE(spoken_precision(words));
    CHECK(spoken_precision(words)->name == pair.second);
  }
  CHECK(!find_precision("fp12"));
  CHECK(!spoken_precision("int8"));
}

// ResNet-18: 11,679,912 weights of convolutions and the classifier, 9,600 of batch norms.
TEST_CASE("apex-o2: batch norms and the optimizer's copies are in fp32") {
  constexpr int64_t kHalf = 11679912, kNorms = 9600;
  const Run o2 = run("builtin:resnet18", "apex-o2");
  CHECK(o2.resident(Role::kParameter) == 2 * kHalf + 4 * kNorms);
  CHECK(o2.timeline.gradient_bytes == 2 * kHalf + 4 * kNorms);
  // Copies, and a momentum of every weight.
  CHECK(o2.resident(Role::kOptimizerState) == 4 * kHalf + 4 * (kHalf + kNorms));
  CHECK(o2.resident(Role::kBuffer) == run("builtin:resnet18", "fp32").resident(Role::kBuffer));
  // What is kept are maps in fp16, as in a model that is wholly so.
  const int64_t half = run("builtin:resnet18", "fp16").timeline.saved_bytes;
  CHECK(o2.timeline.saved_bytes >= half);
  CHECK(o2.timeline.saved_bytes <= half + half / 100);
  // The copies' gradients live while the optimizer steps.
  CHECK(o2.timeline.peak_bytes >= o2.resident(Role::kParameter) + o2.timeline.gradient_bytes +
                                      o2.resident(Role::kOptimizerState) + 4 * kHalf);
}

TEST_CASE("fp8: linear layers multiply in 8 bits and keep 16") {
  const std::map<std::string, std::string> net = {
      {"features", "64"}, {"widths", "128,256"}, {"outputs", "10"}};
  const Run fp8 = run("builtin:mlp", "fp8", net);
  const Run bf16 = run("builtin:mlp", "bf16", net);
  CHECK(fp8.timeline.saved_bytes == bf16.timeline.saved_bytes);
  CHECK(fp8.resident(Role::kParameter) == bf16.resident(Role::kParameter));
  CHECK(fp8.timeline.gradient_bytes == bf16.timeline.gradient_bytes);
  CHECK(fp8.timeline.peak_bytes >= bf16.timeline.peak_bytes);
  // Two layers, the first of which gives no gradient on; the third has ten outputs, which the
  // library does not take.
  CHECK(fp8.products(8) == 2 + 3);
  CHECK(fp8.products(16) == 3);
  CHECK(bf16.products(16) == 8);
}

}  // namespace plimsoll
