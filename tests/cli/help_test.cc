// What the program says of itself.
#include <doctest/doctest.h>

#include "tests/support/run_plimsoll.h"

using namespace plimsoll::test;

namespace {

const std::string kSweepPlan = std::string(PLIMSOLL_SOURCE_DIR) + "/examples/sweep.yaml";
const std::string kSqueezeNet = "builtin:squeezenet1_0";

const std::vector<std::pair<std::vector<std::string>, const char*>> kAsked = {
    {{"--help"}, "plimsoll estimate builtin:"},
    {{"-h"}, "advise      changes that make it fit"},
    {{"estimate", "--help"}, "--workspace-limit"},
    {{"explain", "--help"}, "  plimsoll explain E241\n"},
    {{"max-batch", "-h"}, "--multiple"},
    {{"estimate", "--help"}, "[momentum]"},
    {{"estimate", "--help-all"}, "adamw-fused"},
    {{"--version"}, "plimsoll "},
    {{"estimate", kSqueezeNet, "--gpu", "l4", "--layers", "--csv"},
     "layer,op,output_shape,parameters,"},
    {{"estimate", kSqueezeNet, "--gpu", "l4", "--kernels", "--markdown"}, "|---|"},
    {{"max-batch", kSqueezeNet, "--gpu", "l4", "--max", "64", "--csv"}, "batch,device_bytes,"},
    {{"compare", kSqueezeNet, "--gpu", "l4", "--gpu", "t4", "--price", "t4=1", "--price", "l4=100"},
     "cheapest: tesla-t4"},
    {{"version"}, "commit "},
    {{"version"}, "coefficients  of measured kernels"},
    {{"version", "--json"}, "\"digest\""},
    {{"gpus"}, "tesla-t4"},
    {{"gpus", "t4"}, "tesla-t4"},
    {{"gpus", "--json"}, "\"tesla-t4\""},
    {{"links"}, "pcie-3-x16"},
    {{"hosts"}, "dgx-1"},
    {{"hosts", "xeon-e5-2698-v4"}, "single_thread"},
    {{"schema", "--help"}, "plan"},
    {{"schema", "host"}, "plimsoll.host"},
    {{"schema", "machine"}, "plimsoll.machine"},
    {{"frameworks", "pytorch"}, "pytorch-2"},
    {{"models"}, "resnet50"},
    {{"models", "gnmt"}, "gnmt"},
    {{"models", "hf:qwen3-8b"}, "--dim sequence=N"},
    {{"ops", "Conv"}, "f32["},
    {{"schema", "estimate"}, "plimsoll.estimate"},
    {{"schema", "sweep"}, "plimsoll.sweep"},
    {{"schema", "validate"}, "plimsoll.validate"},
    {{"schema", "model-config"}, "$schema"},
    {{"explain", "e241"}, "E241"},
    {{"explain", "features.0", kSqueezeNet, "--gpu", "l4"}, "conv forward"},
    {{"explain", "features.3", kSqueezeNet, "--gpu", "l4", "--json"}, "\"plimsoll.node\""},
    {{"compare", kSqueezeNet, "--gpu", "l4", "--gpu", "t4"}, "tesla-t4"},
    {{"max-batch", kSqueezeNet, "--gpu", "l4", "--max", "64"}, "SAFE 64"},
    {{"sweep", kSweepPlan}, "\nBest that fit "},
    {{"sweep", kSweepPlan, "--dry-run"}, "48 configurations: 4 batch x 2 precision x 2 checkpoint"},
    {{"estimate", kSqueezeNet, "--gpu", "l4", "--workers", "4"}, "Host memory: "},
    {{"estimate", kSqueezeNet, "--gpu", "l4", "--layers"}, "features.0"},
    {{"estimate", kSqueezeNet, "--gpu", "quadro-p4000", "--layers", "--wide"},
     "  WINOGRAD               compute"},
    {{"estimate", kSqueezeNet, "--gpu", "l4", "--depth", "1"}, "features"},
    {{"estimate", kSqueezeNet, "--gpu", "l4", "--why"}, "Kept for the backward pass"},
    {{"estimate", kSqueezeNet, "--gpu", "l4", "--kernels"}, "conv forward"},
};

}  // namespace

TEST_CASE("cli: help VERB is VERB --help") {
  if (skipped()) return;
  for (const char* verb : {"estimate", "compare", "gpus"}) {
    const Ran ran = run_plimsoll({"help", verb});
    CHECK(ran.status == 0);
    CHECK(ran.out == run_plimsoll({verb, "--help"}).out);
  }
  CHECK(run_plimsoll({"help"}).out == run_plimsoll({"--help"}).out);
  const Ran unknown = run_plimsoll({"help", "estimat"});
  CHECK(unknown.status == 2);
  CHECK(says(unknown.err, "did you mean estimate?"));
}

TEST_CASE("cli: help and lists answer on standard output") {
  if (skipped()) return;
  for (const auto& asked : kAsked) {
    const auto& arguments = asked.first;
    const char* const expected = asked.second;
    const Ran ran = run_plimsoll(arguments);
    CAPTURE(arguments[0]);
    CAPTURE(arguments.back());
    CAPTURE(ran.err);
    CHECK(ran.status == 0);
    CHECK(ran.out.find(expected) != std::string::npos);
    CHECK(ran.out.ends_with("\n"));
    CHECK(plain(ran.out));
  }
}
