// What an answer takes for granted: what nobody said, and only that.
#include "estimator/answer/assumptions.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "estimator/settings/given_settings.h"
#include "graph/base/setting.h"
#include "tests/support/requests.h"

using namespace plimsoll;

namespace {

std::vector<Assumption> assumed(const std::vector<std::pair<const char*, const char*>>& given,
                                const char* model = "builtin:resnet18") {
  GivenSettings settings;
  settings.model = model;
  settings.add(*find_setting("gpu"), "l4");
  for (const auto& [name, text] : given) settings.add(*find_setting(name), text);
  return test::answer(*to_request(settings)).assumed;
}

std::vector<std::string> settings_of(const std::vector<Assumption>& all) {
  std::vector<std::string> names;
  for (const Assumption& a : all) names.push_back(a.setting);
  return names;
}

std::string text_of(const std::vector<Assumption>& all, std::string_view setting) {
  const auto at = std::ranges::find(all, setting, &Assumption::setting);
  return at == all.end() ? "" : at->text;
}

}  // namespace

TEST_CASE("assumed: what nobody said, the most important first") {
  const auto all = assumed({});
  CHECK(settings_of(all) == std::vector<std::string>{"batch", "precision", "optimizer", "image",
                                                     "framework", "reserve", "workers", "host"});
  CHECK(text_of(all, "batch") == "batch 32");
  CHECK(text_of(all, "precision") == "fp32 precision");
  CHECK(text_of(all, "optimizer") == "the momentum optimizer");
  CHECK(text_of(all, "image") == "images of 224 x 224");
  // A word to fill in, as help has it, and no value: which is right depends on the program.
  CHECK(all[1].change == setting("precision", "NAME"));
  CHECK(all[2].change == setting("optimizer", "NAME"));
}

TEST_CASE("assumed: each row goes where its setting is given") {
  const std::vector<std::pair<const char*, const char*>> given = {
      {"batch", "4"},   {"precision", "fp32"},    {"optimizer", "momentum"},
      {"image", "224"}, {"framework", "pytorch"}, {"reserve", "1GiB"},
      {"workers", "2"}, {"host", "generic"}};
  for (const auto& one : given) {
    CAPTURE(one.first);
    CHECK(text_of(assumed({one}), one.first) == "");
  }
  CHECK(assumed(given).empty());
}

TEST_CASE("assumed: nothing of what moves no answer") {
  CHECK(text_of(assumed({{"mode", "inference"}}), "optimizer") == "");
  CHECK(text_of(assumed({{"mem", "8GiB"}}), "reserve") == "");
  CHECK(text_of(assumed({{"cudnn", "9.1"}}), "framework").find("cuDNN 9.1") != std::string::npos);
}

TEST_CASE("assumed: sizes of a model that nobody gave") {
  const auto all = assumed({}, "builtin:gpt2");
  CHECK(text_of(all, "dim").starts_with("sequence "));
  CHECK(text_of(assumed({{"dim", "sequence=64"}}, "builtin:gpt2"), "dim") == "");
}

// Changes are proposed by the step's precision: a checkpoint's own is no fp32.
TEST_CASE("assumed: an answer has the precision that its step is computed in") {
  const auto precision = [](const Request& asked) { return test::answer(asked).precision->name; };
  Request asked = test::request("hf:HuggingFaceTB/SmolLM2-135M", "a100-sxm-40gb", 1);
  asked.dims["sequence"] = 8;
  asked.settings["layers"] = "1";
  CHECK(precision(asked) == "bf16");
  asked.recipe.precision = find_precision("fp32");
  asked.precision_given = true;
  CHECK(precision(asked) == "fp32");
  CHECK(precision(test::request("builtin:mlp", "tesla-t4", 8)) == "fp32");
  CHECK(precision(test::request("builtin:mlp", "cpu", 8)) == "fp32");
}
