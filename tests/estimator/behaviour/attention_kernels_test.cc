// The kernel that PyTorch takes for attention, and the memory of a step with it, by size of heads,
// type and card, against tests/oracles/attention_kernels.py.
#include "estimator/behaviour/attention_kernels.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>

#include "estimator/request/find_platform.h"
#include "tests/support/golden_memory.h"

namespace plimsoll {
namespace {

using nlohmann::json;

const std::map<int, std::string> kCards = {
    {61, "gtx-1080-ti"}, {75, "t4"}, {80, "a100"}, {86, "rtx-3090"}, {90, "h100"}};

// The layer that the oracle runs, in the config language.
std::string network(const json& row) {
  json inputs = json::array({{{"name", "x"}, {"shape", {"batch", 44, 64}}}});
  json layer = {{"name", "attention"},
                {"type", "attention"},
                {"heads", 4},
                {"head_size", row["head"]},
                {"causal", row["kind"] == "causal"},
                {"dropout", row["kind"] == "dropout" ? 0.1 : 0.0}};
  if (row["kind"] == "mask") {
    inputs.push_back({{"name", "mask"}, {"shape", {44, 44}}});
    layer["inputs"] = {"x", "x", "mask"};
  }
  const json whole = {
      {"schema", "plimsoll.model-config"}, {"version", 1},     {"name", "attention"},
      {"parameters", {{"batch", 8}}},      {"inputs", inputs}, {"layers", json::array({layer})}};
  return whole.dump();
}

Request request_for(const json& row, const std::string& cudnn) {
  Request request;
  request.devices = {kCards.at(row["capability"])};
  request.batch = 8;
  request.cudnn = cudnn;
  request.recipe.loss = Loss::kSum;
  request.loss_given = true;
  request.recipe.precision = find_precision(row["precision"].get<std::string>());
  if (row["mode"] == "inference") request.recipe.mode = Mode::kInference;
  return request;
}

std::string kernel_of(const Step& step) {
  for (const Kernel& kernel : step.kernels) {
    const auto* p = std::get_if<AttentionProblem<Dim>>(&kernel.problem);
    if (!p) continue;
    if (p->form == AttentionForm::kFlash) return "flash";
    return p->form == AttentionForm::kLibrary ? "library" : "memory_efficient";
  }
  return "separate";
}

}  // namespace

TEST_CASE("each attention operator gets the kernel that PyTorch takes, and its memory") {
  const json golden = test::read_golden("memory/attention.json");
  REQUIRE(golden["cases"].size() >= 200);
  const json& version = golden["versions"]["cudnn"];
  const std::string cudnn =
      fmt::format("{}.{}.{}", version[0].get<int>(), version[1].get<int>(), version[2].get<int>());
  const Hwdb hwdb = Hwdb::open({}).value();
  test::Scratch scratch;
  for (const json& row : golden["cases"]) {
    CAPTURE(row.dump());
    Request request = request_for(row, cudnn);
    request.model = scratch.write("attention.json", network(row));
    const auto platform = find_platform(hwdb, request, request.devices[0]);
    REQUIRE(platform);
    const auto model = compile(request, *platform);
    REQUIRE(model);
    CHECK(kernel_of(model->step) == row["kernel"]);
    const auto bound = bind_step(model->step, model->binding);
    REQUIRE(bound);
    const Timeline t = walk(model->step, *bound, 512);
    if (row.contains("saved")) CHECK(t.saved_bytes == row["saved"]);
    CHECK(t.peak_bytes == row["peak"]);
  }
}

TEST_CASE("a framework without fused attention has none on any card, nor has --attention math") {
  const Hwdb hwdb = Hwdb::open({}).value();
  for (const char* framework : {"pytorch-1.13", "tensorflow-1", "pytorch"}) {
    Request request;
    request.framework = framework;
    if (request.framework == "pytorch") request.attention = AskedAttention::kMath;
    const AttentionKernels kernels =
        attention_kernels(find_platform(hwdb, request, "h100").value(), request.attention);
    CHECK_FALSE((kernels.library || kernels.flash || kernels.memory_efficient));
  }
}

TEST_CASE("the library's attention comes first from the cuDNN on that PyTorch trusts") {
  const Hwdb hwdb = Hwdb::open({}).value();
  Request request;
  const auto on = [&](const char* card, const char* cudnn) {
    request.cudnn = cudnn;
    return attention_kernels(find_platform(hwdb, request, card).value(), request.attention);
  };
  CHECK_FALSE(on("h100", "9.10.2").library);
  request.attention = AskedAttention::kCudnn;  // by whoever calls it
  CHECK(on("h100", "9.10.2").library);
  CHECK_FALSE(on("a100", "9.10.2").library);
  request.attention = AskedAttention::kNone;
  CHECK(on("h100", "9.19").library);
  CHECK_FALSE(on("h100", "9.19").library_wide);
  CHECK(on("b200", "9.26").library_wide);
  CHECK_FALSE(on("a100", "9.26").library);
  CHECK_FALSE(on("rtx-5090", "9.26").library);
}

}  // namespace plimsoll
