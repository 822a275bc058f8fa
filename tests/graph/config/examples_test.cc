// The example configs load, and are what their descriptions say.
#include <doctest/doctest.h>

#include "graph/base/byte_source.h"
#include "graph/config/model_config.h"
#include "graph/train/expand.h"

namespace plimsoll {
namespace {

ModelConfig load_example(const std::string& name, const config::Settings& set = {}) {
  const auto source = ByteSource::open(std::string(PLIMSOLL_SOURCE_DIR) + "/examples/" + name);
  REQUIRE_MESSAGE(source, name);
  std::string text(source->size(), '\0');
  REQUIRE(source->read(0, std::as_writable_bytes(std::span(text))));
  Diagnostics warnings;
  auto config = load_model_config(text, name, {.set = set}, warnings);
  REQUIRE_MESSAGE(config, name << ": " << config.error().front().message);
  CHECK(warnings.empty());
  return std::move(*config);
}

int64_t trained(const ModelConfig& config) {
  const Graph& graph = config.networks.front().graph;
  const auto kinds = classify_parameters(graph);
  Dim count = 0;
  for (TensorId id = 0; id < graph.tensors.size(); ++id) {
    const Tensor& t = graph.tensors[id];
    if (t.kind == TensorKind::kParameter && kinds[id] == WeightRole::kTrained) {
      count += elements(*t.shape);
    }
  }
  return count.evaluate(graph.defaults).value();
}

}  // namespace

TEST_CASE("example configs load and count right") {
  CHECK(trained(load_example("perceptron.json")) == 803'840 + 2 * 1'049'600 + 10'250);
  // He et al. Table 6 says 0.27 M for ResNet-20; the shortcuts here are projections.
  CHECK(trained(load_example("small-resnet.json")) == 269'722 + 256 + 512 + 2048);
  // Per layer: two norms, attention 2*512*512 + 2*512*128, gated part 3*512*1536.
  CHECK(trained(load_example("small-gpt.json")) ==
        32'000 * 512 + 8 * (1024 + 655'360 + 2'359'296) + 512);
}

TEST_CASE("example configs take settings") {
  CHECK(load_example("perceptron.json", {{"layers", "8"}}).networks.front().graph.nodes.size() ==
        25);
  CHECK(trained(load_example("small-gpt.json", {{"heads", "16"}})) ==
        32'000 * 1024 + 8 * (2048 + 2'621'440 + 9'437'184) + 1024);
}

}  // namespace plimsoll
