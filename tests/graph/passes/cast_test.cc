#include "graph/passes/cast.h"

#include <doctest/doctest.h>

using namespace plimsoll;

TEST_CASE("cast: single precision alone changes its type") {
  Graph graph;
  graph.add_tensor(
      {.name = "x", .kind = TensorKind::kInput, .dtype = DType::kFloat32, .shape = Shape{Dim(2)}});
  graph.add_tensor({.name = "ids", .kind = TensorKind::kInput, .dtype = DType::kInt64});
  graph.add_tensor({.name = "w", .kind = TensorKind::kParameter, .dtype = DType::kFloat32});
  cast(graph, DType::kFloat64);
  CHECK(graph.tensors[0].dtype == DType::kFloat64);
  CHECK(graph.tensors[1].dtype == DType::kInt64);
  CHECK(graph.tensors[2].dtype == DType::kFloat64);
  CHECK(graph.tensors[0].shape == Shape{Dim(2)});
}
