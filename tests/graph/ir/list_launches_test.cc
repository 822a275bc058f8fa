#include "graph/ir/list_launches.h"

#include <doctest/doctest.h>

#include <vector>

using namespace plimsoll;

// By MultiTensorApply.cuh: 65,536 elements a chunk, 320 chunks a launch, 110, 64, 48, 36 or 30
// tensors.
TEST_CASE("list launches: tensors and chunks bound what one takes") {
  const auto launches = [](size_t tensors, int64_t elements, size_t lists, bool scalars = false) {
    return list_launches(std::vector<Dim>(tensors, Dim(elements)), lists, scalars);
  };
  CHECK(launches(1, 1, 1) == 1);
  CHECK(launches(110, 8, 1) == 1);
  CHECK(launches(111, 8, 1) == 2);
  CHECK(launches(97, 8, 1, true) == 2);
  CHECK(launches(111, 8, 2) == 2);
  CHECK(launches(111, 8, 3) == 3);
  CHECK(launches(320, 65536, 5) == 11);    // thirty tensors each
  CHECK(launches(8, 40 * 65536, 1) == 1);  // 320 chunks
  CHECK(launches(8, 40 * 65536 + 1, 1) == 2);
  CHECK(launches(1, 640 * 65536, 1) == 2);
  CHECK(launches(1, 640 * 65536 + 1, 1) == 3);
  CHECK(launches(0, 1, 1) == 0);
  const std::vector<Dim> symbolic{Dim::symbol("rows") * 4};
  CHECK(list_launches(symbolic, 1, false) == 1);
  // A hostile size ends.
  CHECK(launches(1, int64_t{1} << 60, 1) == (int64_t{1} << 60) / 65536 / 320 + 1);
}

TEST_CASE("list launches: the first takes what is left over") {
  CHECK(share_of_launch(Dim(10), 1, true) == Dim(10));
  CHECK(share_of_launch(Dim(10), 3, true) == Dim(4));
  CHECK(share_of_launch(Dim(10), 3, false) == Dim(3));
}
