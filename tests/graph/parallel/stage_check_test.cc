#include "graph/parallel/stage_check.h"

#include <doctest/doctest.h>

#include "graph/base/setting.h"

namespace plimsoll::parallel {
namespace {

Recipe recipe_of(int64_t stages, int64_t micro_batches, int64_t chunks = 1) {
  Recipe recipe;
  recipe.accumulate = micro_batches;
  recipe.parallel.mesh.extent(Axis::kStage) = stages;
  recipe.parallel.chunks = chunks;
  if (chunks > 1) recipe.parallel.schedule = Schedule::kInterleaved;
  return recipe;
}

std::string found(int64_t blocks, const Recipe& recipe) {
  const auto checked = check_stages(blocks, recipe);
  const Diagnostics& all = checked ? *checked : checked.error();
  std::string text;
  for (const Diagnostic& one : all) text += one.code + ": " + one.help + "; ";
  return text;
}

}  // namespace

TEST_CASE("stage check: as many blocks as chunks, or the nearest number") {
  CHECK(check_blocks(8, recipe_of(8, 8).parallel));
  const auto few = check_blocks(6, recipe_of(8, 8).parallel);
  REQUIRE_FALSE(few);
  CHECK(few.error().front().help.find(setting("pp", "6")) != std::string::npos);
  const auto chunks = check_blocks(12, recipe_of(4, 8, 4).parallel);
  REQUIRE_FALSE(chunks);
  CHECK(chunks.error().front().help.find(setting("virtual-stages", "3")) != std::string::npos);
}

TEST_CASE("stage check: what makes stages wait is reported, with the nearest that does not") {
  CHECK(found(12, recipe_of(4, 8)).empty());
  CHECK(found(12, recipe_of(4, 2)) ==
        "W601: nearest that works: " + setting("micro-batches", "4") + "; ");
  CHECK(found(12, recipe_of(5, 8)) == "W602: nearest that works: " + setting("pp", "6") + "; ");
  CHECK(found(13, recipe_of(4, 8)) == "W602: ; ");
  Recipe cost = recipe_of(5, 8);
  cost.parallel.balance = StageBalance::kCost;
  CHECK(found(12, cost).empty());
  Recipe forward = recipe_of(5, 1);
  forward.mode = Mode::kInference;
  CHECK(found(12, forward).empty());
}

TEST_CASE("stage check: interleaved, micro-batches come in groups") {
  CHECK(found(16, recipe_of(4, 8, 2)).empty());
  const std::string refused = found(16, recipe_of(4, 6, 2));
  CHECK(refused.find("E120") == 0);
  CHECK(refused.find(setting("micro-batches", "8") + " and 4") != std::string::npos);
  CHECK(found(12, recipe_of(4, 8, 2)).find("W602") == 0);
}

TEST_CASE("stage check: gradients that are shared as they come do not wait") {
  Recipe recipe = recipe_of(4, 8);
  recipe.parallel.schedule = Schedule::kZeroBubble;
  CHECK(found(8, recipe).empty());
  recipe.parallel.mesh.extent(Axis::kShard) = 2;
  recipe.parallel.sharded = Sharded::kGradients;
  CHECK(found(8, recipe).find("E120") == 0);
}

}  // namespace plimsoll::parallel
