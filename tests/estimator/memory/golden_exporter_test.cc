// Files as PyTorch's exporter writes them, where it merges, drops or folds a part of the network,
// beside what PyTorch takes in a step of that network (tests/oracles/exporter_passes.py).
#include <doctest/doctest.h>

#include "tests/support/golden_memory.h"
#include "tests/support/requests.h"

using namespace plimsoll;

TEST_CASE("golden exporter: what was merged, dropped or folded counts as PyTorch's") {
  struct Found {
    const char* name;
    const char* what;
  };
  const auto golden = test::read_golden("exporter/figures.json");
  for (const Found& found : {Found{"merged_weights", "weight of a module, merged with another's"},
                             {"removed_biases", "bias of zeros, dropped by the exporter"},
                             {"lookups", "embedding of known places"},
                             {"merged", "activation of each branch"}}) {
    CAPTURE(found.name);
    const auto& row = golden["networks"][found.name];
    Request request = test::request(
        test::golden_path("exporter/" + std::string(found.name) + ".onnx"), "a100-sxm4-80gb");
    request.recipe.optimizer = find_optimizer("momentum");
    const Estimate e = test::answer(request);
    CHECK(std::ranges::any_of(e.recognised, [&](const std::string& said) {
      return said.find(found.what) != std::string::npos;
    }));
    CHECK(e.memory.saved_bytes == row["saved"].get<int64_t>());
    CHECK(e.memory.live_peak_bytes == row["peak"].get<int64_t>());
  }
}
