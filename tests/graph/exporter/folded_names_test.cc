#include "graph/exporter/folded_names.h"

#include <doctest/doctest.h>

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

constexpr DType kReal = DType::kFloat32, kWhole = DType::kInt64;

}  // namespace

TEST_CASE("folded names: numbered results of operators, not what people number") {
  const Graph graph = parameters({{"val_7", kReal},
                                  {"onnx::Mul_12", kReal},
                                  {"zeros", kReal},
                                  {"pos_embed_0", kReal},
                                  {"layer1.0.val_7", kReal},
                                  {"gamma_1", kReal}});
  CHECK(folded_names(graph) == std::set<std::string_view>{"onnx::Mul_12", "val_7", "zeros"});
}

TEST_CASE("folded names: the first of a kind has no number") {
  const Graph both = parameters({{"arange", kReal}, {"arange_1", kReal}, {"mean", kReal}});
  CHECK(folded_names(both) == std::set<std::string_view>{"arange", "arange_1"});
  // The second one is computed at every step: the first was folded, were it not whole numbers.
  Graph one =
      parameters({{"arange", kWhole}, {"cos", kReal}, {"arange_1", kReal}, {"cos_1", kReal}});
  for (const size_t computed : {2, 3}) one.tensors[computed].kind = TensorKind::kValue;
  CHECK(folded_names(one) == std::set<std::string_view>{"cos"});
}

TEST_CASE("folded names: who has a parameter's name is one") {
  CHECK(is_parameter_name("layer.bias", false));
  CHECK(is_parameter_name("cls_token", false));
  CHECK(is_parameter_name("blocks.0.gamma_1", false));
  CHECK(is_parameter_name("mixer.A_log", true));
  CHECK_FALSE(is_parameter_name("mixer.A_log", false));
  CHECK_FALSE(is_parameter_name("scales", true));
  CHECK_FALSE(is_parameter_name("onnx::Resize_12", true));
  CHECK_FALSE(is_parameter_name("/up.0/Constant_output_0", true));
}

}  // namespace plimsoll
