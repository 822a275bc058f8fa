// Real exports, without their weights: every file comes in, gets its shapes, and has the parameters
// PyTorch counted in the model it was exported from.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "graph/base/embedded.h"
#include "graph/ops/infer.h"
#include "tests/support/import_support.h"

using namespace plimsoll;
using namespace plimsoll::test;
namespace fs = std::filesystem;

namespace {

const fs::path kGolden = fs::path(PLIMSOLL_SOURCE_DIR) / "tests/golden";

std::string slurp(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::vector<fs::path> exports(std::string_view form) {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::recursive_directory_iterator(kGolden / "onnx" / form)) {
    if (entry.path().extension() == ".gz") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

Result<Graph> import_golden(const fs::path& path) {
  const auto bytes = gunzip(slurp(path), size_t{256} << 20);
  if (!bytes) return tl::make_unexpected(bytes.error());
  Diagnostics warnings;
  return import_onnx(source_of(*bytes), {}, warnings);
}

std::string show(const Diagnostics& diagnostics) {
  const Diagnostic& d = diagnostics[0];
  return d.code + " " + d.message + " " + d.place.node;
}

struct Count {
  int64_t tensors = 0, bytes = 0;
  void add(const Tensor& tensor) {
    const auto size = bytes_of(tensor);
    ++tensors;
    bytes += size;
  }
  static int64_t bytes_of(const Tensor& t) {
    return plimsoll::bytes(TensorType{t.dtype, *t.shape}).constant().value_or(0);
  }
};

}  // namespace

TEST_CASE("golden: every export comes in and gets its shapes") {
  int files = 0;
  for (const fs::path& path : exports("")) {
    const std::string file = fs::relative(path, kGolden).string();
    CAPTURE(file);
    auto graph = import_golden(path);
    CHECK_MESSAGE(graph, show(graph ? Diagnostics{{}} : graph.error()));
    if (!graph) continue;
    ++files;
    Binding hints = graph->defaults;
    for (const std::string& symbol : free_symbols(*graph)) {
      hints.try_emplace(symbol, symbol == graph->batch_symbol ? 8 : 64);
    }
    Decider decider(hints);
    Diagnostics warnings;
    const auto done = infer(*graph, decider, warnings);
    CHECK_MESSAGE(done, show(done ? Diagnostics{{}} : done.error()));
  }
  CHECK(files > 100);
}

// The TorchScript exporter in training mode writes state as initializers and constants as nodes.
TEST_CASE("golden: initializers less norm statistics are the parameters PyTorch has") {
  int models = 0;
  for (const fs::path& path : exports("train-ts")) {
    const std::string name = path.stem().stem().string();
    CAPTURE(name);
    const fs::path truth = kGolden / "memory" / (name + ".json");
    if (!fs::exists(truth)) continue;
    const auto golden = nlohmann::json::parse(slurp(truth));
    const auto graph = import_golden(path);
    if (!graph) continue;  // told of above
    ++models;
    std::set<TensorId> statistics;
    for (const Node& node : graph->nodes) {
      if (node.op != "BatchNormalization") continue;
      statistics.insert({node.inputs.at(3), node.inputs.at(4)});
    }
    Count parameters, buffers;
    for (TensorId id = 0; id < graph->tensors.size(); ++id) {
      const Tensor& t = graph->tensors[id];
      if (t.kind != TensorKind::kParameter || t.origin == Origin::kGenerated || !is_float(t.dtype))
        continue;
      // Buffers of BART's and of Swin v2's.
      const bool buffer =
          t.name.ends_with("final_logits_bias") || t.name.ends_with("relative_coords_table");
      (buffer || statistics.contains(id) ? buffers : parameters).add(t);
    }
    CHECK(parameters.tensors == golden["parameters"]["tensors"].get<int64_t>());
    CHECK(parameters.bytes == golden["parameters"]["bytes"].get<int64_t>());
    CHECK(buffers.bytes <= golden["buffers"]["bytes"].get<int64_t>());
  }
  CHECK(models > 10);
}

TEST_CASE("golden: modules have the names PyTorch gives them") {
  const auto torchscript = import_golden(kGolden / "onnx/train-ts/torchvision-resnet50.onnx.gz");
  const auto dynamo = import_golden(kGolden / "onnx/train-dy/torchvision-resnet50.onnx.gz");
  REQUIRE(torchscript);
  REQUIRE(dynamo);
  const auto modules = [](const Graph& graph) {
    std::set<std::string> names;
    for (const Node& node : graph.nodes) names.insert(node.module);
    return names;
  };
  for (const auto* name : {"layer1.0.conv1", "layer1.0.downsample.0", "layer4.2.conv3", "fc"}) {
    CAPTURE(name);
    CHECK(modules(*torchscript).contains(name));
  }
  for (const auto* name : {"layer1.0.relu", "layer1.0.downsample.1", "layer4.2.bn3", "fc"}) {
    CAPTURE(name);
    CHECK(modules(*dynamo).contains(name));
  }
}
