#include "graph/ir/mesh.h"

#include <doctest/doctest.h>

#include "graph/ir/parallel_plan.h"

namespace plimsoll {

TEST_CASE("mesh: ranks lie along inner axes first") {
  Mesh mesh;
  CHECK(mesh.stride(Axis::kStage) == 1);
  mesh.extent(Axis::kTensor) = 2;
  mesh.extent(Axis::kShard) = 8;
  mesh.extent(Axis::kData) = 4;
  CHECK(mesh.stride(Axis::kTensor) == 1);
  CHECK(mesh.stride(Axis::kShard) == 2);
  CHECK(mesh.stride(Axis::kData) == 16);
  CHECK(mesh.stride(Axis::kStage) == 64);
}

TEST_CASE("placement: the first ranks have the larger parts") {
  Mesh mesh;
  mesh.extent(Axis::kData) = 4;
  CHECK(part_of({Dim(6), Dim(10)}, {Axis::kData, 0}, mesh) == Shape{Dim(2), Dim(10)});
  CHECK(part_of({Dim(6), Dim(12)}, {Axis::kData, 1}, mesh) == Shape{Dim(6), Dim(3)});
  CHECK(part_of({Dim(6)}, kShardPart, mesh) == Shape{Dim(6)});
}

}  // namespace plimsoll
