#include "graph/passes/cast.h"

#include <doctest/doctest.h>

using namespace plimsoll;

TEST_CASE("cast: single precision alone changes its type") {
  Graph graph;
  const auto add = [&](TensorKind kind, DType dtype) {
    Tensor t;
    t.kind = kind;
    t.dtype = dtype;
    t.shape = Shape{Dim(2)};
    graph.add_tensor(std::move(t));
  };
  add(TensorKind::kInput, DType::kFloat32);
  add(TensorKind::kInput, DType::kInt64);
  add(TensorKind::kParameter, DType::kFloat32);
  cast(graph, DType::kFloat64);
  CHECK(graph.tensors[0].dtype == DType::kFloat64);
  CHECK(graph.tensors[1].dtype == DType::kInt64);
  CHECK(graph.tensors[2].dtype == DType::kFloat64);
  CHECK(graph.tensors[0].shape == Shape{Dim(2)});
}
