// Steps that are the body of a loop, whose names hold what the model returned for the batch before,
// and outputs that a wrapper widens, against PyTorch itself (tests/oracles/loop_names.py).
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/support/golden_differences.h"
#include "tests/support/golden_memory.h"

namespace plimsoll {
namespace {

const std::map<std::string, WidenedOutputs> kWrappers = {
    {"off", WidenedOutputs::kNone},
    {"fabric", WidenedOutputs::kFabric},
    {"accelerate", WidenedOutputs::kAccelerate}};

test::GoldenCase loop_case_of(const nlohmann::json& golden, const nlohmann::json& one) {
  test::GoldenCase wanted = test::language_case(golden, one);
  wanted.accumulate = one["accumulate"];
  wanted.loss_form = test::kLossForms.at(one["form"]);
  wanted.widened_outputs = kWrappers.at(one["widened"]);
  wanted.keeps_outputs = one["keeps"];
  wanted.keeps_last_outputs = one["last"];
  wanted.finetune.kind = one["quantized"].get<bool>() ? FinetuneKind::kQlora : FinetuneKind::kLora;
  wanted.finetune.targets = "all-linear";
  wanted.finetune.adapters_wide = false;
  wanted.finetune.prepared = Prepared::kNone;
  wanted.finetune.keeps_inputs = one["kept"];
  return wanted;
}

}  // namespace

TEST_CASE("names of a loop and wrappers of a model take what PyTorch's step takes") {
  const auto golden = test::read_golden("memory/loop_names.json");
  test::GoldenModels models("a100-sxm-40gb");
  test::Errors saved, peak;
  size_t wrong_phases = 0;
  for (const auto& one : golden["cases"]) {
    const std::string what = fmt::format(
        "{} {}, widened {}{}{}{} x{}", one["form"].get<std::string>(),
        one["precision"].get<std::string>(), one["widened"].get<std::string>(),
        one["last"].get<bool>() ? ", last" : "", one["quantized"].get<bool>() ? ", quantized" : "",
        one["kept"].get<bool>() ? ", inputs kept" : "", one["accumulate"].get<int>());
    CAPTURE(what);
    const auto got = models.config_figures(golden["config"].dump(), loop_case_of(golden, one));
    const std::string why = got ? "" : got.error().front().message;
    CHECK_MESSAGE(got, what, ": ", why);
    if (!got) continue;
    // What nodes have as attributes is not among what PyTorch's hooks see.
    if (!one["kept"].get<bool>()) saved.add(what, got->saved, one["saved"]);
    peak.add(what, got->peak, one["peak"]);
    wrong_phases += (got->phase == "loss" ? "forward" : got->phase) != one["phase"];
  }
  MESSAGE("saved: ", saved.text());
  MESSAGE("peak: ", peak.text());
  CHECK(wrong_phases == 0);
  test::check_differences("loop names saved", saved);
  test::check_differences("loop names peak", peak);
  CHECK(saved.share_within(0.0005) == 1);
  CHECK(peak.share_within(0.0005) == 1);
}

// Each pass of an update, and the first of the next one, begins with what the one before named.
TEST_CASE("a loop's names hold as much at each step's begin as at the end of the one before") {
  const auto golden = test::read_golden("memory/loop_names.json");
  test::GoldenModels models("a100-sxm-40gb");
  nlohmann::json one = golden["cases"][4];
  REQUIRE(one["last"].get<bool>());
  const auto peak_of = [&](bool last, int passes) {
    one["last"] = last;
    one["accumulate"] = passes;
    const auto got = models.config_figures(golden["config"].dump(), loop_case_of(golden, one));
    return got ? got->peak : 0;
  };
  for (const int passes : {1, 2, 7}) {
    CAPTURE(passes);
    CHECK(peak_of(true, passes) > peak_of(false, passes));
  }
  CHECK(peak_of(true, 7) <= peak_of(true, 2) + 4096);  // of scalars
}

}  // namespace plimsoll
