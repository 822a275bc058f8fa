// Every layer of the config language against the PyTorch module that it stands for: a layer, the
// config's, tanh (tests/oracles/config_models.py).
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "graph/config/layer_type.h"
#include "tests/support/golden_differences.h"
#include "tests/support/golden_memory.h"

namespace plimsoll {
namespace {

// The types of the layers in a list, and of those inside them.
void collect_types(const nlohmann::json& layers, std::set<std::string>& types) {
  if (layers.is_object()) {
    if (layers.contains("type") && layers["type"].is_string()) types.insert(layers["type"]);
    for (const auto& [key, value] : layers.items()) collect_types(value, types);
  }
  if (layers.is_array()) {
    for (const auto& layer : layers) collect_types(layer, types);
  }
}

}  // namespace

TEST_CASE("the layers of configs take what their PyTorch modules take") {
  const auto golden = test::read_golden("memory/configs.json");
  test::GoldenModels models;
  test::Errors saved, peak, inference;
  size_t wrong_parameters = 0, wrong_phases = 0;
  for (const auto& layer : golden["layers"]) {
    for (const auto& one : layer["cases"]) {
      const bool training = one["mode"] != "inference";
      test::GoldenCase wanted;
      wanted.batch = one["batch"];
      wanted.mode = one["mode"];
      const std::string what = fmt::format("{} batch {} {}", layer["name"].get<std::string>(),
                                           wanted.batch, wanted.mode);
      CAPTURE(what);
      const auto got = models.config_figures(layer["config"].dump(), wanted);
      const std::string why = got ? "" : got.error().front().message;
      CHECK_MESSAGE(got, what, ": ", why);
      if (!got) continue;
      (training ? peak : inference).add(what, got->peak, one["peak"]);
      if (!training) continue;
      saved.add(what, got->saved, one["saved_rounded"]);
      wrong_parameters += got->parameters != one["parameters"];
      wrong_phases += got->phase != one["phase"];
    }
  }
  MESSAGE("saved: ", saved.text());
  MESSAGE("peak: ", peak.text());
  MESSAGE("inference: ", inference.text());
  CHECK(wrong_parameters == 0);
  CHECK(wrong_phases == 0);
  CHECK(saved.share_exact() == 1);
  CHECK(peak.share_exact() == 1);
  // Attention's code has names for its projections, which hold them to its end; here they end with
  // their last reader, and the names are in the range.
  test::check_differences("configs inference", inference);
  CHECK(inference.share_exact() >= 0.94);
  CHECK(inference.share_within(0.15) == 1);
}

TEST_CASE("every layer type is compared, or is known to stand for no module") {
  const std::set<std::string> kNoModule = {
      "additive_scores", "block", "repeat",    "sequence", "onnx",
      "parameter",       "zeros", "roi_align", "expand",   "squeeze"};
  std::set<std::string> types = kNoModule;
  const auto golden = test::read_golden("memory/configs.json");
  for (const auto& layer : golden["layers"]) collect_types(layer["config"]["layers"], types);
  // Those of families are compared with transformers' modules (golden_families_test.cc).
  const std::filesystem::path families = PLIMSOLL_SOURCE_DIR "/graph/builtin/families";
  for (const auto& file : std::filesystem::directory_iterator(families)) {
    const auto family = nlohmann::json::parse(test::read_bytes(file.path().string()));
    if (!family.contains("model")) continue;
    collect_types(family["model"]["layers"], types);
    if (family["model"].contains("blocks")) {
      for (const auto& block : family["model"]["blocks"]) collect_types(block["layers"], types);
    }
    const auto& parameters = family["model"]["parameters"];
    if (!parameters.contains("activation")) continue;
    for (const auto& word : parameters["activation"]["one_of"])
      types.insert(word.get<std::string>());
  }
  for (const config::LayerType* type : config::all_layer_types())
    CHECK_MESSAGE(types.contains(std::string(type->name)), type->name);
}

}  // namespace plimsoll
