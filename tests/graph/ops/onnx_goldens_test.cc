// The shape rules against ONNX's own node tests and shape inference
// (tests/oracles/onnx_goldens.py).
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "graph/ir/text.h"
#include "graph/ops/infer.h"
#include "graph/ops/op_row.h"

namespace plimsoll {
namespace {

// Whole-number contents that infer() followed must be those that ONNX computed.
std::string compare_contents(const Tensor& got, const Contents& wanted) {
  for (size_t i = 0; got.has_dims && i < wanted.integers.size(); ++i) {
    const Dim divisor = got.divisors.empty() ? Dim(1) : got.divisors[i];
    if (got.dims[i] == Dim(wanted.integers[i]) * divisor) continue;
    return fmt::format("element {} is {}, not {}", i, got.dims[i].text(), wanted.integers[i]);
  }
  return {};
}

// Where an extent depends on data, ours is an upper bound.
bool agrees(const Dim& got, const Dim& wanted, bool bound) {
  return bound ? always_at_most(wanted, got).value_or(false) : got == wanted;
}

// What is wrong with one case; empty where all is right.
std::string check_case(const std::string& op, const std::string& line) {
  auto example = parse_example("", op, line);
  if (!example) return "does not parse: " + example.error().front().message;
  Decider decider({});
  Diagnostics warnings;
  const auto inferred = infer(example->graph, decider, warnings);
  if (!inferred) return inferred.error().front().code + " " + inferred.error().front().message;
  const bool bound = !warnings.empty() && warnings.front().code == "W211";
  for (size_t i = 0; i < example->outputs.size(); ++i) {
    const TensorType& wanted = example->outputs[i];
    const TensorId id = example->graph.nodes[0].outputs[i];
    if (id == kNoTensor) continue;
    const Tensor& got = example->graph.tensors[id];
    if (!got.shape) return fmt::format("output {} has no shape", i);
    bool same = got.dtype == wanted.dtype && got.shape->size() == wanted.shape.size();
    for (size_t d = 0; same && d < wanted.shape.size(); ++d) {
      same = agrees((*got.shape)[d], wanted.shape[d], bound);
    }
    if (!same) return "gives " + text(TensorType{got.dtype, *got.shape});
    if (!example->contents[i] || bound) continue;
    if (auto wrong = compare_contents(got, *example->contents[i]); !wrong.empty()) return wrong;
  }
  return {};
}

nlohmann::json read_goldens() {
  std::ifstream file(PLIMSOLL_SOURCE_DIR "/tests/golden/onnx_shapes.json");
  return nlohmann::json::parse(file);
}

}  // namespace

TEST_CASE("shape rules agree with ONNX's own tests and inference") {
  const nlohmann::json goldens = read_goldens();
  size_t agreed = 0;
  size_t supported = 0;
  std::map<std::string, size_t> unsupported;
  for (const auto& row : goldens.at("cases").items()) {
    const std::string& op = row.key();
    const auto& lines = row.value();
    if (!find_op("", op)) {
      unsupported[op] = lines.size();
      continue;
    }
    for (const auto& line : lines) {
      ++supported;
      const std::string wrong = check_case(op, line.get<std::string>());
      agreed += wrong.empty() ? 1 : 0;
      CHECK_MESSAGE(wrong.empty(), op << " " << line.get<std::string>() << "\n  " << wrong);
    }
  }
  std::string left_out;
  for (const auto& [op, count] : unsupported) left_out += fmt::format(" {} ({})", op, count);
  MESSAGE("ONNX goldens: " << agreed << " of " << supported
                           << " agree; without a row:" << left_out);
  CHECK(supported > 3000);
  CHECK(agreed == supported);
}

}  // namespace plimsoll
