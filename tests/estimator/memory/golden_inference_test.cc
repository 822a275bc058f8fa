// A pass of each family without gradients, against transformers and diffusers themselves
// (tests/oracles/family_inference.py).
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/support/golden_differences.h"
#include "tests/support/golden_memory.h"

namespace plimsoll {
namespace {

test::GoldenCase inference_case_of(const nlohmann::json& family, const nlohmann::json& one) {
  test::GoldenCase wanted;
  wanted.batch = family["batch"];
  wanted.mode = "inference";
  if (family.contains("sequence") && !family["config"].contains("image_size"))
    wanted.dims["sequence"] = family["sequence"];
  if (family.contains("dims"))
    for (const auto& [name, size] : family["dims"].items()) wanted.settings[name] = size.dump();
  wanted.precision = find_precision(one["precision"].get<std::string>());
  wanted.attention = one["attention"] == "eager" ? AskedAttention::kEager : AskedAttention::kSdpa;
  wanted.returns_cache = one.value("cache", false);
  return wanted;
}

struct InferenceErrors {
  test::Errors sdpa, eager;
};

InferenceErrors errors_of_inference() {
  const auto golden = test::read_golden("memory/family_inference.json");
  test::GoldenModels models("a100-sxm-40gb");
  InferenceErrors errors;
  for (const auto& family : golden["families"]) {
    for (const auto& one : family["cases"]) {
      const std::string what = fmt::format(
          "{} {} {}{}", family["name"].get<std::string>(), one["attention"].get<std::string>(),
          one["precision"].get<std::string>(), one.contains("cache") ? " cache" : "");
      CAPTURE(what);
      const auto got =
          models.config_figures(family["config"].dump(), inference_case_of(family, one));
      const std::string why = got ? "" : got.error().front().message;
      CHECK_MESSAGE(got, what, ": ", why);
      if (!got) continue;
      auto& of_code = one["attention"] == "eager" ? errors.eager : errors.sdpa;
      of_code.add(what, got->peak, one["peak"]);
    }
  }
  return errors;
}

}  // namespace

TEST_CASE("a pass of each family takes what transformers takes without gradients") {
  const InferenceErrors errors = errors_of_inference();
  MESSAGE("sdpa: ", errors.sdpa.text());
  MESSAGE("eager: ", errors.eager.text());
  test::check_differences("inference sdpa", errors.sdpa);
  test::check_differences("inference eager", errors.eager);
  CHECK(errors.sdpa.share_within(0.1) == 1);
  CHECK(errors.eager.share_within(0.2) == 1);
}

}  // namespace plimsoll
