// torchvision's and timm's networks against what the libraries themselves count and publish
// (tests/oracles/skeletons.py writes the goldens).
#include <doctest/doctest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "graph/builtin/builtin.h"
#include "graph/exporter/weight_roles.h"
#include "graph/onnx/import.h"
#include "graph/ops/infer.h"

namespace plimsoll {
namespace {

Graph load_exported(const std::string& name) {
  const auto model = find_builtin(name);
  REQUIRE_MESSAGE(model, name);
  REQUIRE(model->kind == BuiltinKind::kOnnx);
  Diagnostics warnings;
  auto graph = import_onnx(ByteSource::of(name, model->bytes), {}, warnings);
  REQUIRE_MESSAGE(graph, name << ": " << graph.error().front().message);
  Decider decider({{"batch", 1}, {"height", model->image}, {"width", model->image}});
  const auto inferred = infer(*graph, decider, warnings);
  REQUIRE_MESSAGE(inferred, name << ": " << inferred.error().front().message);
  return std::move(*graph);
}

struct Counted {
  int64_t parameters = 0;
  int64_t mac = 0;  // of convolutions and linear layers
};

Counted count(const Graph& graph, int64_t image) {
  const Binding point{{"batch", 1}, {"height", image}, {"width", image}};
  const auto at = [&](const Dim& dim) { return dim.evaluate(point).value(); };
  const auto kinds = classify_parameters(graph);
  std::set<TensorId> weights;
  Counted counted;
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    const Tensor& t = graph.tensors[id];
    if (t.kind != TensorKind::kParameter || kinds[id] != WeightRole::kTrained) continue;
    counted.parameters += at(elements(*t.shape));
    weights.insert(id);
  }
  for (const Node& node : graph.nodes) {
    // A weight may pass through a transposition, and the packed one of attention through more.
    bool of_weights = !node.inputs.empty() && node.op != "Add";
    for (const TensorId in : node.inputs)
      of_weights = of_weights && (in == kNoTensor || weights.contains(in) ||
                                  graph.tensors[in].kind == TensorKind::kParameter ||
                                  graph.tensors[in].origin == Origin::kGenerated);
    if (of_weights && node.op == "Transpose") weights.insert(node.outputs[0]);
    const bool conv = node.op == "Conv";
    if (!conv && node.op != "Gemm" && node.op != "MatMul") continue;
    // Auxiliary heads take no part in inference, which is what is published.
    if (node.module.starts_with("aux") || node.module.starts_with("AuxLogits")) continue;
    if (!weights.contains(node.inputs[1])) continue;
    const Shape& weight = *graph.tensors[node.inputs[1]].shape;
    const Dim per_output =
        conv ? elements(weight, 1, weight.size()) : graph.tensors[node.inputs[0]].shape->back();
    counted.mac += at(elements(*graph.tensors[node.outputs[0]].shape) * per_output);
  }
  return counted;
}

nlohmann::json golden(const std::string& library) {
  std::ifstream file(PLIMSOLL_SOURCE_DIR "/tests/golden/" + library + ".json");
  return nlohmann::json::parse(file, nullptr, false);
}

}  // namespace

TEST_CASE("torchvision's classification networks have their parameters and multiply-adds") {
  const auto table = golden("torchvision");
  REQUIRE(table.size() == 80);
  int published = 0;
  for (const auto& row : table.items()) {
    const std::string& name = row.key();
    const auto& facts = row.value();
    CAPTURE(name);
    const Counted counted = count(load_exported(name), facts["image"]);
    CHECK(counted.parameters == facts["parameters"]);
    CHECK(counted.mac == facts["conv_linear_mac"]);
    if (!facts.contains("published") || facts["published"]["image"] != facts["image"]) continue;
    ++published;
    // The published multiply-adds count attention too, and have three digits.
    const double gmac =
        static_cast<double>(counted.mac + facts["attention_mac"].get<int64_t>()) / 1e9;
    CHECK(gmac == doctest::Approx(facts["published"]["gmac"].get<double>()).epsilon(0.02));
  }
  CHECK(published >= 60);
}

TEST_CASE("timm's networks have their parameters and multiply-adds") {
  const auto table = golden("timm");
  REQUIRE(table.size() > 0);
  for (const auto& row : table.items()) {
    CAPTURE(row.key());
    const Counted counted = count(load_exported("timm/" + row.key()), row.value()["image"]);
    CHECK(counted.parameters == row.value()["parameters"]);
    // Its convolutions' weights are standardised in every step: none is a parameter itself.
    if (row.key() == "nf_resnet50") continue;
    CHECK(counted.mac == row.value()["conv_linear_mac"]);
  }
}

}  // namespace plimsoll
