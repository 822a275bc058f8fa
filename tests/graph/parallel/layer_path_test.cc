#include "graph/parallel/layer_path.h"

#include <doctest/doctest.h>

namespace plimsoll {

TEST_CASE("layer path: a layer that an adapter stands beside has the path that it had before") {
  Node layer;
  layer.module = "h.0.up.base_layer";
  CHECK(parallel::layer_path(layer) == "h.0.up");
  layer.module = "h.0.down";
  CHECK(parallel::layer_path(layer) == "h.0.down");
  CHECK(parallel::module_around("h.0.down") == "h.0.");
  CHECK(parallel::module_around("down").empty());
}

TEST_CASE("layer path: matrices of adapters by their names") {
  CHECK(parallel::last_of_adapter("h.0.up") == "h.0.up.lora_B.");
  CHECK(parallel::is_of_adapter("h.0.up.lora_A.weight"));
  CHECK(parallel::is_of_adapter("h.0.up.lora_B.default.weight"));
  CHECK(!parallel::is_of_adapter("h.0.up.weight"));
}

}  // namespace plimsoll
