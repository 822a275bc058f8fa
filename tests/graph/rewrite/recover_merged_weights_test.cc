#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "graph/exporter/weight_roles.h"
#include "tests/support/recovered.h"

namespace plimsoll {
namespace {

using test::recovered;

// Names of what is trained, sorted.
std::vector<std::string> trained(const Graph& graph) {
  const auto kinds = classify_parameters(graph);
  std::vector<std::string> names;
  for (TensorId id = 0; id < kinds.size(); ++id) {
    if (graph.tensors[id].kind == TensorKind::kParameter && kinds[id] == WeightRole::kTrained)
      names.push_back(graph.tensors[id].name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

using Names = std::vector<std::string>;

}  // namespace

TEST_CASE("vectors that were equal and merged are each module's own again") {
  const Graph graph = recovered(R"(opset 20
input x: f32[B,8,4,4]
param a.weight: f32[8]
param a.bias: f32[8]
param a.running_var: f32[8]
n = BatchNormalization(x, a.weight, a.bias, a.bias, a.running_var) module="a"
y = BatchNormalization(n, a.weight, a.bias, a.bias, a.running_var) module="b"
output y
)");
  CHECK(trained(graph) == Names{"a.bias", "a.weight", "b.bias", "b.weight"});
}

// Diffusion transformers scale and shift what they normalise by the time, with no weight of a norm.
TEST_CASE("norms without a weight of their own share the ones that the exporter wrote") {
  const auto norms = [](const char* note) {
    return trained(recovered(fmt::format(R"(opset 20
input x: f32[B,8]
param val_9: f32[8]
n = LayerNormalization(x, val_9) module="a"{0}
y = LayerNormalization(n, val_9) module="b"{0}
output y
)",
                                         note)));
  };
  CHECK(norms(" plain_norm").empty());
  CHECK(norms("") == Names{"b.weight", "val_9"});
}

TEST_CASE("a bias that linear layers share by its zeros is each one's own; a tied one is not") {
  const Graph graph = recovered(R"(opset 20
input x: f32[B,8]
param a.weight: f32[8,8]
param b.weight: f32[8,8]
param a.bias: f32[8]
ta = Transpose(a.weight) {perm=[1,0]}
tb = Transpose(b.weight) {perm=[1,0]}
m = MatMul(x, ta) module="a"
h = Add(m, a.bias) module="a"
k = MatMul(h, tb) module="b"
y = Add(k, a.bias) module="b"
output y
)");
  CHECK(trained(graph) == Names{"a.bias", "a.weight", "b.bias", "b.weight"});
  const Graph tied = recovered(R"(opset 20
input x: f32[B,8]
param head.weight: f32[8,8]
param head.bias: f32[8]
t = Transpose(head.weight) {perm=[1,0]}
m = MatMul(x, t) module="head.decoder"
y = Add(m, head.bias) module="head.decoder"
z = Add(m, head.bias) module="head.decoder"
output y
output z
)");
  CHECK(trained(tied) == Names{"head.bias", "head.weight"});
}

TEST_CASE("matrices of blocks that began alike are each block's own; other matrices are shared") {
  const auto network = [](const std::string& first, const std::string& second) {
    const std::string weight = first + ".weight";
    return recovered("opset 20\ninput x: f32[B,8]\nparam " + weight + ": f32[8,8]\nh = Gemm(x, " +
                     weight + ") module=\"" + first + "\"\ny = Gemm(h, " + weight + ") module=\"" +
                     second + "\"\noutput y\n");
  };
  CHECK(trained(network("blocks.0.fc", "blocks.1.fc")) ==
        Names{"blocks.0.fc.weight", "blocks.1.fc.weight"});
  CHECK(trained(network("decoder", "head")) == Names{"decoder.weight"});
}

TEST_CASE(
    "a linear layer's bias of zeros is put back where the exporter says that it dropped one") {
  const auto network = [](const std::string& note) {
    return recovered(
        "opset 20\ninput x: f32[B,8]\nparam fc.weight: f32[4,8]\n"
        "y = Gemm(x, fc.weight) {transB=1} module=\"fc\"" +
        note + "\noutput y\n");
  };
  CHECK(trained(network("")) == Names{"fc.weight"});
  CHECK(trained(network(" bias_removed")) == Names{"fc.bias", "fc.weight"});
}

TEST_CASE("a module that runs twice has its weights once") {
  const Graph graph = recovered(R"(opset 20
input x: f32[B,8]
param n.weight: f32[8]
param n.bias: f32[8]
h = LayerNormalization(x, n.weight, n.bias) module="n"
i = LayerNormalization(h, n.weight, n.bias) module="n"
y = LayerNormalization(i, n.weight, n.bias) module="n_1"
output y
)");
  CHECK(trained(graph) == Names{"n.bias", "n.weight"});
}

TEST_CASE("names that TorchScript's exporter gives a merged vector back under are seen through") {
  const Graph graph = recovered(R"(opset 17
input x: f32[B,8]
param a.weight: f32[8]
param a.bias: f32[8]
b.weight = Identity(a.weight)
b.bias = Identity(a.bias)
h = LayerNormalization(x, a.weight, a.bias) module="a"
y = LayerNormalization(h, b.weight, b.bias) module="b"
output y
)");
  CHECK(trained(graph) == Names{"a.bias", "a.weight", "b.bias", "b.weight"});
}

}  // namespace plimsoll
