#include "graph/exporter/origin.h"

#include <doctest/doctest.h>

#include <set>

namespace plimsoll {
namespace {

Graph parameters(const std::vector<std::pair<std::string, DType>>& named) {
  Graph graph;
  for (const auto& [name, dtype] : named) {
    Tensor t;
    t.name = name;
    t.dtype = dtype;
    t.kind = TensorKind::kParameter;
    graph.tensors.push_back(t);
  }
  return graph;
}

std::set<std::string> folded(Graph graph) {
  set_origins(graph);
  std::set<std::string> names;
  for (const Tensor& t : graph.tensors) {
    if (t.origin == Origin::kFolded) names.insert(t.name);
  }
  return names;
}

constexpr DType kReal = DType::kFloat32, kWhole = DType::kInt64;

}  // namespace

TEST_CASE("origin: numbered results of operators, not what people number") {
  const Graph graph = parameters({{"val_7", kReal},
                                  {"onnx::Mul_12", kReal},
                                  {"zeros", kReal},
                                  {"pos_embed_0", kReal},
                                  {"layer1.0.val_7", kReal},
                                  {"gamma_1", kReal}});
  CHECK(folded(graph) == std::set<std::string>{"onnx::Mul_12", "val_7", "zeros"});
}

TEST_CASE("origin: the first of a kind has no number") {
  const Graph both = parameters({{"arange", kReal}, {"arange_1", kReal}, {"mean", kReal}});
  CHECK(folded(both) == std::set<std::string>{"arange", "arange_1"});
  // The second one is computed at every step: the first was folded, were it not whole numbers.
  Graph one =
      parameters({{"arange", kWhole}, {"cos", kReal}, {"arange_1", kReal}, {"cos_1", kReal}});
  for (const size_t computed : {2, 3}) one.tensors[computed].kind = TensorKind::kValue;
  CHECK(folded(one) == std::set<std::string>{"cos"});
}

TEST_CASE(
    "origin: a Constant node stays one, whatever its name; results are called after operators") {
  Graph graph = parameters({{"val_7", kReal}, {"sub_1", kReal}, {"sub_way", kReal}});
  graph.tensors[0].origin = Origin::kGenerated;
  CHECK(folded(graph) == std::set<std::string>{"sub_1"});
  set_origins(graph);
  CHECK(graph.tensors[0].folded_by.empty());
  CHECK(graph.tensors[1].folded_by == "sub");
  CHECK(graph.tensors[2].folded_by.empty());
}

TEST_CASE("origin: PyTorch's exporters are known by what they call themselves") {
  CHECK(bool(exporter_of("pytorch 2.9.0") == Exporter::kPyTorch));
  CHECK(bool(exporter_of("tf2onnx 1.16") == Exporter::kOther));
  CHECK(bool(exporter_of("") == Exporter::kOther));
}

TEST_CASE("origin: who has a parameter's name is one") {
  CHECK(is_parameter_name("layer.bias", Exporter::kOther));
  CHECK(is_parameter_name("cls_token", Exporter::kOther));
  CHECK(is_parameter_name("blocks.0.gamma_1", Exporter::kOther));
  CHECK(is_parameter_name("mixer.A_log", Exporter::kPyTorch));
  CHECK_FALSE(is_parameter_name("mixer.A_log", Exporter::kOther));
  CHECK_FALSE(is_parameter_name("scales", Exporter::kPyTorch));
  CHECK_FALSE(is_parameter_name("onnx::Resize_12", Exporter::kPyTorch));
  CHECK_FALSE(is_parameter_name("/up.0/Constant_output_0", Exporter::kPyTorch));
}

}  // namespace plimsoll
