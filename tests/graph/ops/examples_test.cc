// Every row's worked example: infer() must give exactly the types computed by hand.
#include <doctest/doctest.h>

#include <set>
#include <tuple>

#include "graph/ir/text.h"
#include "graph/ops/infer.h"
#include "graph/ops/op_row.h"

namespace plimsoll {
namespace {

// Symbols of examples at values unlike each other, for what algebra cannot decide.
Binding hints(const Graph& graph) {
  Binding values;
  for (const std::string& name : free_symbols(graph)) {
    values[name] = 97 + 10 * static_cast<int64_t>(values.size());
  }
  return values;
}

}  // namespace

TEST_CASE("every operator's example holds") {
  for (const OpRow* row : all_ops()) {
    CAPTURE(row->domain);
    CAPTURE(row->name);
    auto example = parse_example(row->domain, row->name, row->example);
    REQUIRE_MESSAGE(example, example.error().front().message);
    REQUIRE(!example->outputs.empty());
    Decider decider(hints(example->graph));
    Diagnostics warnings;
    const auto inferred = infer(example->graph, decider, warnings);
    REQUIRE_MESSAGE(inferred, inferred.error().front().message);
    for (size_t i = 0; i < example->outputs.size(); ++i) {
      const Tensor& out = example->graph.tensors[example->graph.nodes[0].outputs[i]];
      REQUIRE(out.shape);
      CHECK(text(TensorType{out.dtype, *out.shape}) == text(example->outputs[i]));
    }
  }
}

TEST_CASE("an example has no attribute that its row does not name") {
  for (const OpRow* row : all_ops()) {
    const auto example = parse_example(row->domain, row->name, row->example);
    REQUIRE(example);
    for (const auto& [name, value] : example->graph.nodes[0].attributes.entries()) {
      CAPTURE(row->name);
      const std::string attribute = name;
      CAPTURE(attribute);
      const bool of_tensor = name.ends_with("_dtype");  // see graph/ir/attributes.h
      CHECK((name == "opset" || of_tensor || has_attribute(*row, name)));
    }
  }
  CHECK(has_attribute(*find_op("", "Conv"), "pads"));
  CHECK_FALSE(has_attribute(*find_op("", "Conv"), "pad"));
  CHECK_FALSE(has_attribute(*find_op("", "Conv"), ""));
  CHECK_FALSE(has_attribute(*find_op("", "Relu"), "in_place"));
}

TEST_CASE("rows are complete and named once") {
  std::set<std::pair<std::string_view, std::string_view>> names;
  for (const OpRow* row : all_ops()) {
    CAPTURE(row->name);
    CHECK(bool(row->shape));
    CHECK(row->since >= 1);
    CHECK(names.insert({row->domain, row->name}).second);
    CHECK(bool(find_op(row->domain, row->name) == row));
  }
  CHECK(find_op("ai.onnx", "Relu") == find_op("", "Relu"));
  CHECK(find_op("", "NoSuchOperator") == nullptr);
}

}  // namespace plimsoll
