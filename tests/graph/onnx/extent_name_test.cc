#include "graph/onnx/extent_name.h"

#include <doctest/doctest.h>

using namespace plimsoll::onnx;

TEST_CASE("an extent's name tells what it is, or nothing") {
  for (const char* name : {"batch", "batch_size", "BS"}) CHECK(is_called_batch(name));
  for (const char* name : {"seq_len", "T", "time_steps"}) CHECK(is_called_sequence(name));
  for (const char* name : {"s0", "s77", "unk__6", "x_dynamic_axes_1", "dim_0", "ids_dim1"})
    CHECK(is_numbered(name));
  for (const char* name : {"s", "N", "height", "points2d", "level3", "dim", "12"})
    CHECK_FALSE(is_numbered(name));
}
