// Sequences that ranks share: what each holds, what attention is told, and who is refused.
#include "graph/parallel/context_split.h"

#include <doctest/doctest.h>

#include <string>

#include "estimator/evaluator.h"
#include "estimator/request/find_platform.h"
#include "graph/base/setting.h"
#include "tests/support/requests.h"

namespace plimsoll {
namespace {

Request shared(int64_t ranks, ContextBy by, int64_t sequence = 1024) {
  Request request = test::request("builtin:gpt2", "h100-sxm-80gb", 2);
  request.recipe.precision = find_precision("bf16");
  request.dims["sequence"] = sequence;
  request.gpu_count = request.parallel.axes[static_cast<size_t>(Axis::kContext)] = ranks;
  request.parallel.context_by = by;
  return request;
}

CompiledModel compiled(const Request& request) {
  const auto platform = find_platform(test::hwdb(), request, request.devices.front());
  REQUIRE(platform);
  auto model = compile(request, *platform);
  REQUIRE_MESSAGE(model, model.error().front().message);
  return std::move(*model);
}

// Of all layers and passes.
int64_t bytes_of(const CompiledModel& model, CollectiveKind kind) {
  int64_t sum = 0;
  for (const Collective& c : model.step.collectives) {
    if (c.axis == Axis::kContext && c.kind == kind) sum += c.bytes.evaluate(model.binding).value();
  }
  return sum;
}

int64_t attention_flop(const CompiledModel& model) {
  int64_t sum = 0;
  EventTimes times(model.step);
  for (size_t i = 0; i < model.step.events.size(); ++i) {
    const Event& e = model.step.events[i];
    if (e.kind != Event::Kind::kLaunch) continue;
    const Kernel& kernel = model.step.kernels[e.id];
    const auto* problem = std::get_if<AttentionProblem<Dim>>(&kernel.problem);
    if (!problem) continue;
    const int64_t flop = kernel.flop.evaluate(model.binding).value() * times(i);
    sum += problem->causal ? flop / 2 : flop;
  }
  return sum;
}

// Keys and values of a rank's tokens: two samples, 768 features of 2 bytes.
constexpr int64_t kLayers = 12, kKeysValues = 2 * 2 * 768 * 2;

std::string refusal(const Request& request) {
  const auto answered = estimate_once(request, test::hwdb());
  if (answered) return "";
  CHECK(answered.error().front().code == "E120");
  return answered.error().front().message + "; " + answered.error().front().help;
}

}  // namespace

TEST_CASE("context split: keys and values go around, and gradients in 32 bits with them") {
  const CompiledModel model = compiled(shared(4, ContextBy::kRing));
  const int64_t part = 1024 / 4 * kKeysValues;
  CHECK(bytes_of(model, CollectiveKind::kSendReceive) ==
        kLayers * (3 * part + 3 * part + 4 * 2 * part));
  CHECK(bytes_of(model, CollectiveKind::kAllGather) == 0);
}

TEST_CASE("context split: or are gathered, forward and backward") {
  const CompiledModel model = compiled(shared(4, ContextBy::kAllGather));
  CHECK(bytes_of(model, CollectiveKind::kAllGather) == kLayers * 2 * 1024 * kKeysValues);
}

TEST_CASE("context split: or tokens are exchanged for heads, four tensors each way") {
  const CompiledModel model = compiled(shared(4, ContextBy::kUlysses));
  CHECK(bytes_of(model, CollectiveKind::kAllToAll) ==
        kLayers * 2 * 4 * (1024 / 4 * kKeysValues / 2));
}

TEST_CASE("context split: ranks share attention's work evenly") {
  const int64_t whole = attention_flop(compiled(shared(1, ContextBy::kRing)));
  for (const ContextBy by : {ContextBy::kRing, ContextBy::kAllGather, ContextBy::kUlysses})
    CHECK(attention_flop(compiled(shared(4, by))) == whole / 4);
  Request last = shared(4, ContextBy::kRing);
  last.parallel.rank = 3;
  CHECK(attention_flop(compiled(last)) == whole / 4);
}

TEST_CASE("context split: samples are counted once, and a rank's feature maps are its part") {
  const auto whole = estimate_once(shared(1, ContextBy::kRing), test::hwdb());
  const auto part = estimate_once(shared(4, ContextBy::kRing), test::hwdb());
  REQUIRE(whole);
  REQUIRE(part);
  CHECK(part->memory.saved_bytes < whole->memory.saved_bytes / 3);
  CHECK(part->memory.saved_bytes > whole->memory.saved_bytes / 5);
  CHECK(part->memory.parameter_bytes == whole->memory.parameter_bytes);
  CHECK(part->input.symbols.at("sequence") == 1024);
  const double per_step = part->time.samples_per_second * static_cast<double>(part->time.step_ns);
  CHECK(per_step / 1e9 == doctest::Approx(2 * 1024).epsilon(0.01));
}

TEST_CASE("context split: what does not divide is refused with what does") {
  CHECK(refusal(shared(4, ContextBy::kRing)).empty());
  CHECK(refusal(shared(3, ContextBy::kRing)).find(setting("cp", "2")) != std::string::npos);
  CHECK(refusal(shared(8, ContextBy::kUlysses)).find(setting("cp", "6")) != std::string::npos);
  Request separate = shared(2, ContextBy::kRing);
  separate.attention = AskedAttention::kEager;
  CHECK(refusal(separate).find("separate operators") != std::string::npos);
  Request images = test::request("builtin:resnet50", "a100-sxm-40gb", 4);
  images.gpu_count = images.parallel.axes[static_cast<size_t>(Axis::kContext)] = 2;
  CHECK(refusal(images).find("no attention") != std::string::npos);
}

}  // namespace plimsoll
