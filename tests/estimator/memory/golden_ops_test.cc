// Single operators against PyTorch's own figures: a layer, the operator, tanh
// (tests/oracles/op_models.py). Every kind of operator that an exporter writes is here once.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/support/golden_memory.h"

namespace plimsoll {

TEST_CASE("what single operators keep for backward is what PyTorch keeps") {
  const auto golden = test::read_golden("memory/ops.json");
  test::GoldenModels models;
  test::Errors saved, peak;
  std::vector<std::string> failed;
  for (const auto& [name, cases] : golden["operators"].items()) {
    for (const auto& one : cases) {
      if (one["mode"] == "inference") continue;
      test::GoldenCase wanted;
      wanted.batch = one["batch"];
      wanted.mode = one["mode"];
      wanted.loss = Loss::kSum;
      const auto got = models.figures("onnx/ops/" + name + ".onnx.gz", wanted);
      if (!got) {
        failed.push_back(name + ": " + got.error().front().message);
        continue;
      }
      const std::string what = fmt::format("{} batch {}", name, wanted.batch);
      saved.add(what, got->saved, one["saved_rounded"]);
      peak.add(what, got->peak, one["peak"]);
    }
  }
  MESSAGE("saved: ", saved.text());
  MESSAGE("peak: ", peak.text());
  for (const std::string& line : failed) MESSAGE(line);
  // embedding_bag's export is a loop over data.
  CHECK(failed.size() <= 4);
  CHECK(saved.count() >= 680);
  CHECK(saved.share_exact() >= 0.925);
  CHECK(saved.median() == 0);
  CHECK(peak.median() == 0);
  CHECK(peak.share_exact() >= 0.74);
}

}  // namespace plimsoll
