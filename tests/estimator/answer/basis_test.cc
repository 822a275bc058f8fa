#include "estimator/answer/basis.h"

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <algorithm>

#include "tests/support/import_support.h"
#include "tests/support/requests.h"
#include "tests/support/scratch.h"

using namespace plimsoll;
using namespace plimsoll::test;

namespace {

// Sums of one module's code, each of which may have a name there, on a product by a weight.
Estimate sums(int count) {
  std::vector<Proto> nodes = {node("MatMul", {"x", "block.weight"}, {"s0"}, {}, "/block/MatMul")};
  for (int i = 0; i < count; ++i) {
    const bool last = i + 1 == count;
    nodes.push_back(node("Add", {fmt::format("s{}", i), "x"},
                         {last ? "y" : fmt::format("s{}", i + 1)}, {},
                         fmt::format("/block/Add_{}", i)));
  }
  const Proto graph = graph_of({nodes,
                                {tensor("block.weight", 1, {256, 256})},
                                {value("x", {256, 256})},
                                {value("y", {256, 256})}});
  const Proto file = Proto()
                         .number(1, 8)
                         .text(2, "pytorch")
                         .text(3, "2.1.0")
                         .message(7, graph)
                         .message(8, Proto().text(1, "").number(2, 17));
  const Scratch scratch;
  Request asked = request(scratch.write("sums.onnx", file.bytes()), "a100-sxm-40gb");
  asked.recipe.loss = Loss::kSum;
  asked.loss_given = true;
  return answer(asked);
}

bool tells_of_names(const Estimate& e) {
  return std::ranges::any_of(e.diagnostics, [](const Diagnostic& d) {
    return d.code == "W237" && d.message.starts_with("Python variables may keep");
  });
}

}  // namespace

TEST_CASE("basis: where names of the code may hold more than the peak, it is told") {
  const Estimate many = sums(8);
  REQUIRE(many.memory.more_by_names > 0);
  CHECK(tells_of_names(many));
  CHECK(many.memory.device_range.high >= many.memory.device_bytes + many.memory.more_by_names);
  // A step that takes more elsewhere.
  const Estimate one = sums(1);
  CHECK(one.memory.more_by_names == 0);
  CHECK_FALSE(tells_of_names(one));
}
